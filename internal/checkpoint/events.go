package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/notify"
	"ralph-loop/internal/run"
)

const (
	mostEvents = 200 // that wait for their commands
	mostTests  = 20  // that an event of a regression names
)

// note keeps an event in the state until the user's commands were told, if there are any. It is written with the change
// that it tells of: a crash can neither lose it nor tell of what never was.
func (c *Checkpoint) note(p *Progress, e notify.Event) {
	if len(notify.Commands(c.cfg.On, e.Kind)) == 0 {
		return
	}
	e.Version, e.At, e.Run = notify.Version, c.stamp(), p.Run
	if req := c.graph.Spec().Lookup(e.Req); req != nil {
		e.Title = excerpt.Line(req.Title, 200)
	}
	p.Events = append(p.Events, e)
	if over := len(p.Events) - mostEvents; over > 0 {
		p.Events = slices.Delete(p.Events, 0, over)
	}
}

func (c *Checkpoint) noteDone(p *Progress, r *Requirement) {
	c.note(p, notify.Event{Kind: notify.ReqDone, Req: r.ID, Attempt: r.Attempts, Commit: r.Commit, Gate: r.Gate, Tokens: r.Tokens,
		Text: fmt.Sprintf("%s is done: commit %s", oneLine(r.ID), short(r.Commit))})
}

// noteBlocked tells of a requirement that is given up. What waits behind it is named with it, not told by itself.
func (c *Checkpoint) noteBlocked(p *Progress, r *Requirement) {
	var waiting []string
	for _, other := range p.Requirements {
		if n := len(other.BlockedBy); n > 0 && other.BlockedBy[n-1] == r.ID {
			waiting = append(waiting, other.ID)
		}
	}
	c.note(p, notify.Event{Kind: notify.Blocked, Req: r.ID, Attempt: r.Attempts, Reason: r.Reason, Waiting: waiting,
		Text: fmt.Sprintf("%s is blocked: %s", oneLine(r.ID), oneLine(r.Reason))})
}

// noteRegression tells of an attempt that broke what worked.
func (c *Checkpoint) noteRegression(p *Progress, r *Requirement, attempt int, v *gate.Verdict) {
	if v == nil || v.Layer("L2") == nil {
		return
	}
	var tests []string
	for _, f := range v.Layer("L2").Findings {
		if f.Rule == "regression" {
			tests = append(tests, excerpt.Line(strings.Replace(f.String(), "regression: ", "", 1), 300))
		}
	}
	if len(tests) == 0 {
		return
	}
	what := "a test that passed before it"
	if len(tests) > 1 {
		what = fmt.Sprintf("%d tests that passed before it, first", len(tests))
	}
	c.note(p, notify.Event{Kind: notify.Regression, Req: r.ID, Attempt: attempt, Tests: tests[:min(len(tests), mostTests)],
		Text: fmt.Sprintf("attempt %d at %s broke %s: %s", attempt, oneLine(r.ID), what, tests[0])})
}

// endRun moves the run by an event after which it goes no further by itself, and notes that.
func (c *Checkpoint) endRun(p *Progress, e RunEvent) error {
	if err := p.move(e); err != nil {
		return err
	}
	n := notify.Counts(p.Counts())
	c.note(p, notify.Event{Kind: notify.Finished, Status: string(p.Req.Status), Counts: &n, Tokens: p.Cost.Cumulative,
		Text: fmt.Sprintf("the run is %s: %d of %d done, %d pending, %d blocked, %d skipped", runWord(p.Req.Status), n.Done, n.Total, n.Pending, n.Blocked, n.Skipped)})
	return nil
}

