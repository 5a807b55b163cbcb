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
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "commit-msg"), nil, 0o600))
	paths := map[string]fs.FileMode{
		filepath.Join(w.Repo.Sprint(), StateFile): 0o444, w.Repo.Sprint(): 0o555, filepath.Dir(w.Repo.Sprint()): 0,
		filepath.Join(RunsDir(w.Repo), "run", "REQ-001"): 0o555, w.Repo.StateDir(): 0o555, filepath.Join(w.Repo.GitDir, "config"): 0,
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
