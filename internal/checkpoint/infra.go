package checkpoint

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/testinfra"
	"ralph-loop/internal/workspace"
)

// maxInfraTries is how often an agent is dispatched for the infrastructure of one requirement: once, and two retries.
const maxInfraTries = 3

// infraLayers judge what was made: it fulfils the contract, nothing is weaker than before, and all tests are green, its
// own among them. L1b is asked here, since it does not count these lines for the requirement.
var infraLayers = []string{"L0", "L1b", "mocks", "integrity", "infra", "L1", "L2"}

// infraEvents are what can be said of the test infrastructure, and what is then recorded of it.
var infraEvents = map[string]struct {
	event  Event
	status string
}{
	"existing": {InfraExisting, "existing"}, "skipped": {InfraSkipped, "skipped"}, "needed": {InfraNeeded, ""},
	"ready": {InfraMade, "generated"}, "fallback": {InfraFallback, "fallback"}, "failed": {InfraFailed, ""},
}

// Infra records what was found of, or done for, the test infrastructure; for ready and fallback the gate must pass the
// index. Said again it changes nothing.
func (c *Checkpoint) Infra(ctx context.Context, id, word string) error {
	const couldNot = "its test infrastructure could not be made"
	e, ok := infraEvents[word]
	if !ok {
		return exit.Misuse("known are check, existing, skipped, needed, ready, fallback, failed", "%q is unknown", word)
	}
	if c.p == nil {
		return errNoRun()
	}
	if c.replayed(id, e.event) {
		return nil
	}
	r, _, err := c.current(c.p, id)
	switch {
	case err != nil:
		return err
	case r.Status != InfraDispatch || word == "needed":
		return c.recordInfra(ctx, id, word, "", couldNot)
	case word == "failed":
		_, err := c.giveUpInfra(ctx, id, couldNot)
		return err
	}
	tree, err := c.repo.IndexTree(ctx)
	if err != nil {
		return err
	}
	passed, why, err := c.judgeInfra(ctx, id, tree)
	if err != nil {
		return err
	}
	if !passed {
		return exit.Refuse("ralph-gate --req "+shellWord(id)+" run", "%s: the gate does not pass the test infrastructure:\n%s", id, strings.TrimSpace(why))
	}
	return c.keepInfra(ctx, id, word, tree)
}

// recordInfra moves the requirement. made is the commit that keeps what was made, reason why nothing was.
func (c *Checkpoint) recordInfra(ctx context.Context, id, word, made, reason string) error {
	e := infraEvents[word]
	return c.update(ctx, func(p *Progress) error {
		r, _, err := c.current(p, id)
		if err != nil {
			return err
		}
		if (word == "existing" || word == "skipped") && (r.Status == InProgress || r.Status == Retry) {
			return nil
		}
		if err := c.set(r, e.event); err != nil {
			return err
		}
		if e.status != "" {
			p.noteInfra(r, e.status)
		}
		r.Infra.Made, p.LastAttempt = made, nil
		if made != "" {
			p.Made = &MadeInfra{Commit: made, Req: id, Word: word}
		} else if word == "existing" {
			p.Made = nil
		}
		if r.Status == Blocked {
			r.Reason, r.Steps.Resolve = reason, r.Steps.after(c.stamp())
			if err := c.rebuildBlocks(p); err != nil {
				return err
			}
			c.noteBlocked(p, r)
		}
		return nil
	})
}

// noteInfra notes what is known of a requirement's infrastructure, and of the run's. What this run made, it says to its
// end, though the next requirement finds it there.
func (p *Progress) noteInfra(r *Requirement, status string) {
	r.Infra.Status = status
	if status != "existing" || p.Req.InfraStatus == "" || p.Req.InfraStatus == "skipped" {
		p.Req.InfraStatus = status
	}
}

// CheckInfra goes on with the test infrastructure of the requirement in work as far as it can without an agent: looks
// for it, judges what an agent made, takes the template. It gives where that led: existing, skipped, ready and fallback
// are good to go on with, "needed N" wants an agent's dispatch, the Nth, and another look, failed has blocked the
// requirement.
func (c *Checkpoint) CheckInfra(ctx context.Context, id string) (string, error) {
	if c.p == nil {
		return "", errNoRun()
	}
	r, _, err := c.current(c.p, id)
	if err != nil {
		return "", err
	}
	last := c.p.LastAttempt
	switch {
	case r.Status == InfraCheck:
		if why, err := c.refusedMessage(ctx, id); err != nil {
			return "", err
		} else if why != "" {
			return c.giveUpInfra(ctx, id, why)
		}
		return c.lookForInfra(ctx, id)
	case r.Status == InfraDispatch && r.Infra.Tries >= maxInfraTries:
		return c.fallback(ctx, id)
	case r.Status == InfraDispatch && last != nil && last.Req == id:
		if last.Aside {
			if _, err := c.putBackAttempt(ctx, last, filepath.Join(c.runDir(id), infraFolder(last.Number))); err != nil {
				return "", err
			}
		}
		return c.judgeDispatch(ctx, id, last)
	case r.Status == InfraDispatch:
		return c.nextDispatch(ctx, r)
	}
	for word, e := range infraEvents {
		if e.status != "" && e.status == r.Infra.Status {
			return word, nil
		}
	}
	return "skipped", nil // taken up before it was recorded
}

