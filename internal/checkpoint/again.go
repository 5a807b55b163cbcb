package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/workspace"
)

// An attempt whose agent had ended when the loop was interrupted is not made again: what it left is judged. The tree is
// cleaned all the same, since a start must see the user's own changes and files and nothing else, and so must the user's
// next "git commit -a"; the recorded tree, and not what lies there by then, is put back when the attempt is asked for. So is
// what an attempt had left that was judged and failed, for the next one to begin with: a start lays it out.

// PutAside leaves worktree and index as the user had them where the loop ends with a requirement in work: what it holds
// is kept under a ref, and the next start goes on with the requirement. The flags of the user's index are set again.
func (c *Checkpoint) PutAside(ctx context.Context) error {
	if c.p == nil || !c.p.open() {
		return nil
	}
	if branch, err := c.repo.Branch(ctx); err != nil || branch != c.p.Branch {
		return err // the next start says so
	}
	if c.p.Working() != "" {
		if err := c.settleWork(ctx, false); err != nil {
			return err
		}
	}
	return c.workspace().RestoreFlags(ctx)
}

// cleanTo is the workspace's CleanTo of the work in hand. Where it was cleaned as the loop stopped nothing is: what lies in
// the tree is the user's, for the next start to refuse or to leave alone.
func (c *Checkpoint) cleanTo(ctx context.Context, base, kind, id, why string, known ...string) (string, error) {
	if c.p.GivenBack {
		return "", nil
	}
	return c.workspace().CleanTo(ctx, base, kind, id, why, known...)
}

// endedAttempt is the attempt of r that ended and was not judged, or nil where there is none, or where its work stands
// on another commit or text than those that hold now.
func (c *Checkpoint) endedAttempt(ctx context.Context, r *Requirement, head string) *AttemptOutcome {
	last := c.p.LastAttempt
	number := r.Attempts + 1
	if r.Status == InfraDispatch {
		number = r.Infra.Tries + 1
	}
	switch {
	case last == nil || last.Req != r.ID || last.Number != number || r.Status != InProgress && r.Status != Retry && r.Status != InfraDispatch:
		return nil
	case !last.Changed || couldNotWork(last.Outcome) || head != c.p.Baseline:
		return nil
	}
	if req := c.graph.Spec().Lookup(r.ID); req == nil || req.Hash() != r.SpecHash {
		return nil
	}
	if tree, err := c.repo.Tree(ctx, c.p.LeftTree); err != nil || tree != c.p.LeftTree {
		return nil // somebody pruned what no ref holds
	}
	ended := *last
	ended.Aside = true
	return &ended
}

// keepLeft keeps what an attempt at r had left that was judged and failed, where no agent has worked on it since: the next
// attempt begins with it, once the tree was cleaned in between.
func (c *Checkpoint) keepLeft(ctx context.Context, r *Requirement) error {
	failed := r.Status == Retry || r.Status == InfraDispatch && r.Infra.Tries > 0
	untouched := c.replayed(r.ID, FailAgain, InfraNeeded) || c.p.Limit != nil && !c.p.Limit.Worked
	if !failed || !untouched || c.p.Left != "" {
		return nil
	}
	if tree, err := c.repo.Tree(ctx, c.p.LeftTree); err != nil || tree == "" || tree != c.p.LeftTree {
		return nil // somebody pruned what no ref holds
	}
	paths, err := c.repo.Changed(ctx, c.p.Baseline, c.p.LeftTree)
	if err != nil || len(withoutAgentsFile(paths)) == 0 {
		return err
	}
	ref, err := c.workspace().KeepTree(ctx, "left", r.ID, c.p.LeftTree, c.p.Baseline, "what the last attempt at "+r.ID+" left")
	if err != nil {
		return err
	}
	left, err := c.repo.Commit(ctx, ref)
	if err != nil {
		return err
	}
	c.say("%s: what its last attempt left is kept under %s, and the next one begins with it", r.ID, ref)
	return c.update(ctx, func(p *Progress) error {
		p.Left = left
		return nil
	})
}

// laidOut is the commit that a start lays out for r, or the baseline.
func (c *Checkpoint) laidOut(r *Requirement) string {
	return cmp.Or(c.p.Left, r.Infra.Made, c.p.Baseline)
}

