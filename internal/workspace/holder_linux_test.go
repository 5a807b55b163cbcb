package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A lock that was there before the attempt is somebody else's, and one that a process holds open is not removed.
func TestLocksOfOthers(t *testing.T) {
	w := newWorld(t)
	w.write(".git/HEAD.lock", "")
	g, err := w.Remember(t.Context(), "marker", 1)
	must(t, err)
	later := time.Now().Add(time.Minute)
	must(t, os.Chtimes(filepath.Join(w.Repo.GitDir, "HEAD.lock"), later, later))
	w.write(".git/packed-refs.lock", "")
	w.write(".git/worktrees/other/index.lock", "")
	notes, err := w.dropLocks(w.guardPath(), g.Locks)
	must(t, err)
	if len(notes) != 1 || notes[0] != ".git/packed-refs.lock was left behind and is removed" {
		t.Errorf("said %q", notes)
	}
	for _, name := range []string{"HEAD.lock", "worktrees/other/index.lock"} {
		if _, err := os.Lstat(filepath.Join(w.Repo.GitDir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestOnlyReads(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"git", "log", "-p"}, true},
		{[]string{"git", "-C", "show", "-c", "a=b", "--no-pager", "show"}, true},
		{[]string{"/usr/lib/git-core/git", "fsmonitor--daemon", "run"}, true},
		{[]string{"git-daemon"}, true},
		{[]string{"git", "commit", "-m", "log"}, false},
		{[]string{"git", "-C", "log", "commit"}, false},
		{[]string{"git"}, false},
		{nil, false},
	} {
		if got := onlyReads(c.args); got != c.want {
			t.Errorf("%q: %t", c.args, got)
		}
	}
}

// A git is asked where it works as it would find out itself.
func TestWorksIn(t *testing.T) {
	w := newWorld(t)
	other := filepath.Join(t.TempDir(), "other")
	w.git("worktree", "add", "-q", "-b", "other", other)
	inner := filepath.Join(w.Repo.Top, "inner")
	w.git("init", "-q", inner)
	for _, c := range []struct {
		dir         string
		own, shared bool
	}{
		{w.Repo.Top, true, true},
		{filepath.Join(w.Repo.Top, "code"), true, true},
		{filepath.Join(w.Repo.GitDir, "refs"), true, true},
		{other, false, true},
		{inner, false, false},
		{w.Repo.StateDir(), true, true},
		{"/", false, false},
	} {
		if own, shared := w.worksIn(c.dir); own != c.own || shared != c.shared {
			t.Errorf("%s: %t, %t", c.dir, own, shared)
		}
	}
}
