package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ralph-loop/internal/git"
)

// world is a repository with one commit, which a run has as its baseline, and what was said of it.
type world struct {
	*Workspace
	t    *testing.T
	env  []string
	said strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := t.TempDir()
	w := &world{t: t, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org"}}
	w.Workspace = &Workspace{Repo: &git.Repo{Top: top}, Say: func(format string, args ...any) { fmt.Fprintf(&w.said, format+"\n", args...) }}
	w.git("init", "-q", "-b", "main")
	w.write("plan.yaml", "the plan\n")
	w.write("code/a.txt", "a\n")
	w.write(".gitignore", "*.log\n.sprint-state\n")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "one")
	w.Repo, err = git.Open(t.Context(), top, w.env)
	must(t, err)
	t.Cleanup(w.Repo.EndLookups)
	must(t, os.MkdirAll(w.Repo.StateDir(), 0o777))
	must(t, os.MkdirAll(w.Repo.Sprint(), 0o777))
	w.Run, w.Req, w.Branch, w.Baseline, w.Spec = "run", "REQ-001", "refs/heads/main", w.git("rev-parse", "HEAD"), "plan.yaml"
	return w
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.Repo.Top, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes a file in the worktree.
func (w *world) write(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
	must(w.t, os.MkdirAll(filepath.Dir(full), 0o777))
	must(w.t, os.WriteFile(full, []byte(text), 0o666))
}

func (w *world) read(path string) string {
	w.t.Helper()
	return content(w.t, filepath.Join(w.Repo.Top, filepath.FromSlash(path)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// What an attempt changed of what is guarded is put back from the guard as the next program reads it, each change is told,
// and what was found is kept. What the loop's own programs wrote stays.
func TestPutInOrder(t *testing.T) {
	w := newWorld(t)
	w.write("notes.txt", "mine\n")
	w.write(".git/hooks/commit-msg", "#!/bin/sh\n")
	w.write(".sprint-state/ralph-loop/"+StateFile, "before\n")
	w.write(".sprint-state/ralph-loop/digest.txt", "before\n")
	w.git("tag", "v1")
	must(t, w.NoteUntracked(t.Context()))
	if want := "1 untracked file is left alone, never committed, and put back if an attempt changes it: \"notes.txt\"\n"; w.said.String() != want {
		t.Errorf("said %q", w.said.String())
	}
	w.said.Reset()
	if g, err := w.Remembered(); g != nil || err != nil {
		t.Errorf("remembered %v, %v before anything was", g, err)
	}
	_, err := w.Remember(t.Context(), "marker", 2)
	must(t, err)

	w.git("config", "core.hooksPath", "elsewhere")
	must(t, os.Remove(filepath.Join(w.Repo.GitDir, "hooks", "commit-msg")))
	w.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
	w.write(".sprint-state/ralph-loop/"+StateFile, "after\n")
	w.write(".sprint-state/ralph-loop/digest.txt", "after\n")
	w.write("plan.yaml", "less\n")
	w.write("notes.txt", "the agent's\n")
	w.write("code/a.txt", "work\n")
	w.git("commit", "-q", "-a", "-m", "the agent's own")
	own := w.git("rev-parse", "HEAD")
	w.git("tag", "-d", "v1")
	w.git("checkout", "-q", "-b", "other")
	w.write(".git/MERGE_HEAD", w.Baseline+"\n")
	w.write(".git/packed-refs.lock", "")

	g, err := w.Remembered()
	must(t, err)
	if g.Marker != "marker" || g.Attempt != 2 {
		t.Errorf("remembered %q, attempt %d", g.Marker, g.Attempt)
	}
	state := filepath.Join(w.Repo.Sprint(), StateFile)
	must(t, w.PutInOrder(t.Context(), g, func(was, now map[string]File) map[string]bool {
		if string(was[state].Data) != "before\n" || string(now[state].Data) != "after\n" {
			t.Errorf("asked about %q and %q", was[state].Data, now[state].Data)
		}
		return map[string]bool{state: true}
	}))
	for path, want := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/hooks/commit-msg": "#!/bin/sh\n",
		".sprint-state/ralph-loop/digest.txt": "before\n", ".sprint-state/ralph-loop/" + StateFile: "after\n",
		"plan.yaml": "the plan\n", "notes.txt": "mine\n", "code/a.txt": "work\n",
	} {
		if got := w.read(path); got != want {
			t.Errorf("%s holds %q", path, got)
		}
	}
	for _, path := range []string{"hooks/pre-commit", "MERGE_HEAD", "packed-refs.lock", "refs/heads/other"} {
		if _, err := os.Lstat(filepath.Join(w.Repo.GitDir, path)); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if main, v1 := w.git("rev-parse", "main"), w.git("rev-parse", "v1"); main != w.Baseline || v1 != w.Baseline {
		t.Errorf("main is at %s, v1 at %s", main, v1)
	}
	if kept := w.git("rev-parse", w.Ref("agent", "REQ-001-2")); kept != own {
		t.Errorf("kept is %s, not the agent's commit %s", kept, own)
	}
	if found := w.git("show", w.Ref("found", "REQ-001-2")+":worktree/notes.txt"); found != "the agent's" {
		t.Errorf("kept of notes.txt is %q", found)
	}
	want := `put in order: "notes.txt" is untracked and not the agent's to touch: it was changed and is put back
put in order: .git/config was changed and is put back
put in order: .git/hooks/commit-msg was deleted and is put back
put in order: .git/hooks/pre-commit was created and is taken away
put in order: .git/packed-refs.lock was left behind and is removed
put in order: .sprint-state/ralph-loop/digest.txt was changed and is put back
put in order: HEAD was on "refs/heads/other" and is back on "refs/heads/main"
put in order: an unfinished operation of git (MERGE_HEAD) is ended
put in order: plan.yaml was changed and is put back
put in order: refs/heads/other was created and is put back; what it held is kept under refs/ralph/run/agent/REQ-001-2
put in order: refs/tags/v1 was deleted and is put back
put in order: the agent's own commits are folded into its work and kept under refs/ralph/run/agent/REQ-001-2
put in order: what was found there is kept under refs/ralph/run/found/REQ-001-2
`
	if w.said.String() != want {
		t.Errorf("said:\n%s", w.said.String())
	}
	must(t, w.Forget())
	if g, err := w.Remembered(); g != nil || err != nil {
		t.Errorf("remembered %v, %v after all was forgotten", g, err)
	}
}

// The tree of the work holds neither ignored files nor the user's own, and cleaning keeps it, once, under a numbered ref.
func TestCleanTo(t *testing.T) {
	w := newWorld(t)
	w.write("mine.txt", "mine\n")
	w.write("debug.log", "ignored\n")
	must(t, w.NoteUntracked(t.Context()))
	base := w.git("rev-parse", "HEAD^{tree}")
	clean := func() string {
		t.Helper()
		ref, err := w.CleanTo(t.Context(), w.Baseline, "leftover", "REQ-001", "what was left")
		must(t, err)
		return ref
	}
	if tree, err := w.Tree(t.Context(), w.Baseline); tree != base || err != nil {
		t.Errorf("without work the tree is %s, %v", tree, err)
	}
	if ref := clean(); ref != "" {
		t.Errorf("%s keeps nothing", ref)
	}
	for i, want := range []string{"refs/ralph/run/leftover/REQ-001", "refs/ralph/run/leftover/REQ-001-2"} {
		w.write("code/a.txt", fmt.Sprint("work ", i))
		w.write("code/new.txt", "new\n")
		tree, _, err := w.Stage(t.Context())
		must(t, err)
		if index := w.git("write-tree"); index != tree {
			t.Errorf("the index is %s, staged was %s", index, tree)
		}
		if names := strings.Fields(w.git("ls-tree", "-r", "--name-only", tree)); !slices.Equal(names, []string{".gitignore", "code/a.txt", "code/new.txt", "plan.yaml"}) {
			t.Errorf("the tree holds %q", names)
		}
		if ref := clean(); ref != want {
			t.Errorf("kept under %q, want %q", ref, want)
		}
		if kept := w.git("rev-parse", want+"^{tree}"); kept != tree {
			t.Errorf("%s keeps %s, the work was %s", want, kept, tree)
		}
		if status := w.git("status", "--porcelain"); status != "?? mine.txt" {
			t.Errorf("the status is %q", status)
		}
		if w.read("debug.log") != "ignored\n" || w.read("code/a.txt") != "a\n" {
			t.Error("the worktree is another than it was")
		}
	}
}

// A git that has the index locked keeps it.
func TestIndexLocked(t *testing.T) {
	w := newWorld(t)
	w.write(".git/index.lock", "")
	before := w.read(".git/index")
	if err := w.SetIndex(t.Context(), w.Baseline); err == nil || !strings.Contains(err.Error(), "the index is locked by ") {
		t.Errorf("the error is %v", err)
	}
	if w.read(".git/index") != before {
		t.Error("the index was written")
	}
}

// A lock that git's own upkeep left behind goes, and one that is in use holds nobody up.
func TestUpkeepLock(t *testing.T) {
	w := newWorld(t)
	ended, err := w.Begun()
	must(t, err)
	must(t, os.WriteFile(w.upkeepLock(), nil, 0o666))
	ended() // and keeps its mark
	if _, err := w.Begun(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.upkeepLock()); err == nil {
		t.Error("the lock is left")
	}
	if want := ".git/objects/maintenance.lock was left behind and is removed\n"; w.said.String() != want {
		t.Errorf("said %q, want %q", w.said.String(), want)
	}
	f, err := os.Create(w.upkeepLock())
	must(t, err)
	sleeper := exec.Command("sleep", "60")
	sleeper.Stdin = f
	must(t, sleeper.Start())
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	must(t, f.Close())
	if _, err := w.Begun(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(w.upkeepLock()); err != nil && runtime.GOOS == "linux" {
		t.Error("the lock that is in use is gone")
	}
}
