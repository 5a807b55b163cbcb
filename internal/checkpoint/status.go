package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/config"
	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/git"
)

// StatusObject is `status --format json`, its keys in the order that other tools read.
type StatusObject struct {
	SkillName     string              `json:"skill_name"`
	Version       string              `json:"version"`
	Source        string              `json:"specification_source"`
	TopologyOrder []string            `json:"topology_order"`
	Requirements  RequirementCounts   `json:"requirements"`
	Current       *CurrentRequirement `json:"current_requirement"`
	Learnings     LearningTexts       `json:"learnings"`
	Status        RunStatus           `json:"status"`
	CheckpointAt  string              `json:"checkpoint_at"`
	Iteration     int                 `json:"iteration"`
	MaxIterations int                 `json:"max_iterations"`
}

// RequirementCounts add up: each requirement is counted once.
type RequirementCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Pending int `json:"pending"`
	Blocked int `json:"blocked"`
	Skipped int `json:"skipped"`
}

// CurrentRequirement is the one in work, else the one last worked on.
type CurrentRequirement struct {
	ID         string `json:"id"`
	Status     Status `json:"status"`
	RetryCount int    `json:"retry_count"` // charged failures
}

// LearningTexts are the sentences inside the two windows.
type LearningTexts struct {
	Permanent  []string `json:"permanent"`
	Contextual []string `json:"contextual"`
}

// Status is the state for other programs.
func (c *Checkpoint) Status() (*StatusObject, error) {
	p := c.p
	if p == nil {
		return nil, errNoRun()
	}
	n := p.Counts()
	s := &StatusObject{
		SkillName: "ralph-loop", Version: "2.0.0", Source: p.Specification, TopologyOrder: p.Order,
		Requirements: RequirementCounts(n),
		Learnings:    LearningTexts{Permanent: []string{}, Contextual: []string{}},
		Status:       p.Req.Status, CheckpointAt: p.CheckpointAt.UTC().Format("2006-01-02T15:04:05Z"),
		Iteration: p.Iteration, MaxIterations: p.MaxIterations,
	}
	for _, l := range p.Learnings.Permanent {
		s.Learnings.Permanent = append(s.Learnings.Permanent, l.Pattern)
	}
	for _, l := range p.Learnings.Contextual {
		s.Learnings.Contextual = append(s.Learnings.Contextual, l.Pattern)
	}
	if r := p.Find(p.Req.Current); r != nil {
		s.Current = &CurrentRequirement{ID: r.ID, Status: r.Status, RetryCount: r.failures()}
	}
	return s, nil
}

// failures is how many charged attempts failed: of a done requirement the last one passed.
func (r *Requirement) failures() int {
	if r.Status == Done && r.Attempts > 0 {
		return r.Attempts - 1
	}
	return r.Attempts
}

// EncodeStatus is the status object as JSON, indented, with a newline.
func EncodeStatus(s *StatusObject) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return []byte(b.String()), err
}

// KeepStatus keeps the latest status object, and the summary of the current requirement, as files beside the state.
func (c *Checkpoint) KeepStatus() error {
	s, err := c.Status()
	if err != nil {
		return err
	}
	data, err := EncodeStatus(s)
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(filepath.Join(c.repo.Sprint(), "status.json"), data); err != nil {
		return err
	}
	if id := c.p.Req.Current; c.p.Find(id) != nil && c.graph.Spec().Lookup(id) != nil {
		return c.keepSummary(id)
	}
	return nil
}

func (c *Checkpoint) summaryPath(id string) string {
	return filepath.Join(c.repo.Sprint(), "summaries", git.RefName(id)+".md")
}

// keepSummary keeps a requirement's summary as a file.
func (c *Checkpoint) keepSummary(id string) error {
	var b strings.Builder
	if err := c.WriteSummary(&b, id); err != nil {
		return err
	}
	path := c.summaryPath(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("keep the summary: %w", err)
	}
	return atomicfile.Replace(path, []byte(b.String()))
}

// marks are how a status looks in a table, each two columns wide.
var marks = map[Status]string{Done: "✅", Blocked: "🚫", Skipped: "⏭ ", Pending: "· ", InProgress: "▶ ", Retry: "↻ "}

