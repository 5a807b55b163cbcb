package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/failpoint"
)

// DropLocks removes the lock files of git that are not older than the file at path, which was written before what made
// them began, and says so: that must have ended.
func (w *Workspace) DropLocks(path string) {
	for _, note := range w.dropLocks(path) {
		w.Say("%s", note)
	}
}

// dropLocks is DropLocks with the lines given and not said. The times of files are compared with each other, not with a
// clock that may have been set.
func (w *Workspace) dropLocks(path string) (notes []string) {
	written, err := os.Stat(path)
	if err != nil {
		return nil
	}
	since := written.ModTime().Truncate(time.Second)
	var others []string // no git that we start makes a lock there, or it is another worktree's
	for _, dir := range []string{w.Repo.CommonDir, w.Repo.GitDir} {
		for _, name := range []string{"objects", "ralph", "worktrees", "modules"} {
			others = append(others, filepath.Join(dir, name))
		}
	}
	for _, dir := range slices.Compact([]string{w.Repo.CommonDir, w.Repo.GitDir}) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if d.IsDir() && slices.Contains(others, path) {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(d.Name(), ".lock") {
				return nil
			}
			if info, err := d.Info(); err == nil && !info.ModTime().Before(since) && os.Remove(path) == nil {
				failpoint.Step("remove a lock of git's")
				notes = append(notes, fmt.Sprintf("%s was left behind and is removed", w.nameOf(path)))
			}
			return nil
		})
	}
	return notes
}

// Begun marks that a program which changes the state has begun; ended takes the mark away. Where a mark is there already
// its program was killed, or a git of its was: the locks of git's that are not older than the mark are removed and named.
// The run lock must be held.
func (w *Workspace) Begun() (ended func(), err error) {
	mark := filepath.Join(w.Repo.StateDir(), "begun")
	if _, err := os.Lstat(mark); err == nil {
		w.DropLocks(mark)
		if err := os.Remove(mark); err != nil {
			return nil, fmt.Errorf("mark the beginning: %w", err)
		}
	}
	// It is the file's time that counts.
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return nil, fmt.Errorf("mark the beginning: %w", err)
	}
	failpoint.Step("write begun")
	return func() {
		if w.locked() {
			return
		}
		_ = os.Remove(mark)
		failpoint.Step("remove begun")
	}, nil
}

// locked reports whether a lock may be there that git takes for what we ask of it.
func (w *Workspace) locked() bool {
	if w.Repo.CutShort() {
		return true
	}
	paths := []string{w.Repo.Index, filepath.Join(w.Repo.GitDir, "HEAD"), filepath.Join(w.Repo.CommonDir, "packed-refs")}
	if head, err := os.ReadFile(paths[1]); err == nil {
		if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
			paths = append(paths, filepath.Join(w.Repo.CommonDir, filepath.FromSlash(ref)))
		}
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Lstat(path + ".lock")
		return err == nil
	})
}
