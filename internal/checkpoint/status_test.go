package checkpoint

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/git"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/order"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with testdata/NAME.golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

const sixRequirements = `
requirements:
  - {id: REQ-001, title: Tags 标签, description: d, acceptance_criteria: [c]}
  - {id: REQ-002, title: "A <b>filter</b>", description: d, acceptance_criteria: [c]}
  - {id: REQ-003, title: Export, description: d, acceptance_criteria: [c]}
  - {id: REQ-004, title: Change, description: d, acceptance_criteria: [c]}
  - {id: REQ-005, title: ETag, description: d, acceptance_criteria: [c]}
  - {id: REQ-006, title: ISBN, description: d, depends_on: [REQ-005], acceptance_criteria: [c]}
`

// inState is a checkpoint in a repository of its own, of six requirements: four done, REQ-005 blocked by its own
// failure, REQ-006 pending. change makes of it what a test needs.
func inState(t *testing.T, change func(*Progress)) *Checkpoint {
	t.Helper()
	dir, env := t.TempDir(), environ(t)
	runGit(t, dir, env, "init", "-q", "-b", "main")
	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	graph, _, err := order.Read("specification.yaml", []byte(sixRequirements))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(config.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Blank(Options{Repo: repo, Config: cfg, Graph: graph, Spec: "specification.yaml", Environ: env,
		Now: func() time.Time { return time.Date(2026, 5, 8, 10, 30, 0, 0, time.UTC) }, Say: func(string, ...any) {}})
	at := time.Date(2026, 5, 8, 10, 0, 0, 0, time.UTC)
	p := &Progress{Run: "r1", Specification: "specification.yaml", Iteration: 5, MaxIterations: 15, CheckpointAt: at.Add(30 * time.Minute), Order: graph.Order(),
		Req:  ReqProgress{Current: "REQ-005", Status: Running, InfraStatus: "skipped"},
		Cost: Cost{ReqNumber: 5, Tokens: 300, Cumulative: 4300, Threshold: 200000, Estimated: true},
		Learnings: learn.Windows{
			Permanent:  []learn.Permanent{{ID: "L-1", Pattern: "标签只存一种形式", Reqs: []string{"REQ-001"}}},
			Contextual: []learn.Contextual{{ID: "L-2", Pattern: "Dates are UTC", Req: "REQ-004"}},
		}}
	for i, id := range p.Order {
		r := &Requirement{ID: id, Status: Done, Attempts: 1, Commit: strings.Repeat(string(rune('a'+i)), 40), Tokens: 1000, Seconds: 61.25, Number: i + 1,
			Gate: "L1 pass; L1b 57/103; L2 212 passed; L3 8123/9410", Infra: InfraWork{Status: "skipped"}, Steps: Steps{Load: at, Isolate: at, Dispatch: at, Regression: at, Resolve: at, Learnings: at, State: at}}
		p.Requirements = append(p.Requirements, r)
	}
	blocked, pending := p.Find("REQ-005"), p.Find("REQ-006")
	*blocked = Requirement{ID: "REQ-005", Status: Blocked, Attempts: 3, Tokens: 300, Seconds: 9, Number: 5,
		Reason: "failed 3 times, last: L2: 1 failed, 9 passed", Infra: InfraWork{Status: "skipped"}, Steps: Steps{Load: at, Isolate: at, Dispatch: at, Regression: at, Resolve: at, State: at}}
	*pending = Requirement{ID: "REQ-006", Status: Pending}
	if change != nil {
		change(p)
	}
	p.recount()
	c.p = p
	return c
}

// The object that other programs read, to the byte: 6 requirements, 4 done, 1 pending, 1 blocked, 0 skipped.
func TestStatusObject(t *testing.T) {
	s, err := inState(t, nil).Status()
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Requirements; n != (RequirementCounts{Total: 6, Done: 4, Pending: 1, Blocked: 1}) {
		t.Errorf("%+v", n)
	}
	if s.Current.RetryCount != 3 {
		t.Errorf("retry_count %d, want the 3 charged failures", s.Current.RetryCount)
	}
	data, err := EncodeStatus(s)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "status_json", data)
}

