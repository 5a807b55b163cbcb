package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// attempt makes a guard, lets spoil change the worktree, and puts it in order.
func (w *world) attempt(spoil func()) {
	w.t.Helper()
	_, err := w.Remember(w.t.Context(), "marker", 1)
	must(w.t, err)
	spoil()
	g, err := w.Remembered()
	must(w.t, err)
	must(w.t, w.PutInOrder(w.t.Context(), g, func(map[string]File, map[string]File) map[string]bool { return nil }))
	must(w.t, w.Forget())
}

// held are the paths in the tree of the worktree.
func (w *world) held() []string {
	w.t.Helper()
	tree, err := w.Tree(w.t.Context(), w.Baseline)
	must(w.t, err)
	return strings.Split(w.git("ls-tree", "-r", "-z", "--name-only", tree), "\x00")
}

// A user's file is never committed, also where only its name is in the index, whatever bytes the name has, and is put back
// under that very name, with its permissions.
func TestUntrackedNames(t *testing.T) {
	w := newWorld(t)
	names := []string{"noted.txt", "plain.txt", "two\nlines\t.txt", "\"quoted\\.txt", "private.txt"}
	if runtime.GOOS == "linux" { // elsewhere a name is text
		names[1] = "caf\xe9.txt"
	}
	for _, name := range names {
		w.write(name, "mine: "+name)
	}
	must(t, os.Chmod(filepath.Join(w.Repo.Top, "private.txt"), 0o600))
	must(t, os.Symlink("noted.txt", filepath.Join(w.Repo.Top, "link")))
	names = append(names, "link")
	w.git("add", "-N", "noted.txt")
	must(t, w.NoteUntracked(t.Context()))
	if !strings.Contains(w.said.String(), "6 untracked files are left alone") {
		t.Errorf("said %q", w.said.String())
	}
	check := func() {
		t.Helper()
		for _, name := range w.held() {
			if slices.Contains(names, name) {
				t.Errorf("%q would be committed", name)
			}
		}
	}
	check()
	w.attempt(func() {
		for _, name := range names {
			must(t, os.Remove(filepath.Join(w.Repo.Top, name)))
		}
		w.write("noted.txt", "the agent's")
	})
	check()
	entries, err := os.ReadDir(w.Repo.Top)
	must(t, err)
	if len(entries) != len(names)+5 { // and .git, .gitignore, .sprint-state, code, plan.yaml
		t.Errorf("the folder holds %q", entries)
	}
	for _, name := range names[:5] {
		if got := w.read(name); got != "mine: "+name {
			t.Errorf("%q holds %q", name, got)
		}
	}
	if to, err := os.Readlink(filepath.Join(w.Repo.Top, "link")); to != "noted.txt" || err != nil {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	mode := func() os.FileMode {
		info, err := os.Stat(filepath.Join(w.Repo.Top, "private.txt"))
		must(t, err)
		return info.Mode().Perm()
	}
	if mode() != 0o600 {
		t.Errorf("private.txt has the mode %o", mode())
	}
	w.attempt(func() { must(t, os.Chmod(filepath.Join(w.Repo.Top, "private.txt"), 0o644)) })
	if mode() != 0o600 {
		t.Errorf("private.txt has the mode %o behind a change of it alone", mode())
	}
	if kept := w.git("show", w.Ref("found", "REQ-001-1")+":worktree/noted.txt"); kept != "the agent's" {
		t.Errorf("kept is %q", kept)
	}
}

// A guarded name and a ref may hold any bytes, too.
func TestGuardedNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a name is text here")
	}
	w := newWorld(t)
	w.write(".git/hooks/caf\xe9", "mine")
	w.git("update-ref", "refs/tags/caf\xe9", w.Baseline)
	must(t, w.NoteUntracked(t.Context()))
	w.attempt(func() {})
	if w.said.String() != "" {
		t.Errorf("said %q", w.said.String())
	}
	if w.read(".git/hooks/caf\xe9") != "mine" || w.git("rev-parse", "refs/tags/caf\xe9") != w.Baseline {
		t.Error("what was guarded is another than it was")
	}
}

