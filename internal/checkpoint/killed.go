package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// Begun marks that a program which changes the state has begun; ended takes the mark away. Where a mark is there already
// its program was killed, or a git of its was: the locks of git's that are not older than the mark are removed and named.
// The run lock must be held.
func (c *Checkpoint) Begun() (ended func(), err error) {
	mark := filepath.Join(c.repo.StateDir(), "begun")
	if _, err := os.Lstat(mark); err == nil {
		for _, note := range c.dropLocks(mark) {
			c.say("%s", note)
		}
		if err := os.Remove(mark); err != nil {
			return nil, fmt.Errorf("mark the beginning: %w", err)
		}
	}
	// It is the file's time that counts.
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return nil, fmt.Errorf("mark the beginning: %w", err)
	}
	failpoint.Step("write begun")
	return func() {
		if c.locked() {
			return
		}
		_ = os.Remove(mark)
		failpoint.Step("remove begun")
	}, nil
}

// locked reports whether a lock may be there that git takes for what we ask of it.
func (c *Checkpoint) locked() bool {
	if c.repo.CutShort() {
		return true
	}
	paths := []string{c.repo.Index, filepath.Join(c.repo.GitDir, "HEAD"), filepath.Join(c.repo.CommonDir, "packed-refs")}
	if head, err := os.ReadFile(paths[1]); err == nil {
		if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: "); ok {
			paths = append(paths, filepath.Join(c.repo.CommonDir, filepath.FromSlash(ref)))
		}
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Lstat(path + ".lock")
		return err == nil
	})
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
// changed; killed says that there was one. The run lock must be held.
func (c *Checkpoint) SettleKilled(ctx context.Context) (killed bool, err error) {
	data, err := os.ReadFile(c.guardPath())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read what to put back: %w", err)
	}
	var s savedGuard
	if err := json.Unmarshal(data, &s); err != nil {
		return false, exit.Fail("look at what the attempt left, then remove that file", "%s, which says what a killed attempt must not have changed, is damaged: %w", c.guardPath(), err)
	}
	run.EndMarked(s.Marker)
	g := &guard{c: c, refs: s.Refs, other: s.Other, files: map[string]keptFile{}}
	for path, f := range s.Files {
		g.files[path] = keptFile{f.Data, f.Mode, f.Unread}
	}
	// The state as the attempt found it, not as it left it.
	if c.p, err = decode(g.files[c.store.copy()].data); err != nil {
		return false, fmt.Errorf("read the state before the killed attempt: %w", err)
	}
	notes, err := g.putInOrder(ctx, s.Attempt)
	if err != nil {
		return false, fmt.Errorf("put the repository in order after a killed attempt: %w", err)
	}
	for _, note := range notes {
		c.say("put in order: %s", note)
	}
	if c.p, err = c.store.Load(); err != nil {
		return false, err
	}
	return true, c.forgetGuard()
}
