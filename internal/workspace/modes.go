package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/failpoint"
)

// walkOwn calls f for what lies in the git directories and the state folder, as far as the loop or a git of its own writes
// there; a folder comes before what is in it. Links are not followed.
func (w *Workspace) walkOwn(f func(path string, info fs.FileInfo) error) error {
	var others []string
	for _, dir := range []string{w.Repo.CommonDir, w.Repo.GitDir} {
		others = append(others, filepath.Join(dir, "worktrees"))
	}
	top := filepath.Dir(w.Repo.Sprint())
	roots := slices.Compact([]string{w.Repo.CommonDir, w.Repo.GitDir, w.Repo.StateDir(), top, w.Repo.Sprint()})
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil // it is gone, or whoever needs it says what is wrong
			case d.IsDir() && path != root && (slices.Contains(roots, path) || slices.Contains(others, path)):
				return fs.SkipDir
			case root == top && path != root && d.IsDir():
				return fs.SkipDir // another tool's
			case d.IsDir() && strings.HasPrefix(d.Name(), innerPrefix) && below(path, RunsDir(w.Repo)):
				return fs.SkipDir // somebody's work
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			return f(path, info)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isObject reports whether git keeps an object there, of the repository or of a submodule: it makes those read-only.
func (w *Workspace) isObject(path string) bool {
	const in = string(filepath.Separator) + "objects" + string(filepath.Separator)
	if below(path, filepath.Join(w.Repo.CommonDir, "objects")) {
		return true
	}
	dir, _, some := strings.Cut(path, in)
	return some && below(dir, filepath.Join(w.Repo.CommonDir, "modules")) && !strings.Contains(dir, string(filepath.Separator)+"refs")
}

// folders are the permissions of the folders that walkOwn comes to, and of files there that their owner cannot write or read.
func (w *Workspace) folders() map[string]fs.FileMode {
	modes := map[string]fs.FileMode{}
	_ = w.walkOwn(func(path string, info fs.FileInfo) error {
		if info.IsDir() || info.Mode().IsRegular() && info.Mode()&0o600 != 0o600 && !w.isObject(path) {
			modes[path] = info.Mode() & (fs.ModeDir | fs.ModePerm)
		}
		return nil
	})
	return modes
}

// PutBackModes gives the guarded files and the folders around them the permissions that they had, and says so. What was not
// there, or is not guarded, its owner can use. It comes before all else: without it nothing can be read.
func (w *Workspace) PutBackModes(g *Guard) error {
	return w.walkOwn(func(path string, info fs.FileInfo) error {
		is := info.Mode().Perm()
		want := is
		file, guarded := g.Files[path]
		guarded = guarded && file.Mode.IsRegular() && info.Mode().IsRegular()
		was, known := g.Folders[path]
		switch {
		case guarded:
			want = file.Mode.Perm()
		case known && was.IsDir() == info.IsDir() && (info.IsDir() || info.Mode().IsRegular()):
			want = was.Perm()
		case info.IsDir():
			want |= 0o700
		case info.Mode().IsRegular() && !w.isObject(path):
			want |= 0o600
		}
		if want == is {
			return nil
		}
		err := os.Chmod(path, want)
		failpoint.Step("put permissions back")
		if errors.Is(err, fs.ErrNotExist) || err != nil && !guarded && !info.IsDir() {
			return nil // whoever needs the file says what is wrong
		}
		if err != nil {
			return fmt.Errorf("put the permissions back: %w", err)
		}
		w.Say("put in order: the permissions of %s were changed (%04o) and are put back", w.nameOf(path), is)
		return nil
	})
}
