package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ralph-loop/internal/failpoint"
)

// File is a file as it was, so that it can be put back.
type File struct {
	Data   []byte // of a link: where it leads
	Mode   fs.FileMode
	Unread bool // a folder, too large, or neither a file nor a link
}

func (f File) gitMode() string {
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		return "120000"
	case f.Mode&0o111 != 0:
		return "100755"
	}
	return "100644"
}

// Same reports whether both have the same content and, as far as git tells them apart, mode.
func (f File) Same(g File) bool {
	return f.gitMode() == g.gitMode() && bytes.Equal(f.Data, g.Data)
}

// readFile is the file or link at path.
func readFile(path string) (File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return File{}, err
	}
	f := File{Mode: info.Mode()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		f.Data = []byte(to)
		return f, err
	case info.Mode().IsRegular():
		f.Data, err = os.ReadFile(path)
		return f, err
	}
	return f, fmt.Errorf("%s is neither a file nor a link", path)
}

// Put writes f to path, in the place of whatever is there.
func (f File) Put(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	failpoint.Step("remove a file to put back")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	defer failpoint.Step("put a file back")
	if f.Mode&fs.ModeSymlink != 0 {
		return os.Symlink(string(f.Data), path)
	}
	return os.WriteFile(path, f.Data, f.Mode.Perm())
}

// clearWay takes away what stands in the place of a folder above path, which is relative to the worktree's top, and
// adds it to found. A link there would lead every look at path, and its removal, to a file outside.
func (w *Workspace) clearWay(path string, found map[string]File) error {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		full := filepath.Join(w.Repo.Top, path[:i])
		info, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			continue
		}
		if f, err := readFile(full); err == nil {
			found[path[:i]] = f
		}
		err = os.Remove(full)
		failpoint.Step("clear the way")
		return err
	}
	return nil
}

func modeOf(gitMode string) fs.FileMode {
	switch gitMode {
	case "120000":
		return fs.ModeSymlink | 0o777
	case "100755":
		return 0o755
	}
	return 0o644
}
