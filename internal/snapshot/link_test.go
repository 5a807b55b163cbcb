package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// TestLinks is case G32: an npm workspace, a Python editable install and a .env, at the top and in a sub-project.
func TestLinks(t *testing.T) {
	w := newWork(t)
	w.write(".gitignore", "node_modules\n.venv\n.env\nbuild\n")
	w.write("packages/ours/index.js", "staged\n")
	w.write("packages/ours/bin.js", "staged\n")
	w.write("web/app.js", "app\n")
	w.write("py/src/app.py", "app\n")
	w.write("node_modules_not/x", "x\n")
	w.write("node_modules/react/index.js", "react\n")
	w.write("node_modules/@scope/other/index.js", "other\n")
	w.write("node_modules/.cache/babel/x", "cached\n")
	w.write("node_modules/.package-lock.json", "{}\n")
	w.write("build/x.js", "built\n")
	link(t, "../packages/ours", filepath.Join(w.dir, "node_modules", "ours"))
	link(t, "../../packages/ours", filepath.Join(w.dir, "node_modules", "@scope", "ours"))
	link(t, "../ours/bin.js", filepath.Join(w.dir, "node_modules", ".bin", "ours"))
	link(t, "../react/index.js", filepath.Join(w.dir, "node_modules", ".bin", "react"))
	link(t, "../build", filepath.Join(w.dir, "node_modules", "built"))
	link(t, "/nowhere", filepath.Join(w.dir, "node_modules", "broken"))
	w.write("web/node_modules/vue/index.js", "vue\n")
	w.write(".env", "SECRET=1\n")
	w.write("web/.env", "SECRET=2\n")
	w.write("py/.venv/pyvenv.cfg", "home = /usr\n")
	w.write("config/local/x", "x\n")
	w.write(".git/info/exclude", "/config/\n")
	tree := w.tree()
	w.write("packages/ours/index.js", "unstaged\n")
	w.write("packages/ours/bin.js", "unstaged\n")
	c := w.copy("node_modules", ".venv", ".env", "config/local", "absent")
	checkout(t, c, tree)
	all := []string{"node_modules", "web/node_modules", ".env", "web/.env", "py/.venv", "config"}
	w.exact(c, tree, all...)
	for path, want := range map[string]string{
		"node_modules/react/index.js":        "react\n",
		"node_modules/@scope/other/index.js": "other\n",
		"node_modules/ours/index.js":         "staged\n",
		"node_modules/@scope/ours/index.js":  "staged\n",
		"node_modules/.bin/ours":             "staged\n",
		"node_modules/.bin/react":            "react\n",
		"node_modules/built/x.js":            "built\n",
		"node_modules/.package-lock.json":    "{}\n",
		"web/node_modules/vue/index.js":      "vue\n",
		".env":                               "SECRET=1\n",
		"web/.env":                           "SECRET=2\n",
		"config/local/x":                     "x\n",
	} {
		if got := read(t, c.Dir, path); got != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, "node_modules", ".cache")); err == nil {
		t.Error("the worktree's .cache is linked: tools would write there")
	}
	if env := c.Env(); !slices.Contains(env, "PYTHONPATH="+filepath.Join(c.Dir, "py")+":"+filepath.Join(c.Dir, "py", "src")) {
		t.Errorf("the environment is %q", env)
	}

	// A tool writes: not into the worktree.
	write(t, filepath.Join(c.Dir, ".env"), "SECRET=changed\n")
	write(t, filepath.Join(c.Dir, "node_modules", ".cache", "y"), "y\n")
	write(t, filepath.Join(c.Dir, "node_modules", "extra", "y"), "y\n")
	if read(t, w.dir, ".env") != "SECRET=1\n" {
		t.Error("the copy's .env is the worktree's own")
	}
	before := mtime(t, c, "node_modules/react")
	checkout(t, c, tree)
	w.exact(c, tree, all...)
	if read(t, c.Dir, ".env") != "SECRET=1\n" {
		t.Error("a changed .env was left")
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, "node_modules", "extra")); err == nil {
		t.Error("what a tool added to node_modules was left")
	}
	if !mtime(t, c, "node_modules/react").Equal(before) {
		t.Error("an unchanged link was made anew")
	}

	// One is gone from the worktree, one is tracked now, and nothing is asked for any more.
	if err := os.RemoveAll(filepath.Join(w.dir, "web", "node_modules")); err != nil {
		t.Fatal(err)
	}
	w.git("add", "-f", ".env")
	tree = w.tree()
	w.write(".env", "SECRET=unstaged\n")
	checkout(t, c, tree)
	w.exact(c, tree, "node_modules", "web/.env", "py/.venv", "config")
	c.Links = nil
	checkout(t, c, tree)
	w.exact(c, tree)
	if len(c.Env()) != 1 {
		t.Errorf("the environment is %q", c.Env())
	}
}

