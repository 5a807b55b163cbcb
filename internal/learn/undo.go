package learn

import (
	"slices"
	"strings"
	"time"
)

// undoneMark ends the reason of what Undo took back.
const undoneMark = " undone"

func (e HistoryEntry) undone() bool { return e.Unproven && strings.HasSuffix(e.Reason, undoneMark) }

// Undo takes back what the reports of requirements said whose commits are undone: it proves nothing now. A learning that
// nobody else reported goes into the history, where it counts no more, and one that is short of reports for its promotion
// is contextual again. A person's word stays. What is returned is for the history; past is what that holds.
func (w *Windows) Undo(reqs []string, past []HistoryEntry, limits Limits, now time.Time) []HistoryEntry {
	now = now.UTC().Truncate(time.Second)
	undone := func(e Evidence) bool { return slices.Contains(reqs, e.Req) && (e.Run != "" || e.Text == pageEvidence) }
	touched := func(all []Evidence) bool { return slices.ContainsFunc(all, undone) }
	left := func(all []Evidence) []Evidence { return slices.DeleteFunc(slices.Clone(all), undone) }

	var out []HistoryEntry
	gone := map[string]bool{}
	unproven := func(c Contextual) {
		gone[c.ID] = true
		out = append(out, HistoryEntry{Contextual: c, ExpiredAt: now, Reason: strings.Join(reqsOf(c.Evidence), ", ") + undoneMark, Unproven: true})
	}
	for _, e := range past {
		switch {
		case e.Unproven || w.Holds(e.ID) || !touched(e.Evidence):
		case len(left(e.Evidence)) == 0:
			unproven(e.Contextual)
		default:
			e.Evidence = left(e.Evidence)
			e.Req = firstReq(e.Evidence)
			out = append(out, e)
		}
	}
	var permanent []Permanent
	var contextual []Contextual
	for _, p := range w.Permanent {
		if p.Pinned || p.Rule == ByUser || !touched(p.Evidence) {
			permanent = append(permanent, p)
			continue
		}
		c := Contextual{ID: p.ID, Pattern: p.Pattern, ExpiresOn: InWindow, Req: firstReq(p.Evidence), Evidence: p.Evidence, Since: p.Since}
		p.Evidence = left(p.Evidence)
		// Not every report has its evidence kept.
		p.Reqs = slices.DeleteFunc(slices.Clone(p.Reqs), func(r string) bool {
			return slices.Contains(reqs, r) && !slices.Contains(reqsOf(p.Evidence), r)
		})
		switch {
		case len(p.Evidence)+len(p.Reqs) == 0:
			unproven(c)
		case p.Rule == ByPromotion && len(p.Reqs) < limits.PromoteAt:
			c.Evidence, c.Req = p.Evidence, firstReq(p.Evidence)
			contextual = append(contextual, c)
		default:
			permanent = append(permanent, p)
		}
	}
	for _, c := range w.Contextual {
		switch {
		case !touched(c.Evidence):
			contextual = append(contextual, c)
		case len(left(c.Evidence)) == 0:
			unproven(c)
		default:
			c.Evidence = left(c.Evidence)
			c.Req = firstReq(c.Evidence)
			contextual = append(contextual, c)
		}
	}
	w.Permanent, w.Contextual = permanent, contextual
	w.Untold = slices.DeleteFunc(w.Untold, func(u Untold) bool { return gone[u.ID] })
	return append(out, w.shrink(limits.Window, now)...)
}

// firstReq is the requirement that reported first, or "".
func firstReq(all []Evidence) string {
	return append(reqsOf(all), "")[0]
}
