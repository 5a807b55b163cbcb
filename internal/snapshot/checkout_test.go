package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func sample(w *work) string {
	w.write("a.txt", "a\n")
	w.write("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(w.dir, "run.sh"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.write("d/e/f.txt", "f\n")
	w.write("d/g.txt", "g\n")
	w.write("odd \"\n\t\xff$(x)/-n*.txt", "odd\n")
	if err := os.Symlink("d/g.txt", filepath.Join(w.dir, "link")); err != nil {
		w.t.Fatal(err)
	}
	return w.tree()
}

func TestCheckout(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWork(t, "--object-format="+format)
		first := sample(w)
		c := w.copy()
		checkout(t, c, first)
		w.exact(c, first)
		w.write("a.txt", "b\n")
		w.write("new/x", "x\n")
		w.git("rm", "-rqf", "d/e", "link")
		if err := os.Chmod(filepath.Join(w.dir, "run.sh"), 0o644); err != nil {
			t.Fatal(err)
		}
		second := w.tree()
		keep := mtime(t, c, "d/g.txt")
		checkout(t, c, second)
		w.exact(c, second)
		if !mtime(t, c, "d/g.txt").Equal(keep) {
			t.Error("an unchanged file lost its time")
		}
		checkout(t, c, first)
		w.exact(c, first)
		// A file becomes a folder and the reverse.
		w.git("rm", "-rqf", ".")
		w.write("a.txt/b", "b\n")
		w.write("d", "d\n")
		third := w.tree()
		checkout(t, c, third)
		w.exact(c, third)
		checkout(t, c, first)
		w.exact(c, first)
		empty, err := w.repo.EmptyTree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkout(t, c, empty)
		w.exact(c, empty)
	}
}

