// Package learn keeps what earlier work taught: two windows of learnings, the rules by which one enters them, moves
// from the one to the other and leaves, and the choice of what the next attempt is told.
//
// It is a model of values. Where the windows are stored is the caller's business; Store is one such place.
package learn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/excerpt"
)

// Bounds on what one learning may be. What is longer is cut, since it would crowd out the others.
const (
	MaxPattern  = 500 // bytes of a learning's text: a sentence or two
	MaxEvidence = 400 // bytes of one piece of evidence
	mostProofs  = 8   // pieces of evidence kept: the first and the newest
	mostReports = 64  // reports remembered, so that none counts twice
)

// InWindow is the ExpiresOn of a contextual learning that newer ones push out.
const InWindow = "window"

// Evidence says who reported a learning, when, and on what grounds.
type Evidence struct {
	Text    string    `yaml:"text,omitempty" json:"text,omitempty"`
	Req     string    `yaml:"req,omitempty" json:"req,omitempty"`         // "": a person, for no requirement
	Run     string    `yaml:"run,omitempty" json:"run,omitempty"`         // "": outside a run
	Attempt int       `yaml:"attempt,omitempty" json:"attempt,omitempty"` // 0: outside a run
	At      time.Time `yaml:"at" json:"at"`
}

// Permanent is a learning that every later attempt is told.
type Permanent struct {
	ID       string     `yaml:"id" json:"id"`
	Pattern  string     `yaml:"pattern" json:"pattern"`
	Evidence []Evidence `yaml:"evidence" json:"evidence"`
	Rule     string     `yaml:"rule" json:"rule"` // why it is permanent: a kind, ByUser or ByPromotion
	Words    []string   `yaml:"words,omitempty" json:"words,omitempty"`
	Reqs     []string   `yaml:"reqs,omitempty" json:"reqs,omitempty"` // that reported it, the first one first
	Pinned   bool       `yaml:"pinned,omitempty" json:"pinned,omitempty"`
	Since    time.Time  `yaml:"since" json:"since"`
}

// Contextual is a learning that the next few attempts are told.
type Contextual struct {
	ID        string     `yaml:"id" json:"id"`
	Pattern   string     `yaml:"pattern" json:"pattern"`
	ExpiresOn string     `yaml:"expires_on" json:"expires_on"` // InWindow, or the requirement that ends it
	Req       string     `yaml:"req,omitempty" json:"req,omitempty"`
	Evidence  []Evidence `yaml:"evidence" json:"evidence"`
	Since     time.Time  `yaml:"since" json:"since"`
}

// Windows are the learnings that are in force, each list from the oldest to the newest.
type Windows struct {
	Permanent  []Permanent  `yaml:"permanent" json:"permanent"`
	Contextual []Contextual `yaml:"contextual" json:"contextual"`
	Reports    []string     `yaml:"reports,omitempty" json:"-"` // that were ingested, the newest last
	Untold     []Untold     `yaml:"untold,omitempty" json:"-"`  // news that on.learned is still to be told, the oldest first

	read map[string]*wording // texts that were compared already
}

// HistoryEntry is a contextual learning that left the window, or one that never counted.
type HistoryEntry struct {
	Contextual
	ExpiredAt time.Time `json:"expired_at"`
	Reason    string    `json:"reason"`             // "window", "REQ-005 done", "REQ-005 undone" or "unproven"
	Unproven  bool      `json:"unproven,omitempty"` // its requirement is not done: it is no proof of anything
}

// Limits size the windows.
type Limits struct {
	Window    int // newest contextual learnings, 0: none is kept
	PromoteAt int // so many requirements make a learning permanent
}

// Entry is one learning as it is reported.
type Entry struct {
	Text      string
	Kind      string // the reporter's proposal, or ""
	Req       string // "": a person, for no requirement
	Evidence  string
	ExpiresOn string // "", InWindow, or a requirement
	Pinned    bool   // a person marked it permanent
	Run       string
	Attempt   int
}

// What became of an entry.
const (
	Added    = "added"    // new
	Repeated = "repeated" // known; its evidence was added
	Promoted = "promoted" // known, and permanent from now on
)

