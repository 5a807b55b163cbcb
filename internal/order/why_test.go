package order

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ralph-loop/internal/spec"
)

// chainOfFive is REQ-001 to REQ-005, each depending on the one before, and SIDE, which depends on nothing.
func chainOfFive(t *testing.T) *Graph {
	return graph(t, "REQ-001", "REQ-002: REQ-001", "REQ-003: REQ-002", "REQ-004: REQ-003", "REQ-005: REQ-004", "SIDE")
}

func TestWhy(t *testing.T) {
	failed := State{Status: spec.Blocked, Reason: "L2 failed 3 times", Attempts: 3}
	cases := []struct {
		name   string
		states States
		id     string
		want   string
	}{
		{"next", nil, "REQ-001",
			"REQ-001 is next: it depends on nothing, and it comes first of what is ready (layer 1, no priority, line 1).\nWhat depends on it: REQ-002."},
		{"ready, not next", nil, "SIDE",
			"SIDE is ready: it depends on nothing. It comes after REQ-001 (layer 1, no priority, line 6)."},
		{"waiting, chain of five", nil, "REQ-005",
			"REQ-005 waits for REQ-004 (waiting too).\nThe longest way: REQ-005 ← REQ-004 ← REQ-003 ← REQ-002 ← REQ-001, which is next."},
		{"waiting for what is ready", nil, "REQ-002", "REQ-002 waits for REQ-001 (ready)."},
		{"waiting for what is in work", States{"REQ-001": {Status: spec.InProgress}}, "REQ-002", "REQ-002 waits for REQ-001 (in work)."},
		{"in work", States{"REQ-001": {Status: spec.Done}, "REQ-002": {Status: spec.InProgress, Phase: "retry", Attempts: 1}}, "REQ-002",
			"REQ-002 is in work (retry, 1 attempt failed).\nREQ-002 is next: REQ-001 is done, and it comes first of what is ready (layer 2, no priority, line 2).\nWhat depends on it: REQ-003."},
		{"blocked", States{"REQ-001": failed}, "REQ-001",
			"REQ-001 is blocked: L2 failed 3 times.\nWhat waits for it: REQ-002, REQ-003, REQ-004 and REQ-005."},
		{"blocked by the file", States{"REQ-001": {Status: spec.Blocked}}, "REQ-001",
			"REQ-001 is blocked: so says the specification.\nWhat waits for it: REQ-002, REQ-003, REQ-004 and REQ-005."},
		{"blocked upstream", States{"REQ-001": failed}, "REQ-005",
			"REQ-005 is blocked: REQ-005 ← REQ-004 ← REQ-003 ← REQ-002 ← REQ-001, blocked: L2 failed 3 times.\nIt goes on when REQ-001 is done or skipped."},
		{"blocked upstream, recorded", States{"REQ-001": failed, "REQ-002": {Status: spec.Blocked, BlockedBy: []string{"REQ-001"}}}, "REQ-002",
			"REQ-002 is blocked: REQ-002 ← REQ-001, blocked: L2 failed 3 times.\nIt goes on when REQ-001 is done or skipped."},
		{"recorded as blocked, upstream free again", States{"REQ-001": {Status: spec.Skipped}, "REQ-002": {Status: spec.Blocked, BlockedBy: []string{"REQ-001"}}}, "REQ-002",
			"REQ-002 is ready: REQ-001 is skipped. It comes after SIDE (layer 2, no priority, line 2).\nWhat depends on it: REQ-003."},
		{"blocked with a reason that is a sentence", States{"REQ-004": {Status: spec.Blocked, Reason: "no change: it asked."}}, "REQ-005",
			"REQ-005 is blocked: REQ-005 ← REQ-004, blocked: no change: it asked.\nIt goes on when REQ-004 is done or skipped."},
		{"done", States{"REQ-001": {Status: spec.Done, Commit: "1a2b3c4"}}, "REQ-001", "REQ-001 is done, in commit 1a2b3c4."},
		{"done by the file", States{"REQ-001": {Status: spec.Done}}, "REQ-001", "REQ-001 is done; so says the specification."},
		{"skipped", States{"REQ-001": {Status: spec.Skipped}}, "REQ-001", "REQ-001 is skipped. What depends on it goes on as if it were done."},
		{"unknown", nil, "REQ-999", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := chainOfFive(t).Why(c.id, c.states); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestOutlook(t *testing.T) {
	g := graph(t, "A", "B: A", "C: B", "D")
	cases := []struct {
		states  States
		outlook Outlook
		reason  string
	}{
		{nil, SomeReady, "A is ready"},
		{States{"A": {Status: spec.Done}, "B": {Status: spec.Done}, "C": {Status: spec.Done}, "D": {Status: spec.Done}}, Complete, "complete: 4 of 4 done"},
		{States{"A": {Status: spec.Done}, "B": {Status: spec.Skipped}, "C": {Status: spec.Done}, "D": {Status: spec.Done}}, Complete, "complete: 3 of 4 done, 1 skipped"},
		{States{"A": {Status: spec.Blocked, Reason: "too large"}, "D": {Status: spec.Done}}, Stuck, "blocked: A (too large); waiting behind: B and C"},
		{States{"A": {Status: spec.Done}, "B": {Status: spec.Done}, "C": {Status: spec.Blocked}, "D": {Status: spec.Blocked, Reason: "L1"}}, Stuck, "blocked: D (L1) and C"},
	}
	for _, c := range cases {
		outlook, reason := g.Outlook(c.states)
		if outlook != c.outlook || reason != c.reason {
			t.Errorf("%v: %s, %q; want %s, %q", c.states, outlook, reason, c.outlook, c.reason)
		}
	}
}

func TestReady(t *testing.T) {
	g := graph(t, "A", "B: A", "C: A", "D: B C", "E")
	cases := []struct {
		states States
		want   []string
	}{
		{nil, []string{"A", "E"}},
		{States{"A": {Status: spec.Done}}, []string{"E", "B", "C"}},
		{States{"A": {Status: spec.Skipped}, "C": {Status: spec.InProgress}}, []string{"C", "E", "B"}},
		{States{"A": {Status: spec.Done}, "B": {Status: spec.Skipped}, "C": {Status: spec.Done}, "E": {Status: spec.Blocked}}, []string{"D"}},
		{States{"A": {Status: spec.Blocked}, "E": {Status: spec.Done}}, []string{}},
	}
	for _, c := range cases {
		if got := g.Ready(c.states); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.states, got, c.want)
		}
	}
}

func TestManyNamesAreCounted(t *testing.T) {
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("R", i))
	}
	if got, want := names(ids), "R0, R1, R2, R3, R4 and 15 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIdsInOneText(t *testing.T) {
	_, _, err := Read("s.yaml", []byte("requirements:\n- id: A\n  depends_on: B, C\n- id: B\n- id: C\n"))
	var invalid *spec.InvalidError
	if !errors.As(err, &invalid) || invalid.Problems[0].Hint != "write several ids as a list: [B, C]" {
		t.Errorf("got %+v", err)
	}
}

func TestReadTellsOfTheFileAndTheGraphTogether(t *testing.T) {
	_, _, err := Read("s.yaml", []byte("requirements:\n- id: A\n  depends_on: [B]\n- id: B\n  depends_on: [A, C]\n  status: nope\n"))
	const want = "s.yaml:3:16: dependencies form a cycle: A → B → A (depends_on at lines 3, 5)\n" +
		"s.yaml:5:19: \"B\" depends on \"C\", which does not exist\n" +
		"s.yaml:6:11: unknown status \"nope\""
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, _, err := Read("s.yaml", []byte("\t- x")); err == nil {
		t.Error("no error for what is not YAML")
	}
	g, warnings, err := Read("s.yaml", []byte("requirements:\n- id: A\n  description: x\n  status: done\n"))
	if err != nil || len(warnings) != 1 || FromFile(g.Spec())["A"].Status != spec.Done {
		t.Errorf("got %v, %v", warnings, err)
	}
}