func mtime(t *testing.T, c *Copy, path string) time.Time {
	t.Helper()
	info, err := os.Lstat(filepath.Join(c.Dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// TestNothingElseIsTouched: neither index nor worktree nor anything but the cache, and no hook of the user's runs.
func TestNothingElseIsTouched(t *testing.T) {
	w := newWork(t)
	tree := sample(w)
	w.git("commit", "-qm", "one")
	w.write("a.txt", "unstaged\n")
	w.write("untracked", "u\n")
	before := listing(t, w.dir)
	c := w.copy()
	checkout(t, c, tree)
	after := listing(t, w.dir)
	for p := range after {
		if before[p] != after[p] {
			t.Errorf("%q changed", p)
		}
	}
	if len(before) != len(after) {
		t.Error("a file of the worktree or of the git directory is gone")
	}
	home := strings.TrimPrefix(w.env[1], "HOME=")
	if ran, err := os.ReadFile(filepath.Join(home, "ran")); err == nil {
		t.Errorf("hooks ran: %s", ran)
	}
}

// TestTampering: whatever a test did to the copy, the next checkout mends it.
func TestTampering(t *testing.T) {
	for name, script := range map[string]string{
		"content":                   `echo x >>a.txt`,
		"same size and time":        `touch -r a.txt ../stamp; printf 'z\n' >a.txt; touch -r ../stamp a.txt`,
		"same size, moved in":       `touch -r a.txt ../stamp; printf 'z\n' >b; touch -r ../stamp b; mv b a.txt`,
		"mode":                      `chmod 755 a.txt; chmod 644 run.sh; chmod 000 d/g.txt`,
		"deleted":                   `rm -r a.txt d`,
		"replaced by a folder":      `rm a.txt; mkdir -p a.txt/x; echo >a.txt/x/y`,
		"folder replaced by a link": `cp -a d ../elsewhere; rm -r d; ln -s ../elsewhere d`,
		"folder replaced by a file": `rm -r d; echo >d`,
		"file replaced by a link":   `cp a.txt ../other; rm a.txt; ln -s ../other a.txt`,
		"link replaced by a file":   `rm link; echo d/g.txt >link`,
		"link to elsewhere":         `ln -sf /etc/passwd link`,
		"hard link":                 `rm d/g.txt; ln a.txt d/g.txt`,
		"fifo":                      `rm a.txt; mkfifo a.txt; mkfifo other`,
		"new files":                 `mkdir -p x/y/z; touch x/y/z/a d/e/new .hidden d/.gitignore; echo '*' >.gitignore`,
		"read-only":                 `mkdir -p ro/x; touch ro/x/y; chmod 555 ro/x ro; chmod 444 a.txt; chmod 555 d/e d`,
		"no permission":             `mkdir -p ro/x; touch ro/x/y; chmod 000 ro/x ro; chmod 000 d/e d`,
		"git init":                  `git init -q .; git add -A; git -c user.name=a -c user.email=b commit -qm x; cd d; git init -q .; mkdir n; cd n; git init -q .; git -c user.name=a -c user.email=b commit -q --allow-empty -m x`,
		".git file":                 `echo "gitdir: /nowhere" >.git; echo x >d/.git`,
		"index gone":                `rm ../index`,
		"index empty":               `: >../index`,
		"index damaged":             `printf 'DIRC garbage' >../index`,
		"index cut":                 `head -c 100 ../index >../i; mv ../i ../index`,
		"lock left":                 `touch ../index.lock`,
		"copy gone":                 `rm -rf ../tree`,
		"copy is a file":            `rm -rf ../tree; echo >../tree`,
		"copy is a link":            `mv ../tree ../moved; ln -s moved ../tree`,
		"settings gone":             `rm ../settings`,
		"settings damaged":          `echo x >../settings`,
		"index of another tree":     `GIT_DIR="$REPO/.git" GIT_INDEX_FILE="$PWD/../index" git read-tree --empty`,
		"settings gone, changes":    `echo z >a.txt; rm d/g.txt; rm ../settings`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			tree := sample(w)
			c := w.copy()
			checkout(t, c, tree)
			cmd := exec.Command("sh", "-ec", script)
			cmd.Dir, cmd.Env = c.Dir, append(w.env, "REPO="+w.dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			checkout(t, c, tree)
			w.exact(c, tree)
			w.write("a.txt", "next\n")
			next := w.tree()
			checkout(t, c, next)
			w.exact(c, next)
		})
	}
}

// TestKilled is a kill -9 of git in the middle of a checkout, again and again.
func TestKilled(t *testing.T) {
	w := newWork(t)
	for i := range 400 {
		w.write(fmt.Sprintf("d%d/f%d", i%20, i), strings.Repeat("one\n", 500))
	}
	first := w.tree()
	for i := range 400 {
		w.write(fmt.Sprintf("d%d/f%d", i%20, i), strings.Repeat("two\n", 500))
	}
	second := w.tree()
	c := w.copy()
	checkout(t, c, first)
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+3*i)*time.Millisecond)
		err := c.Checkout(ctx, second)
		cancel()
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		tree := first
		if i%2 == 0 {
			tree = second
		}
		checkout(t, c, tree)
		w.exact(c, tree)
	}
}

// TestAttributesAndFilters: a checkout is what git makes of the blobs, and what the rules made of them before is made
// anew when the rules change.
func TestAttributesAndFilters(t *testing.T) {
	w := newWork(t)
	w.write("a.txt", "one\ntwo\n")
	w.write("b.dat", "plain\n")
	plain := w.tree()
	w.write(".gitattributes", "*.txt eol=crlf\n*.dat filter=up\n")
	ruled := w.tree()
	w.git("config", "filter.up.smudge", "tr a-z A-Z")
	c := w.copy()
	for _, tree := range []string{plain, ruled, plain, ruled} {
		checkout(t, c, tree)
		w.exact(c, tree)
	}
	if data, err := os.ReadFile(filepath.Join(c.Dir, "b.dat")); err != nil || string(data) != "PLAIN\n" {
		t.Errorf("the filter gave %q, %v", data, err)
	}
	w.git("config", "filter.up.smudge", "tr a-z b-za")
	checkout(t, c, ruled)
	w.exact(c, ruled)
	w.git("config", "filter.up.smudge", "false")
	w.git("config", "filter.up.required", "true")
	if err := c.Checkout(t.Context(), ruled); err == nil || !strings.Contains(err.Error(), "b.dat") {
		t.Errorf("a filter that fails: %v", err)
	}
	write(t, filepath.Join(w.dir, ".git", "info", "attributes"), "*.dat -filter\n")
	checkout(t, c, ruled)
	w.exact(c, ruled)
}

