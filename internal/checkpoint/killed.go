package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/run"
)

// savedGuard is a guard on disk while its attempt runs: when this program is killed, the next one finds here what to
// put back, and which processes are still to be ended.
type savedGuard struct {
	Marker  string
	Attempt int
	Refs    map[string]string
	Other   map[string]bool
	Files   map[string]savedFile
}

type savedFile struct {
	Data   []byte
	Mode   fs.FileMode
	Unread bool
}

func (c *Checkpoint) guardPath() string { return filepath.Join(c.repo.StateDir(), "attempt.json") }

// save writes the guard down. It is only read by its owner, since git's settings may hold a password.
func (g *guard) save(marker string, attempt int) error {
	s := savedGuard{Marker: marker, Attempt: attempt, Refs: g.refs, Other: g.other, Files: map[string]savedFile{}}
	for path, f := range g.files {
		s.Files[path] = savedFile{f.data, f.mode, f.unread}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("remember what to put back: %w", err)
	}
	f, err := os.OpenFile(g.c.guardPath(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("remember what to put back: %w", err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("remember what to put back: %w", err)
	}
	failpoint.Step("write attempt.json")
	return nil
}

func (c *Checkpoint) forgetGuard() error {
	if err := os.Remove(c.guardPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what to put back: %w", err)
	}
	failpoint.Step("remove attempt.json")
	return nil
}

// SettleKilled ends what is left of an attempt whose program was killed, and puts in order what the attempt had
// changed. It does nothing where none was. The run lock must be held.
func (c *Checkpoint) SettleKilled(ctx context.Context) error {
	data, err := os.ReadFile(c.guardPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what to put back: %w", err)
	}
	var s savedGuard
	if json.Unmarshal(data, &s) != nil {
		return c.forgetGuard() // cut short: the agent was not called yet
	}
	run.EndMarked(s.Marker)
	g := &guard{c: c, refs: s.Refs, other: s.Other, files: map[string]keptFile{}}
	for path, f := range s.Files {
		g.files[path] = keptFile{f.Data, f.Mode, f.Unread}
	}
	// The state as the attempt found it, not as it left it.
	if c.p, err = decode(g.files[c.store.copy()].data); err != nil {
		return fmt.Errorf("read the state before the killed attempt: %w", err)
	}
	notes, err := g.putInOrder(ctx, s.Attempt)
	if err != nil {
		return fmt.Errorf("put the repository in order after a killed attempt: %w", err)
	}
	for _, note := range notes {
		c.say("put in order: %s", note)
	}
	if c.p, err = c.store.Load(); err != nil {
		return err
	}
	return c.forgetGuard()
}