// Outcome tells what became of an entry.
type Outcome struct {
	ID        string
	What      string // Added, Repeated or Promoted
	Permanent bool
	Pattern   string // the text under which it is kept
}

// ErrEmpty is the error for a learning without a word.
var ErrEmpty = errors.New("a learning without a word teaches nothing")

// Add takes one learning in. past is the history, in which an expired learning may be found that is now confirmed.
// What leaves the window by it is returned.
func (w *Windows) Add(e Entry, past []HistoryEntry, limits Limits, now time.Time) (Outcome, []HistoryEntry, error) {
	text := cleaned(e.Text)
	if text == "" {
		return Outcome{}, nil, ErrEmpty
	}
	now = now.UTC().Truncate(time.Second)
	proof := Evidence{Text: excerpt.Line(e.Evidence, MaxEvidence), Req: e.Req, Run: e.Run, Attempt: e.Attempt, At: now}
	class := Classify(text, e.Kind)
	if e.Pinned {
		class = Class{Permanent: true, Rule: ByUser}
	}
	said := w.wording(text)

	for i := range w.Permanent {
		p := &w.Permanent[i]
		if !said.same(w.wording(p.Pattern)) {
			continue
		}
		p.Evidence, p.Reqs = proven(p.Evidence, proof), reported(p.Reqs, e.Req)
		if e.Pinned {
			p.Pinned = true
		}
		return Outcome{ID: p.ID, What: Repeated, Permanent: true, Pattern: p.Pattern}, nil, nil
	}

	known, at := w.find(said, past)
	c := Contextual{ID: w.newID(text), Pattern: text, Req: e.Req, Since: now}
	outcome := Outcome{What: Added}
	if known != nil {
		c, outcome.What = *known, Repeated
	}
	c.Evidence = proven(c.Evidence, proof)
	if c.ExpiresOn = e.ExpiresOn; c.ExpiresOn == "" {
		c.ExpiresOn = InWindow
	}
	outcome.ID, outcome.Pattern = c.ID, c.Pattern

	if !class.Permanent && len(reqsOf(c.Evidence)) >= limits.PromoteAt {
		class = Class{Permanent: true, Rule: ByPromotion}
	}
	if at >= 0 {
		w.Contextual = slices.Delete(w.Contextual, at, at+1)
	}
	if class.Permanent {
		w.keep(c, class, e.Pinned, now)
		outcome.Permanent = true
		if known != nil {
			outcome.What = Promoted
		}
		return outcome, nil, nil
	}
	w.Contextual = append(w.Contextual, c)
	return outcome, w.shrink(limits.Window, now), nil
}

// wording is wordingOf, worked out once for each text.
func (w *Windows) wording(text string) *wording {
	if w.read == nil {
		w.read = map[string]*wording{}
	}
	if w.read[text] == nil {
		w.read[text] = wordingOf(text)
	}
	return w.read[text]
}

// cleaned is a learning's text as it is kept: one line, without the marks of a list.
func cleaned(text string) string {
	text = excerpt.Line(text, MaxPattern+len("!permanent"))
	for {
		cut := strings.TrimLeft(text, " ")
		for _, mark := range []string{"- ", "* ", "+ ", "# ", "## ", "### "} {
			cut = strings.TrimPrefix(cut, mark)
		}
		if cut == text {
			break
		}
		text = cut
	}
	if len(wordsOf(text)) == 0 {
		return ""
	}
	return excerpt.Cut(text, MaxPattern)
}

// Marked takes the user's mark "!permanent" off a text's beginning or end and tells whether it was there.
func Marked(text string) (string, bool) {
	trimmed := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(trimmed, "!permanent"); ok {
		return strings.TrimLeft(rest, ": "), true
	}
	if rest, ok := strings.CutSuffix(trimmed, "!permanent"); ok {
		return strings.TrimSpace(rest), true
	}
	return text, false
}

