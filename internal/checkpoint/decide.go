package checkpoint

import (
	"context"
	"fmt"
	"strings"

	"ralph-loop/internal/exit"
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
	switch what {
	case "skip":
		return c.release(ctx, id, DecideSkip, func(r *Requirement) { r.Reason = "skipped by the user: " + strings.TrimSpace(r.Reason) })
	case "retry":
		return c.release(ctx, id, DecideRetry, func(r *Requirement) { r.Attempts, r.Timeouts, r.Reason = 0, 0, "" })
	case "manual":
		return c.manual(ctx, id)
	case "stop":
		return c.stop(ctx, id)
	case "rollback":
		return c.rollback(ctx, id, to)
	}
	return exit.Misuse("known are "+strings.Join(Decisions, ", "), "%q is no decision", what)
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
	if p.Req.Status == Completed {
		return nil
	}
	return p.move(RunDecide)
}

// manual takes the user's own fix, uncommitted or committed, for a blocked requirement. It is judged like any other
// work; red leaves everything as it is.
func (c *Checkpoint) manual(ctx context.Context, id string) error {
	r, _, err := c.entry(c.p, id)
	if err != nil {
		return err
	}
	probe := *r
	if err := probe.move(DecideManual); err != nil {
		return err
	}
	branch, err := c.repo.Branch(ctx)
	if err != nil {
		return err
	}
	if branch != c.p.Branch {
		return exit.Refuse(backTo(c.p), "the run works on %s, and %s is checked out", nameOf(c.p.Branch), nameOf(branch))
	}
	stable, err := c.lastStable(ctx)
	if err != nil {
		return err
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	user, err := c.userFiles(ctx)
	if err != nil {
		return err
	}
	tree, err := c.worktreeTree(ctx, head, user)
	if err != nil {
		return err
	}
	if err := c.setIndex(ctx, tree); err != nil {
		return err
	}
	if _, err := c.commit(ctx, id, stable, tree, DecideManual); err != nil {
		return err
	}
	return c.update(ctx, c.reopenRun)
}

// stop ends the run as partial. The requirement in work goes back to pending, its work is kept under a ref.
func (c *Checkpoint) stop(ctx context.Context, id string) error {
	if _, _, err := c.entry(c.p, id); err != nil {
		return err
	}
	if err := c.interruptCurrent(ctx, "stopped"); err != nil {
		return err
	}
	return c.update(ctx, func(p *Progress) error { return p.move(RunStop) })
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
	branch, err := c.repo.Branch(ctx)
	if err != nil {
		return err
	}
	if branch != c.p.Branch {
		return exit.Refuse(backTo(c.p), "the run works on %s, and %s is checked out", nameOf(c.p.Branch), nameOf(branch))
	}
	target, err := c.lastStable(ctx)
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
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	undone, err := c.undoneBy(ctx, target, head)
	if err != nil {
		return err
	}
	if head != target {
		ref, err := c.keepCommit(ctx, "rolled-back", id, head)
		if err != nil {
			return err
		}
		c.say("what is undone is kept under %s", ref)
	}
	ref, err := c.cleanTo(ctx, head, "rolled-back-work", id, "uncommitted work as the run was rolled back")
	if err != nil {
		return err
	}
	if ref != "" {
		c.say("uncommitted work is kept under %s", ref)
	}
	if _, err := c.repo.Output(ctx, "read-tree", "--reset", "-u", target); err != nil {
		return err
	}
	if err := c.repo.SetRef(ctx, "HEAD", target, "ralph-checkpoint: rollback"); err != nil {
		return err
	}
	return c.update(ctx, func(p *Progress) error {
		for _, id := range undone {
			r := p.Find(id)
			if err := c.set(r, Reopen); err != nil {
				return err
			}
			r.Commit, r.Gate, r.Attempts, r.Digests, r.Steps = "", "", 0, nil, Steps{}
		}
		if r := p.Find(p.Req.Current); r != nil && r.working() {
			if err := c.set(r, Interrupt); err != nil {
				return err
			}
		}
		p.Baseline, p.LastAttempt = target, nil
		if err := c.rebuildBlocks(p); err != nil {
			return err
		}
		return p.move(RunRollback)
	})
}

// undoneBy are the requirements whose commits lie between target and head. A commit of anybody else's there refuses the
// rollback.
func (c *Checkpoint) undoneBy(ctx context.Context, target, head string) (ids []string, err error) {
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
			return nil, exit.Refuse("move or revert it yourself first", "commit %.12s lies between and is not the loop's", commit)
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
			return exit.Refuse("'ralph-checkpoint decide "+busy.ID+" stop' ends the run all the same", "%s is in work", busy.ID)
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
		err := p.move(event)
		status = p.Req.Status
		return err
	})
	return status, err
}

