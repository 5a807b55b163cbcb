//go:build unix

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// leave has an attempt leave something, cleans it up, and sees that the worktree is the baseline and what was left is kept.
func (w *world) leave(spoil func(), kept map[string]string) string {
	w.t.Helper()
	spoil()
	ref, err := w.CleanTo(w.t.Context(), w.Baseline, "leftover", w.Req, "what was left")
	must(w.t, err)
	base := w.git("rev-parse", "HEAD^{tree}")
	if tree, err := w.Tree(w.t.Context(), w.Baseline); tree != base || err != nil {
		w.t.Errorf("the worktree is not the baseline: %v\n%s", err, w.git("diff-tree", "-r", "HEAD", tree))
	}
	if status := w.git("status", "--porcelain", "--ignore-submodules=none"); status != "" {
		w.t.Errorf("the status is %q", status)
	}
	for path, want := range kept {
		if got := w.git("show", ref+":"+path); got != want {
			w.t.Errorf("%s of %s holds %q", path, ref, got)
		}
	}
	return ref
}

// What a .gitignore of the agent's hid goes into the ref with the rest, and is removed.
func TestCleanHidden(t *testing.T) {
	w := newWorld(t)
	must(t, w.NoteUntracked(t.Context()))
	w.leave(func() {
		w.write(".gitignore", "*.log\n.sprint-state\ncode/hidden.txt\n")
		w.write("code/hidden.txt", "hidden\n")
		w.write("code/a.txt", "work\n")
	}, map[string]string{"code/hidden.txt": "hidden", "code/a.txt": "work", ".gitignore": "*.log\n.sprint-state\ncode/hidden.txt"})
	if _, err := os.Lstat(filepath.Join(w.Repo.Top, "code", "hidden.txt")); err == nil {
		t.Error("the hidden file is still there")
	}
}

// A submodule goes back to its recorded commit; what it held is kept in it, and its untracked files stay.
func TestCleanSubmodule(t *testing.T) {
	w := newWorld(t)
	other := newWorld(t)
	first := other.git("rev-parse", "HEAD")
	other.write("code/a.txt", "two\n")
	other.git("commit", "-q", "-a", "-m", "two")
	second := other.git("rev-parse", "HEAD")
	w.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.Repo.Top, "vendor/sub")
	w.git("commit", "-q", "-m", "a submodule")
	w.Baseline = w.git("rev-parse", "HEAD")
	w.write("vendor/sub/build.log", "ignored\n")
	w.write("vendor/sub/built", "untracked\n")
	must(t, w.NoteUntracked(t.Context()))
	inSub := func(args ...string) string { return w.git(append([]string{"-C", "vendor/sub"}, args...)...) }
	spoil := func() {
		inSub("checkout", "-q", first)
		w.write("vendor/sub/code/a.txt", "the agent's\n")
	}
	spoil()
	ref, err := w.CleanTo(t.Context(), w.Baseline, "leftover", w.Req, "what was left")
	must(t, err)
	if kept := w.git("rev-parse", ref+":vendor/sub"); kept != first {
		t.Errorf("%s has the submodule at %s", ref, kept)
	}
	if head, status := inSub("rev-parse", "HEAD"), inSub("status", "--porcelain"); head != second || status != "?? built" {
		t.Errorf("the submodule is at %s, %q", head, status)
	}
	if head, work := inSub("rev-parse", w.Ref("leftover", w.Req)), inSub("show", w.Ref("leftover", w.Req)+"-2:code/a.txt"); head != first || work != "the agent's" {
		t.Errorf("in the submodule %s and %q are kept", head, work)
	}
	if status := w.git("status", "--porcelain", "--ignore-submodules=untracked"); status != "" {
		t.Errorf("the status is %q", status)
	}
	want := "submodule \"vendor/sub\" is back at " + second[:12] + "; what it held is kept under refs/ralph/run/leftover/REQ-001 and refs/ralph/run/leftover/REQ-001-2 in it\n"
	if w.said.String() != want {
		t.Errorf("said %q", w.said.String())
	}
}

