package checkpoint

import (
	"context"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Test infrastructure that was made and that no commit holds yet is paid for: the requirement that it was made for may be
// interrupted, or blocked for other reasons. It is brought back for that one, and used for the next.

// useMadeInfra takes what was made for a requirement that was then given up, if it serves here too: word is then what is
// recorded of it. It is judged anew, and forgotten where it does not serve.
func (c *Checkpoint) useMadeInfra(ctx context.Context, id string) (word string, err error) {
	made := c.p.Made
	if made == nil {
		return "", nil
	}
	tree, why, err := c.layMade(ctx, made.Commit)
	if err != nil {
		return "", err
	}
	if why == "" {
		passed, digest, err := c.judgeInfra(ctx, id, tree)
		if err != nil {
			return "", err
		}
		if passed {
			c.say("%s: the test infrastructure that was made for %s serves here too, and all tests are green with it", id, made.Req)
			return made.Word, c.keepInfra(ctx, id, made.Word, tree)
		}
		why = firstLine([]byte(digest))
		if _, err := c.cleanTo(ctx, c.p.Baseline, "leftover", id, "test infrastructure of "+made.Req+" that does not serve "+id); err != nil {
			return "", err
		}
	}
	c.say("%s: the test infrastructure that was made for %s does not serve here: %s", id, made.Req, why)
	return "", c.update(ctx, func(p *Progress) error {
		p.Made = nil
		return nil
	})
}

// restoreInfra brings what was made for an interrupted requirement back into the worktree, which is clean. Where the user
// has changed the same files since, theirs win, and the next attempt is told what is missing.
func (c *Checkpoint) restoreInfra(ctx context.Context) error {
	r := c.p.Find(c.p.Req.Current)
	if r == nil || !r.working() || r.Infra.Made == "" {
		return nil
	}
	_, why, err := c.layMade(ctx, r.Infra.Made)
	switch {
	case err != nil:
		return err
	case why == doesNotFit:
		c.say("warning: the test infrastructure that was made for %s does not fit what was committed since; it is kept under %s", r.ID, refFor(c.p.Run, "infra", r.ID))
		return nil
	case why != "":
		return exit.Refuse("move it away, or commit it", "the test infrastructure that was made for %s cannot be brought back: %s", r.ID, why)
	}
	return c.setIndex(ctx, c.p.Baseline)
}

// doesNotFit is why what was made cannot be laid where the same files were changed since.
const doesNotFit = "other files of those names were committed since"

// layMade lays what was made, a commit on its baseline, into the worktree and the index, which hold the present baseline,
// and gives the tree that they then are. why says what is in the way; nothing is changed then.
func (c *Checkpoint) layMade(ctx context.Context, made string) (tree, why string, err error) {
	head := c.p.Baseline
	private, done, err := c.privateIndex()
	if err != nil {
		return "", "", err
	}
	defer done()
	if there, err := c.repo.Commit(ctx, made); there == "" || err != nil {
		return "", "somebody has pruned it", err
	}
	if _, err := private.Output(ctx, "read-tree", "-i", "-m", "--aggressive", made+"^", head, made); err != nil {
		return "", "", err
	}
	tree, err = private.Line(ctx, "write-tree")
	if git.CodeOf(err) > 0 {
		return "", doesNotFit, nil
	}
	if err != nil {
		return "", "", err
	}
	// git would overwrite what it ignores.
	added, err := c.repo.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", head, tree)
	if err != nil {
		return "", "", err
	}
	for _, path := range nulList(added) {
		if inWay, err := c.inWay(path); inWay != "" || err != nil {
			return "", git.Quote(inWay) + " is there and not in git", err
		}
	}
	_, err = c.repo.Output(ctx, "read-tree", "-m", "-u", head, tree)
	return tree, "", err
}