// WriteTable prints the state for people: a line a requirement, then the sums.
func (c *Checkpoint) WriteTable(w io.Writer) error {
	p := c.p
	if p == nil {
		return errNoRun()
	}
	rows := [][]string{{"REQUIREMENT", "STATUS", "ATTEMPTS", "AGENT", "TOKENS", "COMMIT", "TITLE OR REASON"}}
	for _, r := range p.Requirements {
		mark := marks[r.Status]
		if mark == "" {
			mark = "▶ "
		}
		note := ""
		if req := c.graph.Spec().Lookup(r.ID); req != nil {
			note = oneLine(req.Title)
		}
		switch {
		case len(r.BlockedBy) > 0:
			note = "blocked by " + strings.Join(r.BlockedBy, " ← ")
		case r.Reason != "":
			note = oneLine(r.Reason)
		}
		rows = append(rows, []string{oneLine(r.ID), mark + " " + string(r.Status), orDash(r.Attempts), seconds(r.Seconds), tokensOf(r), orText(short(r.Commit)), excerpt.Line(note, 120)})
	}
	if err := writeColumns(w, rows); err != nil {
		return err
	}
	n := p.Counts()
	if skips := c.skips(); skips > 0 {
		fmt.Fprintf(w, "\nThe gate was switched off %s (RALPH_SKIP=1): %s\n", times(skips), filepath.Join(c.repo.StateDir(), "skips.log"))
	}
	if l := p.Limit; l != nil && p.open() {
		what := "is over a limit"
		if l.CutOff {
			what = "does not reach its service and waits"
		}
		fmt.Fprintf(w, "\nThe agent %s until %s: %s\n", what, c.clock(l.Until), l.Said)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d done, %d pending, %d blocked, %d skipped; iteration %d of %d; %d tokens%s; the run is %s\n",
		n.Done, n.Total, n.Pending, n.Blocked, n.Skipped, p.Iteration, p.MaxIterations, p.Cost.Cumulative, p.Cost.Mark(), runWord(p.Req.Status))
	return err
}

// clock is a recorded time as the user's clock shows it.
func (c *Checkpoint) clock(t time.Time) string {
	return t.In(c.now().Location()).Format("2006-01-02 15:04:05")
}

// WriteNow prints what is at work and since when. going is false where the run ended or waits for a decision.
func (c *Checkpoint) WriteNow(w io.Writer) (going bool, err error) {
	p := c.p
	going = p.Req.Status == Running || p.Req.Status == Recovered
	switch id := p.Working(); {
	case !going:
	case lockTells && !c.atWork():
		_, err = fmt.Fprintln(w, "no loop is at work here: 'ralph-loop' goes on")
	case id != "":
		r := p.Find(id)
		_, err = fmt.Fprintf(w, "%s, attempt %d, since %s\n", oneLine(id), r.Attempts+1, c.now().Sub(cmp.Or(r.Steps.Isolate, r.Since)).Round(time.Second))
	}
	return going, err
}

// writeColumns prints rows with two spaces between the columns, as wide as a terminal shows them.
func writeColumns(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], columns(text))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, text := range row[:len(row)-1] {
			b.WriteString(text + strings.Repeat(" ", widths[i]-columns(text)+2))
		}
		if _, err := fmt.Fprintln(w, b.String()+row[len(row)-1]); err != nil {
			return err
		}
	}
	return nil
}

// columns is how many columns of a terminal a text takes: East Asian letters and the marks take two each.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == '✅' || r >= 0x1F300 || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0xFF01 && r <= 0xFF60:
			n += 2
		default:
			n++
		}
	}
	return n
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// tokensOf is what a requirement used, with the mark of what is not exact.
func tokensOf(r *Requirement) string {
	if r.Guessed > 0 {
		return "~" + fmt.Sprint(r.Tokens)
	}
	return orDash(r.Tokens)
}

// estimated says how much of a figure is an estimate.
func estimated(tokens, guessed int) string {
	switch {
	case guessed == 0:
		return ""
	case guessed < tokens:
		return " (partly estimated)"
	}
	return " (estimated)"
}

// Mark says how much of what the run used is an estimate.
func (c Cost) Mark() string {
	if c.Estimated && c.Guessed == 0 {
		return " (partly estimated)" // how much was not recorded
	}
	return estimated(c.Cumulative, c.Guessed)
}

