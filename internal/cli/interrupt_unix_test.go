//go:build unix

package cli

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Ctrl-C ends a read from a terminal that nobody types into.
func TestOrderIsInterruptedWhileItReads(t *testing.T) {
	testInterrupt(t, "ralph-order", "check", "-")
}

// testInterrupt starts a program whose standard input stays open, interrupts it and expects 130 soon.
func testInterrupt(t *testing.T, program string, args ...string) {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(cmd.Environ(), repositoryVariable+"="+repository)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It reads in blocks: once a pipe's worth is written it has begun to read, and so to listen for signals.
	if _, err := stdin.Write(make([]byte, 1<<17)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}