func TestSparseCheckoutIsWhole(t *testing.T) {
	w := newWork(t)
	tree := sample(w)
	w.git("commit", "-qm", "one")
	w.git("sparse-checkout", "set", "--no-cone", "/a.txt")
	if _, err := os.Lstat(filepath.Join(w.dir, "d")); err == nil {
		t.Fatal("the worktree is not sparse")
	}
	c := w.copy()
	checkout(t, c, tree)
	w.exact(c, tree)
	w.exact(c, "HEAD")
}

// TestWorktreesAndFolders: a linked worktree has a copy of its own; a folder of a worktree, and a way to it through a
// link, have the worktree's.
func TestWorktreesAndFolders(t *testing.T) {
	w := newWork(t)
	tree := sample(w)
	w.git("commit", "-qm", "one")
	linked := filepath.Join(t.TempDir(), "linked")
	w.git("worktree", "add", "-q", linked)
	c := w.copy()
	checkout(t, c, tree)
	other := *w
	other.dir = linked
	other.open()
	oc := other.copy()
	if oc.Dir == c.Dir {
		t.Error("two worktrees share a copy")
	}
	checkout(t, oc, "HEAD")
	other.exact(oc, "HEAD")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(w.dir, alias); err != nil {
		t.Fatal(err)
	}
	sub := *w
	sub.dir = filepath.Join(alias, "d", "e")
	sub.open()
	if sc := sub.copy(); sc.Dir != c.Dir {
		t.Errorf("the copy of a sub-folder is %q, want %q", sc.Dir, c.Dir)
	}
}

func TestOneAtATime(t *testing.T) {
	w := newWork(t)
	c := w.copy()
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, w.repo, w.cache); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second one got in: %v", err)
	}
	in := make(chan error)
	go func() {
		second, err := Open(t.Context(), w.repo, w.cache)
		if err == nil {
			err = second.Close()
		}
		in <- err
	}()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-in; err != nil {
		t.Error(err)
	}
}

func TestEnv(t *testing.T) {
	w := newWork(t)
	tree := sample(w)
	// The worst place for a cache: inside a repository.
	w.cache = filepath.Join(w.dir, "cache")
	c := w.copy()
	checkout(t, c, tree)
	for _, dir := range []string{c.Dir, filepath.Join(c.Dir, "d", "e")} {
		cmd := exec.Command("git", "rev-parse", "--git-dir")
		cmd.Dir, cmd.Env = dir, append(w.env, c.Env()...)
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("git finds a repository from %s: %s", dir, out)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWork(t)
	sample(w)
	if _, err := Open(t.Context(), w.repo, "relative"); err == nil {
		t.Error("a relative cache folder was taken")
	}
	file := filepath.Join(w.cache, "file")
	write(t, file, "")
	if _, err := Open(t.Context(), w.repo, file); !errors.Is(err, fs.ErrExist) && err == nil {
		t.Error("a file was taken for the cache folder")
	}
	c := w.copy()
	if err := c.Checkout(t.Context(), "no-such-tree"); err == nil || !strings.Contains(err.Error(), "no-such-tree") {
		t.Errorf("a missing tree: %v", err)
	}
	for _, name := range []string{"..", "../x", "/etc", "a/../..", "."} {
		c.Links = []string{name}
		if err := c.Checkout(t.Context(), "HEAD^{tree}"); err == nil {
			t.Errorf("gate.link %q was taken", name)
		}
	}
}

// BenchmarkCheckout compares a checkout that changes nothing with git's own work in it.
func BenchmarkCheckout(b *testing.B) {
	w := newWork(b)
	for i := range 10_000 {
		w.write(fmt.Sprintf("d%d/e%d/f%d.go", i%40, i%400, i), fmt.Sprintf("package f%d\n", i))
	}
	tree := w.tree()
	c, err := Open(b.Context(), w.repo, w.cache)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	checkout(b, c, tree)
	time.Sleep(50 * time.Millisecond)
	checkout(b, c, tree)
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			checkout(b, c, tree)
		}
	})
	b.Run("read-tree", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "read-tree", "--reset", "-u", tree)
			cmd.Dir, cmd.Env = c.Dir, append(w.env, "GIT_DIR="+w.repo.GitDir, "GIT_WORK_TREE="+c.Dir, "GIT_INDEX_FILE="+c.index)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		}
	})
}