// contract is the project's, and what its baseline has of it.
func (c *Checkpoint) contract(ctx context.Context) (*testinfra.Contract, *testinfra.Helper, error) {
	tree := testinfra.InGit(ctx, c.repo, c.p.Baseline)
	contract, err := testinfra.Find(c.cfg.TestInfra, tree)
	if err != nil || contract == nil {
		return nil, nil, err
	}
	helper, err := contract.Look(tree)
	return contract, helper, err
}

func (c *Checkpoint) lookForInfra(ctx context.Context, id string) (string, error) {
	contract, helper, err := c.contract(ctx)
	if err != nil {
		return "", err
	}
	word := "needed"
	switch {
	case contract == nil:
		word = "skipped"
	case helper.Complete():
		word = "existing"
	default:
		// No commit of the loop's ever holds a user's untracked file: an agent would be paid for nothing.
		user, err := c.workspace().UserFiles(ctx)
		if err != nil {
			return "", err
		}
		for _, place := range contract.Places {
			if slices.Contains(user, place) {
				return c.giveUpInfra(ctx, id, fmt.Sprintf("its test infrastructure, %s, is there and not in git: git add and commit it", git.Quote(place)))
			}
		}
	}
	if err := c.Infra(ctx, id, word); err != nil || word != "needed" {
		return word, err
	}
	return c.nextDispatch(ctx, c.p.Find(id))
}

// nextDispatch asks for an agent, where nothing that was made earlier serves.
func (c *Checkpoint) nextDispatch(ctx context.Context, r *Requirement) (string, error) {
	if r.Infra.Tries == 0 {
		if word, err := c.useMadeInfra(ctx, r.ID); word != "" || err != nil {
			return word, err
		}
	}
	return needed(r.Infra.Tries + 1), nil
}

// infraFolder is the folder of a dispatch, beside those of the requirement's attempts.
func infraFolder(number int) string { return fmt.Sprintf("infra-%d", number) }

func needed(dispatch int) string { return fmt.Sprintf("needed %d", dispatch) }

// judgeDispatch holds what an agent made against the contract.
func (c *Checkpoint) judgeDispatch(ctx context.Context, id string, last *AttemptOutcome) (string, error) {
	digest := last.Digest
	if last.Changed {
		tree, err := c.repo.IndexTree(ctx)
		if err != nil {
			return "", err
		}
		passed, why, err := c.judgeInfra(ctx, id, tree)
		if err != nil {
			return "", err
		}
		if passed {
			c.say("%s: its test infrastructure is made, and all tests are green with it", id)
			return "ready", c.keepInfra(ctx, id, "ready", tree)
		}
		digest = why
	}
	if couldNotWork(last.Outcome) {
		// Made again, uncharged.
		if err := c.workspace().SetIndex(ctx, c.p.Baseline); err != nil {
			return "", err
		}
		return needed(last.Number), c.update(ctx, func(p *Progress) error {
			p.LastAttempt = nil
			return nil
		})
	}
	c.say("%s: test infrastructure, dispatch %d of %d failed: %s", id, last.Number, maxInfraTries, strings.TrimPrefix(firstLine([]byte(digest)), gate.DigestOpening))
	if err := c.writeDigest(infraDigest(id, last.Number), []byte(digest), c.reportedLearnings()); err != nil {
		return "", err
	}
	if err := c.workspace().SetIndex(ctx, c.p.Baseline); err != nil {
		return "", err
	}
	err := c.update(ctx, func(p *Progress) error {
		r, _, err := c.current(p, id)
		if err != nil {
			return err
		}
		r.Infra.Tries, p.LastAttempt = last.Number, nil
		return c.set(r, InfraNeeded)
	})
	if err != nil || last.Number < maxInfraTries {
		return needed(last.Number + 1), err
	}
	return c.fallback(ctx, id)
}

