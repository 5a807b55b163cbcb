package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/spec"
)

// A sprint is one specification: a new one, in which no recorded text occurs, puts the old state into the archive.

// nextProgress is the state that the run begins or goes on with: the specification as it stands, and what is known of
// its requirements.
func (c *Checkpoint) nextProgress(ctx context.Context, o BeginOptions, head string, continued bool) (*Progress, error) {
	branch, err := c.repo.Branch(ctx)
	if err != nil {
		return nil, err
	}
	old := c.p
	if old != nil && len(old.Requirements) > 0 && !c.sameSprint(old) {
		if err := c.archive(old); err != nil {
			return nil, err
		}
		old, continued = nil, false
	}
	p := &Progress{Run: newRunID(c.now()), BaseCommit: head, Branch: branch, Baseline: head, MaxIterations: c.cfg.MaxIterations, Specification: c.specRel}
	if old == nil {
		// What a person told ralph-learn before the first run.
		w, err := learn.LoadStore(c.repo.Sprint())
		if err != nil {
			return nil, err
		}
		p.Learnings = *w
		c.rebuildLearnings(&p.Learnings)
		if err := c.refuseUnrecorded(ctx); err != nil {
			return nil, err
		}
		if c.p != nil {
			p.Events = c.p.Events // of the sprint before, still to be told
		}
	}
	if old != nil {
		p.Learnings, p.Serial, p.Events, p.Made = old.Learnings, old.Serial, old.Events, old.Made
	}
	if continued {
		*p = *old
		p.Specification = c.specRel
	}
	switch {
	case o.MaxIterations > 0:
		p.MaxIterations, p.MaxGiven = o.MaxIterations, true
	case continued && !p.MaxGiven:
		p.MaxIterations = max(c.cfg.MaxIterations, p.Iteration) // as ralph.yaml has it now
	}
	event := RunBegin
	if old != nil {
		p.Req.Status = old.Req.Status
	}
	if continued {
		event = RunContinue
	}
	if err := p.move(event); err != nil {
		return nil, err
	}
	if !continued {
		p.Req.Current = ""
	}
	p.Cost.Threshold = c.cfg.Cost.Threshold
	p.Order = c.graph.Order()
	if p.Requirements, err = c.reconcile(old, o, continued); err != nil {
		return nil, err
	}
	return p, nil
}

// sameSprint reports whether the state belongs to this specification: at least one recorded text is still in it.
func (c *Checkpoint) sameSprint(old *Progress) bool {
	hashes := map[string]bool{}
	for _, req := range c.graph.Spec().Requirements {
		hashes[req.Hash()] = true
	}
	for _, r := range old.Requirements {
		if hashes[r.SpecHash] {
			return true
		}
	}
	return false
}

// archive moves the state of another specification out of the way, under its run's name.
func (c *Checkpoint) archive(old *Progress) error {
	data, err := encode(old)
	if err != nil {
		return err
	}
	path := filepath.Join(c.repo.Sprint(), "progress-"+old.Run+".log")
	if err := atomicfile.Write(path, data); err != nil {
		return err
	}
	for _, path := range []string{c.store.path(), c.store.copy()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("archive the old state: %w", err)
		}
		failpoint.Step("archive the old state")
	}
	c.say("the specification is a new one: the old state is kept as %s", path)
	return nil
}

// reconcile gives the requirements of the specification with what is known of them. Done belongs to an id with its
// text: a done one whose text changed needs the user's word.
func (c *Checkpoint) reconcile(old *Progress, o BeginOptions, continued bool) ([]*Requirement, error) {
	var list []*Requirement
	var changed []string
	for _, id := range c.graph.Order() {
		req := c.graph.Spec().Lookup(id)
		hash := req.Hash()
		var r *Requirement
		if old != nil {
			r = old.Find(id)
		}
		if r == nil {
			list = append(list, c.fresh(id))
			continue
		}
		copied := *r
		r = &copied
		if !continued {
			r.Number = 0
		}
		if r.SpecHash != hash && r.Status == Done {
			switch {
			case o.RedoChanged:
				if err := c.set(r, Reopen); err != nil {
					return nil, err
				}
				r.Commit, r.Attempts, r.Digests, r.SpecHash, r.Steps, r.Gate, r.Reason = "", 0, nil, hash, Steps{}, "", ""
			case o.KeepChanged:
				r.SpecHash = hash
			default:
				changed = append(changed, id)
			}
		} else if r.SpecHash != hash {
			r.SpecHash = hash
		}
		// The user's word in the specification counts at any start.
		if word := c.fresh(id); word.Status != Pending && (r.Status == Pending || r.Status == Blocked) {
			r.Status, r.Reason, r.BlockedBy, r.Number, r.Since = word.Status, word.Reason, nil, 0, word.Since
		}
		list = append(list, r)
	}
	if len(changed) > 0 {
		return nil, exit.Refuse("'ralph-loop --redo-changed' does them again, 'ralph-loop --keep-changed' leaves them done", "the text of done requirements changed: %s", strings.Join(changed, ", "))
	}
	return list, nil
}

// fresh is a requirement of which nothing is recorded: done or skipped by the user's word alone.
func (c *Checkpoint) fresh(id string) *Requirement {
	req := c.graph.Spec().Lookup(id)
	r := &Requirement{ID: id, Status: Pending, SpecHash: req.Hash(), Since: c.stamp()}
	switch req.Status {
	case spec.Done:
		r.Status, r.Reason = Done, "done by the user's word in "+c.specRel
	case spec.Skipped:
		r.Status, r.Reason = Skipped, "skipped by the user's word in "+c.specRel
	}
	return r
}
