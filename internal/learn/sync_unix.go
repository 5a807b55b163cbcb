//go:build unix

package learn

import "os"

// syncDir makes a rename in dir last: until then a power cut may undo it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
