package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/testinfra"
)

// Start takes up a requirement: it must be READY. The baseline is recorded, and the number of its next attempt is
// given. One that is in work already goes on.
func (c *Checkpoint) Start(ctx context.Context, id string) (attempt int, err error) {
	head, err := c.repo.Head(ctx)
	if err != nil {
		return 0, err
	}
	err = c.update(ctx, func(p *Progress) error {
		r, req, err := c.entry(p, id)
		if err != nil {
			return err
		}
		if p.Req.Status != Running && p.Req.Status != Recovered {
			return exit.Refuse("'ralph-checkpoint begin' starts or continues one", "the run is %s", p.Req.Status)
		}
		attempt = r.Attempts + 1
		if r.working() && p.Req.Current == id {
			return nil
		}
		if busy := p.Find(p.Req.Current); busy != nil && busy.working() {
			return exit.Refuse("finish it first, or start the loop again", "%s is in work", busy.ID)
		}
		if r.Status == Pending && !slices.Contains(c.graph.Ready(p.States()), id) {
			return exit.Refuse(fmt.Sprintf("'ralph-order why %s' says what it waits for", operand(id)), "%s is not ready: a requirement that it depends on is not done", id)
		}
		if err := c.set(r, Start); err != nil {
			return err
		}
		if p.Iteration >= p.MaxIterations {
			return exit.Refuse("raise max_iterations in ralph.yaml, or give --max-iterations", "%d of %d iterations are used", p.Iteration, p.MaxIterations)
		}
		p.Iteration++
		p.Baseline, p.Req.Current, p.LastAttempt, p.LeftTree, p.Left = head, id, nil, "", ""
		r.Number, r.SpecHash, r.Steps, r.Infra, r.Gate, r.Kept = p.Iteration, req.Hash(), Steps{Load: c.stamp()}, InfraWork{}, "", ""
		p.Cost.ReqNumber, p.Cost.Tokens = r.Number, r.Tokens
		p.Req.Status = Running
		if testinfra.Ask(c.cfg.TestInfra, c.repo.Top) == "" && p.MessageHook == "" {
			// The worktree is the baseline still: it has no contract, and nothing has to be looked for or asked.
			if err := c.set(r, InfraSkipped); err != nil {
				return err
			}
			p.noteInfra(r, "skipped")
		}
		return c.writeBaseline(head)
	})
	return attempt, err
}

// InfraOpen reports whether the requirement in work still waits for its test infrastructure, for which CheckInfra sees.
func (c *Checkpoint) InfraOpen() bool {
	r := c.p.Find(c.p.Req.Current)
	return r != nil && (r.Status == InfraCheck || r.Status == InfraDispatch)
}

// maxDigest is the longest digest that is kept, in bytes.
const maxDigest = 4 << 10

// Limited is what follows a failed attempt whose agent could not be asked: the same attempt, uncharged.
const Limited Status = "limited"

// Fail records a failed attempt with the digest of its failure and gives the status that follows: retry, or blocked
// after the last attempt or the last timeout, or Limited. The work stays in the tree for the next attempt; a blocked
// requirement's is kept under a ref and the tree is cleaned. v is the gate's verdict, or nil: its figures are kept,
// and regressions in it are told.
func (c *Checkpoint) Fail(ctx context.Context, id string, digest []byte, v *gate.Verdict) (Status, error) {
	if c.replayed(id, FailAgain, FailLast) {
		return c.p.Find(id).Status, nil
	}
	r, err := c.attempted(id)
	if err != nil {
		return "", err
	}
	last := c.p.LastAttempt
	if last == nil || last.Req != id {
		return "", noAttempt(r)
	}
	if couldNotWork(last.Outcome) {
		if err := c.backToAttempt(ctx); err != nil {
			return "", err
		}
		return Limited, c.update(ctx, func(p *Progress) error {
			p.LastAttempt = nil
			return nil
		})
	}
	if len(digest) == 0 {
		digest = []byte(last.Digest)
	}
	number := r.Attempts + 1
	// Numbered on after a user's retry: the old ones are still told.
	name := filepath.Join(digestsDir, fmt.Sprintf("%s-%d.txt", git.RefName(id), len(r.Digests)+1))
	if err := c.writeDigest(name, digest, c.reportedLearnings()); err != nil {
		return "", err
	}
	timedOut := last.Outcome == OutcomeTimeout
	event, reason := FailAgain, ""
	switch {
	case timedOut && r.Timeouts+1 >= c.cfg.Agent.MaxTimeouts:
		event, reason = FailLast, fmt.Sprintf("timed out %s: too large, split it, or raise %s", times(r.Timeouts+1), c.timeLimits())
	case number >= c.cfg.Agent.Attempts:
		event, reason = FailLast, fmt.Sprintf("failed %s, last: %s", times(number), strings.TrimPrefix(firstLine(digest), gate.DigestOpening))
	}
	if err := c.backToAttempt(ctx); err != nil {
		return "", err
	}
	if event == FailLast {
		if err := c.setAside(ctx, id, reason); err != nil {
			return "", err
		}
	}
	var status Status
	err = c.update(ctx, func(p *Progress) error {
		r, _, err := c.current(p, id)
		if err != nil {
			return err
		}
		if err := c.set(r, event); err != nil {
			return err
		}
		r.Attempts = number
		if timedOut {
			r.Timeouts++
		}
		r.Digests = append(r.Digests, filepath.ToSlash(name))
		r.Reason, status, p.LastAttempt, r.Gate = reason, r.Status, nil, ""
		if v != nil {
			r.Gate = v.Trailer()
		}
		if r.Steps.Resolve = r.Steps.after(c.stamp()); r.Steps.Regression.IsZero() {
			r.Steps.Regression = r.Steps.after(c.stamp())
		}
		if err := c.rebuildBlocks(p); err != nil {
			return err
		}
		c.noteRegression(p, r, number, v)
		if event == FailLast {
			c.noteBlocked(p, r)
		}
		return nil
	})
	return status, err
}

