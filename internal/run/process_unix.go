//go:build unix

package run

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// OwnSession makes cmd the leader of a new session: no terminal to ask questions on, one group to end.
func OwnSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// EndSession ends the session that cmd leads, at once.
func EndSession(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// endTree ends the group and session that pid led, and everything that carries the marker: first politely, then for
// good. exited delivers the leader's end where it still runs, else nil.
func endTree(pid int, id string, wait time.Duration, exited <-chan error) {
	if exited == nil && id == "" && syscall.Kill(-pid, 0) != nil {
		return // the usual end: the leader is gone and its group with it
	}
	send := func(s syscall.Signal) bool {
		left := belonging(pid, id)
		for _, p := range left {
			_ = syscall.Kill(p, s)
		}
		return len(left) > 0
	}
	// What a look met may have started another, and ended, behind the look's back: only several in a row tell that all
	// is over.
	none := func(s syscall.Signal) bool {
		for range 3 {
			if send(s) {
				return false
			}
			time.Sleep(time.Millisecond)
		}
		return true
	}
	alive := !none(syscall.SIGTERM)
	if !alive && exited == nil {
		return
	}
	for deadline := time.Now().Add(wait); alive && time.Now().Before(deadline); alive = len(belonging(pid, id)) > 0 {
		select {
		case <-exited:
			exited = nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	for range 100 {
		if none(syscall.SIGKILL) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if exited != nil {
		<-exited
	}
}

// shellCode is the exit code as a shell gives it.
func shellCode(state *os.ProcessState) int {
	if state == nil {
		return 0
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// lookPath finds a program as a shell in dir with that environment would.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	err := error(fs.ErrNotExist)
	for _, d := range filepath.SplitList(path) {
		if d == "" || !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		full := filepath.Join(d, name)
		e := executable(full)
		if e == nil {
			return full, nil
		}
		if os.IsPermission(e) {
			err = e
		}
	}
	return "", err
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}
