package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// OwnSession gives cmd a process group of its own.
func OwnSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// EndSession ends cmd.
func EndSession(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// endTree ends the process; Windows has no group to signal.
func endTree(pid int, _ string, _ time.Duration, exited <-chan error) {
	if exited == nil {
		return
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
	<-exited
}

func shellCode(state *os.ProcessState) int {
	if state == nil {
		return 0
	}
	return state.ExitCode()
}

func lookPath(name, dir string, _ []string) (string, error) {
	if strings.ContainsAny(name, `/\`) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return exec.LookPath(name)
}