// What a folder without permissions holds is work like any other, and is cleaned away like it.
func TestCleanPermissions(t *testing.T) {
	chmod := func(w *world, mode os.FileMode, path string) {
		w.t.Helper()
		must(w.t, os.Chmod(filepath.Join(w.Repo.Top, filepath.FromSlash(path)), mode))
	}
	for name, c := range map[string]struct {
		spoil func(w *world)
		kept  map[string]string
	}{
		"a new folder":        {func(w *world) { w.write("cache/mod/f", "1\n"); chmod(w, 0o555, "cache/mod") }, map[string]string{"cache/mod/f": "1"}},
		"a tracked folder":    {func(w *world) { w.write("code/a.txt", "work\n"); w.write("code/b.txt", "b\n"); chmod(w, 0o555, "code") }, map[string]string{"code/a.txt": "work", "code/b.txt": "b"}},
		"an unreadable one":   {func(w *world) { w.write("code/a.txt", "work\n"); chmod(w, 0, "code") }, map[string]string{"code/a.txt": "work"}},
		"an unreadable file":  {func(w *world) { w.write("code/a.txt", "work\n"); chmod(w, 0, "code/a.txt") }, map[string]string{"code/a.txt": "work"}},
		"an unreadable other": {func(w *world) { w.write("code/b.txt", "b\n"); chmod(w, 0, "code/b.txt") }, map[string]string{"code/b.txt": "b"}},
		"deleted and closed":  {func(w *world) { must(w.t, os.Remove(filepath.Join(w.Repo.Top, "code/a.txt"))); chmod(w, 0o555, "code") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			must(t, w.NoteUntracked(t.Context()))
			w.leave(func() { c.spoil(w) }, c.kept)
		})
	}
}

// What cannot be put back is named.
func TestCleanFails(t *testing.T) {
	w := newWorld(t)
	w.git("init", "-q", "inner")
	w.git("-C", "inner", "commit", "-q", "--allow-empty", "-m", "another one")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",inner")
	w.git("commit", "-q", "-m", "a commit that nobody has")
	w.Baseline = w.git("rev-parse", "HEAD")
	must(t, w.NoteUntracked(t.Context()))
	_, err := w.CleanTo(t.Context(), w.Baseline, "leftover", w.Req, "what was left")
	if want := "the tree cannot be put back to " + w.Baseline[:12] + " at inner"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, not %s", err, want)
	}
}

// TestAsAnotherUser: root may write everywhere, so the permissions are tried by a child with another uid.
func TestAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: TestCleanPermissions has tried it already")
		return
	}
	base, err := os.MkdirTemp("/tmp", "ralph-other-user-") // TMPDIR may lie in a folder of root's alone
	must(t, err)
	defer os.RemoveAll(base)
	for _, d := range []string{"home", "tmp"} {
		must(t, os.Mkdir(filepath.Join(base, d), 0o777))
		must(t, os.Chown(filepath.Join(base, d), 65534, 65534))
	}
	must(t, os.Chmod(base, 0o755))
	self, err := os.Executable()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(base, "workspace.test"), []byte(content(t, self)), 0o755))
	cmd := exec.Command(filepath.Join(base, "workspace.test"), "-test.run=^(TestClean.*|TestUntracked.*)$")
	cmd.Dir = base
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "TMPDIR=" + filepath.Join(base, "tmp")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A linked worktree in the tree is nobody's to move, unless what the baseline has stands where it is.
func TestLinkedWorktreeInside(t *testing.T) {
	w := newWorld(t)
	w.git("worktree", "add", "-q", "--detach", "wt")
	w.write("wt/mine", "mine\n")
	must(t, os.Remove(filepath.Join(w.Repo.Top, "code", "a.txt")))
	w.git("worktree", "add", "-q", "--detach", "code/a.txt/in/way")
	w.write("code/a.txt/in/way/mine", "mine\n")
	tree, refused, err := w.Stage(t.Context())
	must(t, err)
	if names := w.git("ls-tree", "-r", "--name-only", tree); strings.Contains(names, "wt") || refused != "" {
		t.Errorf("the tree holds %q; refused is %q", names, refused)
	}
	_, err = w.CleanTo(t.Context(), w.Baseline, "leftover", w.Req, "what was left")
	must(t, err)
	if said := w.said.String(); !strings.Contains(said, `"code/a.txt/in/way/" is a repository of its own`) || strings.Contains(said, `"wt/"`) {
		t.Errorf("said: %s", said)
	}
	if w.read("wt/mine") != "mine\n" || w.read("code/a.txt") != "a\n" {
		t.Error("a file is not as it was")
	}
	if status := w.git("status", "--porcelain"); status != "?? wt/" {
		t.Errorf("the status is %q", status)
	}
}
