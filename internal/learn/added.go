package learn

import (
	"bytes"
	"encoding/json"
	"slices"
)

// What may happen to learnings while an agent is at work is what a person can say in the meantime: one is added,
// repeated or promoted, and the window moves on. Here it is told from any other change.

// Memory is what is known of learnings at one time.
type Memory struct {
	Windows *Windows
	History []byte // the history's file
}

// OnlyAdded reports whether now can have come of before by Add and Promote, by a person's word: nothing in force is
// changed or gone, what left the window stands in the history, and no new evidence claims to be a report's.
func OnlyAdded(before, now Memory) bool {
	past, _ := parseHistory(before.History)
	left, ok := appended(before.History, now.History)
	if !ok {
		return false
	}
	a := added{before: before.Windows, known: map[string]Contextual{}}
	for _, e := range past {
		a.known[e.ID] = e.Contextual
	}
	for _, c := range before.Windows.Contextual {
		a.known[c.ID] = c
	}
	return a.windows(now.Windows, left)
}

// appended are the entries of a history behind those of an earlier one; ok is false where anything else differs.
func appended(before, now []byte) (entries []HistoryEntry, ok bool) {
	tail, ok := bytes.CutPrefix(now, before)
	if !ok {
		return nil, false
	}
	for line := range bytes.Lines(tail) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue // it ends a line that a crash has cut
		}
		var e HistoryEntry
		if json.Unmarshal(line, &e) != nil || e.ID == "" || e.Unproven {
			return nil, false
		}
		entries = append(entries, e)
	}
	return entries, true
}

type added struct {
	before *Windows
	known  map[string]Contextual // what was in the window, or in the history
}

func (a *added) windows(now *Windows, left []HistoryEntry) bool {
	if !slices.Equal(a.before.Reports, now.Reports) || len(now.Permanent) < len(a.before.Permanent) {
		return false
	}
	patterns := map[string]string{} // by id
	for _, e := range left {
		if !a.contextual(e.Contextual) {
			return false
		}
		patterns[e.ID] = e.Pattern
	}
	for i, p := range now.Permanent {
		if i < len(a.before.Permanent) && !kept(a.before.Permanent[i], p) || i >= len(a.before.Permanent) && !a.promoted(p) {
			return false
		}
		patterns[p.ID] = p.Pattern
	}
	for _, c := range now.Contextual {
		if !a.contextual(c) {
			return false
		}
		patterns[c.ID] = c.Pattern
	}
	for _, c := range a.before.Contextual {
		if _, there := patterns[c.ID]; !there {
			return false
		}
	}
	return !slices.ContainsFunc(now.Untold, func(u Untold) bool {
		return patterns[u.ID] != u.Pattern && !slices.Contains(a.before.Untold, u)
	})
}

// kept judges a permanent learning that was there: it may be confirmed and pinned.
func kept(was, now Permanent) bool {
	same := was.ID == now.ID && was.Pattern == now.Pattern && was.Rule == now.Rule && was.Since.Equal(now.Since) && slices.Equal(was.Words, now.Words)
	reqs := len(now.Reqs) >= len(was.Reqs) && slices.Equal(was.Reqs, now.Reqs[:len(was.Reqs)])
	return same && reqs && (now.Pinned || !was.Pinned) && grown(was.Evidence, now.Evidence)
}

// promoted judges one that is new among the permanent ones.
func (a *added) promoted(p Permanent) bool {
	ruled := p.Pinned || p.Rule == ByPromotion && len(reqsOf(p.Evidence)) > 1 || Classify(p.Pattern, "").Permanent
	was, known := a.known[p.ID]
	return ruled && (!known || was.Pattern == p.Pattern) && len(p.Pattern) <= MaxPattern && grown(was.Evidence, p.Evidence)
}

// contextual judges a learning that is or was in the window: one that was there before, came back from the history, or is
// new.
func (a *added) contextual(c Contextual) bool {
	was, known := a.known[c.ID]
	if known && (was.Pattern != c.Pattern || was.Req != c.Req || !was.Since.Equal(c.Since)) {
		return false
	}
	return len(c.Pattern) <= MaxPattern && (c.ExpiresOn == InWindow || known && c.ExpiresOn == was.ExpiresOn) && grown(was.Evidence, c.Evidence)
}

// grown reports whether evidence became more by a person's word alone. The first piece always stays; of many the older
// ones behind it go.
func grown(was, now []Evidence) bool {
	for _, e := range now {
		if !holdsEvidence(was, e) && (e.Run != "" || e.Attempt != 0 || len(e.Text) > MaxEvidence) {
			return false
		}
	}
	for i, e := range was {
		if !holdsEvidence(now, e) && (i == 0 || len(now) < mostProofs) {
			return false
		}
	}
	return true
}

func holdsEvidence(all []Evidence, e Evidence) bool {
	return slices.ContainsFunc(all, func(o Evidence) bool {
		return o.Text == e.Text && o.Req == e.Req && o.Run == e.Run && o.Attempt == e.Attempt && o.At.Equal(e.At)
	})
}
