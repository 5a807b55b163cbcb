package learn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/spec"
)

// alwaysFactor bounds what is told whatever it costs, pinned learnings and security rules, as a multiple of the
// budget: a prompt must stay bounded even if everything is marked important.
const alwaysFactor = 4

// Selection is what one attempt is told.
type Selection struct {
	Permanent  []Permanent // in the order in which they were learned
	Contextual []Contextual
	LeftOut    int // permanent learnings that did not fit
}

// Context chooses what an attempt is told. about is the requirement's text, for relevance. budget is the tokens that
// permanent learnings may cost; most bounds everything together, 0 or less is no bound.
//
// Pinned learnings and security rules come first and may pass the budget, up to four times; then those that share
// most words with the requirement, the newest of equals first, each whole or not at all. The window's learnings come
// whole, the newest first, as long as most allows.
func (w *Windows) Context(about string, budget, most int) Selection {
	var s Selection
	cost, always := budget, alwaysFactor*budget
	if most > 0 {
		cost, always = min(cost, most), min(always, most)
	}
	chosen := make([]bool, len(w.Permanent))
	used := 0
	take := func(i, limit int) {
		if n := spec.Tokens(w.Permanent[i].line()); used+n <= limit && !chosen[i] {
			chosen[i], used = true, used+n
		}
	}
	for i := len(w.Permanent) - 1; i >= 0; i-- {
		if w.Permanent[i].Pinned {
			take(i, always)
		}
	}
	for i := len(w.Permanent) - 1; i >= 0; i-- {
		if w.Permanent[i].Rule == Security {
			take(i, always)
		}
	}
	for _, i := range w.byRelevance(about) {
		take(i, cost)
	}
	for i, p := range w.Permanent {
		if chosen[i] {
			s.Permanent = append(s.Permanent, p)
		}
	}
	s.LeftOut = len(w.Permanent) - len(s.Permanent)
	for _, c := range slices.Backward(w.Contextual) {
		n := spec.Tokens(c.line())
		if most > 0 && used+n > most {
			break
		}
		used += n
		s.Contextual = append(s.Contextual, c)
	}
	slices.Reverse(s.Contextual)
	return s
}

// byRelevance is the positions of the permanent learnings, the most relevant first.
func (w *Windows) byRelevance(about string) []int {
	words := wordingOf(about).words
	positions, scores := make([]int, len(w.Permanent)), make([]int, len(w.Permanent))
	for i := range positions {
		positions[i] = i
		scores[i] = w.wording(w.Permanent[i].Pattern).shared(words)
	}
	slices.SortFunc(positions, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
	return positions
}

func (p Permanent) line() string {
	var from []string
	if len(p.Reqs) > 0 {
		from = append(from, strings.Join(p.Reqs[:min(3, len(p.Reqs))], ", "))
	}
	if p.Rule == Security {
		from = append(from, Security)
	}
	if len(from) == 0 {
		return "- " + p.Pattern + "\n"
	}
	return "- " + p.Pattern + " (" + strings.Join(from, "; ") + ")\n"
}

func (c Contextual) line() string {
	if c.Req == "" {
		return "- " + c.Pattern + "\n"
	}
	return "- " + c.Pattern + " (" + c.Req + ")\n"
}

// Text is the selection as the prompt shows it, "" when there is nothing to tell. file names where all permanent
// learnings stand.
func (s Selection) Text(file string) string {
	var b strings.Builder
	if len(s.Permanent)+s.LeftOut > 0 {
		b.WriteString("Permanent:\n")
		for _, p := range s.Permanent {
			b.WriteString(p.line())
		}
		if s.LeftOut > 0 {
			fmt.Fprintf(&b, "%d more in %s: look there for what is not named here.\n", s.LeftOut, file)
		}
	}
	if len(s.Contextual) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("From the latest requirements (may not hold here):\n")
		for _, c := range s.Contextual {
			b.WriteString(c.line())
		}
	}
	return b.String()
}

// Page is the text of the file that holds all permanent learnings.
func (w *Windows) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Permanent learnings: %d\n\n", len(w.Permanent))
	for _, p := range w.Permanent {
		b.WriteString(p.line())
	}
	return b.String()
}

