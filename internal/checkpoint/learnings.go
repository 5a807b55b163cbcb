package checkpoint

import (
	"strings"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/learn"
)

// rebuildLearnings takes the permanent learnings that AGENTS.md kept into windows that do not hold them: those of a fresh
// clone, or of a state that was lost.
func (c *Checkpoint) rebuildLearnings(w *learn.Windows) {
	var sections []agentsmd.Found
	file, err := agentsmd.Open(c.repo.Top)
	if err == nil {
		sections, err = agentsmd.Sections(file.Data)
	}
	if err != nil {
		c.say("warning: what %s kept of earlier learnings cannot be read: %v", agentsmd.Name, err)
		return
	}
	for _, s := range sections {
		w.Rebuild(s.ID, s.Learnings, s.Date)
	}
}

// unlearn takes back what requirements taught whose commits are undone: learnings count when their requirement is done.
func (c *Checkpoint) unlearn(p *Progress, undone []string) error {
	past, _, err := learn.ReadHistory(c.repo.Sprint())
	if err != nil {
		return err
	}
	limits := learn.Limits{Window: c.cfg.Learn.Window, PromoteAt: c.cfg.Learn.PromoteAt}
	return learn.AppendHistory(c.repo.Sprint(), p.Learnings.Undo(undone, past, limits, c.now()))
}

// The bounds of what a failed attempt's own learnings take of its digest.
const (
	mostReported = 5
	maxReported  = 200 // bytes of each
)

// reportedLearnings are the learnings in the report of an attempt that failed: no proof of anything, and told to the next
// attempt at the same requirement alone. "" where there are none, or no report that can be read.
func (c *Checkpoint) reportedLearnings() string {
	data, err := learn.ReadReport(c.reportPath())
	if err != nil {
		return "" // whoever needs the report says so
	}
	report, _, err := learn.ParseReport(data)
	if err != nil || len(report.Learnings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nWhat that attempt said that it had learned:\n")
	for _, l := range report.Learnings[:min(len(report.Learnings), mostReported)] {
		b.WriteString("- " + excerpt.Line(l.Text, maxReported) + "\n")
	}
	return b.String()
}
