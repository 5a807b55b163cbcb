package run

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A process that forks and exits in turn is never where a look at /proc finds it. So this process adopts the orphans of a
// command that runs alone: whatever it starts, and wherever that goes, stays below us. Then the kernel itself says when
// nothing is left, since who has no child has no descendant.

// adopt makes orphans of what is started from now on children of this process. It is refused where there are children
// already, which could not be told from the orphans.
func adopt() bool {
	_, none := deadChild()
	return none && unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// release leaves orphans to init again.
func release() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }

// deadChild is a child that ended and that nobody has waited for, or 0. none says that there is no child, dead or alive.
func deadChild() (pid int, none bool) {
	const pidAt = 2 + unsafe.Sizeof(uintptr(0))/4 // behind three numbers, aligned as a pointer is
	var info unix.Siginfo
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil).(syscall.Errno)
	}
	return int((*[unsafe.Sizeof(info) / 4]int32)(unsafe.Pointer(&info))[pidAt]), err == unix.ECHILD
}

// mostReaped is how many dead orphans are waited for at a time, so that one which makes them on and on holds nobody up.
const mostReaped = 1 << 14

// reap waits for the orphans that ended. leader is the command itself as long as os/exec has yet to wait for it, else 0.
// none says that no child is left.
func reap(leader int) (none bool) {
	for range mostReaped {
		pid, none := deadChild()
		if none || pid == 0 || pid == leader {
			return none
		}
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
	return false
}

// stubborn is how long the descendants are killed before those that cannot be (another user's, or one that hangs in the
// kernel) are given up.
const stubborn = 5 * time.Second

// endDescendants ends all descendants of this process: first politely, then for good, until the kernel knows of none.
// exited delivers the end of the leader where it still runs, else nil.
func endDescendants(leader int, wait time.Duration, exited <-chan error) {
	if exited == nil {
		leader = 0
	}
	if leader == 0 && reap(leader) {
		return // the usual end
	}
	told := map[int]bool{}
	rounds := func(s syscall.Signal, every, limit time.Duration) (none bool) {
		for over := time.After(limit); ; {
			signalDescendants(s, told)
			select {
			case <-over:
				return false
			case <-exited:
				exited, leader = nil, 0
			case <-time.After(every):
			}
			if reap(leader) {
				return true
			}
			if s == syscall.SIGKILL {
				clear(told)
			}
		}
	}
	if rounds(syscall.SIGTERM, 10*time.Millisecond, wait) {
		return
	}
	clear(told)
	rounds(syscall.SIGKILL, time.Millisecond, stubborn)
	if exited != nil {
		<-exited
	}
}

// signalDescendants sends s to each descendant that is not told yet, at the moment it is met: later it may be another. One
// whose parent has a higher number than itself may be missed; when its parent is gone it is our child.
func signalDescendants(s syscall.Signal, told map[int]bool) {
	ours := map[int]bool{os.Getpid(): true}
	for pid, p := range processes() {
		if !ours[p.parent] {
			continue
		}
		ours[pid] = true
		if !told[pid] {
			_ = syscall.Kill(pid, s)
			told[pid] = true
		}
	}
}
