package learn

import (
	"fmt"
	"strings"
	"testing"
)

// What only an undone requirement reported counts no more, in whatever window it stands; what others or a person said stays.
func TestUndo(t *testing.T) {
	dir := t.TempDir()
	var w Windows
	past := func() []HistoryEntry {
		t.Helper()
		all, _, err := ReadHistory(dir)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	keep := func(entries []HistoryEntry) {
		t.Helper()
		if err := AppendHistory(dir, entries); err != nil {
			t.Fatal(err)
		}
	}
	report := func(req string, texts ...string) {
		t.Helper()
		r := &Report{}
		for _, text := range texts {
			r.Learnings = append(r.Learnings, Reported{Text: text})
		}
		outcomes, expired, _ := w.Ingest(r, Source{Run: "run1", Req: req, Attempt: 1}, past(), limits, now)
		w.Announce(req, outcomes...)
		keep(expired)
	}
	report("REQ-001", "never log a password", "sort before comparing", "short rows are read first")
	report("REQ-002", "never log a session token", "never log a password", "Sort before comparing!", "short rows are read first", "walks are deep")
	report("REQ-003", "Convention: tests are named TestX", "one two three", "four five six", "seven eight nine")
	pinned, _ := add(t, &w, nil, Entry{Text: "ask the owner first", Req: "REQ-002", Pinned: true})
	byHand, _ := add(t, &w, nil, Entry{Text: "never store a secret in the tree", Req: "REQ-002"})
	if p, c := len(w.Permanent), len(w.Contextual); p != 7 || c != 3 || !known(past(), "walks are deep", false) {
		t.Fatalf("%d permanent, %d contextual, %+v", p, c, past())
	}

	gone := w.Undo([]string{"REQ-002"}, past(), limits, now)
	keep(gone)
	var texts []string
	for _, p := range w.Permanent {
		texts = append(texts, p.Pattern+fmt.Sprint(p.Reqs))
	}
	want := "[never log a password[REQ-001] Convention: tests are named TestX[REQ-003] ask the owner first[REQ-002] never store a secret in the tree[REQ-002]]"
	if got := fmt.Sprint(texts); got != want {
		t.Errorf("permanent are %s, want %s", got, want)
	}
	if !w.Holds(pinned.ID) || !w.Holds(byHand.ID) || len(w.Contextual) != 3 {
		t.Errorf("%+v", w.Contextual)
	}
	all := past()
	for text, unproven := range map[string]bool{"never log a session token": true, "walks are deep": true, "sort before comparing": false, "short rows are read first": false} {
		if !known(all, text, unproven) {
			t.Errorf("the history does not hold %q, unproven %v: %+v", text, unproven, all)
		}
	}
	for _, u := range w.Untold {
		if u.Pattern == "never log a session token" {
			t.Error("what counts no more is told all the same")
		}
	}
	for _, e := range all {
		if why, ok := w.Why(e.ID, all, limits); e.Pattern == "walks are deep" && (!ok || !strings.HasPrefix(why, e.ID+" is history, it counts no more since 2026-05-08: REQ-002 undone: ")) {
			t.Errorf("why: %q", why)
		}
	}
	// What is undone is no report: one more makes no promotion of it. Nor does the same again change anything.
	if o, _ := add(t, &w, all, Entry{Text: "walks are deep", Req: "REQ-004", Run: "run2"}); o.Permanent {
		t.Error("promoted by a report that is undone")
	}
	if again := w.Undo([]string{"REQ-002"}, all, limits, now); again != nil {
		t.Errorf("undone twice: %+v", again)
	}
}

func known(past []HistoryEntry, text string, unproven bool) bool {
	for _, e := range past {
		if e.Pattern == text {
			return e.Unproven == unproven
		}
	}
	return false
}
