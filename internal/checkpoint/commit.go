package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/spec"
)

// The trailers of the loop's commits. They are claims: recover alone reads them, and checks them.
const (
	TrailerReq  = "Ralph-Req"
	TrailerTree = "Ralph-Tree"
	TrailerHash = "Ralph-Spec-Hash"
	TrailerGate = "Ralph-Gate"
	TrailerRun  = "Ralph-Run"
)

// hookTries is how often a commit is made anew because a hook rewrote files.
const hookTries = 2

// Pass commits the index as the requirement's work, if the gate passes that very tree, and marks it done.
func (c *Checkpoint) Pass(ctx context.Context, id string) (commit string, err error) {
	if c.replayed(id, Pass) {
		return c.p.Find(id).Commit, nil
	}
	r, err := c.attempted(id)
	if err != nil {
		return "", err
	}
	last := c.p.LastAttempt
	if last == nil || last.Req != id || last.Number != r.Attempts+1 {
		return "", noAttempt(r)
	}
	head, err := c.repo.Head(ctx)
	if err != nil {
		return "", err
	}
	if head != c.p.Baseline {
		return "", c.headMoved(id, c.p.Baseline, head)
	}
	tree, err := c.repo.IndexTree(ctx)
	if err != nil {
		return "", err
	}
	baseTree, err := c.repo.Tree(ctx, c.p.Baseline)
	if err != nil {
		return "", err
	}
	if tree == baseTree {
		return "", exit.Refuse("ralph-checkpoint fail "+operand(id), "%s: the index holds no change", id)
	}
	return c.commit(ctx, id, c.p.Baseline, tree, Pass)
}

// commit gates a tree for a requirement, commits it and records it as done by that event.
func (c *Checkpoint) commit(ctx context.Context, id, base, tree string, event Event) (string, error) {
	req, made := c.graph.Spec().Lookup(id), ""
	if event == Pass { // a fix by hand is counted whole
		made = c.p.Find(id).Infra.Made
	}
	parent, err := c.repo.Head(ctx)
	if err != nil {
		return "", err
	}
	for try := 0; ; try++ {
		v, err := c.judge(ctx, base, tree, req, made, nil)
		if err != nil {
			return "", err
		}
		if !v.Passed() {
			code := exit.Refuse
			if v.ExitCode() == exit.Error {
				code = exit.Fail
			}
			return "", code(fmt.Sprintf("ralph-gate --req %s run", shellWord(id)), "%s: the gate does not pass tree %.12s:\n%s", id, tree, strings.TrimSpace(v.Digest()))
		}
		findings := ""
		if event == Pass {
			if findings, err = c.review(ctx, id, base, tree); err != nil {
				return "", err
			}
		}
		// The gate and the reviewers took their time.
		if head, err := c.repo.Head(ctx); err != nil || head != parent {
			return "", cmp.Or(err, c.headMoved(id, parent, head))
		}
		message, err := c.message(ctx, req, tree, v)
		if err != nil {
			return "", err
		}
		intent := &Intent{Req: id, Parent: parent, Tree: tree, Message: message, Gate: v.Trailer(), Review: findings}
		err = c.update(ctx, func(p *Progress) error {
			if r := p.Find(id); r != nil {
				r.Steps.Regression = r.Steps.after(c.stamp())
			}
			p.Intent = intent
			return nil
		})
		if err != nil {
			return "", err
		}
		made, output, commitErr := c.gitCommit(ctx, intent)
		if commitErr != nil {
			// What no attempt can mend must not cost one.
			head, err := c.repo.Head(context.WithoutCancel(ctx))
			if err == nil && head != parent {
				err = exit.Fail("see whose commit it is, and start the loop again: it goes on from there", "HEAD moved from %.12s to %.12s while git committed: %w\n%s", parent, head, commitErr, output)
			}
			if err == nil && git.Locked(commitErr) {
				err = exit.Fail("see whether a git command still runs; if none does, remove that file", "%w", commitErr)
			}
			if err == nil {
				err = c.mustCommit(ctx, parent)
			}
			if err != nil {
				return "", c.dropIntent(ctx, fmt.Errorf("%s: %w", id, err))
			}
			if event == Pass {
				if err := c.blockRefused(ctx, id, parent, message); err != nil {
					return "", err
				}
			}
			return "", c.dropIntent(ctx, exit.Refuse("the hook's output goes into the retry", "%s: git did not commit: %w\n%s", id, commitErr, output))
		}
		madeTree, err := c.repo.Tree(ctx, made)
		if err != nil {
			return "", err
		}
		if madeTree == tree {
			if err := c.recordDone(ctx, intent, made, event); err != nil {
				return "", err
			}
			return made, c.afterHooks(ctx, id, made)
		}
		// A hook rewrote files: what is committed must be what was judged.
		if err := c.takeBack(ctx, id, parent, made); err != nil {
			return "", err
		}
		if try == hookTries {
			return "", c.dropIntent(ctx, exit.Refuse("let the hook check and not rewrite, or run the formatter before the loop", "%s: a commit hook rewrote files %d times", id, try+1))
		}
		c.say("%s: a commit hook rewrote files; the new tree is judged again", id)
		tree = madeTree
		if err := c.workspace().SetIndex(ctx, tree); err != nil {
			return "", err
		}
	}
}

