package checkpoint

import (
	"fmt"
	"os"

	"github.com/gofrs/flock"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/workspace"
)

// HoldRun makes sure that no other loop works in this worktree. Windows has no descriptor to inherit: each program
// holds the lock for its own time.
func (c *Checkpoint) HoldRun(bool) (release func(), err error) {
	if err := os.MkdirAll(c.repo.StateDir(), 0o777); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	l := flock.New(workspace.RunLockPath(c.repo))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the run: %w", err)
	}
	if !ok {
		return nil, exit.Refuse("wait for it, or end it", "another loop works in this worktree")
	}
	return func() { _ = l.Unlock() }, nil
}

// lockTells is false here: between two programs of a loop's nobody holds the lock.
const lockTells = false

func (c *Checkpoint) atWork() bool { return false }

// keepRun has nothing to do here: a file that is locked cannot be removed.
func (c *Checkpoint) keepRun() error { return nil }

// KeepLockPrivate has nothing to do here.
func KeepLockPrivate() {}