// Why says in sentences how a learning came to stand where it stands. id may be a unique beginning of at least four
// digits. ok is false if no learning has that id.
func (w *Windows) Why(id string, past []HistoryEntry, limits Limits) (text string, ok bool) {
	var b strings.Builder
	for _, p := range w.Permanent {
		if p.ID != id {
			continue
		}
		fmt.Fprintf(&b, "%s is permanent since %s: %s\n", p.ID, p.Since.Format("2006-01-02"), p.Pattern)
		switch p.Rule {
		case ByUser:
			b.WriteString("A person marked it permanent.\n")
		case ByPromotion:
			fmt.Fprintf(&b, "%d requirements reported it: %s.\n", len(p.Reqs), strings.Join(p.Reqs, ", "))
		case ByPage:
			b.WriteString("AGENTS.md kept it, from an earlier run or another clone.\n")
		default:
			fmt.Fprintf(&b, "By its own words: %s.\n", Class{Permanent: true, Rule: p.Rule, Words: p.Words}.why())
		}
		if p.Pinned {
			b.WriteString("It is pinned: every prompt holds it.\n")
		}
		writeEvidence(&b, p.Evidence)
		return b.String(), true
	}
	for i, c := range w.Contextual {
		if c.ID != id {
			continue
		}
		fmt.Fprintf(&b, "%s is contextual since %s: %s\n", c.ID, c.Since.Format("2006-01-02"), c.Pattern)
		reason := Classify(c.Pattern, "")
		words := reason.why()
		if reason.Permanent {
			words = "it is what a review found"
		}
		fmt.Fprintf(&b, "Not permanent: %s, and %s.\n", words, fewReports(c.Evidence, limits))
		fmt.Fprintf(&b, "What would be: a rule or a lasting fact under its kind's name, such as %q. 'ralph-learn promote %s' makes it so as it is.\n", wouldBe, c.ID)
		if c.ExpiresOn == InWindow {
			fmt.Fprintf(&b, "It is number %d of the window's %d newest; newer ones push it out.\n", len(w.Contextual)-i, limits.Window)
		} else {
			fmt.Fprintf(&b, "It expires when %s is done, or behind %d newer ones.\n", c.ExpiresOn, limits.Window)
		}
		writeEvidence(&b, c.Evidence)
		return b.String(), true
	}
	for i := len(past) - 1; i >= 0; i-- {
		if e := past[i]; e.ID == id {
			reason := "left the window on " + e.ExpiredAt.Format("2006-01-02") + ": "
			switch {
			case e.undone():
				reason = "counts no more since " + e.ExpiredAt.Format("2006-01-02") + ": " + e.Reason
			case e.Unproven:
				reason = "never counted: its requirement was not done"
			case e.Reason == InWindow:
				reason += "newer ones pushed it out"
			default:
				reason += e.Reason
			}
			fmt.Fprintf(&b, "%s is history, it %s: %s\n", e.ID, reason, e.Pattern)
			writeEvidence(&b, e.Evidence)
			return b.String(), true
		}
	}
	return "", false
}

// wouldBe is a text that is permanent at once.
const wouldBe = "Convention: tests are named TestX"

func fewReports(all []Evidence, limits Limits) string {
	switch reqs := reqsOf(all); len(reqs) {
	case 0:
		return "no requirement reported it"
	case 1:
		return fmt.Sprintf("only %s reported it (%d make it permanent)", reqs[0], limits.PromoteAt)
	default:
		return fmt.Sprintf("%s reported it (%d make it permanent)", strings.Join(reqs, ", "), limits.PromoteAt)
	}
}

func writeEvidence(b *strings.Builder, all []Evidence) {
	for _, e := range all {
		who := "a person"
		if e.Req != "" {
			who = e.Req
		}
		if e.Run != "" {
			who += fmt.Sprintf(", attempt %d of run %s", e.Attempt, e.Run)
		}
		fmt.Fprintf(b, "- %s, %s", e.At.Format("2006-01-02"), who)
		if e.Text != "" {
			b.WriteString(": " + e.Text)
		}
		b.WriteByte('\n')
	}
}

// Resolve is the full id that id is, or is the only beginning of, in the windows and the history; "" if there is none
// or more than one.
func (w *Windows) Resolve(id string, past []HistoryEntry) string {
	const least = len("L-") + 4
	match := ""
	for _, known := range w.ids(past) {
		switch {
		case known == id:
			return id
		case len(id) < least || !strings.HasPrefix(known, id) || known == match:
		case match != "":
			return ""
		default:
			match = known
		}
	}
	return match
}

func (w *Windows) ids(past []HistoryEntry) []string {
	var ids []string
	for _, p := range w.Permanent {
		ids = append(ids, p.ID)
	}
	for _, c := range w.Contextual {
		ids = append(ids, c.ID)
	}
	for _, e := range past {
		ids = append(ids, e.ID)
	}
	return ids
}
