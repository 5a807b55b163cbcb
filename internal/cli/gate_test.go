package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestGateScripts(t *testing.T) { runScripts(t, "gate") }

// gateProject is a repository with one staged Go module whose only test starts a process and waits for it.
func gateProject(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	home := t.TempDir()
	tmp := t.TempDir()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "TMPDIR=" + tmp, "GOCACHE=" + strings.TrimSpace(string(goCache)),
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GIT_CONFIG_NOSYSTEM=1", repositoryVariable + "=" + repository, "STARTED=" + filepath.Join(home, "started")}
	if err := writeUserConfig(home); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.22\n",
		"a.go":   "package m\n\n// A is one.\nfunc A() int { return 1 }\n",
		"a_test.go": `package m

import (
	"os"
	"os/exec"
	"testing"
)

func TestA(t *testing.T) {
	if err := os.WriteFile(t.TempDir()+"/x", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	sleep := exec.Command("sleep", "617")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("STARTED"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sleep.Wait(); err != nil || A() != 1 {
		t.Fatal(err)
	}
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add ."} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	return dir, env
}

// waitFor polls until done, at most for 60 s: the first build may be slow.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// sleeping reports whether the process that the project's test starts still lives.
func sleeping(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(out, []byte("\nsleep 617\n"))
}

func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Objects may come: the judged tree is one. Logs may too.
		if p == filepath.Join(dir, ".git", "ralph") || p == filepath.Join(dir, ".git", "objects") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			data, err := os.ReadFile(p)
			b.WriteString(p + "\x00" + string(data) + "\x00")
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Case G31: a signal during the tests: 128+n, the children are gone, the worktree is as it was, no temporary file.
func TestGateIsInterrupted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		dir, env := gateProject(t)
		before := snapshotOf(t, dir)
		var stderr bytes.Buffer
		cmd := exec.Command("ralph-gate", "--only", "L2")
		cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the test has started", func() bool { _, err := os.Stat(valueOf(env, "STARTED")); return err == nil })
		begun := time.Now()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // its code says it
		if code := cmd.ProcessState.ExitCode(); code != 128+int(s) {
			t.Errorf("%v: exit code %d\n%s", s, code, stderr.Bytes())
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%v: took %s", s, took)
		}
		if sleeping(t) {
			t.Errorf("%v: the test's process lives on", s)
		}
		if after := snapshotOf(t, dir); after != before {
			t.Errorf("%v: the worktree, the index or the settings changed:\n%q\nbefore:\n%q", s, after, before)
		}
		for _, place := range []string{valueOf(env, "TMPDIR"), filepath.Join(valueOf(env, "XDG_CACHE_HOME"), "ralph", "*", "scratch", "*")} {
			if left, _ := filepath.Glob(filepath.Join(place, "*")); len(left) > 0 {
				t.Errorf("%v: left behind: %v", s, left)
			}
		}
	}
}

// A driver that was killed cannot end the gate: the gate sees that its parent is gone.
func TestGateEndsWithItsParent(t *testing.T) {
	dir, env := gateProject(t)
	cmd := exec.Command("sh", "-c", "ralph-gate --only L2 & wait")
	cmd.Dir, cmd.Env = dir, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the test has started", func() bool { _, err := os.Stat(valueOf(env, "STARTED")); return err == nil })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitFor(t, "the test's process ends", func() bool { return !sleeping(t) })
}

func valueOf(env []string, key string) string {
	return (&Process{Environ: env}).Getenv(key)
}