// blockRefused blocks a requirement whose message the commit-msg hook refuses whatever is committed; the error then says so,
// with the code exit.Blocked. nil: it is the work that was refused.
func (c *Checkpoint) blockRefused(ctx context.Context, id, parent, message string) error {
	hook, err := c.findMessageHook(ctx)
	why := ""
	if err == nil {
		why, err = c.refusedAlone(ctx, hook, parent, message)
	}
	if err != nil {
		return c.dropIntent(ctx, fmt.Errorf("%s: %w", id, err))
	}
	if why == "" {
		return nil
	}
	err = c.update(ctx, func(p *Progress) error {
		p.Intent, p.MessageHook = nil, hook // it is asked before the next agent is paid
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Block(ctx, id, why); err != nil {
		return err
	}
	return &exit.Coded{Code: exit.Blocked, Hint: "mend that or the hook, then decide about it: 'ralph-checkpoint report' shows how", Err: fmt.Errorf("%s is blocked: %s", id, why)}
}

// mustCommit finds out whether git could make the user's commits if no hook objected: it knows the name to use, and it
// can sign where commit.gpgSign asks for that. The commit that it makes to see this belongs to no branch.
func (c *Checkpoint) mustCommit(ctx context.Context, parent string) error {
	args := []string{"commit-tree", parent + "^{tree}", "-p", parent, "-m", "Can this be committed?"}
	sign, err := c.repo.Line(ctx, "config", "--type=bool", "--get", "commit.gpgSign")
	if code := git.CodeOf(err); code != 0 && code != 1 {
		return fmt.Errorf("read commit.gpgSign: %w", err)
	}
	hint := "git config user.name and user.email say who commits"
	if sign == "true" {
		args = append(args, "-S")
		hint = "mend the signing, or turn it off here: git config commit.gpgSign false"
	}
	if _, err := c.patient().Line(ctx, args...); err != nil {
		return exit.Fail(hint, "git cannot commit here: %w", err)
	}
	return nil
}

// gitCommit commits the index with the user's hooks, and gives the commit and what was printed. A commit that was made
// although git reports a failure (a failing post-commit hook, a kill) counts.
func (c *Checkpoint) gitCommit(ctx context.Context, in *Intent) (commit, output string, err error) {
	file, done, err := tempFile("ralph-message-", []byte(in.Message))
	if err != nil {
		return "", "", err
	}
	defer done()
	var out bytes.Buffer
	err = c.patient().Porcelain(ctx, &bounded{&out, 64 << 10}, "-c", git.InUTF8, "commit", "--quiet", "--allow-empty", "--cleanup=whitespace", "-F", file)
	if errors.Is(err, context.DeadlineExceeded) {
		// It was ended with the hook or the signer that it waited for, and left its locks.
		if err := c.workspace().DropLocks(file); err != nil {
			return "", "", err
		}
	}
	after := context.WithoutCancel(ctx)
	commit, findErr := c.findCommit(after, in)
	if findErr == nil && commit == "" && err == nil {
		// A hook took the trailers out, and rewrote files.
		if parent, _ := c.repo.Commit(after, "HEAD^"); parent == in.Parent {
			commit, findErr = c.repo.Head(after)
		} else {
			err = errors.New("it is not on the branch")
		}
	}
	if findErr != nil {
		return "", "", findErr
	}
	if commit != "" {
		return commit, out.String(), nil
	}
	return "", clip(out.String(), maxDigest/2), err
}

// findCommit is the commit that was made for an intent, or "": the one on the intent's parent with the intent's tree,
// whoever has changed its message or committed on top of it since; else, where a hook rewrote files, the one that says so.
func (c *Checkpoint) findCommit(ctx context.Context, in *Intent) (string, error) {
	out, err := c.repo.Output(ctx, "rev-list", "--no-commit-header", "--format=%H %T %P", in.Parent+"..HEAD")
	if err != nil {
		return "", err
	}
	said := ""
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != in.Parent {
			continue
		}
		if f[1] == in.Tree {
			return f[0], nil
		}
		body, err := c.repo.Output(ctx, "log", "-1", "--format=%B", f[0])
		if err != nil {
			return "", err
		}
		if bytes.Contains(body, []byte(TrailerRun+": "+c.p.Run)) && bytes.Contains(body, []byte(TrailerTree+": "+in.Tree)) {
			said = f[0]
		}
	}
	return said, nil
}

// takeBack moves the branch back to parent from a commit of ours that was not judged. What others have committed on top of
// it, or made of it, is kept and named.
func (c *Checkpoint) takeBack(ctx context.Context, id, parent, made string) error {
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if head != made {
		if err := c.keepAndName(ctx, id, head); err != nil {
			return err
		}
	}
	return c.repo.SetRef(ctx, "HEAD", parent, "ralph-checkpoint: a hook rewrote files")
}

func (c *Checkpoint) keepAndName(ctx context.Context, id, commit string) error {
	ref, err := c.workspace().KeepCommit(ctx, "taken-back", id, commit)
	if err == nil {
		c.say("%s: commit %.12s holds what the gate has not judged; it is taken off the branch and kept under %s", id, commit, ref)
	}
	return err
}

// afterHooks sees to what the user's hooks did beside the commit. A commit on top of it stays where the gate passes it, or
// the loop ends. What they left in the worktree must not get into the next requirement's commit.
func (c *Checkpoint) afterHooks(ctx context.Context, id, made string) error {
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if head != made {
		tree, err := c.repo.Tree(ctx, head)
		if err != nil {
			return err
		}
		v, err := c.judge(ctx, made, tree, nil, "", []string{"L1", "L2", "L3"})
		if err != nil {
			return err
		}
		if !v.Passed() {
			return exit.Fail("mend it and commit, then start again", "%s is done, and commit %.12s on top of its own, a hook's or somebody's, does not pass:\n%s", id, head, strings.TrimSpace(v.Digest()))
		}
		c.say("%s: commit %.12s on top of its own, a hook's or somebody's, passes the gate and stays", id, head)
	}
	any, err := c.hasCommitHook(ctx)
	if err != nil || !any {
		return err
	}
	ref, err := c.workspace().CleanTo(ctx, head, "hook", id, "what a hook left in the worktree as "+id+" was committed")
	if err != nil || ref == "" {
		return err
	}
	left, err := c.repo.Changed(ctx, head, ref)
	if err != nil {
		return err
	}
	names := make([]string, min(len(left), 5))
	for i := range names {
		names[i] = git.Quote(left[i])
	}
	if more := len(left) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	c.say("%s: a hook, or somebody meanwhile, changed files that no commit holds: %s; they are taken out of the worktree and kept under %s", id, strings.Join(names, ", "), ref)
	return nil
}

// takeBackUnjudged takes off the branch what was committed for an intent with another tree: a hook rewrote files, or the
// user has changed the commit since. Where something was committed on top of it all stays: it is the user's by now.
func (c *Checkpoint) takeBackUnjudged(ctx context.Context, in *Intent, found string) error {
	head, err := c.repo.Head(ctx)
	if err != nil {
		return err
	}
	if head != found {
		c.say("warning: commit %.12s was made for %s, and the gate has not judged its tree; others were made on top of it, so it stays", found, in.Req)
		return nil
	}
	if err := c.keepAndName(ctx, in.Req, found); err != nil {
		return err
	}
	return c.repo.SetRef(ctx, "HEAD", in.Parent, "ralph-checkpoint: a commit that was not judged")
}

// headMoved is the end of the loop, with nothing charged, where somebody commits on its branch.
func (c *Checkpoint) headMoved(id, from, to string) error {
	return exit.Fail("start the loop again: it goes on from there", "HEAD moved from %.12s to %.12s while %s was in work; nothing is charged", from, to, id)
}

func (c *Checkpoint) dropIntent(ctx context.Context, cause error) error {
	err := c.update(ctx, func(p *Progress) error {
		p.Intent = nil
		return nil
	})
	if err != nil {
		return err
	}
	return cause
}

// recordDone marks the requirement of an intent done in the commit that was made for it.
func (c *Checkpoint) recordDone(ctx context.Context, in *Intent, commit string, event Event) error {
	return c.update(ctx, func(p *Progress) error {
		r, req, err := c.entry(p, in.Req)
		if err != nil {
			return err
		}
		if err := c.set(r, event); err != nil {
			return err
		}
		if event == Pass {
			r.Attempts++
		}
		r.Commit, r.Gate, r.Reason, r.SpecHash = commit, in.Gate, "", req.Hash()
		// A fix by hand need not hold what was made.
		if event == Pass && p.Made != nil && p.Made.Commit == r.Infra.Made {
			p.Made = nil
		}
		r.Infra.Made = ""
		r.Steps.Resolve = r.Steps.after(c.stamp())
		// What was settled as it was blocked is settled anew.
		r.Steps.Learnings, r.Steps.State = time.Time{}, time.Time{}
		p.Intent, p.LastAttempt = nil, nil
		if err := c.learnReview(p, r, in.Review); err != nil {
			return err
		}
		c.noteDone(p, r)
		if event == DecideManual {
			r.Reason = "fixed by hand"
			// Nothing is left to settle: no attempt made it, so no report tells of it.
			r.Steps.Learnings = r.Steps.after(c.stamp())
			r.Steps.State = r.Steps.Learnings
			return c.reopenRun(p)
		}
		return c.rebuildBlocks(p)
	})
}

// resolveIntent settles a commit that was about to be made when the program ended: it is looked for before anything
// else is done.
func (c *Checkpoint) resolveIntent(ctx context.Context) error {
	in := c.p.Intent
	if in == nil {
		return nil
	}
	found, err := c.findCommit(ctx, in)
	if err != nil {
		return err
	}
	if found != "" {
		tree, err := c.repo.Tree(ctx, found)
		if err != nil {
			return err
		}
		if tree != in.Tree {
			if err := c.takeBackUnjudged(ctx, in, found); err != nil {
				return err
			}
			found = ""
		}
	}
	if found == "" {
		return c.dropIntent(ctx, nil)
	}
	r := c.p.Find(in.Req)
	event := Pass
	if r != nil && r.Status == Blocked {
		event = DecideManual
	}
	c.say("%s: its commit %.12s was made before the interruption; it is done", in.Req, found)
	return c.recordDone(ctx, in, found, event)
}

// message is the commit message: the subject as configured, then the trailers.
func (c *Checkpoint) message(ctx context.Context, req *spec.Requirement, tree string, v *gate.Verdict) (string, error) {
	return c.compose(ctx, req, c.trailers(req, tree, v.Trailer()))
}

func (c *Checkpoint) trailers(req *spec.Requirement, tree, verdict string) []string {
	return []string{
		TrailerReq + ": " + oneLine(req.ID), TrailerTree + ": " + tree, TrailerHash + ": " + req.Hash(),
		TrailerGate + ": " + verdict, TrailerRun + ": " + c.p.Run,
	}
}

func (c *Checkpoint) compose(ctx context.Context, req *spec.Requirement, trailers []string) (string, error) {
	subject := strings.NewReplacer("{id}", oneLine(req.ID), "{title}", oneLine(req.Title)).Replace(c.cfg.Commit.Subject)
	args := []string{"interpret-trailers", "--no-divider", "--where", "end", "--if-exists", "add", "--if-missing", "add"}
	for _, t := range trailers {
		args = append(args, "--trailer", t)
	}
	out, err := c.repo.Input(ctx, []byte(strings.TrimSpace(subject)+"\n"), args...)
	return string(out), err
}

// Preview is the commit message that a requirement's work would get, with the figures that are not known yet left open.
func (c *Checkpoint) Preview(ctx context.Context, id string) (string, error) {
	req, err := c.Requirement(id)
	if err != nil {
		return "", err
	}
	return c.compose(ctx, req, []string{
		TrailerReq + ": " + oneLine(id), TrailerTree + ": <tree>", TrailerHash + ": " + req.Hash(),
		TrailerGate + ": <verdict>", TrailerRun + ": <run>",
	})
}

// oneLine makes text fit a line: line breaks and other control characters become spaces.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text))
}

// bounded keeps the first bytes of what is written and forgets the rest.
type bounded struct {
	buf  *bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// lastStable is the newest commit below HEAD that the gate passed in this run, else the one that the run began at. also is
// one more that it passed, or "".
func (c *Checkpoint) lastStable(ctx context.Context, also string) (string, error) {
	passed := map[string]bool{c.p.BaseCommit: true, also: true}
	for _, r := range c.p.Requirements {
		if r.Status == Done {
			passed[r.Commit] = true
		}
	}
	delete(passed, "")
	// No commit before those that it descends from, whatever their dates. What was rebased or squashed away is not there.
	out, err := c.repo.Output(ctx, "rev-list", "--topo-order", "HEAD", "--")
	if err != nil {
		return "", err
	}
	for commit := range strings.Lines(string(out)) {
		if commit = strings.TrimSpace(commit); passed[commit] {
			return commit, nil
		}
	}
	return c.p.BaseCommit, nil
}
