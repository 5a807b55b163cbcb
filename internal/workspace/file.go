package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
	"ralph-loop/internal/snapshot"
)

// File is a file as it was, so that it can be put back.
type File struct {
	Data   []byte // of a link: where it leads
	Mode   fs.FileMode
	Unread bool   // a folder, too large, or neither a file nor a link
	Hash   string `json:",omitempty"` // where the content is in the object database and not in Data
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
	_ = snapshot.OpenFolder(filepath.Dir(path)) // or the next step says what is wrong
	if err := snapshot.RemoveAll(path); err != nil {
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
	if err := os.WriteFile(path, f.Data, f.Mode.Perm()); err != nil {
		return err
	}
	return os.Chmod(path, f.Mode.Perm()) // the umask is not the file's
}

// contents are files by their names in a tree, for storing them in one call of git.
type contents map[string]File

// add takes in the file or link at full, whose content is not read yet; what is neither is left out.
func (c contents) add(full, name string, info fs.FileInfo) error {
	f := File{Mode: info.Mode()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(full)
		if err != nil {
			return err
		}
		f.Data = []byte(to)
	case info.Mode().IsRegular():
		f.Hash = full // until it is stored
	default:
		return nil
	}
	c[name] = f
	return nil
}

// store writes the contents into the object database, and says there where each is.
func (c contents) store(ctx context.Context, repo *git.Repo) error {
	dir, err := os.MkdirTemp("", "ralph-links-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	names := slices.Sorted(maps.Keys(c))
	paths := make([]string, len(names))
	for i, name := range names {
		if paths[i] = c[name].Hash; paths[i] == "" {
			paths[i] = filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(paths[i], c[name].Data, 0o600); err != nil {
				return err
			}
		}
	}
	hashes, err := repo.StoreFiles(ctx, paths)
	if err != nil {
		return err
	}
	for i, name := range names {
		c[name] = File{Mode: c[name].Mode, Hash: hashes[i]}
	}
	return nil
}

// gather adds what stands at full to found: a file, a link, or all files of a folder. A folder with a repository in it,
// which no tree can hold, is moved away.
func (w *Workspace) gather(full, name string, found contents) error {
	info, err := os.Lstat(full)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if !readable(full, info) {
			if err := os.Chmod(full, info.Mode().Perm()|0o600); err != nil {
				return err
			}
		}
		return found.add(full, name, info)
	}
	inside := contents{}
	nested := false
	err = filepath.WalkDir(full, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.EqualFold(d.Name(), ".git") {
			nested = true
			return fs.SkipAll
		}
		if d.IsDir() {
			return snapshot.OpenFolder(path)
		}
		rel, err := filepath.Rel(full, path)
		if err != nil {
			return err
		}
		return w.gather(path, name+"/"+filepath.ToSlash(rel), inside)
	})
	if err != nil {
		return err
	}
	if nested {
		return w.moveAway(name, w.Req, innerRepository)
	}
	maps.Copy(found, inside)
	return nil
}

// clearWay takes away what stands in the place of a folder above path, which is relative to the worktree's top, and
// adds it to found. A link there would lead every look at path, and its removal, to a file outside. A folder that nobody can
// look into is opened.
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
			if err := openClosed(full, info); err != nil {
				return err
			}
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

// openClosed opens a folder that its owner cannot look into.
func openClosed(dir string, info fs.FileInfo) error {
	if info.Mode()&0o500 == 0o500 {
		return nil
	}
	return snapshot.OpenFolder(dir)
}
