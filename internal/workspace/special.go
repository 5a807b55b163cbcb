package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
)

// A named pipe, a socket or a device is in no commit and in no list of git's. Whoever opens a pipe, git for its .gitignore,
// waits for ever.

// special are the names of those that are there, from the worktree's top, and of the pipes and devices among git's own files,
// absolute: there its file watcher has a socket.
func (w *Workspace) special() (paths []string) {
	for _, root := range slices.Compact([]string{w.Repo.GitDir, w.Repo.CommonDir}) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil: // what cannot be read says so to whom needs it
			case path == filepath.Join(w.Repo.CommonDir, "worktrees"):
				return fs.SkipDir // others' but for the one that is a root itself
			case d.Type()&(fs.ModeNamedPipe|fs.ModeDevice) != 0:
				paths = append(paths, path)
			}
			return nil
		})
	}
	_ = filepath.WalkDir(w.Repo.Top, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(w.Repo.Top, path)
		switch {
		case err != nil || relErr != nil:
			return nil
		case d.IsDir() && (d.Name() == ".git" || rel == ".sprint-state"):
			return fs.SkipDir
		case d.IsDir() && path != w.Repo.Top && w.isLinked(path):
			return fs.SkipDir // whoever works there may have made it
		case d.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	return paths
}

// dropSpecial takes away those that an attempt left, before any git opens one. What has come into a folder that git ignored
// as the run began stays, unless git would read it there: it may be a server's of the user's.
func (w *Workspace) dropSpecial(g *Guard) (notes []string, err error) {
	left := slices.DeleteFunc(w.special(), func(path string) bool { return slices.Contains(g.Special, path) })
	if len(left) == 0 {
		return nil, nil
	}
	ignored, err := w.ignoredAtBegin()
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		full, name := path, w.nameOf(path)
		if !filepath.IsAbs(path) {
			if within(ignored, path) && !strings.HasPrefix(filepath.Base(path), ".git") {
				continue
			}
			full, name = filepath.Join(w.Repo.Top, filepath.FromSlash(path)), path
		}
		info, err := os.Lstat(full)
		if err != nil {
			continue // gone by now
		}
		if err := os.Remove(full); err != nil {
			if filepath.IsAbs(path) || strings.HasPrefix(filepath.Base(path), ".git") {
				return nil, fmt.Errorf("take away %q: %w", name, err)
			}
			notes = append(notes, fmt.Sprintf("%s is %s, which cannot be taken away: %v", git.Quote(name), kindOf(info.Mode()), err))
			continue // git passes over it
		}
		failpoint.Step("remove a special file")
		notes = append(notes, fmt.Sprintf("%s is %s, which no commit can hold, and is taken away", git.Quote(name), kindOf(info.Mode())))
	}
	return notes, nil
}

func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}