// What an attempt put into a folder in the place of a user's file is kept, file by file.
func TestUntrackedBecomesFolder(t *testing.T) {
	w := newWorld(t)
	w.write("data.csv", "mine\n")
	must(t, w.NoteUntracked(t.Context()))
	w.attempt(func() {
		must(t, os.Remove(filepath.Join(w.Repo.Top, "data.csv")))
		w.write("data.csv/deep/work.txt", "work\n")
	})
	if w.read("data.csv") != "mine\n" {
		t.Errorf("data.csv holds %q", w.read("data.csv"))
	}
	if kept := w.git("show", w.Ref("found", "REQ-001-1")+":worktree/data.csv/deep/work.txt"); kept != "work" {
		t.Errorf("kept is %q", kept)
	}
	// So is what stands where the specification was.
	w.attempt(func() {
		must(t, os.Remove(filepath.Join(w.Repo.Top, "plan.yaml")))
		w.write("plan.yaml/work.txt", "work\n")
	})
	if w.read("plan.yaml") != "the plan\n" {
		t.Errorf("plan.yaml holds %q", w.read("plan.yaml"))
	}
	if kept := w.git("show", w.Ref("found", "REQ-001-1")+"-2:worktree/plan.yaml/work.txt"); kept != "work" {
		t.Errorf("kept is %q", kept)
	}
	// A repository is no tree's.
	w.attempt(func() {
		must(t, os.Remove(filepath.Join(w.Repo.Top, "data.csv")))
		w.write("data.csv/inner/.git/HEAD", "ref: refs/heads/main\n")
		w.write("data.csv/inner/work.txt", "more\n")
	})
	moved, err := filepath.Glob(filepath.Join(RunDir(w.Repo, w.Run, w.Req), "repository-*", "data.csv", "inner", "work.txt"))
	must(t, err)
	if w.read("data.csv") != "mine\n" || len(moved) != 1 {
		t.Errorf("data.csv holds %q, moved is %q", w.read("data.csv"), moved)
	}
}

// What is not stored, being ignored or large, cannot be put back: that it is gone, or was written, is told, once.
func TestUntrackedNotStored(t *testing.T) {
	w := newWorld(t)
	w.write(".gitignore", "*.log\n.sprint-state\n.env\n")
	w.git("commit", "-q", "-a", "-m", "two")
	w.Baseline = w.git("rev-parse", "HEAD")
	w.write(".env", "a secret\n")
	w.write("large.bin", "")
	w.write("larger.bin", "")
	for _, name := range []string{"large.bin", "larger.bin"} {
		must(t, os.Truncate(filepath.Join(w.Repo.Top, name), maxStored+1))
	}
	must(t, w.NoteUntracked(t.Context()))
	w.said.Reset()
	for _, want := range []string{`put in order: "large.bin", untracked, was written and was not stored: it is left as it is
put in order: "larger.bin", untracked, is gone and was not stored: too large, or a repository of its own
put in order: gone, and as files that git ignores not stored: ".env"
`, ""} {
		w.attempt(func() {
			if want != "" {
				must(t, os.Remove(filepath.Join(w.Repo.Top, ".env")))
				must(t, os.Remove(filepath.Join(w.Repo.Top, "larger.bin")))
				must(t, os.Truncate(filepath.Join(w.Repo.Top, "large.bin"), 1))
			}
		})
		if w.said.String() != want {
			t.Errorf("said %q", w.said.String())
		}
		w.said.Reset()
	}
	// It is the user's all the same when it is there again, whatever an attempt has git ignore.
	w.write(".gitignore", "")
	w.write(".env", "a secret\n")
	if slices.Contains(w.held(), ".env") {
		t.Error(".env would be committed")
	}
}