// timeLimits names the settings that an attempt's time ran out by.
func (c *Checkpoint) timeLimits() string {
	if c.cfg.Agent.IdleTimeout > 0 {
		return "agent.timeout or agent.idle_timeout"
	}
	return "agent.timeout"
}

func noAttempt(r *Requirement) error {
	return exit.Refuse("ralph-checkpoint attempt "+operand(r.ID)+" -- COMMAND", "%s: attempt %d was not made, or was interrupted", r.ID, r.Attempts+1)
}

// attempted is the requirement in work, with the infrastructure behind it and no attempt put aside.
func (c *Checkpoint) attempted(id string) (*Requirement, error) {
	if c.p == nil {
		return nil, errNoRun()
	}
	r, _, err := c.current(c.p, id)
	if err != nil {
		return nil, err
	}
	if r.Status != InProgress && r.Status != Retry {
		return nil, exit.Refuse(legal(r), "%s is %s: no attempt was made", id, r.Status)
	}
	if last := c.p.LastAttempt; last != nil && last.Req == id && last.Aside {
		return nil, exit.Refuse("'ralph-checkpoint attempt "+operand(id)+" -- COMMAND' puts it back, without calling COMMAND", "%s: the work of attempt %d is put aside", id, last.Number)
	}
	return r, nil
}

// setAside keeps the work of a requirement that is given up under a ref, which the state names, and cleans the tree.
func (c *Checkpoint) setAside(ctx context.Context, id, reason string) error {
	ref, err := c.cleanTo(ctx, c.p.Baseline, "leftover", id, "what was left of "+id+": "+reason)
	if err != nil || ref == "" {
		return err
	}
	c.say("%s: its work is kept under %s", id, ref)
	return c.update(ctx, func(p *Progress) error {
		p.Find(id).Kept = ref
		return nil
	})
}

// Block gives a requirement up before or between its attempts.
func (c *Checkpoint) Block(ctx context.Context, id, reason string) error {
	if c.p == nil {
		return errNoRun()
	}
	if c.replayed(id, Block) {
		return nil
	}
	if _, _, err := c.current(c.p, id); err != nil {
		return err
	}
	if reason == "" {
		reason = "blocked by hand"
	}
	if err := c.setAside(ctx, id, reason); err != nil {
		return err
	}
	return c.update(ctx, func(p *Progress) error {
		r, _, err := c.current(p, id)
		if err != nil {
			return err
		}
		if err := c.set(r, Block); err != nil {
			return err
		}
		r.Reason, p.LastAttempt = reason, nil
		r.Steps.Resolve = r.Steps.after(c.stamp())
		if err := c.rebuildBlocks(p); err != nil {
			return err
		}
		c.noteBlocked(p, r)
		return nil
	})
}

// backToAttempt makes the tree ready for another attempt on what the last one left.
func (c *Checkpoint) backToAttempt(ctx context.Context) error {
	if err := c.workspace().RestoreAgentsFile(ctx); err != nil {
		return err
	}
	return c.workspace().SetIndex(ctx, c.p.Baseline)
}

// writeDigest stores what the next attempt is told of a failure, and behind it what the failed one learned: bounded, valid
// UTF-8.
func (c *Checkpoint) writeDigest(name string, digest []byte, learned string) error {
	if len(digest) == 0 {
		digest = []byte("the attempt failed without a reason given\n")
	}
	if err := os.MkdirAll(filepath.Join(c.repo.Sprint(), digestsDir), 0o777); err != nil {
		return fmt.Errorf("keep the digest: %w", err)
	}
	return atomicfile.Write(filepath.Join(c.repo.Sprint(), name), []byte(clip(string(digest), maxDigest-len(learned))+learned))
}