func orText(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func seconds(s float64) string {
	if s == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fs", s)
}

// runWord is a run's status as a sentence ends with it.
func runWord(s RunStatus) string {
	switch s {
	case Running:
		return "open"
	case RolledBack:
		return "rolled back"
	}
	return string(s)
}

// WriteWayOn prints how a run goes on that is not at work: what can be decided about each requirement that is blocked by its
// own failure, as commands to copy; else why it stopped and the next step. loop is how the user calls the driver.
func (c *Checkpoint) WriteWayOn(w io.Writer, loop string) error {
	var b strings.Builder
	decisions, err := c.decisions(loop)
	if err != nil {
		return err
	}
	b.WriteString(decisions)
	loop = shellWord(loop)
	n, open := c.p.Counts(), c.p.open()
	left := n.Total - n.Done - n.Skipped
	switch over := c.overBudget(c.p); {
	case left == 0 || c.atWork():
	case open && over != nil:
		fmt.Fprintf(&b, "\n%s\nRaise it in %s (0 is no limit), commit that, and start the loop again: %s\n", sentence(over.Error()), config.File, loop)
	case c.p.Req.Status == Partial && c.p.Iteration >= c.p.MaxIterations:
		fmt.Fprintf(&b, "\nThe max_iterations of this run, %d, are used; left to do: %d\nStart the loop again, which is a new run: %s\n", c.p.MaxIterations, left, loop)
	case open && c.p.AtOnce >= mostOnce:
		fmt.Fprintf(&b, "\nThe agent failed at once, %d times in a row\nMend it, then start the loop again: %s\n", c.p.AtOnce, loop)
	case decisions == "":
		fmt.Fprintf(&b, "\nNext, start the loop again: %s\n", loop)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// decisions are the commands for what is blocked by its own failure.
func (c *Checkpoint) decisions(loop string) (string, error) {
	var b strings.Builder
	possible := func(e RunEvent) bool {
		probe := *c.p
		return probe.move(e) == nil
	}
	when := "Decide, then start the loop again"
	switch {
	case !possible(RunDecide):
		when = "Start the loop again, then decide"
	case !c.p.open():
		when = "To go on, decide, then start the loop again"
	}
	for _, r := range c.p.Requirements {
		if r.Status != Blocked || len(r.BlockedBy) > 0 {
			continue
		}
		var behind []string
		for _, other := range c.p.Requirements {
			if n := len(other.BlockedBy); n > 0 && other.BlockedBy[n-1] == r.ID {
				behind = append(behind, other.ID)
			}
		}
		waiting := ""
		if len(behind) > 0 {
			waiting = "; waiting behind it: " + oneLine(strings.Join(behind, ", "))
		}
		id, decide := operand(r.ID), shellWord(loop)+" decide "+operand(r.ID)
		fmt.Fprintf(&b, "\n%s is blocked: %s%s\n", oneLine(r.ID), strings.TrimRight(oneLine(r.Reason), "."), waiting)
		b.WriteString(keptWork(r))
		if c.overReqThreshold(r) {
			fmt.Fprintf(&b, "Split it, or raise cost.req_threshold in %s (0 is no limit)\n", config.File)
		}
		fmt.Fprintf(&b, "%s:\n", when)
		rows := [][]string{
			{"  ralph-checkpoint failures " + id, "read what each attempt failed on"},
			{"  " + decide + " retry", "try again from the start, told of the old failures"},
			{"  " + decide + " manual", "take your own fix, uncommitted or committed, through the gate"},
			{"  " + decide + " skip", "leave it out; what waits behind it goes on"},
		}
		if possible(RunStop) || !possible(RunDecide) {
			rows = append(rows, []string{"  " + decide + " stop", "end the run here"})
		}
		rows = append(rows, []string{"  " + decide + " rollback", "go back to the last commit that passed, and end the run"})
		if err := writeColumns(&b, rows); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// sentence is a message as a report has it.
func sentence(message string) string {
	return strings.ToUpper(message[:1]) + message[1:]
}

// operand is a requirement's id as a shell's user gives it to a program of ours: one that begins like an option stands
// behind "--".
func operand(id string) string {
	if strings.HasPrefix(id, "-") {
		return "-- " + shellWord(id)
	}
	return shellWord(id)
}

// shellWord quotes a word for a shell where that is needed.
func shellWord(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@", r))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// skips is how many commits a person made with the gate switched off.
func (c *Checkpoint) skips() int {
	data, err := os.ReadFile(filepath.Join(c.repo.StateDir(), "skips.log"))
	if err != nil {
		return 0
	}
	return strings.Count(string(data), "\n")
}