func TestSubmodules(t *testing.T) {
	inner := newWork(t)
	inner.write("lib.c", "one\n")
	inner.tree()
	inner.git("commit", "-qm", "one")
	w := newWork(t)
	w.write("a.txt", "a\n")
	w.git("submodule", "add", "-q", inner.dir, "deps/lib x")
	w.git("commit", "-qam", "with a submodule")
	tree := w.git("rev-parse", "HEAD^{tree}")
	sub := filepath.Join(w.dir, "deps", "lib x")
	c := w.copy()
	for range 2 {
		checkout(t, c, tree)
		if got := read(t, c.Dir, "deps/lib x/lib.c"); got != "one\n" {
			t.Errorf("the submodule's file holds %q", got)
		}
	}
	// What only lies there is not in the copy: no commit holds it.
	write(t, filepath.Join(w.dir, ".git", "modules", "deps", "lib x", "info", "exclude"), "ignored.c\n")
	write(t, filepath.Join(sub, "ignored.c"), "ignored\n")
	write(t, filepath.Join(sub, "new", "untracked.c"), "untracked\n")
	checkout(t, c, tree)
	for _, name := range []string{"ignored.c", "new"} {
		if _, err := os.Lstat(filepath.Join(c.Dir, "deps", "lib x", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the copy's submodule holds %s (%v)", name, err)
		}
	}
	// What a tool did to the copy's files does not last, and does not reach the worktree.
	write(t, filepath.Join(c.Dir, "deps", "lib x", "lib.c"), "spoiled\n")
	write(t, filepath.Join(c.Dir, "deps", "lib x", "made.o"), "made\n")
	if got := read(t, w.dir, "deps/lib x/lib.c"); got != "one\n" {
		t.Errorf("the worktree's submodule holds %q", got)
	}
	checkout(t, c, tree)
	if got := read(t, c.Dir, "deps/lib x/lib.c"); got != "one\n" {
		t.Errorf("the submodule's file holds %q", got)
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, "deps", "lib x", "made.o")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a tool made stays: %v", err)
	}
	// What gate.link names is linked in there as anywhere.
	write(t, filepath.Join(sub, ".env"), "KEY=1\n")
	c.Links = []string{".env"}
	checkout(t, c, tree)
	if got := read(t, c.Dir, "deps/lib x/.env"); got != "KEY=1\n" {
		t.Errorf("the linked file holds %q", got)
	}
	c.Links = nil
	write(t, filepath.Join(sub, "lib.c"), "two\n")
	if err := c.Checkout(t.Context(), tree); err == nil || !strings.Contains(err.Error(), `"deps/lib x"`) || !strings.Contains(err.Error(), "lib.c") {
		t.Errorf("an edited submodule: %v", err)
	}
	w.gitIn(sub, "commit", "-qam", "two")
	if err := c.Checkout(t.Context(), tree); err == nil || !strings.Contains(err.Error(), `"deps/lib x"`) {
		t.Errorf("a submodule at another commit: %v", err)
	}
	w.git("add", "-A")
	checkout(t, c, w.git("write-tree"))
	if got := read(t, c.Dir, "deps/lib x/lib.c"); got != "two\n" {
		t.Errorf("the submodule's file holds %q", got)
	}
	// Not checked out: an empty folder, as in a fresh clone.
	w.git("submodule", "deinit", "-f", "--", "deps/lib x")
	checkout(t, c, tree)
	w.exact(c, tree)
	w.git("rm", "-qf", "deps/lib x")
	tree = w.tree()
	checkout(t, c, tree)
	w.exact(c, tree)
}

func TestNestedSubmodules(t *testing.T) {
	innermost := newWork(t)
	innermost.write("deep.c", "deep\n")
	innermost.tree()
	innermost.git("commit", "-qm", "one")
	inner := newWork(t)
	inner.write("lib.c", "one\n")
	inner.git("submodule", "add", "-q", innermost.dir, "deep")
	inner.tree()
	inner.git("commit", "-qm", "one")
	w := newWork(t)
	w.write("a.txt", "a\n")
	w.git("submodule", "add", "-q", inner.dir, "lib")
	w.git("submodule", "update", "-q", "--init", "--recursive")
	w.git("commit", "-qam", "with a submodule that has one")
	tree := w.git("rev-parse", "HEAD^{tree}")
	write(t, filepath.Join(w.dir, "lib", "deep", "untracked.c"), "untracked\n")
	c := w.copy()
	for range 2 {
		checkout(t, c, tree)
		if got := read(t, c.Dir, "lib/deep/deep.c"); got != "deep\n" {
			t.Errorf("the inner submodule's file holds %q", got)
		}
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, "lib", "deep", "untracked.c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the inner submodule holds an untracked file (%v)", err)
	}
	write(t, filepath.Join(w.dir, "lib", "deep", "deep.c"), "changed\n")
	if err := c.Checkout(t.Context(), tree); err == nil || !strings.Contains(err.Error(), `"lib`) {
		t.Errorf("an edited inner submodule: %v", err)
	}
}
