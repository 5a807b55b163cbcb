//go:build unix

package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph-loop/internal/exit"
)

// TestLookupsSeeChanges: the git that serves questions lives on while refs move and objects are made, packed and lost.
func TestLookupsSeeChanges(t *testing.T) {
	w := newWork(t)
	r := w.open()
	ctx := t.Context()
	head := func(want string) {
		t.Helper()
		if got := must[string](t)(r.Head(ctx)); got != want {
			t.Errorf("HEAD is %q, want %q", got, want)
		}
	}
	head("")
	w.write("a", "1\n")
	first := w.commit("one")
	head(first)
	pid := r.objects.cmd.Process.Pid
	w.write("a", "2\n")
	second := w.commit("two")
	head(second)
	w.git("reset", "-q", "--soft", first)
	head(first)
	w.git("update-ref", "refs/heads/main", second)
	w.git("gc", "-q", "--prune=now")
	head(second)
	w.git("tag", "-a", "-m", "x", "v1", first)
	if got := must[string](t)(r.Commit(ctx, "v1")); got != first {
		t.Errorf("the tag's commit is %q, want %q", got, first)
	}
	if data, ok, err := r.File(ctx, "v1", "a"); err != nil || !ok || string(data) != "1\n" {
		t.Errorf("a is %q, %v, %v", data, ok, err)
	}
	w.git("tag", "-d", "v1")
	if got := must[string](t)(r.Commit(ctx, "v1")); got != "" {
		t.Errorf("the tag is gone and names %q", got)
	}
	if got := must[string](t)(r.Tree(ctx, second)); got != w.git("rev-parse", second+"^{tree}") {
		t.Errorf("the tree is %q", got)
	}
	if r.objects.cmd.Process.Pid != pid {
		t.Error("git was started more than once")
	}
}

// TestLookupsOddNames: what is no single line, or could be taken for an answer or an option, is answered all the same.
func TestLookupsOddNames(t *testing.T) {
	w := newWork(t)
	names := append([]string{"-x", "--batch", strings.Repeat("0", 40) + " blob 3", "missing", "a missing", ".gitattributes"}, oddNames...)
	for _, n := range names {
		w.write(n, "in "+n)
	}
	w.commit("one")
	r := w.open()
	for _, n := range names {
		if data, ok, err := r.File(t.Context(), "HEAD", n); err != nil || !ok || string(data) != "in "+n {
			t.Errorf("%q holds %q, %v, %v", n, data, ok, err)
		}
	}
	for _, n := range []string{"", "-", "^HEAD", "HEAD\n", "HEAD^{commit} ", "--all", "\x00", strings.Repeat("0", 40)} {
		if hash, err := r.Commit(t.Context(), n); hash != "" && n != "^HEAD" {
			t.Errorf("%q names the commit %q, %v", n, hash, err)
		}
	}
	if got := must[string](t)(r.Head(t.Context())); got != w.git("rev-parse", "HEAD") {
		t.Errorf("after all that HEAD is %q", got)
	}
}

// TestLookupsEnd: it may be killed, ended, or cut off by its context; the next question starts it again.
func TestLookupsEnd(t *testing.T) {
	w := newWork(t)
	want := w.commit("one")
	r := w.open()
	for name, stop := range map[string]func(){
		"ended":  r.EndLookups,
		"killed": func() { _ = syscall.Kill(-r.objects.cmd.Process.Pid, syscall.SIGKILL) },
		"stopped before the question": func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(exit.Silent(exit.No))
			if _, err := r.Head(ctx); exit.Code(err) != exit.No {
				t.Errorf("the cause is lost: %v", err)
			}
		},
	} {
		if got := must[string](t)(r.Head(t.Context())); got != want {
			t.Errorf("before it was %s HEAD is %q", name, got)
		}
		stop()
		if got := must[string](t)(r.Head(t.Context())); got != want {
			t.Errorf("after it was %s HEAD is %q", name, got)
		}
	}
	_ = must[string](t)(r.Head(t.Context())) // what was killed last runs again
	pid := r.objects.cmd.Process.Pid
	r.EndLookups()
	r.EndLookups()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("it still runs: %v", err)
	}
}

// TestLookupHangs: a git that does not answer is ended with its context.
func TestLookupHangs(t *testing.T) {
	w := newWork(t)
	w.commit("one")
	r := w.open()
	fake := filepath.Join(w.home, "bin", "git")
	write(t, fake, "#!/bin/sh\nexec sleep 60\n")
	if err := os.Chmod(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(fake)+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, exit.Silent(exit.No))
	defer cancel()
	begun := time.Now()
	if _, err := r.Head(ctx); exit.Code(err) != exit.No || time.Since(begun) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
}

// TestLookupsOfDamagedObjects: what cannot be read is told from what is not there.
func TestLookupsOfDamagedObjects(t *testing.T) {
	w := newWork(t)
	w.write("a", "1\n")
	w.git("-c", "core.bigFileThreshold=1m", "add", "a") // as a file of its own, not in a pack
	head := w.commit("one")
	r := w.open()
	blob := w.git("rev-parse", "HEAD:a")
	for _, hash := range []string{blob, head} {
		path := filepath.Join(w.dir, ".git", "objects", hash[:2], hash[2:])
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("damaged"), 0o644); err != nil {
			t.Fatal(err)
		}
		if hash == blob {
			if data, ok, err := r.File(t.Context(), "HEAD", "a"); err == nil || ok {
				t.Errorf("a damaged file is %q, %v, %v", data, ok, err)
			}
		} else if got, err := r.Head(t.Context()); exit.HintOf(err) != "git fsck" {
			t.Errorf("a damaged HEAD is %q, %v", got, err)
		}
	}
}
