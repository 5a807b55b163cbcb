package checkpoint

import (
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
)

// An attempt whose agent had ended when the loop was interrupted is not made again: what it left is judged. The tree is
// cleaned all the same, since a start must see the user's own changes and files and nothing else, and so must the user's
// next "git commit -a"; the recorded tree, and not what lies there by then, is put back when the attempt is asked for.

// PutAside leaves worktree and index as the user had them where the loop ends with a requirement in work: what it holds
// is kept under a ref, and the next start goes on with the requirement. With none in work it does nothing.
func (c *Checkpoint) PutAside(ctx context.Context) error {
	if c.p == nil || !c.p.open() || c.p.Working() == "" || c.p.LastAttempt != nil && c.p.LastAttempt.Aside {
		return nil
	}
	if branch, err := c.repo.Branch(ctx); err != nil || branch != c.p.Branch {
		return err // the next start says so
	}
	return c.settleWork(ctx, "at the next start")
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

// sayInterrupted tells what becomes of an interrupted requirement. ref holds what lay in the tree, or is ""; an attempt that
// ended is judged when that is said.
func (c *Checkpoint) sayInterrupted(ctx context.Context, id string, ended *AttemptOutcome, ref, when string) error {
	if ended == nil {
		if ref != "" {
			c.say("%s was interrupted; what its attempt had done, and anybody since, is kept under %s, and the same attempt begins again", id, ref)
		}
		return nil
	}
	what := "attempt"
	if c.p.Find(id).Status == InfraDispatch {
		what = "test infrastructure, dispatch"
	}
	c.say("%s was interrupted when its agent had ended: what %s %d left is judged %s", id, what, ended.Number, when)
	if ref == "" {
		return nil
	}
	since, err := c.changes(ctx, c.p.LeftTree, ref)
	if err == nil && len(withoutAgentsFile(since)) > 0 {
		c.say("%s: what was changed since then is not a part of it, and is kept under %s", id, ref)
	}
	return err
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
	left, err := c.changes(ctx, c.p.Baseline, c.p.LeftTree)
	if err != nil {
		return err
	}
	other, err := c.changes(ctx, c.p.LeftTree, head)
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
	c.say("warning: commit %.12s holds what the interrupted attempt at %s had left in the tree: %s; where that was not meant, 'git reset %.12s~' takes it off the branch", commit, r.ID, names, commit)
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
	user, err := c.userFiles(ctx)
	if err != nil {
		return nil, err
	}
	there, err := c.worktreeTree(ctx, c.p.Baseline, user)
	if err != nil {
		return nil, err
	}
	if err := c.setIndex(ctx, there); err != nil {
		return nil, err
	}
	if _, err := c.repo.Output(ctx, "read-tree", "-m", "-u", there, c.p.LeftTree); err != nil {
		return nil, fmt.Errorf("put the work of attempt %d back: %w", last.Number, err)
	}
	if err := c.putBackReport(dir); err != nil {
		return nil, err
	}
	err = c.update(ctx, func(p *Progress) error {
		if p.LastAttempt != nil {
			p.LastAttempt.Aside = false
		}
		return nil
	})
	return &Attempted{Number: last.Number, Outcome: last.Outcome, Changed: true, Again: true, Log: filepath.Join(dir, logFile)}, err
}

func (c *Checkpoint) putBackReport(dir string) error {
	if err := os.RemoveAll(c.ReportPath()); err != nil {
		return fmt.Errorf("take a report away: %w", err)
	}
	failpoint.Step("remove report.yaml")
	data, err := learn.ReadReport(filepath.Join(dir, reportFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("put the report back: %w", err)
	}
	return atomicfile.Write(c.ReportPath(), data)
}