// Recover makes the state anew: from the copy in the git directory where that is whole, else from the commits of the
// specification's requirements whose trailers hold. accept names requirements whose claims are believed although tree
// or text do not match any more.
func (c *Checkpoint) recoverFromTrailers(ctx context.Context, accept []string) (*Progress, []string, error) {
	head, err := c.repo.Head(ctx)
	if err != nil {
		return nil, nil, err
	}
	branch, err := c.repo.Branch(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := &Progress{Run: newRunID(c.now()), BaseCommit: head, Baseline: head, Branch: branch, MaxIterations: c.cfg.MaxIterations, Specification: c.specRel, Order: c.graph.Order()}
	claims, err := c.claims(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	var doubtful []string
	for _, id := range p.Order {
		req := c.graph.Spec().Lookup(id)
		r := &Requirement{ID: id, Status: Pending, SpecHash: req.Hash(), Since: c.stamp()}
		if cl, ok := claims[oneLine(id)]; ok {
			switch {
			case cl.doubt == "" && cl.hash == r.SpecHash, contains(accept, id):
				r.Status, r.Commit, r.Gate = Done, cl.commit, cl.gate
				r.Reason = "recovered from its commit"
			case cl.doubt == "":
				doubtful = append(doubtful, fmt.Sprintf("%s: its text changed since commit %.12s", id, cl.commit))
			default:
				doubtful = append(doubtful, fmt.Sprintf("%s: %s", id, cl.doubt))
			}
		}
		p.Requirements = append(p.Requirements, r)
	}
	return p, doubtful, nil
}

type claim struct{ commit, hash, gate, doubt string }

// claims are what the trailers of head's history say, the newest of an id first; a revert of it casts doubt.
func (c *Checkpoint) claims(ctx context.Context, head string) (map[string]claim, error) {
	out, err := c.repo.Output(ctx, "log", "-z", "--format=%H%x01%T%x01%B", head)
	if err != nil {
		return nil, err
	}
	claims, reverted := map[string]claim{}, map[string]bool{}
	for _, record := range nulList(out) {
		f := strings.SplitN(record, "\x01", 3)
		if len(f) != 3 {
			continue
		}
		for _, word := range strings.Fields(between(f[2], "This reverts commit ", "\n")) {
			reverted[strings.TrimSuffix(word, ".")] = true
		}
		t := trailersOf(f[2])
		id := t[TrailerReq]
		if _, known := claims[id]; id == "" || known {
			continue
		}
		cl := claim{commit: f[0], hash: t[TrailerHash], gate: t[TrailerGate]}
		switch {
		case reverted[f[0]]:
			cl.doubt = fmt.Sprintf("its commit %.12s was reverted", f[0])
		case t[TrailerTree] != f[1]:
			cl.doubt = fmt.Sprintf("commit %.12s has another tree than its trailer says: it was rebased, squashed or forged", f[0])
		}
		claims[id] = cl
	}
	return claims, nil
}

func between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, to)
	return rest
}

// trailersOf reads the last paragraph of a commit message.
func trailersOf(body string) map[string]string {
	body = strings.TrimRight(body, "\n")
	if i := strings.LastIndex(body, "\n\n"); i >= 0 {
		body = body[i+2:]
	}
	t := map[string]string{}
	for line := range strings.Lines(body) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(key, "Ralph-") {
			t[key] = value
		}
	}
	return t
}

// Recover makes the state usable again. A whole file or copy is taken as it is; else what the history proves. It gives
// a line about where the state came from, and the claims that it does not believe.
func (c *Checkpoint) Recover(ctx context.Context, accept []string) (source string, doubtful []string, err error) {
	for _, id := range accept {
		if c.graph.Spec().Lookup(id) == nil {
			return "", nil, exit.Misuse("'ralph-order list --all' shows the ids", "--accept %q is not in %s", id, c.specRel)
		}
	}
	unlock, err := c.store.lock(ctx)
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	file, fileData, fileErr := read(c.store.path())
	copied, copyData, copyErr := read(c.store.copy())
	var p *Progress
	switch {
	case fileErr == nil && file != nil && (copied == nil || file.Serial >= copied.Serial) && len(accept) == 0:
		p, source = file, "the state is whole"
	case copyErr == nil && copied != nil && len(accept) == 0:
		p, source = copied, "the copy in the git directory"
	default:
		if p, doubtful, err = c.recoverFromTrailers(ctx, accept); err != nil {
			return "", nil, err
		}
		source = "the commits of this branch"
		if copied != nil {
			p.Learnings = copied.Learnings
		}
	}
	// What is damaged is kept, for the curious.
	for name, data := range map[string][]byte{"progress.log": fileData, "copy-of-progress.log": copyData} {
		if len(data) == 0 || fileErr == nil && copyErr == nil {
			continue
		}
		tree, err := c.treeOfFor(ctx, p, map[string]keptFile{name: {data: data, mode: 0o644}})
		if err != nil {
			return "", nil, err
		}
		c.say("the damaged %s is kept under %s", name, tree)
	}
	if copied != nil && p.Serial < copied.Serial {
		p.Serial = copied.Serial
	}
	if err := p.move(RunRecover); err != nil {
		return "", nil, err
	}
	c.p = p
	if source == "the commits of this branch" {
		if err := c.gateRecovered(ctx, p); err != nil {
			return "", nil, err
		}
	}
	if err := c.rebuildBlocks(p); err != nil {
		return "", nil, err
	}
	if err := c.store.write(p); err != nil {
		return "", nil, err
	}
	return source, doubtful, c.checkBaseline()
}

func (c *Checkpoint) treeOfFor(ctx context.Context, p *Progress, files map[string]keptFile) (string, error) {
	c.p = p
	tree, err := c.treeOf(ctx, files)
	if err != nil {
		return "", err
	}
	return c.keepTree(ctx, "damaged", "progress", tree, "", "a damaged state")
}

// gateRecovered believes no claim on a tree that fails.
func (c *Checkpoint) gateRecovered(ctx context.Context, p *Progress) error {
	if p.Counts().Done == 0 {
		return nil
	}
	tree, err := c.repo.Tree(ctx, p.Baseline)
	if err != nil {
		return err
	}
	v, err := c.judge(ctx, p.Baseline, tree, nil, []string{"L1", "L2", "L3"})
	if err != nil {
		return fmt.Errorf("gate HEAD: %w", err)
	}
	if !v.Passed() {
		return exit.Refuse("mend HEAD first", "HEAD does not pass the gate, so no claim of its history is believed:\n%s", v.Digest())
	}
	return nil
}

// short is the beginning of a hash for people.
func short(hash string) string { return fmt.Sprintf("%.10s", hash) }
