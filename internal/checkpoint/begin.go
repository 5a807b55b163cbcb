package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/run"
)

// BeginOptions are the user's wishes at a start.
type BeginOptions struct {
	MaxIterations int    // 0: as configured
	Branch        string // make or insist on this branch; "": the one that is checked out
	Resume        bool   // there must be an open run
	RedoChanged   bool   // done requirements whose text changed become pending
	KeepChanged   bool   // they stay done
}

// Begin starts a run or continues the open one. Everything that would make the loop's work worthless is found here,
// before any agent is paid: a dirty tree, a branch that moved, a specification that changed, a red baseline. It gives
// the ids of requirements that are done or blocked and not settled, since a crash came between.
func (c *Checkpoint) Begin(ctx context.Context, o BeginOptions) (unsettled []string, err error) {
	if o.Resume && (c.p == nil || !c.p.open()) {
		return nil, exit.Refuse("start without --resume", "there is no open run to resume")
	}
	if err := c.refuseUnfinishedGit(ctx); err != nil {
		return nil, err
	}
	if err := c.store.sweep(ctx); err != nil {
		return nil, err
	}
	if c.p != nil {
		if err := c.checkBaseline(); err != nil {
			return nil, err
		}
	}
	continued := c.p != nil && c.p.open()
	if continued {
		if err := c.pickUp(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.refuseLinkedSpec(); err != nil {
		return nil, err
	}
	if err := c.refuseDirty(ctx); err != nil {
		return nil, err
	}
	if err := c.chooseBranch(ctx, o.Branch, continued && c.sameSprint(c.p)); err != nil {
		return nil, err
	}
	head, err := c.firstCommit(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.mustCommit(ctx, head); err != nil {
		return nil, err
	}
	p, err := c.nextProgress(ctx, o, head, continued)
	if err != nil {
		return nil, err
	}
	c.p = p
	p.Limit, p.AtOnce = nil, 0 // the user started it again: the agent may be mended
	if err := c.rebuildBlocks(p); err != nil {
		return nil, err
	}
	if continued {
		if err := c.overBudget(p); err != nil {
			return nil, err
		}
		c.warnOfLost(ctx, head)
	}
	if err := c.tryMessage(ctx); err != nil {
		return nil, err
	}
	if err := c.workspace().NoteUntracked(ctx); err != nil {
		return nil, err
	}
	if err := c.workspace().NoteControl(ctx); err != nil {
		return nil, err
	}
	if err := c.gateBaseline(ctx, head); err != nil {
		return nil, err
	}
	p.Gated = head
	if err := c.workspace().NoteFlags(ctx); err != nil {
		return nil, err
	}
	if err := c.saveBegin(ctx, p); err != nil {
		return nil, err
	}
	// Last of all: nobody may take it for the user's own files.
	err = c.layOut(ctx)
	if ctx.Err() != nil {
		after, stop := run.Longer(ctx, orderly)
		defer stop()
		err = cmp.Or(err, c.PutAside(after), context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	for _, r := range p.Requirements {
		done := r.Status == Done && r.Commit != "" && (r.Steps.Learnings.IsZero() || r.Steps.State.IsZero())
		failed := r.failed() && r.Attempts > 0 && r.Steps.Learnings.IsZero()
		if r.Number > 0 && (done || failed) {
			unsettled = append(unsettled, r.ID)
		}
	}
	return unsettled, nil
}

// warnOfLost names the requirements of the open run whose commits HEAD does not hold: the branch was reset or rewritten
// since. Of an ended run that says nothing: its commits may have been squashed.
func (c *Checkpoint) warnOfLost(ctx context.Context, head string) {
	for _, r := range c.p.Requirements {
		if r.Status != Done || r.Commit == "" {
			continue
		}
		if held, err := c.repo.IsAncestor(ctx, r.Commit, head); held || err != nil && git.CodeOf(err) < 0 {
			continue
		}
		c.say("warning: %s is done in commit %.12s, which HEAD does not hold; where its work is missing, 'git cherry-pick %.12s' brings it back", r.ID, r.Commit, r.Commit)
	}
}

// saveBegin writes the state that Begin made. The serial must not fall behind that of the file it replaces.
func (c *Checkpoint) saveBegin(ctx context.Context, p *Progress) error {
	err := c.store.Update(ctx, func(old *Progress) (*Progress, error) {
		if old != nil {
			p.Serial = old.Serial
		}
		p.GivenBack = false // it is about to be laid out, and worked on
		return p, nil
	})
	if err != nil {
		return err
	}
	return c.writeBaseline(p.Baseline)
}

// pickUp continues where an open run stopped: a commit that was made and not recorded is found, and the half-done work
// of an interrupted attempt is put aside.
func (c *Checkpoint) pickUp(ctx context.Context) error {
	if err := c.refuseOtherBranch(ctx); err != nil {
		return err
	}
	return c.settleWork(ctx, true)
}

// settleWork finds out what became of the requirement in work, and cleans the tree. now says that the work goes on at once.
func (c *Checkpoint) settleWork(ctx context.Context, now bool) error {
	// A git that was killed with the loop leaves its locks; a lock from before may be somebody else's.
	if c.p.Intent != nil || c.p.Working() != "" {
		if err := c.workspace().DropLocks(c.store.copy()); err != nil {
			return err
		}
	}
	if err := c.resolveIntent(ctx); err != nil {
		return err
	}
	r := c.p.Find(c.p.Req.Current)
	if r == nil || !r.working() {
		return nil
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if err := c.saySwept(ctx, r, head); err != nil {
		return err
	}
	ended := c.endedAttempt(ctx, r, head)
	if err := c.keepLeft(ctx, r); err != nil {
		return err
	}
	known := ""
	if laid := c.laidOut(r); laid != c.p.Baseline {
		if known, _, err = c.merge(ctx, laid, head); err != nil {
			return err
		}
	}
	// Somebody may have committed since: the tree to clean to is then that commit's.
	ref, err := c.cleanTo(ctx, head, "interrupted", r.ID, "an interrupted attempt at "+r.ID, known)
	if err != nil {
		return err
	}
	if err := c.sayPutAside(ctx, r, ended, ref, now); err != nil {
		return err
	}
	if head != c.p.Baseline {
		// What the user has committed of ralph.yaml, such as a higher budget, holds from this start on.
		cfg, err := gate.ReadConfig(ctx, c.repo, head, head, true)
		if err != nil {
			return err
		}
		cfg.Spec, c.cfg = c.cfg.Spec, cfg
	}
	moved := head != c.p.Baseline
	err = c.update(ctx, func(p *Progress) error {
		p.Baseline, p.LastAttempt, p.GivenBack = head, ended, true
		return nil
	})
	if err != nil || !moved {
		return err
	}
	return c.writeBaseline(head)
}

// refuseOtherBranch refuses where another branch than the run's is checked out.
func (c *Checkpoint) refuseOtherBranch(ctx context.Context) error {
	branch, err := c.repo.Branch(ctx)
	if err != nil || branch == c.p.Branch {
		return err
	}
	return exit.Refuse(backTo(c.p), "the run works on %s, and %s is checked out", nameOf(c.p.Branch), nameOf(branch))
}

func nameOf(ref string) string {
	if ref == "" {
		return "a detached HEAD"
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}

func backTo(p *Progress) string {
	back := "git switch " + shellWord(nameOf(p.Branch))
	if p.Branch == "" {
		back = "git checkout --detach " + p.Baseline
	}
	return back + ", or end the run: '" + stopCommand(p) + "'"
}

// stopCommand ends the run; which requirement it names is the same to it.
func stopCommand(p *Progress) string {
	id := p.Req.Current
	if id == "" && len(p.Order) > 0 {
		id = p.Order[0]
	}
	return "ralph-checkpoint decide " + operand(id) + " stop"
}

// refuseUnfinishedGit refuses a repository in the middle of a merge or the like, and a sparse checkout, where the files
// that are not there would look deleted.
func (c *Checkpoint) refuseUnfinishedGit(ctx context.Context) error {
	if name := c.workspace().Unfinished(); name != "" {
		return exit.Refuse("finish or abort it first", "git is in the middle of an operation (%s)", name)
	}
	sparse, err := c.repo.Line(ctx, "config", "--type=bool", "--default=false", "core.sparseCheckout")
	if err != nil {
		return err
	}
	if sparse == "true" {
		return exit.Refuse("git sparse-checkout disable", "this is a sparse checkout: files that are not there would be taken for deleted")
	}
	return nil
}

// refuseConflict is refuseUnfinishedGit, and refuses an index with conflicts too: files with the marks of both sides are
// nobody's fix. Those of a killed attempt are work like any other, to be put aside.
func (c *Checkpoint) refuseConflict(ctx context.Context, what string) error {
	if err := c.refuseUnfinishedGit(ctx); err != nil || what != "manual" && c.p.Working() != "" {
		return err
	}
	unmerged, err := c.repo.Unmerged(ctx)
	if err != nil || len(unmerged) == 0 {
		return err
	}
	return exit.Refuse("resolve it and git add it, or git checkout HEAD -- it", "a conflict is left at %s", git.Quote(unmerged[0]))
}

// refuseLinkedSpec refuses a specification that is a link or lies behind one: what git has by its name is no specification, and
// the file that it leads to is guarded by another name or none.
func (c *Checkpoint) refuseLinkedSpec() error {
	for i := range len(c.specRel) + 1 {
		if i < len(c.specRel) && c.specRel[i] != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(c.repo.Top, filepath.FromSlash(c.specRel[:i])))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		hint := "put the file itself there"
		if real, err := filepath.EvalSymlinks(filepath.Join(c.repo.Top, filepath.FromSlash(c.specRel))); err == nil {
			if rel, err := filepath.Rel(c.repo.Top, real); err == nil && filepath.IsLocal(rel) {
				hint = fmt.Sprintf("name the file itself in ralph.yaml: 'spec: %s'", filepath.ToSlash(rel))
			}
		}
		return exit.Fail(hint, "the specification %s is read through the link %s, and agents could turn it; no agent was called", git.Quote(c.specRel), git.Quote(c.specRel[:i]))
	}
	return nil
}

// refuseDirty refuses changes of tracked files, staged or not, and names them. Flags in the user's index that hide
// changes hide nothing here: the files are compared with HEAD on an index of our own.
func (c *Checkpoint) refuseDirty(ctx context.Context) error {
	base, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if base == "" {
		if base, err = c.repo.EmptyTree(ctx); err != nil {
			return err
		}
	}
	indexTree, err := c.repo.IndexTree(ctx)
	if git.CodeOf(err) > 0 {
		return exit.Fail("'git read-tree HEAD' makes it anew; the files stay as they are", "read the index: %w", err)
	}
	if err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	staged, err := c.repo.Changed(ctx, base, indexTree)
	if err != nil {
		return err
	}
	private, done, err := c.repo.PrivateIndexOf(ctx, base)
	if err != nil {
		return err
	}
	defer done()
	if _, err := private.Output(ctx, "add", "-u", "--", "."); err != nil {
		return err
	}
	tree, err := private.Line(ctx, "write-tree")
	if err != nil {
		return err
	}
	unstaged, err := c.repo.Changed(ctx, base, tree)
	if err != nil {
		return err
	}
	var lines []string
	for _, path := range staged {
		lines = append(lines, fmt.Sprintf("staged: %q", path))
	}
	for _, path := range unstaged {
		if !slices.Contains(staged, path) {
			lines = append(lines, fmt.Sprintf("changed: %q", path))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	flags, err := c.workspace().Flags(ctx)
	if err != nil {
		return err
	}
	hint := "commit or stash them: the loop commits whole trees"
	for _, path := range unstaged {
		if flag := flags[path]; len(flag) > 0 { // git says that there is nothing to commit
			hint = fmt.Sprintf("'git update-index --no-%s -- %s' has git see it; then %s", flag[0], shellWord(path), hint)
			break
		}
	}
	if more := len(lines) - 20; more > 0 {
		lines = append(lines[:20], fmt.Sprintf("and %d more", more))
	}
	return exit.Refuse(hint, "tracked files are changed:\n  %s", strings.Join(lines, "\n  "))
}

// chooseBranch makes the branch that the user wants the run on, or insists that it is checked out. A run that is
// continued stays where it began.
func (c *Checkpoint) chooseBranch(ctx context.Context, name string, continued bool) error {
	if name == "" {
		return nil
	}
	ref := "refs/heads/" + name
	branch, err := c.repo.Branch(ctx)
	if err != nil || branch == ref {
		return err
	}
	if _, err := c.repo.Output(ctx, "check-ref-format", "--branch", name); err != nil {
		return exit.Misuse("see git check-ref-format", "%q is no name for a branch", name)
	}
	if continued {
		return exit.Refuse("start without --branch, or end the run first: '"+stopCommand(c.p)+"'", "the open run works on %s, not on %s", nameOf(c.p.Branch), name)
	}
	there, err := c.repo.Commit(ctx, ref)
	if err != nil {
		return err
	}
	if there != "" {
		return exit.Refuse("git switch "+name, "the branch %q is there and is not checked out", name)
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if head != "" {
		if err := c.repo.SetRef(ctx, ref, head, "ralph-checkpoint: begin"); err != nil {
			return err
		}
	}
	// The new branch has HEAD's own tree: neither index nor files change.
	_, err = c.repo.Output(ctx, "symbolic-ref", "-m", "ralph-checkpoint: begin", "HEAD", ref)
	return err
}

// firstCommit gives HEAD; an unborn branch gets an empty commit, so that there is something to measure against.
func (c *Checkpoint) firstCommit(ctx context.Context) (string, error) {
	head, err := c.repo.Head(ctx)
	if err != nil || head != "" {
		return head, err
	}
	tree, err := c.repo.EmptyTree(ctx)
	if err != nil {
		return "", err
	}
	commit, err := c.repo.Line(ctx, "commit-tree", tree, "-m", "Begin")
	if err != nil {
		return "", exit.Fail("git config user.name and user.email say who commits", "make the first commit: %w", err)
	}
	c.say("the branch had no commit: an empty first one is made")
	return commit, c.repo.SetRef(ctx, "HEAD", commit, "ralph-checkpoint: begin")
}

// gateBaseline refuses to begin on a tree that fails: every attempt would be blamed for it.
func (c *Checkpoint) gateBaseline(ctx context.Context, head string) error {
	tree, err := c.repo.Tree(ctx, head)
	if err != nil {
		return err
	}
	empty, err := c.repo.EmptyTree(ctx)
	if err != nil || tree == empty {
		return err // nothing is there that could be broken
	}
	v, err := c.judge(ctx, head, tree, nil, "", []string{"L1", "L2", "L3"})
	if err != nil {
		return fmt.Errorf("gate the baseline: %w", err)
	}
	if v.Passed() {
		return nil
	}
	for _, l := range v.Layers {
		switch {
		case l.Result == gate.Error:
			for i := range v.Layers {
				if v.Layers[i].Advice == l.Advice {
					v.Layers[i].Advice = "" // the hint has it
				}
			}
			return exit.Fail(l.Advice, "the baseline cannot be judged: %s: %s\n%s", l.Name, l.Summary, strings.TrimSpace(v.Digest()))
		case l.Name == "L3" && l.Result == gate.Fail:
			return exit.Refuse("write the missing tests, or lower it: 'gate: {coverage: N}', or 'gate: {coverage: no-decrease}' in ralph.yaml",
				"the baseline's coverage is under the threshold, so no attempt could pass: %s", l.Summary)
		}
	}
	return exit.Refuse("mend it and commit, then start again: no agent was called", "the tree is red before the run:\n%s", strings.TrimSpace(v.Digest()))
}
