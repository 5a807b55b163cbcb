//go:build unix

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/workspace"
)

// LockDescriptor is the file descriptor on which the driver holds the run lock open. A lock belongs to the open file
// and not to a process: it lives as long as the driver or one of our programs, and no longer.
const LockDescriptor = 9

// HoldRun makes sure that no other driver works in this worktree. With the driver's descriptor 9 the lock stays the
// driver's; without it this program holds the lock itself until release is called.
func (c *Checkpoint) HoldRun(begin bool) (release func(), err error) {
	f, err := c.openRunLock()
	if err != nil {
		return nil, err
	}
	release = func() { _ = f.Close() }
	fd, holder := int(f.Fd()), os.Getpid()
	inherited := sameFile(LockDescriptor, fd)
	switch {
	case inherited:
		fd, holder = LockDescriptor, os.Getppid()
	case isSignature(signedBy(LockDescriptor)):
		release()
		return nil, exit.Fail("start again: what is paid is not lost", "%s was removed while this loop worked, and another one may have begun", workspace.RunLockPath(c.repo))
	}
	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	for look := 0; look < 5 && errors.Is(err, syscall.EWOULDBLOCK); look++ {
		time.Sleep(10 * time.Millisecond) // somebody may only have looked: atWork
		err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		text := signedBy(int(f.Fd()))
		release()
		if text == "" {
			text = "who has not said its name"
		}
		return nil, exit.Refuse("wait for it, or end it; its attempt ends with it", "another loop works in this worktree: %s", text)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("lock the run: %w", err)
	}
	if begin || !inherited {
		c.signRunLock(f, holder)
	}
	return release, nil
}

// lockTells says that the lock is held as long as a loop is at work.
const lockTells = true

// atWork reports whether a loop, or a program that changes the state, works in this worktree, other than the driver that
// started this program.
func (c *Checkpoint) atWork() bool {
	f, err := os.Open(workspace.RunLockPath(c.repo))
	if err != nil {
		return false
	}
	defer f.Close()
	fd := int(f.Fd())
	if sameFile(LockDescriptor, fd) {
		return false
	}
	return errors.Is(syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

func (c *Checkpoint) openRunLock() (*os.File, error) {
	if err := os.MkdirAll(c.repo.StateDir(), 0o777); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	f, err := os.OpenFile(workspace.RunLockPath(c.repo), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the run lock: %w", err)
	}
	return f, nil
}

// keepRun makes sure, when an agent has ended, that the run lock is still this loop's. Where the agent has removed it and
// nobody has taken it since, it is held anew until this program ends: what is paid is recorded first.
func (c *Checkpoint) keepRun() error {
	f, err := c.openRunLock()
	if err != nil {
		return nil // nor has another loop opened it; whatever is in its way is put in order
	}
	fd := int(f.Fd())
	if sameFile(LockDescriptor, fd) || strings.HasPrefix(signedBy(fd), fmt.Sprintf("pid %d,", os.Getpid())) {
		return f.Close()
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		return exit.Fail("wait for it, or end it; then start again", "another loop has begun in this worktree meanwhile: %s", signedBy(fd))
	}
	c.held = f
	c.signRunLock(f, os.Getpid())
	return nil
}

// signRunLock says who has the lock, for messages alone; the lock itself is the kernel's.
func (c *Checkpoint) signRunLock(f *os.File, pid int) {
	text := fmt.Sprintf("pid %d, since %s\n", pid, c.stamp().Format("2006-01-02T15:04:05Z07:00"))
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(text), 0)
		failpoint.Step("write driver")
	}
}

// isSignature reports whether signRunLock wrote that: by it a driver's descriptor is told from any other that a program is
// started with.
func isSignature(line string) bool {
	return strings.HasPrefix(line, "pid ") && strings.Contains(line, ", since 20")
}

// signedBy is what an open file begins with, "" where nothing can be read.
func signedBy(fd int) string {
	var buf [128]byte
	n, err := syscall.Pread(fd, buf[:], 0)
	if err != nil || n <= 0 {
		return ""
	}
	line, _, _ := strings.Cut(string(buf[:n]), "\n")
	return line
}

func sameFile(a, b int) bool {
	var s, t syscall.Stat_t
	return syscall.Fstat(a, &s) == nil && syscall.Fstat(b, &t) == nil && s.Dev == t.Dev && s.Ino == t.Ino
}

// KeepLockPrivate keeps the run lock from whatever this process starts: an orphan of an agent's must not hold it.
func KeepLockPrivate() { syscall.CloseOnExec(LockDescriptor) }
