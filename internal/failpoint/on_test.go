//go:build failpoint && unix

package failpoint

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// A step says its name and its number, and waits; whoever listens may kill meanwhile.
func TestStep(t *testing.T) {
	if os.Getenv(Variable) != "" {
		for _, what := range []string{"write a", "write b", "write a"} {
			Step(what)
		}
		fmt.Println("passed")
		os.Exit(0)
	}
	self := func(dir string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStep$")
		cmd.Env = append(os.Environ(), Variable+"="+dir)
		return cmd
	}
	dir := t.TempDir()
	if out, err := self(dir).CombinedOutput(); err != nil || string(out) != "passed\n" {
		t.Errorf("with nobody who listens: %v\n%s", err, out)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := self(dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{": write a\n", ": write b\n", ": write a #2\n"} {
		c, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(c).ReadString('\n')
		if pattern := fmt.Sprintf("^%d \\S+%s$", cmd.Process.Pid, regexp.QuoteMeta(want)); err != nil || !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("step %d: %q, %v; want %q", i, line, err, want)
		}
		if i == 2 {
			_ = cmd.Process.Kill()
		} else if _, err := c.Write([]byte("\n")); err != nil {
			t.Error(err)
		}
		defer c.Close()
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("killed at its last step: %v", err)
	}
}

func TestClock(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Variable, dir)
	noon := time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)
	now := Clock(func() time.Time { return noon })
	if got := now(); !got.Equal(noon) {
		t.Errorf("without a jump: %s", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "clock"), []byte("-24h\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := now(); !got.Equal(noon.AddDate(0, 0, -1)) {
		t.Errorf("a day back: %s", got)
	}
}
