package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInPlace: the worktree serves as long as it is the tree.
func TestInPlace(t *testing.T) {
	w := newWork(t)
	w.write(".gitignore", "built\n")
	w.write("a.txt", "a\n")
	w.write("built/x", "x\n")
	tree := w.tree()
	c, err := InPlace(t.Context(), w.repo, w.cache)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	checkout(t, c, tree)
	if c.Dir != w.repo.Top || len(c.Env()) != 0 || strings.HasPrefix(c.Scratch(), w.repo.Top) {
		t.Errorf("%q, %q, %q", c.Dir, c.Env(), c.Scratch())
	}
	refused := func(want string) {
		t.Helper()
		if err := c.Checkout(t.Context(), tree); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	w.write("odd \"name\".txt", "b\n")
	refused(`are untracked: "odd \"name\".txt"`)
	if err := os.Remove(filepath.Join(w.dir, "odd \"name\".txt")); err != nil {
		t.Fatal(err)
	}
	w.write("a.txt", "b\n")
	refused("differ from what is staged: a.txt")
	w.tree()
	refused("is not the one that is staged")
}

// TestOwnFolders: what is installed in the copy stays while it is asked for, and gives way to a link after that.
func TestOwnFolders(t *testing.T) {
	w := newWork(t)
	w.write(".gitignore", "node_modules\n")
	w.write("web/package.json", "{}\n")
	w.write("web/node_modules/a/index.js", "linked\n")
	tree := w.tree()
	c := w.copy("node_modules")
	checkout(t, c, tree)
	if got := read(t, c.Dir, "web/node_modules/a/index.js"); got != "linked\n" {
		t.Errorf("it holds %q", got)
	}
	if err := os.RemoveAll(filepath.Join(c.Dir, "web", "node_modules")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Dir, "web/node_modules/a/index.js"), "installed\n")
	write(t, filepath.Join(c.Dir, "web/node_modules/.stamp"), "1\n")
	c.Own = []string{"web/node_modules"}
	for range 2 {
		checkout(t, c, tree)
		if got := read(t, c.Dir, "web/node_modules/a/index.js"); got != "installed\n" {
			t.Errorf("it holds %q", got)
		}
	}
	c.Own = nil
	checkout(t, c, tree)
	if got := read(t, c.Dir, "web/node_modules/a/index.js"); got != "linked\n" {
		t.Errorf("it holds %q", got)
	}
	if _, err := os.Lstat(filepath.Join(c.Dir, "web/node_modules/.stamp")); err == nil {
		t.Error("the stamp of the installed folder is still there")
	}
	if read(t, w.dir, "web/node_modules/a/index.js") != "linked\n" {
		t.Error("the worktree's folder was changed")
	}
	second, err := OpenSecond(t.Context(), w.repo, w.cache)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Dir == c.Dir {
		t.Error("the second copy is the first")
	}
}
