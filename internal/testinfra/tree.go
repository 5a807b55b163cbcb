package testinfra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/git"
)

// Tree is what the contract is looked for in: a tree of git, or the worktree as an agent left it.
type Tree interface {
	// Present are those of the paths that are there, in the order in which they are given: files, and folders where the
	// path ends in a slash.
	Present(paths []string) ([]string, error)
	// Read is the content of a file that is there, up to maxSource bytes.
	Read(path string) ([]byte, error)
	// List are the paths of the files in a folder, "." for the top; none where there is no such folder.
	List(folder string) ([]string, error)
}

// maxSource is the most that is read of one file, in bytes.
const maxSource = 1 << 20

// InGit is a commit or tree.
func InGit(ctx context.Context, repo *git.Repo, rev string) Tree {
	return &gitTree{ctx, repo, rev, map[string]string{}}
}

type gitTree struct {
	ctx   context.Context
	repo  *git.Repo
	rev   string
	blobs map[string]string // by path, of files that were present
}

func (t *gitTree) Present(paths []string) ([]string, error) {
	folders := map[string][]git.Entry{}
	var present []string
	for _, p := range paths {
		name := strings.TrimSuffix(p, "/") // with a slash a folder is meant
		dir := path.Dir(name)
		if _, ok := folders[dir]; !ok {
			entries, err := t.folder(dir)
			if err != nil {
				return nil, err
			}
			folders[dir] = entries
		}
		if slices.ContainsFunc(folders[dir], func(e git.Entry) bool { return e.Path == name && (e.Kind == "tree") == (name != p) }) {
			present = append(present, p)
		}
	}
	return present, nil
}

func (t *gitTree) List(dir string) ([]string, error) {
	entries, err := t.folder(dir)
	var paths []string
	for _, e := range entries {
		if e.Kind == "blob" {
			paths = append(paths, e.Path)
		}
	}
	slices.Sort(paths)
	return paths, err
}

// folder are the files and folders in a folder.
func (t *gitTree) folder(dir string) ([]git.Entry, error) {
	if t.rev == "" {
		return nil, nil
	}
	entries, err := t.repo.Folder(t.ctx, t.rev, dir)
	if err != nil {
		return nil, fmt.Errorf("look for the test infrastructure: %w", err)
	}
	var found []git.Entry
	for _, e := range entries {
		if e.Mode == "100644" || e.Mode == "100755" || e.Kind == "tree" {
			found = append(found, e)
			t.blobs[e.Path] = e.Hash
		}
	}
	return found, nil
}

func (t *gitTree) Read(path string) ([]byte, error) {
	var data []byte
	err := t.repo.Blobs(t.ctx, []string{t.blobs[path]}, func(_ int, r io.Reader, _ int64) (err error) {
		data, err = io.ReadAll(io.LimitReader(r, maxSource))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return data, nil
}

// InFolder is the worktree at top.
func InFolder(top string) Tree { return folder(top) }

type folder string

func (f folder) Present(paths []string) ([]string, error) {
	return only(paths, func(p string) bool {
		info, err := os.Lstat(filepath.Join(string(f), filepath.FromSlash(p)))
		return err == nil && (strings.HasSuffix(p, "/") && info.IsDir() || !strings.HasSuffix(p, "/") && info.Mode().IsRegular())
	}), nil
}

func (f folder) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(string(f), filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the test infrastructure: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			paths = append(paths, path.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

func (f folder) Read(path string) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(f), filepath.FromSlash(path)))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSource))
}

func only(paths []string, keep func(string) bool) []string {
	var out []string
	for _, p := range paths {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}
