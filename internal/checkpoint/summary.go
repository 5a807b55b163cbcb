package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/workspace"
)

// WriteSummary prints the execution summary of a requirement. A box is ticked only for what was seen, and open only where
// something is wrong or still to come: what does not apply has no box.
func (c *Checkpoint) WriteSummary(w io.Writer, id string) error {
	if c.p == nil {
		return errNoRun()
	}
	r, req, err := c.entry(c.p, id)
	if err != nil {
		return err
	}
	s := &summary{c: c, r: r, gate: gateFigures(r.Gate), later: "not yet"}
	if r.Status == Blocked || r.Status == Skipped {
		s.later = "none"
	}
	s.digest = s.lastDigest()
	s.failed = refusals(s.digest)
	fmt.Fprintf(&s.b, "## %s: %s - Execution Summary\n\n**Status**: %s\n", oneLine(id), oneLine(req.Title), s.headline())
	asked := seenIf(!r.Steps.Isolate.IsZero())
	s.group("Context Isolation",
		box{asked, "Previous context cleared (each attempt is a new process with a new prompt)"},
		box{asked, fmt.Sprintf("Permanent learnings: %d", len(c.p.Learnings.Permanent))},
		box{asked, fmt.Sprintf("Contextual learnings: %d (at most %d)", len(c.p.Learnings.Contextual), c.cfg.Learn.Window)},
		s.infra())
	s.group("TDD Compliance", s.layer("L1b", "Test-first ratio"), s.mocks(), s.testFiles())
	s.group("Verification Layers", append([]box{
		s.layer("L1", "L1 typecheck and lint"), s.layer("L1b", "L1b test-first"), s.layer("L2", "L2 full regression"), s.layer("L3", "L3 coverage")},
		s.others()...)...)
	permanent, contextual := s.learned()
	s.group("Learnings Persisted", s.kept("Permanent", permanent), s.kept("Contextual", contextual), s.told())
	s.group("State Updated",
		s.section(),
		box{seenIf(!r.Steps.State.IsZero() || !r.Steps.Resolve.IsZero()), workspace.StateFile + " checkpoint"},
		box{seenIf(r.Commit != ""), "Commit: " + cmp.Or(short(r.Commit), s.later)})
	fmt.Fprintf(&s.b, "\n**Next Step**: %s\n", s.next())
	_, err = io.WriteString(w, s.b.String())
	return err
}

type summary struct {
	c      *Checkpoint
	r      *Requirement
	gate   map[string]string // the last verdict's figures, by layer
	digest string            // what the last attempt failed on
	failed map[string]string // why a layer refused it
	later  string            // what is said of what only a requirement that passes has
	b      strings.Builder
}

type box struct {
	mark string
	text string
}

const (
	seen  = "- [x] "
	open  = "- [ ] "
	noBox = "- "
)

func seenIf(yes bool) string {
	if yes {
		return seen
	}
	return open
}

func (s *summary) group(title string, boxes ...box) {
	fmt.Fprintf(&s.b, "\n### %s\n", title)
	for _, b := range boxes {
		fmt.Fprintf(&s.b, "%s%s\n", b.mark, b.text)
	}
}

func (s *summary) infra() box {
	const text = "Test infrastructure ready: "
	switch status := s.r.Infra.Status; status {
	case "":
		return box{open, text + s.later}
	case "skipped":
		return box{seen, text + "skipped, none is agreed on"}
	default:
		return box{seen, text + status}
	}
}

// layer is the box of a layer's result.
func (s *summary) layer(name, text string) box {
	why, figure := s.failed[name], s.gate[name]
	switch {
	case why != "":
		return box{open, text + ": " + why}
	case figure == "":
		return box{open, text + ": no result"}
	case figure == string(gate.NotApplicable):
		return box{noBox, text + ": not applicable"}
	}
	refused := strings.HasPrefix(figure, string(gate.Fail)) || figure == string(gate.Error)
	return box{seenIf(!refused), text + ": " + figure}
}

