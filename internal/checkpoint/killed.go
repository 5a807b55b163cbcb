package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
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
	if err := atomicfile.WritePrivate(g.c.guardPath(), data); err != nil {
		return fmt.Errorf("remember what to put back: %w", err)
	}
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
	if err := json.Unmarshal(data, &s); err != nil {
		return exit.Fail("look at what the attempt left, then remove that file", "%s, which says what a killed attempt must not have changed, is damaged: %w", c.guardPath(), err)
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