// As many untracked files as there may be cost a few processes, not some each.
func TestUntrackedInFewCalls(t *testing.T) {
	w := newWorld(t)
	w.write("a.txt", "mine\n")
	trace := filepath.Join(t.TempDir(), "trace")
	w.env = append(w.env, "GIT_TRACE2_EVENT="+trace)
	calls := func(do func()) int {
		t.Helper()
		must(t, os.RemoveAll(trace))
		do()
		return strings.Count(content(t, trace), `"event":"start"`)
	}
	w.Repo = w.Repo.With("GIT_TRACE2_EVENT=" + trace)
	note := func() { must(t, w.NoteUntracked(t.Context())) }
	spoil := func() {
		w.attempt(func() {
			matches, err := filepath.Glob(filepath.Join(w.Repo.Top, "*.txt"))
			must(t, err)
			for _, path := range matches {
				must(t, os.WriteFile(path, []byte("spoiled"), 0o666))
			}
		})
	}
	noteOne, spoilOne := calls(note), calls(spoil)
	for i := range 50 {
		w.write(strings.Repeat("b", i+1)+".txt", "mine\n")
	}
	if n := calls(note); n > noteOne+1 { // a second ref has a number
		t.Errorf("%d calls note one file, %d many", noteOne, n)
	}
	if n := calls(spoil); n > spoilOne+1 {
		t.Errorf("%d calls put one file back, %d many", spoilOne, n)
	}
	if w.read("bbb.txt") != "mine\n" {
		t.Errorf("bbb.txt holds %q", w.read("bbb.txt"))
	}
}

// A folder that an attempt closed, or let nobody write into, keeps nothing of the user's from being put back: untracked files,
// hooks, what steers the loop, the specification. TestAsAnotherUser runs it as one whom permissions stop.
func TestUntrackedInClosedFolders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permissions")
	}
	for name, mode := range map[string]os.FileMode{"closed": 0, "unreadable": 0o300, "read-only": 0o555} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("plans/plan.yaml", "mine\n")
			w.write(".gitignore", ".sprint-state\nconf\n")
			w.git("add", "plans", ".gitignore")
			w.git("commit", "-qm", "two")
			w.git("config", "core.hooksPath", "tools/hooks")
			w.Baseline, w.Spec = w.git("rev-parse", "HEAD"), "plans/plan.yaml"
			w.Control = []string{"conf/own.yaml", "conf/none.yaml", w.Spec}
			files := []string{"plans/plan.yaml", "tools/hooks/commit-msg", "tools/hooks/lib", "conf/own.yaml", "notes/deep/todo"}
			for _, path := range files {
				w.write(path, "mine\n")
			}
			must(t, w.NoteUntracked(t.Context()))
			dirs := []string{"plans", "tools/hooks", "tools", "conf", "notes/deep", "notes"}
			t.Cleanup(func() {
				for _, dir := range slices.Backward(dirs) {
					_ = os.Chmod(filepath.Join(w.Repo.Top, dir), 0o755)
				}
			})
			w.attempt(func() {
				for _, path := range files {
					w.write(path, "the agent's\n")
				}
				w.write("conf/none.yaml", "the agent's\n")
				w.write("tools/hooks/pre-commit", "the agent's\n")
				for _, dir := range dirs {
					must(t, os.Chmod(filepath.Join(w.Repo.Top, dir), mode))
				}
			})
			for _, path := range files {
				if got := w.read(path); got != "mine\n" {
					t.Errorf("%s holds %q", path, got)
				}
			}
			for _, path := range []string{"conf/none.yaml", "tools/hooks/pre-commit"} {
				if _, err := os.Lstat(filepath.Join(w.Repo.Top, path)); !os.IsNotExist(err) {
					t.Errorf("%s is there: %v", path, err)
				}
			}
		})
	}
}
