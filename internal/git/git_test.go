package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph-loop/internal/exit"
)

func TestOpen(t *testing.T) {
	w := newWork(t)
	w.write("d/e/f", "f\n")
	w.commit("one")
	r := w.open()
	gitDir := filepath.Join(w.dir, ".git")
	if r.Top != w.dir || r.GitDir != gitDir || r.CommonDir != gitDir || r.Index != filepath.Join(gitDir, "index") || r.Prefix != "" {
		t.Errorf("opened %+q", []string{r.Top, r.GitDir, r.CommonDir, r.Index, r.Prefix})
	}
	if r.StateDir() != filepath.Join(gitDir, "ralph") || r.Sprint() != filepath.Join(w.dir, ".sprint-state", "ralph-loop") {
		t.Errorf("folders %q %q", r.StateDir(), r.Sprint())
	}

	// Case D19: a sub-directory, and a linked worktree, whose .git is a file.
	sub := must[*Repo](t)(Open(t.Context(), filepath.Join(w.dir, "d", "e"), w.env))
	if sub.Top != w.dir || sub.Prefix != "d/e/" || sub.GitDir != gitDir {
		t.Errorf("in a sub-directory: %+q", []string{sub.Top, sub.GitDir, sub.Prefix})
	}
	linked := filepath.Join(t.TempDir(), "linked")
	w.git("worktree", "add", "-q", linked)
	l := must[*Repo](t)(Open(t.Context(), linked, w.env))
	if l.Top != linked || l.CommonDir != gitDir || l.GitDir != filepath.Join(gitDir, "worktrees", "linked") || l.Index != filepath.Join(l.GitDir, "index") {
		t.Errorf("in a linked worktree: %+q", []string{l.Top, l.GitDir, l.CommonDir, l.Index})
	}
	if branch := must[string](t)(l.Branch(t.Context())); branch != "refs/heads/linked" {
		t.Errorf("the linked worktree is on %q", branch)
	}
	other := must[*Repo](t)(r.Other(t.Context(), linked))
	if other.GitDir != l.GitDir {
		t.Errorf("another repository: %q", other.GitDir)
	}
}

// TestOpenInAHook: what git tells its hooks is honoured, relative paths and all. (GIT_INDEX_FILE differs from the
// worktree's index for "commit -a" and "commit -- path".)
func TestOpenInAHook(t *testing.T) {
	for _, args := range [][]string{{"commit", "-qm", "x"}, {"commit", "-qam", "x"}, {"commit", "-qm", "x", "--", "a"}} {
		w := newWork(t)
		w.write("a", "1\n")
		w.write("b", "1\n")
		w.commit("one")
		w.write("a", "2\n")
		w.write("b", "2\n")
		w.git("add", "b")
		if len(args) == 3 && args[1] == "-qm" {
			w.git("add", "a")
		}
		hook := filepath.Join(w.home, "hooks", "pre-commit")
		write(t, hook, "#!/bin/sh\nenv -0 >'"+w.home+"/env'\npwd >'"+w.home+"/pwd'\ncp \"$GIT_INDEX_FILE\" '"+w.home+"/index'\n")
		cmd := exec.Command("git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.splitIndex=false"}, args...)...)
		cmd.Dir, cmd.Env = w.dir, w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		raw := must[[]byte](t)(os.ReadFile(filepath.Join(w.home, "env")))
		var env []string
		index := ""
		for kv := range strings.SplitSeq(string(raw), "\x00") {
			if kv != "" {
				env = append(env, kv)
			}
			if value, ok := strings.CutPrefix(kv, "GIT_INDEX_FILE="); ok {
				index = value
			}
		}
		if index == "" {
			t.Fatal("git gave its hook no index")
		}
		if !filepath.IsAbs(index) {
			index = filepath.Join(w.dir, index)
		}
		// The index of that moment, put back for the question.
		data := must[[]byte](t)(os.ReadFile(filepath.Join(w.home, "index")))
		if err := os.WriteFile(index, data, 0o666); err != nil {
			t.Fatal(err)
		}
		r := must[*Repo](t)(Open(t.Context(), w.dir, env))
		if r.Index != index || r.Top != w.dir {
			t.Errorf("%s: index %q, want %q; top %q", args, r.Index, index, r.Top)
		}
		if got, want := must[string](t)(r.IndexTree(t.Context())), w.git("rev-parse", "HEAD^{tree}"); got != want {
			t.Errorf("%s: the hook saw the tree %s, %s was committed", args, got, want)
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	w := newWork(t)
	bare := filepath.Join(t.TempDir(), "bare.git")
	w.git("init", "-q", "--bare", bare)
	for name, c := range map[string]struct {
		dir, want string
		env       []string
	}{
		"no repository":  {t.TempDir(), "not in a git repository", w.env},
		"bare":           {bare, "bare repository", w.env},
		"git directory":  {filepath.Join(w.dir, ".git"), "not in a worktree", w.env},
		"no such folder": {filepath.Join(w.dir, "absent"), "absent", w.env},
	} {
		_, err := Open(t.Context(), c.dir, append(c.env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir)))
		if err == nil || !strings.Contains(err.Error(), c.want) || exit.Code(err) != exit.Error {
			t.Errorf("%s: %v", name, err)
		}
		if exit.HintOf(err) == "" && name != "no such folder" {
			t.Errorf("%s: no hint", name)
		}
	}
	// git itself is looked up in our own PATH.
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), w.dir, w.env); err == nil || !strings.Contains(err.Error(), "git was not found") {
		t.Errorf("without git: %v", err)
	}
}

