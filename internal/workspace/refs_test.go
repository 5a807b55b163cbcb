package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// after puts in order what do did, as an attempt's guard was made before it.
func (w *world) after(do func()) {
	w.t.Helper()
	g, err := w.Remember(w.t.Context(), "marker", 1)
	must(w.t, err)
	do()
	must(w.t, w.PutInOrder(w.t.Context(), g, func(_, _ map[string]File) map[string]bool { return nil }))
}

// refs are all refs but those that keep something, with what they lead to or point to.
func (w *world) refs() string {
	w.t.Helper()
	var list []string
	for line := range strings.Lines(w.git("for-each-ref", "--format=%(refname) %(symref)%(objectname)") + "\n") {
		if !strings.HasPrefix(line, refsOfRuns) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return strings.Join(append(list, "HEAD "+w.git("symbolic-ref", "HEAD")), "\n")
}

// commit makes a commit that no branch holds.
func (w *world) commit(message string) string {
	return w.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", message)
}

func TestRefsArePutBack(t *testing.T) {
	for name, do := range map[string]func(w *world){
		"a branch in the way of the run's": func(w *world) {
			w.git("checkout", "-q", "--detach")
			w.git("branch", "-q", "-D", "main")
			w.git("branch", "main/x")
			w.git("checkout", "-q", "main/x")
		},
		"a branch in the way of another": func(w *world) {
			w.git("branch", "-q", "-D", "dev")
			w.git("branch", "dev/a/b", w.commit("new"))
		},
		"a branch where a folder of branches was": func(w *world) {
			w.git("branch", "-q", "-D", "team/a", "team/b")
			w.git("branch", "team")
		},
		"another name for a branch":           func(w *world) { w.git("symbolic-ref", "refs/heads/alias2", "refs/heads/dev") },
		"a name that leads elsewhere":         func(w *world) { w.git("symbolic-ref", "refs/heads/alias", "refs/heads/team/a") },
		"a name that leads nowhere any more":  func(w *world) { w.git("update-ref", "--no-deref", "refs/heads/alias", w.commit("new")) },
		"a branch that leads to another":      func(w *world) { w.git("symbolic-ref", "refs/heads/dev", "refs/heads/team/b") },
		"the run's branch leads to another":   func(w *world) { w.git("symbolic-ref", "refs/heads/main", "refs/heads/dev") },
		"a name is gone":                      func(w *world) { w.git("symbolic-ref", "-d", "refs/heads/alias") },
		"a branch moved under its other name": func(w *world) { w.git("update-ref", "refs/heads/alias", w.commit("new")) },
		"a tag of a file":                     func(w *world) { w.git("tag", "t2", w.git("rev-parse", "HEAD:plan.yaml")) },
		"tags and notes":                      func(w *world) { w.git("tag", "-f", "t", w.commit("new")); w.git("notes", "add", "-m", "x") },
		"more moved and deleted than are named one by one": func(w *world) {
			for i := range eachRef + 1 {
				w.git("update-ref", fmt.Sprintf("refs/remotes/origin/%d", i), w.commit(fmt.Sprint(i)))
				w.git("update-ref", "-d", fmt.Sprintf("refs/remotes/fork/%d", i))
			}
		},
		"more than are named one by one": func(w *world) {
			for i := range eachRef + 1 {
				w.git("branch", fmt.Sprintf("made/%d", i), w.commit(fmt.Sprint(i)))
			}
			w.git("tag", "blob", w.git("rev-parse", "HEAD:plan.yaml"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.git("branch", "dev", w.commit("dev"))
			w.git("branch", "team/a")
			w.git("branch", "team/b", w.commit("b"))
			w.git("tag", "t")
			w.git("symbolic-ref", "refs/heads/alias", "refs/heads/dev")
			for i := range eachRef + 1 {
				w.git("update-ref", fmt.Sprintf("refs/remotes/origin/%d", i), "HEAD")
				w.git("update-ref", fmt.Sprintf("refs/remotes/fork/%d", i), "HEAD")
			}
			before := w.refs()
			w.after(func() { do(w) })
			if now := w.refs(); now != before {
				t.Errorf("the refs are\n%s\nwere\n%s\n%s", now, before, w.said.String())
			}
			if w.said.Len() == 0 {
				t.Error("nothing was said")
			}
			w.said.Reset()
			w.after(func() {})
			if w.said.Len() > 0 {
				t.Errorf("the next time: %s", w.said.String())
			}
		})
	}
}

// What many refs held is reached from one, whose message names them.
func TestManyRefsAreKeptTogether(t *testing.T) {
	w := newWorld(t)
	var commits []string
	w.after(func() {
		for i := range 2 * eachRef {
			commits = append(commits, w.commit(fmt.Sprint(i)))
			w.git("update-ref", fmt.Sprintf("refs/remotes/origin/%d", i), commits[i])
		}
	})
	kept := w.git("for-each-ref", "--format=%(refname)", refsOfRuns)
	if strings.Contains(kept, "\n") || strings.Count(w.said.String(), "\n") != 1 || !strings.Contains(w.said.String(), kept) {
		t.Errorf("kept under %s; said:\n%s", kept, w.said.String())
	}
	reached := strings.Fields(w.git("rev-list", kept))
	for i, commit := range commits {
		if !slices.Contains(reached, commit) {
			t.Errorf("%s is not kept", commit)
		}
		if line := fmt.Sprintf("%s refs/remotes/origin/%d", commit, i); !strings.Contains(w.git("log", "-1", "--format=%B", kept), line) {
			t.Errorf("the message does not hold %q", line)
		}
	}
	w.git("fsck", "--strict")
}

// Whoever works in another worktree meanwhile keeps the branch that he works on.
func TestBranchesOfOtherWorktreesAreLeft(t *testing.T) {
	w := newWorld(t)
	w.git("branch", "dev")
	was := w.git("rev-parse", "dev")
	made, moved := filepath.Join(t.TempDir(), "made"), filepath.Join(t.TempDir(), "moved")
	w.after(func() {
		w.git("worktree", "add", "-q", "-b", "feature", made)
		w.git("-C", made, "commit", "-q", "--allow-empty", "-m", "mine")
		w.git("worktree", "add", "-q", moved, "dev")
		w.git("-C", moved, "commit", "-q", "--allow-empty", "-m", "mine too")
	})
	for _, dir := range []string{made, moved} {
		if status := w.git("-C", dir, "status", "--porcelain"); status != "" {
			t.Errorf("%s: %s", dir, status)
		}
		if subject := w.git("-C", dir, "log", "-1", "--format=%s"); !strings.HasPrefix(subject, "mine") {
			t.Errorf("%s is at %q", dir, subject)
		}
	}
	for _, want := range []string{"refs/heads/feature was created; another worktree has it checked out, so it is left", "refs/heads/dev was moved; another worktree has it checked out, so it is left; where it was is kept under " + refsOfRuns} {
		if !strings.Contains(w.said.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, w.said.String())
		}
	}
	if kept := w.git("rev-parse", w.Ref("agent", "REQ-001-1")); kept != was {
		t.Errorf("%s is kept, want %s", kept, was)
	}
}

// The user's stashes come back as they were; those made meanwhile are kept, every one.
func TestStashesAreKept(t *testing.T) {
	w := newWorld(t)
	stash := func(text string) string {
		w.write("code/a.txt", text)
		w.git("stash", "push", "-q", "-m", text)
		return w.git("rev-parse", "stash@{0}")
	}
	stash("first")
	stash("second")
	before := w.git("stash", "list", "--format=%H %gs")
	var made []string
	w.after(func() {
		made = append(made, stash("third"), stash("fourth"))
		w.git("stash", "drop", "-q", "stash@{2}")
		made = append(made, stash("fifth"))
	})
	if now := w.git("stash", "list", "--format=%H %gs"); now != before {
		t.Errorf("the stashes are\n%s\nwere\n%s", now, before)
	}
	for _, hash := range made {
		if ref := w.git("for-each-ref", "--points-at", hash, "--format=%(refname)", refsOfRuns+"run/stash/"); ref == "" || !strings.Contains(w.said.String(), "git stash store "+ref) {
			t.Errorf("%s is kept under %q; said:\n%s", hash, ref, w.said.String())
		}
	}
}

// What a merge had stashed is not lost with the merge.
func TestAutostashIsKept(t *testing.T) {
	w := newWorld(t)
	w.git("checkout", "-q", "-b", "feature")
	w.write("code/a.txt", "theirs\n")
	w.git("commit", "-qam", "theirs")
	w.git("checkout", "-q", "main")
	w.write("code/a.txt", "ours\n")
	w.git("commit", "-qam", "ours")
	w.Baseline = w.git("rev-parse", "HEAD")
	w.after(func() {
		w.write("plan.yaml", "an edit\n")
		stashed := w.git("stash", "create")
		w.git("checkout", "--", "plan.yaml")
		w.write(".git/MERGE_AUTOSTASH", stashed+"\n")
		w.write(".git/MERGE_HEAD", w.git("rev-parse", "feature")+"\n")
	})
	if w.Unfinished() != "" {
		t.Errorf("%s is left", w.Unfinished())
	}
	ref := w.Ref("stash", "REQ-001-1")
	if !strings.Contains(w.said.String(), "'git stash store "+ref+"'") {
		t.Errorf("said:\n%s", w.said.String())
	}
	w.git("stash", "store", ref)
	w.git("stash", "pop", "-q")
	if got := w.read("plan.yaml"); got != "an edit\n" {
		t.Errorf("plan.yaml is %q", got)
	}
}

// Another loop's refs are its own; where they were is kept all the same.
func TestRefsOfOtherRuns(t *testing.T) {
	w := newWorld(t)
	w.git("update-ref", "refs/ralph/other/leftover/A", "HEAD")
	w.git("update-ref", "refs/ralph/other/leftover/B", "HEAD")
	now := w.commit("later")
	w.after(func() {
		w.git("update-ref", "refs/ralph/other/leftover/A", now)
		w.git("update-ref", "-d", "refs/ralph/other/leftover/B")
		w.git("update-ref", "refs/ralph/other/leftover/C", now)
	})
	for ref, want := range map[string]string{"A": now, "B": w.Baseline, "C": now} {
		if hash := w.git("rev-parse", "refs/ralph/other/leftover/"+ref); hash != want {
			t.Errorf("%s is at %s, want %s", ref, hash, want)
		}
	}
	if kept := w.git("rev-parse", w.Ref("agent", "REQ-001-1")); kept != w.Baseline {
		t.Errorf("%s is kept", kept)
	}
}
