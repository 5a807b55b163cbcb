package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/learn"
	"ralph-loop/internal/run"
	"ralph-loop/internal/workspace"
)

// Begun marks that a program which changes the state has begun; ended takes the mark away. What a killed one has left locked
// is freed. The run lock must be held.
func (c *Checkpoint) Begun() (ended func(), err error) { return c.workspace().Begun() }

// SettleKilled ends what is left of an attempt whose program was killed, and puts in order what the attempt had
// changed; killed says that there was one. The run lock must be held.
func (c *Checkpoint) SettleKilled(ctx context.Context) (killed bool, err error) {
	g, err := c.workspace().Remembered()
	if g == nil || err != nil {
		return false, err
	}
	run.EndMarked(g.Marker)
	// The state as the attempt found it, not as it left it.
	if c.p, err = decode(g.Files[c.store.copy()].Data); err != nil {
		return false, fmt.Errorf("read the state before the killed attempt: %w", err)
	}
	if err := c.workspace().PutInOrder(ctx, g, c.orEmptied); err != nil {
		return false, fmt.Errorf("put the repository in order after a killed attempt: %w", err)
	}
	if c.p, err = c.store.Load(); err != nil {
		return false, err
	}
	return true, c.workspace().Forget()
}

// orEmptied are those of legitimate, and the files that the driver empties once an attempt has ended, or as it starts.
func (c *Checkpoint) orEmptied(was, now map[string]workspace.File) map[string]bool {
	ok := map[string]bool{}
	maps.Copy(ok, c.legitimate(was, now))
	sprint := c.repo.Sprint()
	for _, path := range []string{filepath.Join(sprint, "digest.txt"), filepath.Join(sprint, "verdict.json"), filepath.Join(c.repo.StateDir(), "unsettled")} {
		if f, there := now[path]; there && f.Mode.IsRegular() && !f.Unread && len(f.Data) == 0 {
			ok[path] = true
		}
	}
	return ok
}

// RestoreControl puts back what an attempt's tests did, while the gate ran them, to the files that steer the loop and are in
// no tree. The run lock must be held.
func (c *Checkpoint) RestoreControl(ctx context.Context) error {
	p, err := c.store.Load()
	if err != nil || p == nil {
		return nil // whoever needs the state says what is wrong with it
	}
	c.p = p
	return c.restoreControl(ctx)
}

// restoreControl is RestoreControl on the state that is loaded. Where the tree was given back what lies there is the user's.
func (c *Checkpoint) restoreControl(ctx context.Context) error {
	if c.p.Working() == "" || c.p.GivenBack {
		return nil
	}
	return c.workspace().RestoreControl(ctx)
}

// mostWrites is more than a state is written while an agent runs.
const mostWrites = 1 << 20

// legitimate are the state files that differ by what our own programs wrote meanwhile: a person may add a learning while
// an agent runs, which on.learned is then told, and nothing else may be another than it was.
func (c *Checkpoint) legitimate(was, now map[string]workspace.File) map[string]bool {
	history := filepath.Join(c.repo.Sprint(), learn.HistoryFile)
	logs := []string{c.store.path(), c.store.copy()}
	if !slices.ContainsFunc(append(logs, history), func(path string) bool { return !was[path].Same(now[path]) }) {
		return nil // the usual case: nothing has to be read
	}
	ok := map[string]bool{}
	for _, path := range logs {
		ok[path] = onlyLearned(was[path], now[path], was[history].Data, now[history].Data)
		ok[history] = (ok[history] || ok[path]) && !now[history].Unread // which learnings left the window a log shows
	}
	return ok
}

// onlyLearned reports whether a state became another by learnings that a person added.
func onlyLearned(was, now workspace.File, past, present []byte) bool {
	before, err1 := decode(was.Data)
	after, err2 := decode(now.Data)
	if err1 != nil || err2 != nil {
		return false
	}
	if grown := after.Serial - before.Serial; grown < 0 || grown > mostWrites {
		return false
	}
	if !learn.OnlyAdded(learn.Memory{Windows: &before.Learnings, History: past}, learn.Memory{Windows: &after.Learnings, History: present}) {
		return false
	}
	before.Serial, before.CheckpointAt, before.Learnings = after.Serial, after.CheckpointAt, after.Learnings
	for _, r := range before.Requirements {
		if same := after.Find(r.ID); same != nil && (same.OnLearned == called || strings.HasPrefix(same.OnLearned, notCalled)) {
			r.OnLearned = same.OnLearned
		}
	}
	a, err1 := encode(before)
	b, err2 := encode(after)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}