// find is the contextual learning that says the same, in the window (at its position) or in the history (at -1).
func (w *Windows) find(said *wording, past []HistoryEntry) (known *Contextual, at int) {
	for i := range w.Contextual {
		if said.same(w.wording(w.Contextual[i].Pattern)) {
			c := w.Contextual[i]
			c.Evidence = slices.Clone(c.Evidence)
			return &c, i
		}
	}
	for i := len(past) - 1; i >= 0; i-- {
		if !past[i].Unproven && said.same(w.wording(past[i].Pattern)) {
			c := past[i].Contextual
			c.Evidence = slices.Clone(c.Evidence)
			return &c, -1
		}
	}
	return nil, -1
}

// keep makes a learning permanent.
func (w *Windows) keep(c Contextual, class Class, pinned bool, now time.Time) {
	w.Permanent = append(w.Permanent, Permanent{ID: c.ID, Pattern: c.Pattern, Evidence: c.Evidence, Rule: class.Rule,
		Words: class.Words, Reqs: reqsOf(c.Evidence), Pinned: pinned, Since: now})
}

// shrink moves what is behind the newest out of the window.
func (w *Windows) shrink(window int, now time.Time) []HistoryEntry {
	over := len(w.Contextual) - max(window, 0)
	if over <= 0 {
		return nil
	}
	var expired []HistoryEntry
	for _, c := range w.Contextual[:over] {
		expired = append(expired, HistoryEntry{Contextual: c, ExpiredAt: now, Reason: InWindow})
	}
	w.Contextual = slices.Delete(w.Contextual, 0, over)
	return expired
}

// Done moves the contextual learnings that were to hold until requirement req is done out of the window.
func (w *Windows) Done(req string, now time.Time) []HistoryEntry {
	var expired []HistoryEntry
	w.Contextual = slices.DeleteFunc(w.Contextual, func(c Contextual) bool {
		if c.ExpiresOn != req || req == InWindow {
			return false
		}
		expired = append(expired, HistoryEntry{Contextual: c, ExpiredAt: now.UTC().Truncate(time.Second), Reason: req + " done"})
		return true
	})
	return expired
}

// Source says whose report it is. A report counts once for each run, requirement and attempt; outside a run, once for
// each requirement and content.
type Source struct {
	Run      string
	Req      string
	Attempt  int
	Unproven bool   // the requirement is blocked
	Content  []byte // the report as it came
}

func (s Source) key() string {
	if s.Run != "" {
		return fmt.Sprintf("%s/%s/%d", s.Run, s.Req, s.Attempt)
	}
	sum := sha256.Sum256(s.Content)
	return s.Req + "/" + hex.EncodeToString(sum[:8])
}

// Ingest takes in the report of a requirement that is done: what was limited to that requirement expires, the
// report's learnings are added. The same report again changes nothing, and fresh is false.
func (w *Windows) Ingest(r *Report, from Source, past []HistoryEntry, limits Limits, now time.Time) (outcomes []Outcome, expired []HistoryEntry, fresh bool) {
	key := from.key()
	if slices.Contains(w.Reports, key) {
		return nil, nil, false
	}
	w.Reports = append(w.Reports, key)
	if over := len(w.Reports) - mostReports; over > 0 {
		w.Reports = slices.Delete(w.Reports, 0, over)
	}
	expired = w.Done(from.Req, now)
	for _, l := range r.Learnings {
		// What left the window a moment ago is part of the past already.
		outcome, gone, err := w.Add(l.entry(from), append(slices.Clip(past), expired...), limits, now)
		if err != nil {
			continue
		}
		outcomes, expired = append(outcomes, outcome), append(expired, gone...)
	}
	// A learning that was limited to this very requirement has served already.
	return outcomes, append(expired, w.Done(from.Req, now)...), true
}

// Unproven are the learnings of a report whose requirement was never done, for the history; past is what that holds. The
// same report again gives none.
func Unproven(r *Report, from Source, past []HistoryEntry, now time.Time) []HistoryEntry {
	var w Windows
	var out []HistoryEntry
	for _, l := range r.Learnings {
		text := cleaned(l.Text)
		if text == "" {
			continue
		}
		e := l.entry(from)
		at := now.UTC().Truncate(time.Second)
		id := w.newID(text)
		if slices.ContainsFunc(past, func(p HistoryEntry) bool {
			return p.ID == id && slices.ContainsFunc(p.Evidence, func(o Evidence) bool { return o.Req == e.Req && o.Run == e.Run && o.Attempt == e.Attempt })
		}) {
			continue
		}
		out = append(out, HistoryEntry{Contextual: Contextual{ID: id, Pattern: text, ExpiresOn: InWindow, Req: from.Req, Since: at,
			Evidence: []Evidence{{Text: excerpt.Line(e.Evidence, MaxEvidence), Req: e.Req, Run: e.Run, Attempt: e.Attempt, At: at}}},
			ExpiredAt: at, Reason: "unproven", Unproven: true})
	}
	return out
}