// sayPutAside tells what becomes of the requirement in work as the tree is cleaned. ref holds what lay there that is not
// kept already, or is "". An attempt that ended is judged now, or at the next start.
func (c *Checkpoint) sayPutAside(ctx context.Context, r *Requirement, ended *AttemptOutcome, ref string, now bool) error {
	if ended != nil && (now || !c.p.LastAttempt.Aside) {
		what, when := "attempt", "at the next start"
		if r.Status == InfraDispatch {
			what = "test infrastructure, dispatch"
		}
		if now {
			when = "now"
		}
		c.say("%s: the agent had ended, and what %s %d left is judged %s", r.ID, what, ended.Number, when)
	}
	switch {
	case ref == "":
		return nil
	case ended == nil && c.p.Left == "":
		c.say("%s is in work: what its attempt had done, and anybody since, is kept under %s, and the same attempt begins again", r.ID, ref)
		return nil
	case ended != nil:
		since, err := c.repo.Changed(ctx, c.p.LeftTree, ref)
		if err != nil || len(withoutAgentsFile(since)) == 0 {
			return err
		}
	}
	c.say("%s: what was changed since then is not a part of it, and is kept under %s", r.ID, ref)
	return nil
}

// saySwept names the commit of the user's that took along what an attempt had left in the tree: after a kill nothing could
// put that aside, and "git commit -a" takes all that is staged.
func (c *Checkpoint) saySwept(ctx context.Context, r *Requirement, head string) error {
	if head == c.p.Baseline || c.p.LastAttempt == nil && r.Status != Retry {
		return nil
	}
	if tree, err := c.repo.Tree(ctx, c.p.LeftTree); err != nil || tree != c.p.LeftTree {
		return nil // nothing was left, or somebody pruned it
	}
	left, err := c.repo.Changed(ctx, c.p.Baseline, c.p.LeftTree)
	if err != nil {
		return err
	}
	other, err := c.repo.Changed(ctx, c.p.LeftTree, head)
	if err != nil {
		return err
	}
	swept := slices.DeleteFunc(withoutAgentsFile(left), func(path string) bool { return slices.Contains(other, path) })
	if len(swept) == 0 {
		return nil
	}
	commit, err := c.repo.Line(ctx, "rev-list", "-1", head, "^"+c.p.Baseline, "--", swept[0])
	if err != nil || commit == "" {
		return err
	}
	names := git.Quote(swept[0])
	if more := len(swept) - 1; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	takeBack := fmt.Sprintf("git revert %.12s", commit)
	if commit == head {
		takeBack = fmt.Sprintf("git reset %.12s~", commit)
	}
	c.say("warning: commit %.12s holds what the interrupted attempt at %s had left in the tree: %s; where that was not meant, '%s' takes it back", commit, r.ID, names, takeBack)
	return nil
}

// withoutAgentsFile leaves out AGENTS.md, which is the toolkit's to write.
func withoutAgentsFile(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { return p == agentsmd.Name })
}

// putBackAttempt puts the work of an attempt that was put aside back into the tree and the index, and its report back to
// its place. dir is the attempt's folder.
func (c *Checkpoint) putBackAttempt(ctx context.Context, last *AttemptOutcome, dir string) (*Attempted, error) {
	if err := c.checkBaseline(); err != nil {
		return nil, err
	}
	// From the tree that is there (a start brings the test infrastructure back) to the recorded one: a file of the user's
	// that appeared in the meantime is in the way, and not overwritten.
	there, err := c.workspace().Tree(ctx, c.p.Baseline)
	if err != nil {
		return nil, err
	}
	if err := c.workspace().SetIndex(ctx, there); err != nil {
		return nil, err
	}
	if _, err := c.repo.Output(ctx, "read-tree", "-m", "-u", there, c.p.LeftTree); err != nil {
		return nil, fmt.Errorf("put the work of attempt %d back: %w", last.Number, err)
	}
	if err := c.putBackReport(dir); err != nil {
		return nil, err
	}
	err = c.update(ctx, func(p *Progress) error {
		if p.GivenBack = false; p.LastAttempt != nil {
			p.LastAttempt.Aside = false
		}
		return nil
	})
	return &Attempted{Number: last.Number, Outcome: last.Outcome, Changed: true, Again: true, Log: filepath.Join(dir, logFile)}, err
}

func (c *Checkpoint) putBackReport(dir string) error {
	if err := os.RemoveAll(c.reportPath()); err != nil {
		return fmt.Errorf("take a report away: %w", err)
	}
	failpoint.Step("remove report.yaml")
	data, err := learn.ReadReport(filepath.Join(dir, workspace.ReportFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put the report back: %w", err)
	}
	return atomicfile.Write(c.reportPath(), data)
}
