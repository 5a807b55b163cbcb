package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/glob"
)

// Decisions are what a user can decide about a requirement.
var Decisions = []string{"skip", "manual", "retry", "stop", "rollback"}

// Decide carries out the user's decision about a requirement. to is a revision for rollback; "" is the last commit that
// the gate passed before the requirement was taken up.
func (c *Checkpoint) Decide(ctx context.Context, id, what, to string) error {
	if c.p == nil {
		return errNoRun()
	}
	if to != "" && what != "rollback" {
		return exit.Misuse("--to goes with rollback", "--to does not go with %s", what)
	}
	if err := c.resolveIntent(ctx); err != nil {
		return err
	}
	if what != "rollback" && c.replayed(id, Event("decide "+what)) {
		if what == "stop" {
			return c.workspace().RestoreFlags(ctx)
		}
		return nil
	}
	if what == "manual" || what == "stop" || what == "rollback" { // those that take the worktree for their own
		if err := c.refuseConflict(ctx, what); err != nil {
			return err
		}
	}
	switch what {
	case "skip":
		return c.release(ctx, id, DecideSkip, func(r *Requirement) {
			r.Reason = strings.TrimSuffix("skipped by the user: "+strings.TrimSpace(r.Reason), ": ")
		})
	case "retry":
		if word := c.fresh(id); word.Status != Pending {
			return exit.Refuse("take that out of it and commit that; then decide again", "%s says that %s is %s", c.specRel, id, word.Status)
		}
		return c.release(ctx, id, DecideRetry, func(r *Requirement) {
			r.Attempts, r.Timeouts, r.Reason, r.Retried = 0, 0, "", r.Tokens
		})
	case "manual":
		return c.workspace().WithFlags(ctx, func() error { return c.manual(ctx, id) })
	case "stop":
		return c.andFlags(ctx, func() error { return c.stop(ctx, id) })
	case "rollback":
		return c.andFlags(ctx, func() error { return c.rollback(ctx, id, to) })
	}
	return exit.Misuse("known are "+strings.Join(Decisions, ", "), "%q is no decision", what)
}

// andFlags does what ends the run, and gives the index its flags again: those that it has, and those that a killed loop took.
func (c *Checkpoint) andFlags(ctx context.Context, end func() error) error {
	if err := c.workspace().WithFlags(ctx, end); err != nil {
		return err
	}
	return c.workspace().RestoreFlags(context.WithoutCancel(ctx))
}

// release takes a blocked requirement, and with it the run, out of the block.
func (c *Checkpoint) release(ctx context.Context, id string, event Event, change func(*Requirement)) error {
	return c.update(ctx, func(p *Progress) error {
		r, _, err := c.entry(p, id)
		if err != nil {
			return err
		}
		if err := c.set(r, event); err != nil {
			return err
		}
		r.BlockedBy = nil
		change(r)
		return c.reopenRun(p)
	})
}

// reopenRun lets the run go on after a decision.
func (c *Checkpoint) reopenRun(p *Progress) error {
	if err := c.rebuildBlocks(p); err != nil {
		return err
	}
	p.AtOnce = 0 // what failed at once may be mended
	return p.move(RunDecide)
}

// manual takes the user's own fix, uncommitted or committed, for a blocked requirement. It is judged like any other
// work; red leaves everything as it is, files and index.
func (c *Checkpoint) manual(ctx context.Context, id string) error {
	r, _, err := c.entry(c.p, id)
	if err != nil {
		return err
	}
	probe := *r
	if err := probe.move(DecideManual); err != nil {
		return err
	}
	if err := c.refuseOtherBranch(ctx); err != nil {
		return err
	}
	stable, err := c.lastStable(ctx, "") // what was begun on may hold the fix
	if err != nil {
		return err
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	tree, err := c.workspace().TreeOfUser(ctx, head)
	if err != nil {
		return err
	}
	if err := c.refusePlan(ctx, id, head, tree); err != nil {
		return err
	}
	base, err := c.withPlan(ctx, stable, head)
	if err != nil {
		return err
	}
	staged, err := os.ReadFile(c.repo.Index)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the index: %w", err)
	}
	if err := c.workspace().SetIndex(ctx, tree); err != nil {
		return err
	}
	if _, err = c.commit(ctx, id, base, tree, DecideManual); err == nil || staged == nil {
		return err
	}
	// Where the commit was made all the same the index fits it.
	if now, headErr := c.repo.Head(context.WithoutCancel(ctx)); headErr == nil && now == head {
		err = errors.Join(err, c.workspace().PutIndex(staged))
	}
	return err
}

// plan are the files in which the user says what is to be done, relative to the worktree's top.
func (c *Checkpoint) plan() []string {
	paths := []string{config.File}
	if filepath.IsLocal(c.specRel) {
		paths = append(paths, c.specRel)
	}
	return paths
}

