package checkpoint

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph-loop/internal/exit"
)

// legalRequirement spells the requirement's machine once more, by hand from its description: every pair that is not in
// it must be refused.
var legalRequirement = map[Status]string{
	Pending:       "start→test_infra_check, auto-block→blocked",
	InfraCheck:    "infra existing→in_progress, infra skipped→in_progress, infra needed→test_infra_dispatch, block→blocked, interrupt→pending",
	InfraDispatch: "attempt→test_infra_dispatch, infra needed→test_infra_dispatch, infra ready→test_infra_ready, infra fallback→test_infra_ready, infra failed→blocked, block→blocked, interrupt→pending",
	InfraReady:    "attempt→in_progress, block→blocked, interrupt→pending",
	InProgress:    "attempt→in_progress, pass→done, fail→retry, fail for good→blocked, block→blocked, interrupt→pending",
	Retry:         "attempt→retry, pass→done, fail→retry, fail for good→blocked, block→blocked, interrupt→pending",
	Blocked:       "decide skip→skipped, decide manual→done, decide retry→pending, reopen→pending",
	Done:          "reopen→pending",
	Skipped:       "decide retry→pending, reopen→pending",
}

func TestRequirementMachineWalkedWhole(t *testing.T) {
	for _, from := range Statuses {
		legal := map[string]string{}
		for pair := range strings.SplitSeq(legalRequirement[from], ", ") {
			event, to, _ := strings.Cut(pair, "→")
			legal[event] = to
		}
		for _, e := range Events {
			r := &Requirement{ID: "REQ-001", Status: from}
			err := r.move(e)
			to, ok := legal[string(e)]
			switch {
			case ok && (err != nil || string(r.Status) != to):
				t.Errorf("%s on %q: %s, %v; want %s", from, e, r.Status, err, to)
			case !ok && (err == nil || r.Status != from || exit.Code(err) != exit.No):
				t.Errorf("%s on %q: %s, %v; want a refusal", from, e, r.Status, err)
			case !ok && (exit.HintOf(err) == "" || !strings.Contains(err.Error(), "REQ-001")):
				t.Errorf("%s on %q: the refusal %q (hint %q) does not help", from, e, err, exit.HintOf(err))
			}
		}
	}
}

func TestBlockedFromUpstream(t *testing.T) {
	for e, want := range map[Event]Status{AutoUnblock: Pending, DecideSkip: Skipped, DecideRetry: "", DecideManual: "", Start: ""} {
		r := &Requirement{ID: "C", Status: Blocked, BlockedBy: []string{"B", "A"}}
		err := r.move(e)
		if want == "" && (err == nil || !strings.Contains(exit.HintOf(err), "decide about A")) {
			t.Errorf("%s: %v, hint %q; want a refusal that names A", e, err, exit.HintOf(err))
		}
		if want != "" && (err != nil || r.Status != want) {
			t.Errorf("%s: %s, %v; want %s", e, r.Status, err, want)
		}
	}
}

// legalRun is the run's machine, by hand.
var legalRun = map[RunStatus]string{
	RunNone:    "begin→running, recover→recovered",
	Running:    "continue→running, complete→completed, exhaust→partial, block→blocked, decide→running, stop→partial, rollback→rolled_back, recover→recovered",
	RunBlocked: "continue→running, complete→completed, exhaust→partial, block→blocked, decide→running, stop→partial, rollback→rolled_back, recover→recovered",
	Recovered:  "continue→running, complete→completed, exhaust→partial, block→blocked, decide→running, stop→partial, rollback→rolled_back, recover→recovered",
	Completed:  "begin→running, decide→running, rollback→rolled_back, recover→recovered",
	Partial:    "begin→running, decide→running, rollback→rolled_back, recover→recovered",
	RolledBack: "begin→running, rollback→rolled_back, recover→recovered",
}

func TestRunMachineWalkedWhole(t *testing.T) {
	for _, from := range RunStatuses {
		legal := map[string]string{}
		for pair := range strings.SplitSeq(legalRun[from], ", ") {
			event, to, _ := strings.Cut(pair, "→")
			legal[event] = to
		}
		for _, e := range RunEvents {
			p := &Progress{Req: ReqProgress{Status: from}}
			err := p.move(e)
			to, ok := legal[string(e)]
			switch {
			case ok && (err != nil || string(p.Req.Status) != to):
				t.Errorf("%q on %q: %s, %v; want %s", from, e, p.Req.Status, err, to)
			case !ok && (err == nil || p.Req.Status != from || exit.Code(err) != exit.No || exit.HintOf(err) == ""):
				t.Errorf("%q on %q: %s, %v; want a refusal", from, e, p.Req.Status, err)
			}
		}
	}
}

// TestMachineProperties drives random events: a status never leaves the known ones, done is left by a reopening alone,
// and each requirement is counted exactly once, whatever happens.
func TestMachineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Progress{}
		for _, id := range []string{"A", "B", "C"} {
			p.Requirements = append(p.Requirements, &Requirement{ID: id, Status: Pending})
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			r := p.Requirements[rapid.IntRange(0, 2).Draw(t, "which")]
			e := rapid.SampledFrom(Events).Draw(t, "event")
			before := r.Status
			err := r.move(e)
			if !slices.Contains(Statuses, r.Status) {
				t.Fatalf("%s on %s gave %q", before, e, r.Status)
			}
			if err != nil && r.Status != before {
				t.Fatalf("a refused %s moved %s to %s", e, before, r.Status)
			}
			if before == Done && r.Status != Done && e != Reopen {
				t.Fatalf("done was left by %s", e)
			}
			if r.Status == Done && before != Done && e != Pass && e != DecideManual {
				t.Fatalf("done was reached by %s", e)
			}
			if r.Status == InProgress && before != InProgress && before != InfraCheck && before != InfraReady {
				t.Fatalf("%s led from %s past its test infrastructure", e, before)
			}
			c := p.Counts()
			if c.Done+c.Pending+c.Blocked+c.Skipped != c.Total || c.Total != 3 {
				t.Fatalf("counts %+v do not add up", c)
			}
		}
	})
}
