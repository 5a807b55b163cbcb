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
		if _, err := c.workspace().CleanTo(ctx, c.p.Baseline, "leftover", id, "test infrastructure of "+made.Req+" that does not serve "+id); err != nil {
			return "", err
		}
	}
	c.say("%s: the test infrastructure that was made for %s does not serve here: %s", id, made.Req, why)
	return "", c.update(ctx, func(p *Progress) error {
		p.Made = nil
		return nil
	})
}

// layOut brings back into the worktree, which is clean, what the next attempt at an interrupted requirement begins with:
// what the one before had left, which failed, or else the test infrastructure that was made. Where the user has changed the
// same files since, theirs win; what is gone is forgotten.
func (c *Checkpoint) layOut(ctx context.Context) error {
	r := c.p.Find(c.p.Req.Current)
	if r == nil || !r.working() {
		return nil
	}
	if left := c.p.Left; left != "" {
		tree, why, err := c.lay(ctx, left, "what the last attempt at "+r.ID+" left", c.workspace().Ref("left", r.ID))
		if err != nil {
			return err
		}
		err = c.update(ctx, func(p *Progress) error {
			if p.LeftTree = tree; why != "" {
				p.Left = ""
			}
			return nil
		})
		if err != nil || why == "" {
			return err
		}
	}
	made := r.Infra.Made
	if made == "" {
		return nil
	}
	_, why, err := c.lay(ctx, made, "the test infrastructure that was made for "+r.ID, c.workspace().Ref("infra", r.ID))
	if err != nil || why != pruned {
		return err
	}
	return c.update(ctx, func(p *Progress) error {
		p.Find(r.ID).Infra.Made = ""
		if p.Made != nil && p.Made.Commit == made {
			p.Made = nil
		}
		return nil
	})
}

// lay is layMade for what is called so and kept under ref, but leaves the index at the baseline. why is doesNotFit or pruned,
// of which a warning tells; anything else in the way is refused.
func (c *Checkpoint) lay(ctx context.Context, commit, called, ref string) (tree, why string, err error) {
	tree, why, err = c.layMade(ctx, commit)
	switch {
	case err != nil:
		return "", "", err
	case why == doesNotFit:
		c.say("warning: %s does not fit what was committed since; it is kept under %s", called, ref)
	case why == pruned:
		c.say("warning: %s is gone: %s", called, why)
	case why != "":
		return "", "", exit.Refuse("move it away, or commit it", "%s cannot be brought back: %s", called, why)
	default:
		return tree, "", c.workspace().SetIndex(ctx, c.p.Baseline)
	}
	return "", why, nil
}

// Why what was made, or left, cannot be laid out: the same files were changed since, or nothing holds it any more.
const (
	doesNotFit = "other files of those names were committed since"
	pruned     = "somebody has pruned it"
)

// merge is the tree of head with what commit changed on its parent. why is doesNotFit or pruned where there is none.
func (c *Checkpoint) merge(ctx context.Context, commit, head string) (tree, why string, err error) {
	private, done, err := c.repo.PrivateIndex()
	if err != nil {
		return "", "", err
	}
	defer done()
	if there, err := c.repo.Commit(ctx, commit); there == "" || err != nil {
		return "", pruned, err
	}
	if _, err := private.Output(ctx, "read-tree", "-i", "-m", "--aggressive", commit+"^", head, commit); err != nil {
		return "", "", err
	}
	tree, err = private.Line(ctx, "write-tree")
	if git.CodeOf(err) > 0 {
		return "", doesNotFit, nil
	}
	return tree, "", err
}

// layMade lays what was made, a commit on its baseline, into the worktree and the index, which hold the present baseline,
// and gives the tree that they then are. why says what is in the way; nothing is changed then.
func (c *Checkpoint) layMade(ctx context.Context, made string) (tree, why string, err error) {
	head := c.p.Baseline
	if tree, why, err = c.merge(ctx, made, head); why != "" || err != nil {
		return "", why, err
	}
	// git would overwrite what it ignores.
	added, err := c.repo.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", head, tree)
	if err != nil {
		return "", "", err
	}
	for _, path := range git.Records(added) {
		if inWay, err := c.workspace().InWay(path); inWay != "" || err != nil {
			return "", git.Quote(inWay) + " is there and not in git", err
		}
	}
	_, err = c.repo.Output(ctx, "read-tree", "-m", "-u", head, tree)
	return tree, "", err
}