// pageEvidence is the evidence of what AGENTS.md kept.
const pageEvidence = "AGENTS.md"

// Rebuild takes in what AGENTS.md kept of a requirement's permanent learnings, where the windows do not hold it. at is the
// day of its section.
func (w *Windows) Rebuild(req string, texts []string, at time.Time) {
	for _, text := range texts {
		if text = cleaned(text); text == "" {
			continue
		}
		said := w.wording(text)
		if slices.ContainsFunc(w.Permanent, func(p Permanent) bool { return said.same(w.wording(p.Pattern)) }) {
			continue
		}
		class := Classify(text, "")
		if !class.Permanent {
			class = Class{Rule: ByPage}
		}
		w.keep(Contextual{ID: w.newID(text), Pattern: text, Evidence: []Evidence{{Text: pageEvidence, Req: req, At: at}}}, class, false, at)
	}
}

// Promote makes the learning of that id permanent and pinned, by a person's word. It may stand in either window or in
// the history. ok is false if there is none.
func (w *Windows) Promote(id string, past []HistoryEntry, now time.Time) (outcome Outcome, ok bool) {
	for i := range w.Permanent {
		if p := &w.Permanent[i]; p.ID == id {
			p.Pinned = true
			return Outcome{ID: id, What: Repeated, Permanent: true, Pattern: p.Pattern}, true
		}
	}
	now = now.UTC().Truncate(time.Second)
	for i, c := range w.Contextual {
		if c.ID == id {
			w.Contextual = slices.Delete(w.Contextual, i, i+1)
			w.keep(c, Class{Rule: ByUser}, true, now)
			return Outcome{ID: id, What: Promoted, Permanent: true, Pattern: c.Pattern}, true
		}
	}
	for i := len(past) - 1; i >= 0; i-- {
		if past[i].ID == id {
			w.keep(past[i].Contextual, Class{Rule: ByUser}, true, now)
			return Outcome{ID: id, What: Promoted, Permanent: true, Pattern: past[i].Pattern}, true
		}
	}
	return Outcome{}, false
}

// newID is a short name that follows from the text, so that it is the same on every machine. Two different texts whose
// names would be equal get longer ones.
func (w *Windows) newID(text string) string {
	sum := sha256.Sum256([]byte(normal(text)))
	digits := hex.EncodeToString(sum[:])
	for n := 8; ; n += 4 {
		id := "L-" + digits[:n]
		if n+4 > len(digits) || !w.Holds(id) {
			return id
		}
	}
}

// Holds reports whether a learning of that id is in force.
func (w *Windows) Holds(id string) bool {
	return slices.ContainsFunc(w.Permanent, func(p Permanent) bool { return p.ID == id }) ||
		slices.ContainsFunc(w.Contextual, func(c Contextual) bool { return c.ID == id })
}

// proven adds a piece of evidence: the first one and the newest are kept, and none stands twice.
func proven(all []Evidence, e Evidence) []Evidence {
	for i := range all {
		if all[i].Req == e.Req && all[i].Run == e.Run && all[i].Attempt == e.Attempt && (all[i].Text == e.Text || e.Text == "") {
			return all
		}
	}
	all = append(all, e)
	if over := len(all) - mostProofs; over > 0 {
		all = slices.Delete(all, 1, 1+over)
	}
	return all
}

// reqsOf are the requirements that reported, each once.
func reqsOf(all []Evidence) []string {
	var reqs []string
	for _, e := range all {
		reqs = reported(reqs, e.Req)
	}
	return reqs
}

func reported(reqs []string, req string) []string {
	if req == "" || slices.Contains(reqs, req) {
		return reqs
	}
	return append(reqs, req)
}
