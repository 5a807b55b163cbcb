package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/agentsmd"
)

// WriteSummary prints the execution summary of a requirement. A box is ticked only for what was seen.
func (c *Checkpoint) WriteSummary(w io.Writer, id string) error {
	if c.p == nil {
		return errNoRun()
	}
	r, req, err := c.entry(c.p, id)
	if err != nil {
		return err
	}
	s := &summary{c: c, r: r}
	asked := !r.Steps.Isolate.IsZero()
	fmt.Fprintf(&s.b, "## %s: %s - Execution Summary\n\n**Status**: %s\n", oneLine(id), oneLine(req.Title), s.headline())
	s.group("Context Isolation",
		box{asked, "Previous context cleared (each attempt is a new process with a new prompt)"},
		box{asked && len(c.p.Learnings.Permanent) > 0, fmt.Sprintf("Permanent learnings: %d", len(c.p.Learnings.Permanent))},
		box{asked && len(c.p.Learnings.Contextual) <= c.cfg.Learn.Window, fmt.Sprintf("Contextual learnings: %d (at most %d)", len(c.p.Learnings.Contextual), c.cfg.Learn.Window)},
		box{r.Infra.Status != "", "Test infrastructure ready: " + orText(r.Infra.Status)})
	gate, failed := gateFigures(r.Gate), s.refusals()
	layer := func(name, text string, ticked bool) box {
		if why := failed[name]; why != "" {
			return box{false, text + ": " + why}
		}
		return box{ticked, text + ": " + orText(gate[name])}
	}
	s.group("TDD Compliance",
		layer("L1b", "Test-first ratio", gate["L1b"] != ""),
		box{failed["mocks"] == "" && (gate["mocks"] != "" || gate["L1b"] != ""), "Mocks within bounds or justified"},
		box{gate["L1b"] != "" && gate["L1b"] != "not-applicable", "Test files present"})
	s.group("Verification Layers",
		layer("L1", "L1 typecheck and lint", gate["L1"] == "pass"),
		layer("L1b", "L1b test-first", gate["L1b"] != ""),
		layer("L2", "L2 full regression", strings.HasSuffix(gate["L2"], "passed")),
		layer("L3", "L3 coverage", gate["L3"] != ""))
	permanent, contextual := s.learned()
	s.group("Learnings Persisted",
		box{!r.Steps.Learnings.IsZero(), fmt.Sprintf("Permanent: %d%s", len(permanent), first(permanent))},
		box{!r.Steps.Learnings.IsZero(), fmt.Sprintf("Contextual: %d%s", len(contextual), first(contextual))},
		box{r.OnLearned == called, "on.learned: " + s.told()})
	s.group("State Updated",
		box{s.inAgentsFile(), agentsmd.Name + " section"},
		box{!r.Steps.State.IsZero() || !r.Steps.Resolve.IsZero(), LogName + " checkpoint"},
		box{r.Commit != "", "Commit " + orText(short(r.Commit))})
	fmt.Fprintf(&s.b, "\n**Next Step**: %s\n", s.next())
	_, err = io.WriteString(w, s.b.String())
	return err
}

type summary struct {
	c *Checkpoint
	r *Requirement
	b strings.Builder
}

type box struct {
	ticked bool
	text   string
}

func (s *summary) group(title string, boxes ...box) {
	fmt.Fprintf(&s.b, "\n### %s\n", title)
	for _, b := range boxes {
		mark := " "
		if b.ticked {
			mark = "x"
		}
		fmt.Fprintf(&s.b, "- [%s] %s\n", mark, b.text)
	}
}

func (s *summary) headline() string {
	switch r := s.r; r.Status {
	case Done:
		return "✅ PASS"
	case Skipped:
		return "⏭ SKIPPED (" + oneLine(r.Reason) + ")"
	case Blocked:
		if len(r.BlockedBy) > 0 {
			return "🚫 BLOCKED by " + strings.Join(r.BlockedBy, " ← ")
		}
		return "🚫 BLOCKED (" + oneLine(r.Reason) + ")"
	case Retry:
		return fmt.Sprintf("❌ FAIL (retry %d/%d)", r.Attempts, s.c.cfg.Agent.Attempts)
	case Pending:
		return "· PENDING"
	}
	return "▶ IN PROGRESS"
}

// gateFigures takes the trailer "L1 pass; L1b 57/103; ..." apart.
func gateFigures(trailer string) map[string]string {
	figures := map[string]string{}
	for part := range strings.SplitSeq(trailer, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), " "); ok {
			figures[name] = value
		}
	}
	return figures
}

