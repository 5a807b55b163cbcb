package testinfra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	var names, folders []string
	for _, p := range paths {
		if folder, ok := strings.CutSuffix(p, "/"); ok {
			folders = append(folders, folder) // with the slash git lists what is inside
		} else {
			names = append(names, p)
		}
	}
	found := map[string]bool{}
	// One after the other: for a path inside a folder git leaves the folder itself out.
	for _, list := range [][]string{names, folders} {
		if len(list) == 0 {
			continue
		}
		entries, err := t.entries(list)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, entries)
	}
	return only(paths, func(p string) bool { return found[p] }), nil
}

func (t *gitTree) List(dir string) ([]string, error) {
	var args []string
	if dir != "." {
		args = []string{dir + "/"}
	}
	found, err := t.entries(args)
	return only(slices.Sorted(maps.Keys(found)), func(p string) bool { return !strings.HasSuffix(p, "/") }), err
}

// entries are those of the paths that the tree has, folders with a slash at the end.
func (t *gitTree) entries(paths []string) (map[string]bool, error) {
	if t.rev == "" {
		return nil, nil
	}
	out, err := t.repo.Output(t.ctx, append([]string{"ls-tree", "-z", "--full-tree", t.rev, "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("look for the test infrastructure: %w", err)
	}
	found := map[string]bool{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		meta, path, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(meta)
		switch {
		case !ok || len(fields) != 3:
		case fields[1] == "tree":
			found[path+"/"] = true
		case fields[0] == "100644" || fields[0] == "100755":
			found[path] = true
			t.blobs[path] = fields[2]
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
