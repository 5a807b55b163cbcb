package checkpoint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ralph-loop/internal/config"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/notify"
)

func shell(line string) []config.Command {
	return []config.Command{{Args: []string{"sh", "-c", line}, Line: line}}
}

// What nobody is to be told is not kept; what is kept is bounded, and whole after any text of a specification, an agent or a
// test went through the file.
func TestNote(t *testing.T) {
	c := inState(t, nil)
	put(t, c.store, c.p)
	c.noteDone(c.p, c.p.Find("REQ-001"))
	if len(c.p.Events) > 0 {
		t.Errorf("kept for nobody: %+v", c.p.Events)
	}
	c.cfg.On.ReqDone, c.cfg.On.Regression, c.cfg.On.Blocked = shell("true"), shell("true"), shell("true")
	hostile := "- a: b\n---\r\n# sha256 00\t'\"{[&*!|>%@`\u2028 书 \u202e…"
	c.p.Find("REQ-005").Reason = hostile
	for range mostEvents {
		c.noteDone(c.p, c.p.Find("REQ-001"))
	}
	v := &gate.Verdict{Layers: []gate.Layer{{Name: "L2", Findings: []gate.Finding{
		{Rule: "build", Message: "no"}, {Path: "a b.go", Line: 3, Rule: "regression", Message: "regression: " + hostile}}}}}
	for range 2 * mostTests {
		v.Layers[0].Findings = append(v.Layers[0].Findings, gate.Finding{Rule: "regression", Message: "regression: x"})
	}
	c.noteRegression(c.p, c.p.Find("REQ-002"), 2, v)
	c.noteRegression(c.p, c.p.Find("REQ-002"), 2, &gate.Verdict{})
	c.noteRegression(c.p, c.p.Find("REQ-002"), 2, nil)
	c.p.Find("REQ-006").BlockedBy = []string{"REQ-005"}
	c.noteBlocked(c.p, c.p.Find("REQ-005"))
	c.p.Learnings.Untold = []learn.Untold{{ID: "L-1", Pattern: hostile, Evidence: hostile, At: c.stamp()}}
	if n := len(c.p.Events); n != mostEvents {
		t.Fatalf("%d events", n)
	}
	put(t, c.store, c.p)
	back, err := c.store.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Events, c.p.Events) || !reflect.DeepEqual(back.Learnings.Untold, c.p.Learnings.Untold) {
		t.Errorf("read back %+v", back.Events[mostEvents-2:])
	}
	last, before := back.Events[mostEvents-1], back.Events[mostEvents-2]
	if last.Kind != notify.Blocked || last.Reason != hostile || strings.ContainsAny(last.Text, "\n\r") || !reflect.DeepEqual(last.Waiting, []string{"REQ-006"}) || last.Title != "ETag" || last.Run != "r1" {
		t.Errorf("blocked: %+v", last)
	}
	if before.Kind != notify.Regression || len(before.Tests) != mostTests || !strings.HasPrefix(before.Tests[0], `"a b.go":3: - a: b`) && !strings.HasPrefix(before.Tests[0], "a b.go:3: - a: b") ||
		!strings.Contains(before.Text, "attempt 2 at REQ-002 broke 41 tests that passed before it, first: ") {
		t.Errorf("regression: %+v", before)
	}
}

// Events are told in their order, each once, and leave the state one by one: what comes behind a failed command is told too.
func TestTellInOrder(t *testing.T) {
	c := inState(t, nil)
	out := filepath.Join(c.repo.Top, "told")
	c.cfg.On.ReqDone = append(shell("exit 3"), shell(`cat >>told`)...)
	c.cfg.On.Finished = shell(`cat >>told; exit 4`)
	put(t, c.store, c.p)
	var said []string
	c.say = func(format string, args ...any) { said = append(said, format) }
	c.noteDone(c.p, c.p.Find("REQ-001"))
	if err := c.endRun(c.p, RunBlock); err != nil {
		t.Fatal(err)
	}
	c.noteDone(c.p, c.p.Find("REQ-002"))
	put(t, c.store, c.p)
	for range 2 {
		if err := c.Tell(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		var e notify.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Kind+" "+e.Req+e.Status)
	}
	if want := []string{"req_done REQ-001", "finished blocked", "req_done REQ-002"}; !reflect.DeepEqual(got, want) || len(said) != 3 {
		t.Errorf("told %q with %d warnings, want %q", got, len(said), want)
	}
	if back, err := c.store.Load(); err != nil || len(back.Events) > 0 || back.Req.Status != RunBlocked {
		t.Errorf("%+v, %v", back.Events, err)
	}
}