// Tell runs the user's commands for what happened since the last call. An event leaves the state when its commands have
// ended, however they ended; one whose commands were cut short is told again. The run lock must be held.
func (c *Checkpoint) Tell(ctx context.Context) error {
	if c.p == nil {
		return nil
	}
	watched, stop := run.WithParent(ctx)
	defer stop()
	for len(c.p.Events) > 0 {
		e := c.p.Events[0]
		problems, err := c.place().Tell(watched, notify.Commands(c.cfg.On, e.Kind), e)
		if err != nil {
			return err
		}
		for _, problem := range problems {
			c.say("warning: %s", problem)
		}
		if err := c.update(ctx, func(p *Progress) error {
			p.Events = p.Events[min(1, len(p.Events)):]
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checkpoint) place() notify.Place {
	return notify.Place{Dir: c.repo.Top, Environ: withoutToolkit(c.environ)}
}

// review asks the user's reviewers about a tree that the gate has passed. findings are theirs, for a learning; with
// on.review_blocks findings are an answer no, and a reviewer that failed is an error: nobody has reviewed.
func (c *Checkpoint) review(ctx context.Context, id, base, tree string) (findings string, err error) {
	commands := c.cfg.On.Review
	if len(commands) == 0 {
		return "", nil
	}
	before, err := c.workspace().Tree(ctx, base)
	if err != nil {
		return "", err
	}
	watched, stop := run.WithParent(ctx)
	defer stop()
	e := notify.Event{Version: notify.Version, Kind: notify.Review, At: c.stamp(), Run: c.p.Run, Req: id, Base: base, Tree: tree,
		Text: fmt.Sprintf("%s is green: git diff %.12s %.12s", oneLine(id), base, tree)}
	if req := c.graph.Spec().Lookup(id); req != nil {
		e.Title = excerpt.Line(req.Title, 200)
	}
	if r := c.p.Find(id); r != nil {
		e.Attempt = r.Attempts + 1
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return "", err
	}
	findings, problems, err := c.place().Ask(watched, commands, e, time.Duration(c.cfg.Agent.Timeout))
	if err != nil {
		return "", err
	}
	if err := c.undoReview(ctx, id, base, before, tree); err != nil {
		return "", err
	}
	if now, err := c.repo.Head(ctx); err != nil {
		return "", err
	} else if now != head {
		return "", exit.Fail(fmt.Sprintf("a review only looks; 'git reset --soft %.12s' takes its commit off the branch", head), "%s: on.review moved HEAD: nothing is committed on top of that", id)
	}
	for _, problem := range problems {
		c.say("warning: %s", problem)
	}
	switch {
	case !c.cfg.On.ReviewBlocks:
		return findings, nil
	case findings != "":
		return "", exit.Refuse("the next attempt is told", "%s: on.review has findings:\n%s", id, findings)
	case len(problems) > 0:
		return "", exit.Fail("mend the command, or set on.review_blocks to false; then start the loop again", "%s: nobody has reviewed it: %s", id, problems[0])
	}
	return "", nil
}

// undoReview puts back what a review changed in the worktree or the index: a review looks, and what is committed is what
// the gate judged.
func (c *Checkpoint) undoReview(ctx context.Context, id, base, before, tree string) error {
	after, err := c.workspace().Tree(ctx, base)
	if err != nil {
		return err
	}
	if after != before {
		ref, err := c.workspace().KeepTree(ctx, "review", id, after, base, "what on.review made of "+id)
		if err != nil {
			return err
		}
		c.say("warning: on.review changed files: they are put back, and what it made of them is kept under %s", ref)
		if err := c.workspace().SetIndex(ctx, after); err != nil {
			return err
		}
		if _, err := c.repo.Output(ctx, "read-tree", "--reset", "-u", before); err != nil {
			return err
		}
	}
	index, err := c.repo.IndexTree(ctx)
	if err == nil && index == tree {
		return nil
	}
	return c.workspace().SetIndex(ctx, tree)
}

// learnReview takes a review's findings in as one contextual learning.
func (c *Checkpoint) learnReview(p *Progress, r *Requirement, findings string) error {
	if findings == "" {
		return nil
	}
	past, _, err := learn.ReadHistory(c.repo.Sprint())
	if err != nil {
		return err
	}
	limits := learn.Limits{Window: c.cfg.Learn.Window, PromoteAt: c.cfg.Learn.PromoteAt}
	entry := learn.Entry{Text: "review: " + strings.Join(strings.FieldsFunc(findings, func(r rune) bool { return r == '\n' }), "; "), Kind: learn.Finding, Req: r.ID, Evidence: "on.review", Run: p.Run, Attempt: r.Attempts}
	outcome, expired, err := p.Learnings.Add(entry, past, limits, c.now())
	if err != nil {
		return err
	}
	if len(c.cfg.On.Learned) > 0 {
		p.Learnings.Announce(r.ID, outcome)
	}
	return learn.AppendHistory(c.repo.Sprint(), expired)
}
