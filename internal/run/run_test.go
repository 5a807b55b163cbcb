//go:build unix

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell runs a script and gives its end and what it printed.
func shell(t *testing.T, c Command, script string) (Ended, string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.Args = []string{"sh", "-c", script}
	c.Stdout = out
	if c.Env == nil {
		c.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	ended, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return ended, string(text)
}

// gone waits for the processes whose pids are in text, one a line, to be gone (or dead and unreaped).
func gone(t *testing.T, text string) {
	t.Helper()
	fields := strings.Fields(text)
	if len(fields) == 0 {
		t.Fatal("no pid was printed")
	}
	for _, f := range fields {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5 * time.Second); lives(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("process %d is alive", pid)
				return
			}
		}
	}
}

func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		script, why string
		code        int
	}{
		{"exit 0", Exited, 0},
		{"exit 7", Exited, 7},
		{"kill -9 $$", Signaled, 137},
		{"kill -15 $$", Signaled, 143},
	} {
		if ended, _ := shell(t, Command{}, c.script); ended.Why != c.why || ended.Code != c.code {
			t.Errorf("%s: %+v, want %s %d", c.script, ended, c.why, c.code)
		}
	}
}

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"no-such-program": 127, "./plain": 126, "plain": 126, "./absent": 127, ".": 126} {
		c := Command{Args: []string{name}, Dir: dir, Env: []string{"PATH=" + dir}}
		ended, err := c.Run(t.Context())
		if err != nil || ended.Why != NotFound || ended.Code != code {
			t.Errorf("%s: %+v, %v; want %d", name, ended, err, code)
		}
	}
	if _, err := (&Command{}).Run(t.Context()); err == nil {
		t.Error("an empty command was run")
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	begun := time.Now()
	ended, out := shell(t, Command{}, `sleep 300 & echo $!; (sleep 301 & echo $!)`)
	if ended.Why != Exited || ended.Code != 0 {
		t.Errorf("ended %+v", ended)
	}
	gone(t, out)
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestMarkerReachesAnotherSession(t *testing.T) {
	ended, out := shell(t, Command{ID: "test-" + t.Name() + strconv.Itoa(os.Getpid())}, `setsid sh -c 'echo $$; trap "" TERM; sleep 300; sleep 300' & sleep 0.3`)
	if ended.Why != Exited {
		t.Errorf("ended %+v", ended)
	}
	gone(t, out)
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits      Command
		script, why string
	}{
		"wall":              {Command{Timeout: 300 * time.Millisecond}, `echo $$; while :; do echo $$; sleep 0.05; done`, TimedOut},
		"idle":              {Command{Idle: 300 * time.Millisecond}, `echo $$; sleep 300`, IdledOut},
		"stubborn":          {Command{Timeout: 300 * time.Millisecond}, `trap "" TERM; echo $$; while :; do sleep 0.05; done`, TimedOut},
		"holds the output":  {Command{Timeout: 300 * time.Millisecond}, `sleep 300 & echo $!; sleep 300`, TimedOut},
		"busy is not idle":  {Command{Idle: 400 * time.Millisecond}, `for i in 1 2 3 4 5 6; do echo $$; sleep 0.15; done`, Exited},
		"within the limits": {Command{Timeout: time.Minute, Idle: time.Minute}, `echo $$`, Exited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			ended, out := shell(t, c.limits, c.script)
			if ended.Why != c.why {
				t.Errorf("ended %+v, want %s", ended, c.why)
			}
			gone(t, strings.Join(slices.Compact(strings.Fields(out)), " "))
			if took := time.Since(begun); took > 6*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestFloodIsStopped(t *testing.T) {
	ended, _ := shell(t, Command{Timeout: time.Minute}, `yes "$(head -c 100000 /dev/zero | tr '\0' x)"`)
	if ended.Why != Flooded {
		t.Errorf("ended %+v", ended)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	c := Command{Args: []string{"sleep", "300"}, Env: os.Environ()}
	ended, err := c.Run(ctx)
	if err != nil || ended.Why != Canceled || ended.Code != 143 {
		t.Errorf("%+v, %v", ended, err)
	}
}

func TestEnvironment(t *testing.T) {
	got := Environment([]string{"PATH=/bin", "GIT_DIR=x", "GIT_AUTHOR_NAME=y", "GIT_SSH_COMMAND=z", "GIT_CONFIG_GLOBAL=g", "GIT_CONFIG_COUNT=1", "FORCE_COLOR=1", Marker + "=old"}, "A=b")
	want := []string{"PATH=/bin", "GIT_SSH_COMMAND=z", "GIT_CONFIG_GLOBAL=g", "NO_COLOR=1", "A=b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
