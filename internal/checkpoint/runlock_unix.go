//go:build unix

package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
)

// LockDescriptor is the file descriptor on which the driver holds the run lock open. A lock belongs to the open file
// and not to a process: it lives as long as the driver or one of our programs, and no longer.
const LockDescriptor = 9

func (c *Checkpoint) runLockPath() string { return filepath.Join(c.repo.StateDir(), "run.lock") }

// HoldRun makes sure that no other driver works in this worktree. With the driver's descriptor 9 the lock stays the
// driver's; without it this program holds the lock itself until release is called.
func (c *Checkpoint) HoldRun(begin bool) (release func(), err error) {
	if err := os.MkdirAll(c.repo.StateDir(), 0o777); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	f, err := os.OpenFile(c.runLockPath(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the run lock: %w", err)
	}
	release = func() { _ = f.Close() }
	fd, holder := int(f.Fd()), os.Getpid()
	inherited := sameFile(LockDescriptor, fd)
	if inherited {
		fd, holder = LockDescriptor, os.Getppid()
	}
	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	for look := 0; look < 5 && errors.Is(err, syscall.EWOULDBLOCK); look++ {
		time.Sleep(10 * time.Millisecond) // somebody may only have looked: atWork
		err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		who, _ := os.ReadFile(c.runLockPath())
		release()
		text := strings.TrimSpace(string(who))
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
		// Only for the message above; the lock itself is the kernel's.
		text := fmt.Sprintf("pid %d, since %s\n", holder, c.stamp().Format("2006-01-02T15:04:05Z07:00"))
		if err := f.Truncate(0); err == nil {
			_, _ = f.WriteAt([]byte(text), 0)
			failpoint.Step("write run.lock")
		}
	}
	return release, nil
}

// lockTells says that the lock is held as long as a loop is at work.
const lockTells = true

// atWork reports whether a loop, or a program that changes the state, works in this worktree, other than the driver that
// started this program.
func (c *Checkpoint) atWork() bool {
	f, err := os.Open(c.runLockPath())
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

func sameFile(a, b int) bool {
	var s, t syscall.Stat_t
	return syscall.Fstat(a, &s) == nil && syscall.Fstat(b, &t) == nil && s.Dev == t.Dev && s.Ino == t.Ino
}

// KeepLockPrivate keeps the run lock from whatever this process starts: an orphan of an agent's must not hold it.
func KeepLockPrivate() { syscall.CloseOnExec(LockDescriptor) }