func TestRetryCountIsTheChargedFailures(t *testing.T) {
	for _, tt := range []struct {
		r    Requirement
		want int
	}{
		{Requirement{Status: InProgress}, 0}, {Requirement{Status: Retry, Attempts: 2}, 2}, {Requirement{Status: Blocked, Attempts: 3}, 3},
		{Requirement{Status: Done, Attempts: 1}, 0}, {Requirement{Status: Done, Attempts: 3}, 2}, {Requirement{Status: Done}, 0},
	} {
		if got := tt.r.failures(); got != tt.want {
			t.Errorf("%s after %d attempts: %d, want %d", tt.r.Status, tt.r.Attempts, got, tt.want)
		}
	}
}

func TestTableAndDecisions(t *testing.T) {
	c := inState(t, func(p *Progress) {
		p.Req.Status = RunBlocked
		r := p.Find("REQ-006")
		r.Status, r.BlockedBy = Blocked, []string{"REQ-005"}
		p.Find("REQ-003").Status, p.Find("REQ-003").Reason = Skipped, "skipped by the user"
		p.Find("REQ-004").Status = Retry
	})
	var out bytes.Buffer
	if err := c.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteWayOn(&out, "/my tools/ralph-loop"); err != nil {
		t.Fatal(err)
	}
	golden(t, "report_text", out.Bytes())
}

// A line of the table and of a summary stays one, however long the text in it is.
func TestLongTextsStayOnTheirLine(t *testing.T) {
	long := strings.Repeat("so two lists of tags are equal ", 20)
	lines := func(change func(*Progress)) (table, summary int) {
		c := inState(t, change)
		var out bytes.Buffer
		if err := c.WriteTable(&out); err != nil {
			t.Fatal(err)
		}
		table = strings.Count(out.String(), "\n")
		out.Reset()
		if err := c.WriteSummary(&out, "REQ-001"); err != nil {
			t.Fatal(err)
		}
		return table, strings.Count(out.String(), "\n")
	}
	shortTable, shortSummary := lines(nil)
	longTable, longSummary := lines(func(p *Progress) {
		p.Find("REQ-005").Reason, p.Learnings.Permanent[0].Pattern = long, long
	})
	if longTable != shortTable || longSummary != shortSummary {
		t.Errorf("the table has %d lines in the place of %d, the summary %d in the place of %d", longTable, shortTable, longSummary, shortSummary)
	}
}