// judgeInfra asks the gate about a tree; why is the digest of its findings.
func (c *Checkpoint) judgeInfra(ctx context.Context, id, tree string) (passed bool, why string, err error) {
	v, err := c.judge(ctx, c.p.Baseline, tree, c.graph.Spec().Lookup(id), "", infraLayers)
	if err != nil {
		return false, "", err
	}
	if v.ExitCode() == exit.Error {
		return false, "", exit.Fail("ralph-gate --req "+shellWord(id)+" run", "%s: its test infrastructure cannot be judged:\n%s", id, strings.TrimSpace(v.Digest()))
	}
	return v.Passed(), v.Digest(), nil
}

// infraDigest is the file that says why a dispatch failed.
func infraDigest(id string, number int) string {
	return filepath.Join("digests", fmt.Sprintf("%s-infra-%d.txt", git.RefName(id), number))
}

// keepInfra records what was made, and keeps it under a ref so that no interruption pays for it twice. In the worktree it
// stays as work of the requirement, whose commit will hold it.
func (c *Checkpoint) keepInfra(ctx context.Context, id, word, tree string) error {
	ref, err := c.workspace().KeepTree(ctx, "infra", id, tree, c.p.Baseline, "the test infrastructure that was made for "+id)
	if err != nil {
		return err
	}
	made, err := c.repo.Commit(ctx, ref)
	if err != nil {
		return err
	}
	if err := c.recordInfra(ctx, id, word, made, ""); err != nil {
		return err
	}
	return c.workspace().SetIndex(ctx, c.p.Baseline)
}

// fallback lets the template take the place of what no agent could make.
func (c *Checkpoint) fallback(ctx context.Context, id string) (string, error) {
	failed := fmt.Sprintf("its test infrastructure could not be made in %d dispatches", maxInfraTries)
	if c.cfg.TestInfra.Fallback == "none" {
		return c.giveUpInfra(ctx, id, failed+", and test_infra.fallback is none")
	}
	contract, helper, err := c.contract(ctx)
	if err != nil {
		return "", err
	}
	if contract == nil {
		return c.giveUpInfra(ctx, id, failed)
	}
	baseline := testinfra.InGit(ctx, c.repo, c.p.Baseline)
	place, err := contract.Place(helper, baseline)
	if err != nil {
		return "", err
	}
	files, whyNot, err := contract.Template(place, baseline)
	if err != nil {
		return "", err
	}
	if whyNot != "" {
		return c.giveUpInfra(ctx, id, fmt.Sprintf("%s, and no template can take its place: %s: %s", failed, git.Quote(place), whyNot))
	}
	if err := c.setAside(ctx, id, failed); err != nil {
		return "", err
	}
	if inWay, err := c.writeNew(files); err != nil {
		return "", err
	} else if inWay != "" {
		return c.giveUpInfra(ctx, id, fmt.Sprintf("%s, and the template would overwrite %s, which is not in git", failed, git.Quote(inWay)))
	}
	tree, err := c.workspace().Tree(ctx, c.p.Baseline)
	if err != nil {
		return "", err
	}
	if err := c.workspace().SetIndex(ctx, tree); err != nil {
		return "", err
	}
	passed, why, err := c.judgeInfra(ctx, id, tree)
	if err != nil {
		return "", err
	}
	if !passed {
		return c.giveUpInfra(ctx, id, fmt.Sprintf("%s, and the template fails here: %s", failed, strings.TrimPrefix(firstLine([]byte(why)), gate.DigestOpening)))
	}
	c.say("warning: %s: %s; a template took its place: %s knows nothing of this project, look at it", id, failed, git.Quote(place))
	return "fallback", c.keepInfra(ctx, id, "fallback", tree)
}

// writeNew writes files that must not be there; inWay is what is.
func (c *Checkpoint) writeNew(files []testinfra.File) (inWay string, err error) {
	for _, f := range files {
		if inWay, err = c.workspace().InWay(f.Path); inWay != "" || err != nil {
			return inWay, err
		}
	}
	for _, f := range files {
		if err := (workspace.File{Data: f.Data, Mode: 0o644}).Put(filepath.Join(c.repo.Top, filepath.FromSlash(f.Path))); err != nil {
			return "", fmt.Errorf("write the template: %w", err)
		}
	}
	return "", nil
}

func (c *Checkpoint) giveUpInfra(ctx context.Context, id, reason string) (string, error) {
	if err := c.setAside(ctx, id, reason); err != nil {
		return "", err
	}
	c.say("%s is blocked: %s", id, reason)
	event := "failed"
	if r := c.p.Find(id); r.Status == InfraCheck {
		// Blocked before anything was dispatched.
		return event, c.Block(ctx, id, reason)
	}
	return event, c.recordInfra(ctx, id, event, "", reason)
}
