package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// clean removes from the folder rel of the copy all that does not belong there, and makes the folders that do
// writable. It does the work of "git clean -ffdx" and more: git never looks at a .git folder beside tracked files, where
// a test may have run "git init". What stands at a tracked file's place is left to git, which compares it.
func (w *contents) clean(top, rel string) error {
	dir := filepath.Join(top, filepath.FromSlash(rel))
	if err := OpenFolder(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := e.Name()
		if rel != "" {
			p = rel + "/" + p
		}
		full := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && w.own[p]:
		case e.IsDir() && w.folders[p]:
			err = w.clean(top, p)
		case !e.IsDir() && w.files[p]:
		case e.Type()&fs.ModeSymlink != 0 && w.links[p] != "" && leadsTo(full, w.links[p]):
		case e.Type().IsRegular() && w.copies[p] != "":
		default:
			err = RemoveAll(full)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func leadsTo(link, target string) bool {
	at, err := os.Readlink(link)
	return err == nil && at == target
}

// OpenFolder gives the owner back what a test may have taken away.
func OpenFolder(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.IsDir() && info.Mode()&0o700 != 0o700 {
		return os.Chmod(dir, info.Mode().Perm()|0o700)
	}
	return nil
}

// RemoveAll is os.RemoveAll that a folder without permissions does not stop. It follows no link.
func RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			return OpenFolder(p) // before WalkDir reads it
		}
		return nil
	})
	return os.RemoveAll(path)
}