// others are the boxes of what else held the last attempt back.
func (s *summary) others() (boxes []box) {
	for _, name := range gate.ByUse {
		why, shown := s.failed[name], slices.Contains([]string{"L1", "L1b", "L2", "L3", "mocks"}, name)
		if why != "" && !shown {
			boxes = append(boxes, box{open, name + ": " + why})
		}
	}
	if len(s.failed) == 0 && s.digest != "" {
		boxes = append(boxes, box{open, "The attempt: " + oneLine(firstLine([]byte(s.digest)))})
	}
	return boxes
}

func (s *summary) mocks() box {
	const text = "Mocks within bounds or justified"
	switch {
	case s.failed["mocks"] != "":
		return box{open, text + ": " + s.failed["mocks"]}
	case s.gate["L1b"] == "":
		return box{open, text + ": no result"}
	}
	return box{seen, text}
}

// testFiles asks the figures of L1b whether lines of tests came with the work.
func (s *summary) testFiles() box {
	const text = "Test files present"
	figure := s.gate["L1b"]
	part, _, isShare := strings.Cut(strings.TrimPrefix(figure, string(gate.Fail)+" "), "/")
	refused := strings.HasPrefix(figure, string(gate.Fail))
	switch {
	case figure == "":
		return box{open, text + ": no result"}
	case figure == string(gate.NotApplicable):
		return box{noBox, text + ": not applicable"}
	case isShare && part == "0" && !refused:
		return box{noBox, text + ": none, and none is required"}
	case isShare && part == "0" || refused && !isShare:
		return box{open, text + ": none"}
	}
	return box{seenIf(figure != string(gate.Error)), text}
}

// kept is the box of the learnings of one kind that were persisted.
func (s *summary) kept(kind string, texts []string) box {
	if s.r.Steps.Learnings.IsZero() || s.r.Status == Blocked && len(texts) == 0 {
		return box{open, kind + ": " + s.later}
	}
	return box{seen, fmt.Sprintf("%s: %d%s", kind, len(texts), first(texts))}
}

// section is the box of what AGENTS.md says of the requirement.
func (s *summary) section() box {
	const text = agentsmd.Name + " section"
	switch {
	case s.inAgentsFile():
		return box{seen, text}
	case s.r.Status == Done:
		return box{noBox, text + ": nothing to add"}
	}
	return box{open, text + ": " + s.later}
}

func (s *summary) headline() string {
	switch r := s.r; r.Status {
	case Done:
		if r.Reason != "" {
			return "✅ PASS (" + oneLine(r.Reason) + ")"
		}
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

// lastDigest is what the last failed attempt is told to have failed on, since the user's last retry.
func (s *summary) lastDigest() string {
	if s.r.Status != Retry && s.r.Status != Blocked || s.r.Attempts == 0 || len(s.r.Digests) == 0 {
		return ""
	}
	name := s.r.Digests[len(s.r.Digests)-1]
	data, err := os.ReadFile(filepath.Join(s.c.repo.Sprint(), filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return string(data)
}

// refusals are the layers that a digest names, with their figures.
func refusals(digest string) map[string]string {
	failed := map[string]string{}
	for line := range strings.Lines(digest) {
		for _, layer := range gate.ByUse {
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

// told is the box of the command that is told what was learned.
func (s *summary) told() box {
	const text = "on.learned: "
	switch {
	case s.r.OnLearned != "":
		return box{seenIf(s.r.OnLearned == called), text + oneLine(s.r.OnLearned)}
	case len(s.c.cfg.On.Learned) == 0:
		return box{noBox, text + "not configured"}
	case s.r.Steps.Learnings.IsZero():
		return box{open, text + "not called yet"}
	}
	return box{noBox, text + "nothing new to tell"}
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return " (" + excerpt.Line(texts[0], 100) + ")"
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
	if data, err := os.ReadFile(workspace.BaselinePath(c.repo)); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && string(data) != p.Baseline+"\n" {
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