// refusals are the layers that refused the last attempt, with their figures, as its digest names them.
func (s *summary) refusals() map[string]string {
	if s.r.Status != Retry && s.r.Status != Blocked || len(s.r.Digests) == 0 {
		return nil
	}
	name := s.r.Digests[len(s.r.Digests)-1]
	data, err := os.ReadFile(filepath.Join(s.c.repo.Sprint(), filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	failed := map[string]string{}
	for line := range strings.Lines(string(data)) {
		for _, layer := range []string{"L1", "L1b", "L2", "L3", "mocks"} {
			for _, result := range []string{"fail", "error"} {
				if why, ok := strings.CutPrefix(line, layer+" "+result+": "); ok && failed[layer] == "" {
					failed[layer] = oneLine(why)
				}
			}
		}
	}
	return failed
}

// learned are the learnings that this requirement's reports brought and that are still in the windows.
func (s *summary) learned() (permanent, contextual []string) {
	for _, l := range s.c.p.Learnings.Permanent {
		if slices.Contains(l.Reqs, s.r.ID) {
			permanent = append(permanent, l.Pattern)
		}
	}
	for _, l := range s.c.p.Learnings.Contextual {
		if l.Req == s.r.ID {
			contextual = append(contextual, l.Pattern)
		}
	}
	return permanent, contextual
}

// told says what became of the command that is told what was learned.
func (s *summary) told() string {
	switch {
	case s.r.OnLearned != "":
		return oneLine(s.r.OnLearned)
	case len(s.c.cfg.On.Learned) == 0:
		return "not configured"
	case s.r.Steps.Learnings.IsZero():
		return "not called yet"
	}
	return "nothing new to tell"
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return " (" + clip(oneLine(texts[0]), 100) + ")"
}

func (s *summary) inAgentsFile() bool {
	data, err := os.ReadFile(filepath.Join(s.c.repo.Top, agentsmd.Name))
	return err == nil && strings.Contains(string(data), "## ralph-loop: ["+oneLine(s.r.ID))
}

func (s *summary) next() string {
	ready := s.c.graph.Ready(s.c.p.States())
	n := s.c.p.Counts()
	switch {
	case n.Done+n.Skipped == n.Total:
		return "COMPLETE"
	case len(ready) > 0:
		return ready[0]
	}
	return "BLOCKED: a decision is needed"
}

// Check judges the state: its sums, its bounds, and that each requirement which is done passed every step. It gives a
// line for each thing that is wrong.
func (c *Checkpoint) Check() (wrong []string, err error) {
	p := c.p
	if p == nil {
		return nil, errNoRun()
	}
	report := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	n := p.Counts()
	if n.Done+n.Pending+n.Blocked+n.Skipped != n.Total || n.Total != len(p.Order) || p.Req.Total != n.Total || p.Req.Completed != n.Done {
		report("the sums do not add up: %d done, %d pending, %d blocked, %d skipped of %d", n.Done, n.Pending, n.Blocked, n.Skipped, n.Total)
	}
	if p.Iteration > p.MaxIterations {
		report("iteration %d is beyond max_iterations %d", p.Iteration, p.MaxIterations)
	}
	seen := map[string]bool{}
	for _, r := range p.Requirements {
		if seen[r.ID] {
			report("%s stands twice", r.ID)
		}
		seen[r.ID] = true
		if !slices.Contains(p.Order, r.ID) {
			report("%s is not in the order", r.ID)
		}
		if _, known := requirementTable[r.Status]; !known {
			report("%s has the unknown status %q", r.ID, r.Status)
		}
		if r.Status == Done && r.Number > 0 {
			c.checkSteps(r, report)
		}
		if r.Status == Blocked && len(r.BlockedBy) == 0 && r.Reason == "" {
			report("%s is blocked and nobody said why", r.ID)
		}
		if r.working() && p.Req.Current != r.ID {
			report("%s is %s and is not the current one", r.ID, r.Status)
		}
	}
	if p.Req.Current != "" && !seen[p.Req.Current] {
		report("the current requirement %s is not among them", p.Req.Current)
	}
	if p.Req.Status == Completed && n.Done+n.Skipped != n.Total {
		report("the run is completed and %d requirements are not", n.Total-n.Done-n.Skipped)
	}
	_, _, fileErr := read(c.store.path())
	_, _, copyErr := read(c.store.copy())
	for _, err := range []error{fileErr, copyErr} {
		if err != nil {
			report("%v", err)
		}
	}
	if data, err := os.ReadFile(c.baselinePath()); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && string(data) != p.Baseline+"\n" {
		report("last-req-baseline.txt does not hold the baseline %s", p.Baseline)
	}
	return wrong, c.checkFinished(report)
}

// checkSteps looks at the seven steps of a requirement that is done. One without attempts was done by hand: where it was
// given up before the first, it never had an agent.
func (c *Checkpoint) checkSteps(r *Requirement, report func(string, ...any)) {
	last := step{}
	for _, s := range r.Steps.each() {
		if s.at.IsZero() {
			if r.Attempts == 0 && (s.name == "isolate" || s.name == "dispatch") {
				continue
			}
			report("%s is done and its step %q was not recorded", r.ID, s.name)
			continue
		}
		if s.at.Before(last.at) {
			report("%s: step %q comes before step %q", r.ID, s.name, last.name)
		}
		last = s
	}
	if r.Commit == "" {
		report("%s is done and names no commit", r.ID)
	}
}