func TestErrors(t *testing.T) {
	r := newWork(t).open()
	_, err := r.Output(t.Context(), "-c", "core.x=y", "cat-file", "-t", "no-such-object")
	if CodeOf(err) != 128 || !strings.HasPrefix(err.Error(), "git cat-file: ") {
		t.Errorf("an unknown object: %v (%d)", err, CodeOf(err))
	}
	if _, err := r.Output(t.Context(), "rev-parse", "--verify", "--quiet", "nothing"); err == nil || err.Error() != "git rev-parse: exit code 1" {
		t.Errorf("a quiet failure: %v", err)
	}
	if CodeOf(nil) != 0 || CodeOf(errors.New("x")) != -1 {
		t.Error("CodeOf invents codes")
	}
}

// TestCancel: when the context ends, nothing of git or of what it started holds us up or lives on.
func TestCancel(t *testing.T) {
	w := newWork(t)
	r := w.open()
	w.git("config", "alias.hang", "!sleep 301 & echo $!; sleep 302")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	var out bytes.Buffer
	err := r.Porcelain(ctx, &out, "hang")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	pid := strings.TrimSpace(out.String())
	if pid == "" {
		t.Fatal("the alias printed no pid")
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(end) {
			t.Errorf("process %s lives", pid)
			break
		}
	}
}

// TestLeftBehind: a hook's background process that keeps the output open does not keep us.
func TestLeftBehind(t *testing.T) {
	w := newWork(t)
	r := w.open()
	write(t, filepath.Join(w.home, "hooks", "pre-commit"), "#!/bin/sh\necho from the hook\nsleep 8 &\n")
	begun := time.Now()
	var out bytes.Buffer
	if err := r.Porcelain(t.Context(), &out, "commit", "-q", "--allow-empty", "-m", "x"); err != nil {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
	if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("took %s", took)
	}
	if !strings.Contains(out.String(), "from the hook") {
		t.Errorf("the hook's output is lost: %q", out.String())
	}
}

// TestPorcelainIsTheUsers: hooks run, and the configuration is the user's own.
func TestPorcelainIsTheUsers(t *testing.T) {
	w := newWork(t)
	r := w.open()
	var out bytes.Buffer
	if err := r.Porcelain(t.Context(), &out, "-c", "core.fsmonitor=false", "commit", "-q", "--allow-empty", "-m", "x"); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if !strings.Contains(w.ran(), "pre-commit") {
		t.Error("the user's hook did not run")
	}
}

func TestStderrIsBounded(t *testing.T) {
	var keep tail
	for range 1000 {
		if n, err := keep.Write(bytes.Repeat([]byte("x"), 100)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = keep.Write([]byte("end"))
	if text := keep.String(); len(text) != 8<<10 || !strings.HasSuffix(text, "end") {
		t.Errorf("kept %d bytes", len(text))
	}
}

// TestEnvironment: the environment of a call names one repository, one index, and nothing that changes an answer.
func TestEnvironment(t *testing.T) {
	w := newWork(t)
	r := w.open("GIT_EXTERNAL_DIFF=/bin/false", "GIT_DIFF_OPTS=-u9", "GIT_NAMESPACE=x", "GIT_GLOB_PATHSPECS=1", "GIT_TRACE=0")
	index := filepath.Join(t.TempDir(), "index")
	top := t.TempDir()
	for name, c := range map[string]struct {
		repo *Repo
		want map[string]string
	}{
		"plain":        {r, map[string]string{"GIT_DIR": r.GitDir, "GIT_WORK_TREE": r.Top, "GIT_INDEX_FILE": r.Index}},
		"WithIndex":    {r.WithIndex(index), map[string]string{"GIT_DIR": r.GitDir, "GIT_WORK_TREE": r.Top, "GIT_INDEX_FILE": index}},
		"WithWorktree": {r.WithWorktree(top, index), map[string]string{"GIT_DIR": r.GitDir, "GIT_WORK_TREE": top, "GIT_INDEX_FILE": index}},
		"With":         {r.With("A=b").WithIndex(index), map[string]string{"GIT_DIR": r.GitDir, "A": "b", "GIT_INDEX_FILE": index}},
	} {
		seen := map[string]string{}
		for _, kv := range c.repo.environ {
			key, value, _ := strings.Cut(kv, "=")
			seen[key] = value
		}
		for key, value := range c.want {
			if seen[key] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, seen[key], value)
			}
		}
		for _, key := range []string{"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_NAMESPACE", "GIT_GLOB_PATHSPECS"} {
			if _, ok := seen[key]; ok {
				t.Errorf("%s: %s is left", name, key)
			}
		}
	}
	if r.Index == index || r.Top == top {
		t.Error("With... changed the repository itself")
	}
}
