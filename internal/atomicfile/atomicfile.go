// Package atomicfile replaces files so that a crash leaves the old content or the new one, never a mixture.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/failpoint"
)

// Infix stands in the name of every temporary file, behind a dot and the name of the file that it is to replace.
const Infix = ".tmp-"

// IsTemporary reports whether name, without its folder, is one that Write gives to a temporary file.
func IsTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, Infix)
}

// Sweep removes from dir what a Write that was killed there left behind. No other may be under way.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for half-written files: %w", err)
	}
	for _, e := range entries {
		if !IsTemporary(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a half-written file: %w", err)
		}
		failpoint.Step("remove a half-written file")
	}
	return nil
}

// Write replaces path by data so that, whatever happens, path holds the old content or the new one: a temporary
// file beside it, fsync, rename, fsync of the folder.
func Write(path string, data []byte) error { return write(path, data, 0o644, true) }

// Replace is Write for what can be made anew from something durable: whoever reads path meanwhile sees the old content
// or the new one, but nothing waits for the disk, so a crash of the machine may leave path empty.
func Replace(path string, data []byte) error { return write(path, data, 0o644, false) }

// WriteExecutable is Write for a program.
func WriteExecutable(path string, data []byte) error { return write(path, data, 0o755, true) }

// WritePrivate is Write for a file that its owner alone may read.
func WritePrivate(path string, data []byte) error { return write(path, data, 0o600, true) }

func write(path string, data []byte, mode fs.FileMode, durable bool) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+Infix)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		return err
	}
	if durable {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	name := filepath.Join(filepath.Base(dir), filepath.Base(path))
	failpoint.Step("write beside " + name)
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	failpoint.Step("write " + name)
	if !durable {
		return nil
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot sync a folder; the rename is all that can be had there.
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