// refusePlan refuses a fix by hand beside which the plan is changed and not committed: it is no part of the fix, and the
// gate would take it for one.
func (c *Checkpoint) refusePlan(ctx context.Context, id, head, tree string) error {
	changed, err := c.repo.Changed(ctx, head, tree)
	if err != nil {
		return err
	}
	allowed := c.graph.Spec().Lookup(id).Allow
	for _, path := range c.plan() {
		if slices.Contains(changed, path) && !glob.Any(allowed, path) {
			return exit.Refuse("commit it on its own, or undo it; then decide again", "%s is changed and not committed: it is no part of the fix of %s", path, id)
		}
	}
	return nil
}

// withPlan is the commit to measure a fix by hand from: stable, with the specification and ralph.yaml as head has them.
// What the user has committed of those since is the user's to change, and no part of the fix.
func (c *Checkpoint) withPlan(ctx context.Context, stable, head string) (string, error) {
	list := func(rev string) ([]byte, error) {
		return c.repo.Output(ctx, append([]string{"ls-tree", "-z", "--full-tree", rev, "--"}, c.plan()...)...)
	}
	then, err := list(stable)
	if err != nil {
		return "", err
	}
	now, err := list(head)
	if err != nil || bytes.Equal(then, now) {
		return stable, err
	}
	private, done, err := c.repo.PrivateIndexOf(ctx, stable)
	if err != nil {
		return "", err
	}
	defer done()
	if _, err := private.Input(ctx, now, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := private.Line(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	return c.workspace().CommitTree(ctx, tree, stable, "The plan of a fix by hand")
}

// stop ends the run as partial. The requirement in work goes back to pending, its work is kept under a ref.
func (c *Checkpoint) stop(ctx context.Context, id string) error {
	if _, _, err := c.entry(c.p, id); err != nil {
		return err
	}
	if err := c.interruptCurrent(ctx, "stopped"); err != nil {
		return err
	}
	return c.update(ctx, func(p *Progress) error {
		c.event = eventOf(decideStop, id)
		return c.endRun(p, RunStop)
	})
}

// interruptCurrent puts the requirement in work, if there is one, back to pending and its work aside.
func (c *Checkpoint) interruptCurrent(ctx context.Context, kind string) error {
	current := c.p.Find(c.p.Req.Current)
	if current == nil || !current.working() {
		return nil
	}
	ref, err := c.cleanTo(ctx, c.p.Baseline, kind, current.ID, "what was left of "+current.ID+" as the run was "+kind)
	if err != nil {
		return err
	}
	if ref != "" {
		c.say("%s: its work is kept under %s", current.ID, ref)
	}
	return c.update(ctx, func(p *Progress) error {
		p.LastAttempt = nil
		return c.set(p.Find(current.ID), Interrupt)
	})
}

// rollback moves the branch back to the last stable version, or to an older one, and ends the run. What it undoes is
// kept under a ref; commits of others in between are never undone.
func (c *Checkpoint) rollback(ctx context.Context, id, to string) error {
	if _, _, err := c.entry(c.p, id); err != nil {
		return err
	}
	if err := c.refuseOtherBranch(ctx); err != nil {
		return err
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if c.replayed(id, backBy(to)) && head == c.p.Baseline {
		c.say("that is done already: HEAD is at %.12s; --to REV goes further back from there", head)
		return nil
	}
	target, err := c.lastStable(ctx, c.p.Gated)
	if err != nil {
		return err
	}
	if to != "" {
		if target, err = c.repo.Commit(ctx, to); err != nil {
			return err
		}
		if target == "" {
			return exit.Misuse("give a commit of the run", "--to %q names no commit", to)
		}
	}
	if head == target {
		c.say("there is no commit to undo: HEAD is at %.12s; --to REV goes further back", head)
		if c.p.Req.Status == Completed {
			return nil // and it is complete still
		}
	}
	undone, err := c.undoneBy(ctx, id, target, head)
	if err != nil {
		return err
	}
	if head != target {
		ref, err := c.workspace().KeepCommit(ctx, "rolled-back", id, head)
		if err != nil {
			return err
		}
		c.say("what is undone is kept under %s", ref)
	}
	err = c.update(ctx, func(p *Progress) error {
		p.Rollback = &Rollback{Req: id, Head: head, Target: target, To: to, Undone: undone}
		return nil
	})
	if err != nil {
		return err
	}
	return c.FinishRollback(ctx)
}

// FinishRollback carries out a rollback that was begun, also one that a crash cut short. Where the branch moved since
// it is given up: the user went on. The run lock must be held.
func (c *Checkpoint) FinishRollback(ctx context.Context) error {
	if c.p == nil || c.p.Rollback == nil {
		return nil
	}
	in := *c.p.Rollback
	branch, err := c.repo.Branch(ctx)
	if err != nil {
		return err
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if branch != c.p.Branch || head != in.Head && head != in.Target {
		c.say("the rollback to %.12s was cut short and the branch moved since: decide again", in.Target)
		return c.update(ctx, func(p *Progress) error {
			p.Rollback = nil
			return nil
		})
	}
	ref, err := c.workspace().CleanTo(ctx, head, "rolled-back-work", short(in.Target), "uncommitted work as the run was rolled back")
	if err != nil {
		return err
	}
	if ref != "" {
		c.say("uncommitted work is kept under %s", ref)
	}
	ref, err = c.workspace().MoveTo(ctx, head, in.Target, "in-the-way", short(in.Target), "what git did not track where the run was rolled back to has files")
	if err != nil {
		return err
	}
	if ref != "" {
		c.say("files that git does not track were where %.12s has some; they are kept under %s", in.Target, ref)
	}
	if err := c.repo.SetRef(ctx, "HEAD", in.Target, "ralph-checkpoint: rollback"); err != nil {
		return err
	}
	err = c.update(ctx, func(p *Progress) error {
		for _, id := range in.Undone {
			r := p.Find(id)
			if r == nil {
				continue
			}
			if err := c.set(r, Reopen); err != nil {
				return err
			}
			r.Commit, r.Gate, r.Attempts, r.Digests, r.Steps, r.Reason = "", "", 0, nil, Steps{}, ""
		}
		if r := p.Find(p.Req.Current); r != nil && r.working() {
			if err := c.set(r, Interrupt); err != nil {
				return err
			}
		}
		if err := c.unlearn(p, in.Undone); err != nil {
			return err
		}
		c.event = eventOf(backBy(in.To), in.Req)
		p.Baseline, p.LastAttempt, p.Rollback = in.Target, nil, nil
		if err := c.rebuildBlocks(p); err != nil {
			return err
		}
		return c.endRun(p, RunRollback)
	})
	if err != nil {
		return err
	}
	if in.Head != in.Target {
		c.say("rolled back: HEAD is at %.12s", in.Target)
	}
	return c.writeBaseline(in.Target)
}

// backBy is the event of a rollback: said again in the same words it is the same one, though the words may mean another
// commit by then.
func backBy(to string) Event {
	if to == "" {
		return decideBack
	}
	return decideBack + Event(" --to "+to)
}

// undoneBy are the requirements whose commits lie between target and head. A commit of anybody else's there refuses the
// rollback.
func (c *Checkpoint) undoneBy(ctx context.Context, asked, target, head string) (ids []string, err error) {
	below, err := c.repo.IsAncestor(ctx, target, head)
	if err != nil {
		return nil, err
	}
	if !below {
		return nil, exit.Refuse("give a commit of this branch", "%.12s is not below HEAD", target)
	}
	out, err := c.repo.Output(ctx, "rev-list", target+".."+head)
	if err != nil {
		return nil, err
	}
	byCommit := map[string]string{}
	for _, r := range c.p.Requirements {
		if r.Commit != "" && r.Status == Done {
			byCommit[r.Commit] = r.ID
		}
	}
	for commit := range strings.Lines(string(out)) {
		commit = strings.TrimSpace(commit)
		id, ours := byCommit[commit]
		if !ours {
			hint := fmt.Sprintf("'ralph-loop decide --to %.12s %s rollback' goes back as far as that", commit, operand(asked))
			if commit == head {
				hint = fmt.Sprintf("'git branch mine && git reset --keep %.12s~' moves it to a branch of its own; then decide again", commit)
			}
			return nil, exit.Refuse(hint, "commit %.12s lies between and is not the loop's", commit)
		}
		ids = append(ids, id)
	}
	if len(ids) > 0 {
		c.say("these become pending again: %s", strings.Join(ids, ", "))
	}
	return ids, nil
}

// Finish ends a run that has nothing left to do, and gives its status: completed, partial, blocked, or running where it
// was only interrupted (once: the user asked for one requirement).
func (c *Checkpoint) Finish(ctx context.Context) (RunStatus, error) {
	var status RunStatus
	err := c.update(ctx, func(p *Progress) error {
		status = p.Req.Status
		if !p.open() {
			return nil
		}
		if busy := p.Find(p.Req.Current); busy != nil && busy.working() {
			return exit.Refuse("'ralph-checkpoint decide "+operand(busy.ID)+" stop' ends the run all the same", "%s is in work", busy.ID)
		}
		counts := p.Counts()
		ready := c.graph.Ready(p.States())
		var event RunEvent
		switch {
		case counts.Done+counts.Skipped == counts.Total:
			event = RunComplete
		case p.Req.Status == RunBlocked:
			return nil
		case len(ready) == 0:
			event = RunBlock
		case p.Iteration >= p.MaxIterations:
			event = RunExhaust
		default:
			return nil
		}
		err := c.endRun(p, event)
		status = p.Req.Status
		return err
	})
	if err != nil {
		return status, err
	}
	if err := c.workspace().RestoreFlags(ctx); err != nil {
		return status, err
	}
	return status, c.keepMissingSummaries()
}

// short is the beginning of a hash for people.
func short(hash string) string { return fmt.Sprintf("%.10s", hash) }
