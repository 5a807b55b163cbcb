package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/run"
)

// patience is how long a git that has a lock may take to end.
const patience = 3 * time.Second

// DropLocks removes the lock files of git that are not older than the file at path, which was written before what made
// them began, and says so. One that a live process may have is an error.
func (w *Workspace) DropLocks(path string) error {
	notes, err := w.dropLocks(path, nil)
	for _, note := range notes {
		w.Say("%s", note)
	}
	return err
}

// dropLocks is DropLocks with the lines given and not said, and the locks before left. The times of files are compared with
// each other, not with a clock that may have been set.
func (w *Workspace) dropLocks(path string, before []string) (notes []string, err error) {
	written, err := os.Stat(path)
	if err != nil {
		return nil, nil
	}
	since := written.ModTime().Truncate(time.Second)
	older := func(lock string) bool {
		info, err := os.Lstat(lock)
		return err != nil || info.ModTime().Before(since) || slices.Contains(before, lock)
	}
	stale := func() []string { return slices.DeleteFunc(w.locks(), older) }
	// Its git may be the user's, who writes a message, or one that a program of ours had started.
	left := stale()
	const pause = 50 * time.Millisecond
	for waited := time.Duration(0); len(left) > 0; left = stale() {
		lock, who := w.holder(left)
		if lock == "" {
			break
		}
		if waited += pause; waited > patience {
			return nil, exit.Fail("let it finish, or end it; then do this again", "%s may be in use: %s still runs", w.nameOf(lock), who)
		}
		time.Sleep(pause)
	}
	// Nobody waits for git's own upkeep.
	if lock := w.upkeepLock(); !older(lock) {
		if used, _ := w.holder([]string{lock}); used == "" {
			left = append(left, lock)
		}
	}
	for _, lock := range left {
		if os.Remove(lock) == nil {
			failpoint.Step("remove a lock of git's")
			notes = append(notes, fmt.Sprintf("%s was left behind and is removed", w.nameOf(lock)))
		}
	}
	return notes, nil
}

// upkeepLock is what git holds while it tidies up, as it may behind a commit; left behind it would keep git from that for ever.
func (w *Workspace) upkeepLock() string {
	return filepath.Join(w.Repo.CommonDir, "objects", "maintenance.lock")
}

// sharedLocks are, from the repository's git directory, where the locks are that all its worktrees share. The others there
// are the main worktree's.
var sharedLocks = []string{"refs", "reftable", "packed-refs.lock", "config.lock", "shallow.lock"}

// shared reports whether a git in another worktree may have that lock.
func (w *Workspace) shared(lock string) bool {
	return lock == w.upkeepLock() || slices.ContainsFunc(sharedLocks, func(name string) bool {
		root := filepath.Join(w.Repo.CommonDir, name)
		return lock == root || below(lock, root)
	})
}

// locks are the lock files that a git in this worktree may have made.
func (w *Workspace) locks() (paths []string) {
	var others []string // no git that we start makes a lock there, or it is another worktree's
	for _, dir := range []string{w.Repo.CommonDir, w.Repo.GitDir} {
		for _, name := range []string{"objects", "ralph", "worktrees", "modules"} {
			others = append(others, filepath.Join(dir, name))
		}
	}
	roots := []string{w.Repo.GitDir}
	if w.Repo.GitDir != w.Repo.CommonDir {
		for _, name := range sharedLocks {
			roots = append(roots, filepath.Join(w.Repo.CommonDir, name))
		}
		for _, name := range []string{"bisect", "worktree", "rewritten"} {
			others = append(others, filepath.Join(w.Repo.CommonDir, "refs", name))
		}
	}
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if d.IsDir() && slices.Contains(others, path) {
				return filepath.SkipDir
			}
			if !d.IsDir() && strings.HasSuffix(d.Name(), ".lock") {
				paths = append(paths, path)
			}
			return nil
		})
	}
	return paths
}

// Begun marks that a program which changes the state has begun; ended takes the mark away. Where a mark is there already
// its program was killed, or a git of its was: the locks of git's that have come since are removed and named, but none that a
// live process may have. The run lock must be held.
func (w *Workspace) Begun() (ended func(), err error) {
	mark := filepath.Join(w.Repo.StateDir(), "begun")
	if data, err := os.ReadFile(mark); err == nil {
		if g, err := w.Remembered(); err == nil && g != nil {
			run.EndMarked(g.Marker)
			if err := w.PutBackModes(g); err != nil {
				return nil, err
			}
		}
		notes, err := w.dropLocks(mark, strings.Split(string(data), "\x00"))
		if err != nil {
			return nil, err
		}
		for _, note := range notes {
			w.Say("%s", note)
		}
		if err := os.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("mark the beginning: %w", err)
		}
	}
	// It is the file's time that counts, and which locks were there.
	locks := w.locks()
	if _, err := os.Lstat(w.upkeepLock()); err == nil {
		locks = append(locks, w.upkeepLock())
	}
	if err := os.WriteFile(mark, []byte(strings.Join(locks, "\x00")), 0o644); err != nil {
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
	paths := []string{w.Repo.Index, filepath.Join(w.Repo.GitDir, "HEAD"), filepath.Join(w.Repo.CommonDir, "packed-refs"), strings.TrimSuffix(w.upkeepLock(), ".lock")}
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