// Every status has its summary; a box is ticked only for what was seen.
func TestSummaries(t *testing.T) {
	for _, tt := range []struct {
		name, id string
		change   func(*Progress)
	}{
		{"done", "REQ-001", nil},
		{"retry", "REQ-005", func(p *Progress) {
			r := p.Find("REQ-005")
			r.Status, r.Attempts, r.Reason = Retry, 2, ""
		}},
		{"refused", "REQ-005", func(p *Progress) {
			r := p.Find("REQ-005")
			r.Status, r.Attempts, r.Reason, r.Digests = Retry, 1, "", []string{"digests/REQ-005-1.txt"}
			r.Gate = "L1 pass; L1b fail 0/5; L2 fail; L3 8123/9410"
		}},
		{"held_back", "REQ-005", func(p *Progress) {
			r := p.Find("REQ-005")
			r.Status, r.Attempts, r.Reason, r.Digests = Retry, 1, "", []string{"digests/other.txt"}
			r.Gate = "L1 pass; L1b 5/9; L2 9 passed; L3 8123/9410"
		}},
		{"not_committed", "REQ-005", func(p *Progress) {
			r := p.Find("REQ-005")
			r.Attempts, r.Digests = 3, []string{"digests/hook.txt"}
			r.Gate, r.Steps.Learnings = "L1 pass; L1b 5/9; L2 9 passed; L3 8123/9410", r.Steps.Load
		}},
		{"documentation", "REQ-001", func(p *Progress) {
			p.Find("REQ-001").Gate = "L1 not-applicable; L1b not-applicable; L2 not-applicable; L3 not-applicable"
		}},
		{"no_test_required", "REQ-001", func(p *Progress) {
			r := p.Find("REQ-001")
			r.Gate, r.Infra.Status, r.OnLearned = "L1 pass; L1b 0/9; L2 212 passed; L3 8123/9410", "generated", called
		}},
		{"blocked", "REQ-005", nil},
		{"auto_blocked", "REQ-006", func(p *Progress) {
			r := p.Find("REQ-006")
			r.Status, r.BlockedBy = Blocked, []string{"REQ-005"}
		}},
		{"skipped", "REQ-005", func(p *Progress) {
			r := p.Find("REQ-005")
			r.Status, r.Reason = Skipped, "skipped by the user: "+r.Reason
		}},
		{"pending", "REQ-006", func(p *Progress) { p.Find("REQ-005").Status = Skipped }},
		{"in_progress", "REQ-006", func(p *Progress) {
			p.Find("REQ-005").Status = Skipped
			r := p.Find("REQ-006")
			r.Status, r.Number, p.Req.Current = InProgress, 6, "REQ-006"
			r.Steps.Load = p.CheckpointAt
		}},
		{"complete", "REQ-004", func(p *Progress) {
			p.Find("REQ-005").Status, p.Find("REQ-006").Status = Skipped, Skipped
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			c := inState(t, tt.change)
			for name, text := range map[string]string{
				"REQ-005-1": "The gate refused this tree: L2: 1 of 9 failed; also L1b fail\n\nL2 fail: 1 of 9 failed\nL2 fail: a test's own words\n\nL1b fail: 0 of 5 added lines are tests\n",
				"other": "The gate refused this tree: integrity: 2 tests are gone; also scope fail\n\nintegrity fail: 2 tests are gone\n- a_test.go: gone\n\n" +
					"mocks fail: 1 mock of a module of its own\n\nscope fail: 3 lines of REQ-001 are changed\n",
				"hook": "REQ-005: git did not commit: exit status 1\ntrailing space\n",
			} {
				if err := c.writeDigest("digests/"+name+".txt", []byte(text), ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.WriteSummary(&out, tt.id); err != nil {
				t.Fatal(err)
			}
			golden(t, "summary_"+tt.name, out.Bytes())
			lines := strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
			if len(lines) > 25+strings.Count(out.String(), ": 2 tests")+strings.Count(out.String(), ": 3 lines")+strings.Count(out.String(), "The attempt") {
				t.Errorf("%d lines, at most 25 are wanted, and one for each other layer", len(lines))
			}
			// A requirement that is done leaves nothing open.
			if c.p.Find(tt.id).Status == Done && strings.Contains(out.String(), "[ ]") {
				t.Errorf("an open box:\n%s", out.String())
			}
		})
	}
}

// Each invariant that check asserts, broken alone.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	good := inState(t, nil)
	if wrong, err := good.Check(); err != nil || len(wrong) > 0 {
		t.Fatalf("a sound state: %v, %q", err, wrong)
	}
	for _, tt := range []struct {
		want   string
		change func(*Progress)
	}{
		{"iteration 16 is beyond max_iterations 15", func(p *Progress) { p.Iteration = 16 }},
		{`REQ-001 is done and its step "dispatch" was not recorded`, func(p *Progress) { p.Find("REQ-001").Steps.Dispatch = time.Time{} }},
		{`REQ-001: step "state" comes before step "learnings"`, func(p *Progress) { r := p.Find("REQ-001"); r.Steps.State = r.Steps.State.Add(-time.Hour) }},
		{"REQ-001 is done and names no commit", func(p *Progress) { p.Find("REQ-001").Commit = "" }},
		{"REQ-005 is blocked and nobody said why", func(p *Progress) { p.Find("REQ-005").Reason = "" }},
		{`REQ-006 has the unknown status "lost"`, func(p *Progress) { p.Find("REQ-006").Status = "lost" }},
		{"REQ-006 is retry and is not the current one", func(p *Progress) { p.Find("REQ-006").Status = Retry }},
		{"REQ-006 is not in the order", func(p *Progress) { p.Order = p.Order[:5] }},
		{"REQ-005 stands twice", func(p *Progress) { p.Requirements[5] = p.Requirements[4] }},
		{"the current requirement REQ-999 is not among them", func(p *Progress) { p.Req.Current = "REQ-999" }},
		{"the run is completed and 2 requirements are not", func(p *Progress) { p.Req.Status = Completed }},
	} {
		wrong, err := inState(t, tt.change).Check()
		if err != nil || !strings.Contains(strings.Join(wrong, "\n"), tt.want) {
			t.Errorf("%q is not in %q (%v)", tt.want, wrong, err)
		}
	}
	c := inState(t, nil)
	c.p.Req.Completed = 5
	if wrong, _ := c.Check(); len(wrong) != 1 || !strings.HasPrefix(wrong[0], "the sums do not add up: 4 done, 1 pending, 1 blocked, 0 skipped of 6") {
		t.Errorf("%q", wrong)
	}
}

// A run that has ended is judged by what it left, too.
func TestCheckJudgesAFinishedRun(t *testing.T) {
	ended := func(change func(*Progress)) *Checkpoint {
		c := inState(t, func(p *Progress) {
			p.Req.Status = Partial
			for _, r := range p.Requirements {
				r.SpecHash = ""
			}
			if change != nil {
				change(p)
			}
		})
		for _, r := range c.p.Requirements {
			if req := c.graph.Spec().Lookup(r.ID); r.SpecHash == "" {
				r.SpecHash = req.Hash()
			}
		}
		if err := c.keepMissingSummaries(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	prompt := func(c *Checkpoint, attempt, text string) {
		t.Helper()
		dir := filepath.Join(c.repo.Sprint(), "runs", "r1", "REQ-001", attempt)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "prompt.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one, two := "  - {id: REQ-001, title: Tags 标签, description: d, acceptance_criteria: [c]}\n", "  - {id: REQ-002, title: \"A <b>filter</b>\", description: d, acceptance_criteria: [c]}\n"
	for want, c := range map[string]func() *Checkpoint{
		"": func() *Checkpoint {
			c := ended(nil)
			prompt(c, "1", "The rules.\n"+one+"L2: 1 of 9 failed\n")
			prompt(c, "infra", "another prompt")
			return c
		},
		"REQ-002 left no checklist": func() *Checkpoint {
			c := ended(nil)
			if err := os.Remove(c.summaryPath("REQ-002")); err != nil {
				t.Fatal(err)
			}
			return c
		},
		`REQ-003 is done and its verdict "L1 pass; L2 error" names no run of the whole suite`: func() *Checkpoint {
			return ended(func(p *Progress) { p.Find("REQ-003").Gate = "L1 pass; L2 error" })
		},
		"REQ-001, attempt 2: its prompt does not hold the requirement's own lines": func() *Checkpoint {
			c := ended(nil)
			prompt(c, "2", "Build it.\n")
			return c
		},
		"REQ-001, attempt 1: its prompt holds the lines of REQ-002 too": func() *Checkpoint {
			c := ended(nil)
			prompt(c, "1", one+two)
			return c
		},
		"REQ-001, attempt 1: its prompt of about 25017 tokens is beyond prompt.max_tokens 16000": func() *Checkpoint {
			c := ended(nil)
			prompt(c, "1", one+strings.Repeat("more", 25000-4))
			return c
		},
	} {
		wrong, err := c().Check()
		if err != nil || strings.Join(wrong, "\n") != want && !strings.HasPrefix(strings.Join(wrong, "\n"), want+":") {
			t.Errorf("%q, %v; want %q", wrong, err, want)
		}
	}
	// What is open is not judged yet.
	c := ended(func(p *Progress) { p.Req.Status = Running })
	prompt(c, "1", "Build it.\n")
	if wrong, err := c.Check(); err != nil || len(wrong) > 0 {
		t.Errorf("%q, %v", wrong, err)
	}
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "标签": 4, "✅ done": 7, "🚫 ": 3, "⏭ ": 2, "e\u0301": 1, "ＩＤ": 4, "한글": 4} {
		if got := columns(text); got != want {
			t.Errorf("%q: %d columns, want %d", text, got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"REQ-001": "REQ-001", "": "''", "-x": "-x", "a b": "'a b'", "it's": `'it'\''s'`, "需求": "'需求'", "$(x)": "'$(x)'", "scripts/ralph-loop": "scripts/ralph-loop"} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