// clip shortens a text of several lines to at most n bytes at a character's edge, and says so. For one line there is
// excerpt.Line.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	const mark = "\n[... cut ...]\n"
	cut := n - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}

func firstLine(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			if len(line) > 200 { // it stands in a table's row
				line = strings.ToValidUTF8(line[:197], "") + "..."
			}
			return line
		}
	}
	return "no reason given"
}

// Failures are the digests that the next attempt is given: those of the attempts before it, or after a user's retry, for
// the first one, those of the last round. While its test infrastructure is being made they are those
// of its dispatches. The run must know the requirement. Of one that is given up, whose failures a person reads, each has a
// heading.
func (c *Checkpoint) Failures(id string) ([]string, error) {
	r := c.p.Find(id)
	told := r.Attempts
	if told == 0 {
		told = c.cfg.Agent.Attempts
	}
	names := r.Digests[max(0, len(r.Digests)-told):]
	if r.Status == InfraDispatch {
		names = nil
		for n := range r.Infra.Tries {
			names = append(names, infraDigest(id, n+1))
		}
	}
	var digests []string
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join(c.repo.Sprint(), filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			c.say("warning: the digest %s is gone", name)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a digest: %w", err)
		}
		heading := ""
		if r.failed() && r.Attempts > 0 {
			heading = fmt.Sprintf("Attempt %d:\n", i+1)
		}
		digests = append(digests, heading+string(data))
	}
	if kept := keptWork(r); kept != "" {
		digests = append(digests, kept)
	}
	return digests, nil
}

// keptWork is a line about what was kept of a requirement that is given up, with the command that puts it into the tree.
func keptWork(r *Requirement) string {
	if !r.failed() || r.Kept == "" {
		return ""
	}
	return fmt.Sprintf("Its work is kept: git cherry-pick -n %s lays it out\n", shellWord(r.Kept))
}

// Cost settles a requirement after an attempt's result is recorded: its tokens are held against the thresholds. Above the
// run's the run is blocked, above the requirement's that requirement is, unless it is done. over then says so, with how
// to raise the threshold and the code exit.No (the requirement's) or exit.Budget (the run's).
func (c *Checkpoint) Cost(ctx context.Context, id string) (used Cost, over, err error) {
	if c.p == nil {
		return used, nil, errNoRun()
	}
	r, _, err := c.entry(c.p, id)
	if err != nil {
		return used, nil, err
	}
	if r.Status != Done && c.overReqThreshold(r) {
		since := ""
		if r.Retried > 0 {
			since = " since the retry"
		}
		reason := fmt.Sprintf("%s used %d tokens%s%s, more than cost.req_threshold %d allows", id, r.Tokens-r.Retried, estimated(r.Tokens, r.Guessed), since, c.cfg.Cost.ReqThreshold)
		over = exit.Refuse("split it, or raise the threshold in ralph.yaml (0 is no limit) and decide about it", "%s", reason)
		if r.working() && c.p.Req.Current == id {
			if err := c.Block(ctx, id, reason); err != nil {
				return used, nil, err
			}
		}
	}
	err = c.update(ctx, func(p *Progress) error {
		r := p.Find(id)
		p.Cost.Threshold = c.cfg.Cost.Threshold
		if err := c.overBudget(p); err != nil {
			over = err
			if p.Req.Status == Running {
				if err := c.endRun(p, RunBlock); err != nil {
					return err
				}
			}
		}
		if r.Status == Done && !r.Steps.Learnings.IsZero() || r.Status == Blocked {
			r.Steps.State = r.Steps.after(c.stamp())
		}
		used = p.Cost
		used.Tokens = r.Tokens
		return nil
	})
	return used, over, err
}

// overReqThreshold reports whether a requirement used more tokens than it may, since the user last gave it fresh attempts.
func (c *Checkpoint) overReqThreshold(r *Requirement) bool {
	limit := c.cfg.Cost.ReqThreshold
	return limit > 0 && r.Tokens-r.Retried > limit
}

// overBudget says that the run used more tokens than it may, where there is still something to do.
func (c *Checkpoint) overBudget(p *Progress) error {
	n := p.Counts()
	limit := c.cfg.Cost.Threshold
	if limit == 0 || p.Cost.Cumulative <= limit || n.Done+n.Skipped == n.Total {
		return nil
	}
	return &exit.Coded{Code: exit.Budget, Hint: "raise it in ralph.yaml (0 is no limit), commit that, and start the loop again",
		Err: fmt.Errorf("the run used %d tokens%s, more than cost.threshold %d allows", p.Cost.Cumulative, p.Cost.Mark(), limit)}
}
