package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// What an attempt did to the permissions of the state and of git's own folders is put back, and not through a link.
func TestPutBackModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permissions")
	}
	w := newWorld(t)
	w.write(".sprint-state/ralph-loop/"+StateFile, "state\n")
	w.write(".sprint-state/ralph-loop/runs/run/REQ-001/1/agent.log", "log\n")
	w.write(".git/hooks/commit-msg", "#!/bin/sh\n")
	w.write(".git/ralph/logs/test.log", "log\n")
	w.write(".git/modules/sub/config", "[core]\n")
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "commit-msg"), nil, 0o600))
	paths := map[string]fs.FileMode{
		filepath.Join(w.Repo.Sprint(), StateFile): 0o444, w.Repo.Sprint(): 0o555, filepath.Dir(w.Repo.Sprint()): 0,
		filepath.Join(RunsDir(w.Repo), "run", "REQ-001"): 0o555, w.Repo.StateDir(): 0o555,
		filepath.Join(w.Repo.StateDir(), "logs"): 0, filepath.Join(w.Repo.GitDir, "modules", "sub"): 0, filepath.Join(w.Repo.GitDir, "config"): 0,
		filepath.Join(w.Repo.GitDir, "refs", "heads"): 0o555, w.Repo.GitDir: 0o555, filepath.Join(w.Repo.GitDir, "objects"): 0o555,
	}
	before := map[string]fs.FileMode{}
	mode := func(path string) fs.FileMode {
		info, err := os.Lstat(path)
		must(t, err)
		return info.Mode()
	}
	for path := range paths {
		before[path] = mode(path)
	}
	_, err := w.Remember(t.Context(), "marker", 1)
	must(t, err)
	read, err := w.Remembered()
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(w.Repo.GitDir, "hooks")))
	must(t, os.Symlink(outside, filepath.Join(w.Repo.GitDir, "hooks")))
	w.write(".sprint-state/ralph-loop/"+ReportFile, "")
	must(t, os.Chmod(ReportPath(w.Repo), 0))
	w.write(".git/ralph/driver", "")
	must(t, os.Chmod(RunLockPath(w.Repo), 0o444))
	for path, to := range paths {
		if path != filepath.Dir(w.Repo.Sprint()) && path != w.Repo.GitDir {
			must(t, os.Chmod(path, to))
		}
	}
	must(t, os.Chmod(filepath.Dir(w.Repo.Sprint()), 0))
	must(t, os.Chmod(w.Repo.GitDir, 0o555))
	must(t, w.PutBackModes(read))
	for path, want := range before {
		if got := mode(path); got != want {
			t.Errorf("%s is %v, was %v", path, got, want)
		}
	}
	for _, path := range []string{ReportPath(w.Repo), RunLockPath(w.Repo)} {
		if got := mode(path); got&0o600 != 0o600 {
			t.Errorf("%s is %v", path, got)
		}
	}
	if got := mode(filepath.Join(outside, "commit-msg")); got != 0o600 {
		t.Errorf("the file behind the link is %v", got)
	}
}

// A file of git's directory that nobody may write was so before the attempt, as git-annex keeps its own: it stays so. Objects
// are read-only in a submodule too.
func TestPutBackModesLeaves(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permissions")
	}
	w := newWorld(t)
	before := map[string]fs.FileMode{".git/annex/objects/a": 0o444, ".git/closed": 0, ".git/modules/sub/objects/aa/bb": 0o444}
	lay := func(path string) {
		w.write(path, "1\n")
		must(t, os.Chmod(filepath.Join(w.Repo.Top, path), before[path]))
	}
	lay(".git/annex/objects/a")
	lay(".git/closed")
	g, err := w.Remember(t.Context(), "marker", 1)
	must(t, err)
	lay(".git/modules/sub/objects/aa/bb")
	must(t, os.Chmod(filepath.Join(w.Repo.Top, ".git/closed"), 0o777))
	must(t, w.PutBackModes(g))
	for path, want := range before {
		info, err := os.Lstat(filepath.Join(w.Repo.Top, path))
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s is %v, was %v", path, info.Mode(), want)
		}
	}
}
