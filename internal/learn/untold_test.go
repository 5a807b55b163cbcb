package learn

import (
	"fmt"
	"testing"
)

func TestAnnounce(t *testing.T) {
	var w Windows
	said := func(e Entry) {
		outcome, _ := add(t, &w, nil, e)
		w.Announce(e.Req, outcome)
	}
	said(Entry{Text: "rows are short", Req: "REQ-001", Evidence: "TestRows", Run: "r", Attempt: 2})
	said(Entry{Text: "rows are short", Req: "REQ-001"})
	said(Entry{Text: "Rows are short!", Req: "REQ-002", Evidence: "TestMore"})
	said(Entry{Text: "rows are short", Req: "REQ-003"})
	said(Entry{Text: "never log the session token"})
	want := "[REQ-001 false rows are short TestRows r][REQ-002 true rows are short TestMore ][ true never log the session token  ]"
	got := ""
	for _, u := range w.Untold {
		got += fmt.Sprintf("[%s %v %s %s %s]", u.Req, u.Permanent, u.Pattern, u.Evidence, u.Run)
	}
	if got != want {
		t.Errorf("untold %s, want %s", got, want)
	}
	first := w.Untold[0]
	w.Told(first)
	w.Told(first)
	if len(w.Untold) != 2 || w.Untold[0].Req != "REQ-002" {
		t.Errorf("after the first was told twice: %+v", w.Untold)
	}
	for i := range 2 * mostUntold {
		said(Entry{Text: fmt.Sprintf("the fact %d is new", i)})
	}
	if len(w.Untold) != mostUntold || w.Untold[mostUntold-1].Pattern != fmt.Sprintf("the fact %d is new", 2*mostUntold-1) {
		t.Errorf("%d untold", len(w.Untold))
	}
}

// What a review found is contextual whatever its words; a second requirement that meets it makes it permanent.
func TestFindings(t *testing.T) {
	var w Windows
	finding := Entry{Text: "review: all handlers must never log a password", Kind: Finding, Req: "REQ-001", Evidence: "on.review"}
	if outcome, _ := add(t, &w, nil, finding); outcome.Permanent {
		t.Errorf("%+v", outcome)
	}
	finding.Req = "REQ-002"
	if outcome, _ := add(t, &w, nil, finding); !outcome.Permanent || w.Permanent[0].Rule != ByPromotion {
		t.Errorf("%+v", outcome)
	}
}
