package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Case G12: exactly 40, 80 and 30 per cent are met; a hair less is not, and is not rounded up when shown.
func TestShare(t *testing.T) {
	cases := []struct {
		part, whole, want int
		met               bool
		shown             string
	}{
		{40, 100, 40, true, "40.00"},
		{3999, 10000, 40, false, "39.99"},
		{8000, 10000, 80, true, "80.00"},
		{7996, 10000, 80, false, "79.96"},
		{79999, 100000, 80, false, "79.99"},
		{2, 3, 66, true, "66.66"},
		{2, 3, 67, false, "66.66"},
		{0, 0, 80, true, "-"},
		{1, 1, 100, true, "100.00"},
		{0, 7, 0, true, "0.00"},
	}
	for _, c := range cases {
		s := Share{c.part, c.whole}
		if s.AtLeast(c.want) != c.met || s.Percent() != c.shown {
			t.Errorf("%d of %d: at least %d: %v, shown %s; want %v, %s", c.part, c.whole, c.want, s.AtLeast(c.want), s.Percent(), c.met, c.shown)
		}
	}
}

func TestOutcome(t *testing.T) {
	cases := []struct {
		results []Result
		want    Result
		code    int
	}{
		{[]Result{Pass, NotApplicable}, Pass, exit.OK},
		{[]Result{NotApplicable}, Pass, exit.OK},
		{[]Result{Pass, Error}, Error, exit.Error},
		{[]Result{Error, Fail}, Fail, exit.No},
		{[]Result{Pass, "a word from the future"}, Error, exit.Error},
		{nil, Error, exit.Error}, // a check that examined nothing is not a pass
	}
	for _, c := range cases {
		var v Verdict
		for i, r := range c.results {
			v.Layers = append(v.Layers, Layer{Name: fmt.Sprint(i), Result: r})
		}
		if got := v.outcome(); got != c.want || v.ExitCode() != c.code || v.Passed() != (c.want == Pass) {
			t.Errorf("%v: %s, exit code %d; want %s, %d", c.results, got, v.ExitCode(), c.want, c.code)
		}
	}
}

func sample() *Verdict {
	return &Verdict{Version: 1, Base: "b", Tree: "t", Requirement: "REQ-001", Result: Fail, Layers: []Layer{
		{Name: "L0", Result: Pass, Summary: "nothing protected is touched", Seconds: 0.012, Cached: true},
		{Name: "L1b", Result: Pass, Summary: "57 of 103 added lines are tests (55.33 %)", Share: &Share{57, 103}, Notes: []string{"added lines left out: 3 configuration"}},
		{Name: "L1", Result: Pass, Summary: "go vet ./...: no finding"},
		{Name: "L2", Result: Fail, Summary: "1 failed, 212 passed", Counts: &Counts{212, 1, 0, 0}, Advice: "mend what the change broke", Log: "/tmp/L2.log",
			Findings: []Finding{{"a/a_test.go", 7, "regression", "regression: TestA: got 1,\nwant 2"}, {Path: "odd\nname", Rule: "x", Message: "m"}}, Dropped: 3},
		{Name: "L3", Result: Pass, Summary: "8123 of 9410 covered (86.32 %)", Share: &Share{8123, 9410}},
		{Name: "mocks", Result: NotApplicable, Summary: "nothing"},
	}}
}

func TestTrailer(t *testing.T) {
	v := sample()
	if got, want := v.Trailer(), "L1 pass; L1b 57/103; L2 fail; L3 8123/9410"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	v.Layer("L1b").Result = Fail
	if got, want := v.Trailer(), "L1 pass; L1b fail 57/103; L2 fail; L3 8123/9410"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	v.Layer("L2").Result = Pass
	v.Layer("L1b").Result, v.Layer("L1b").Share = NotApplicable, nil
	if got, want := v.Trailer(), "L1 pass; L1b not-applicable; L2 212 passed; L3 8123/9410"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	v.Layer("L2").Counts.Flaky = 2
	if got, want := v.Trailer(), "L1 pass; L1b not-applicable; L2 212 passed, 2 of them flaky; L3 8123/9410"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWarnings: they are bounded and cleaned as findings are, and change no result.
func TestWarnings(t *testing.T) {
	l := Layer{Name: "trace", Result: Pass, Summary: "0 of 60 criteria covered"}
	l.hold(config.Off, []Finding{{Rule: "x", Message: "never"}})
	for i := range maxFindings + 10 {
		l.hold(config.Warn, []Finding{{Path: "a\xff", Line: i + 1, Rule: "x", Message: "\x1b[31mred\x1b[0m"}})
	}
	l.bound()
	if n := len(l.Warnings); n != maxFindings+1 || l.Warnings[n-1].Message != "... and 10 more" || l.Warnings[0].Message != "red" || len(l.Findings) != 0 {
		t.Errorf("%d warnings: %+v", n, l.Warnings[0])
	}
	var out strings.Builder
	if err := l.WriteText(&out, false); err != nil || !strings.Contains(out.String(), ":1: red\n    warning: ") {
		t.Errorf("%v, %q", err, out.String())
	}
	l.hold(config.Enforce, []Finding{{Rule: "x", Message: "now"}})
	if len(l.Findings) != 1 {
		t.Errorf("%v", l.Findings)
	}
}

// TestAdvice: a check that only warns, and cannot be made, holds nothing back and is no pass. What was told is kept, what
// broke is tried again.
func TestAdvice(t *testing.T) {
	broken := errors.New("git log: no such commit")
	for _, c := range []struct {
		level config.Level
		layer Layer
		err   error
		want  string
		again bool
	}{
		{config.Warn, Layer{}, broken, "not-applicable could not be told: git log: no such commit", true},
		{config.Warn, Layer{Result: Error, Summary: "timeout"}, nil, "not-applicable could not be told: timeout", true},
		{config.Warn, Layer{Result: Error, Summary: "no test ran", untold: true}, nil, "not-applicable could not be told: no test ran", false},
		{config.Warn, Layer{Result: Pass, Summary: "fine"}, nil, "pass fine", false},
		{config.Enforce, Layer{Result: Error, Summary: "no test ran", untold: true}, nil, "error no test ran", true},
		{config.Enforce, Layer{}, broken, " git log: no such commit", true},
	} {
		j := &judge{cache: &cache{dir: t.TempDir(), now: at(0)}}
		tried := 0
		for range 2 {
			l, err := j.advice(t.Context(), c.level, inputs{Layer: "red"}, func(context.Context) (Layer, error) { tried++; return c.layer, c.err })
			got := string(l.Result) + " " + l.Summary
			if err != nil {
				got = string(l.Result) + " " + err.Error()
			}
			if got != c.want {
				t.Errorf("%s, %v: %q, want %q", c.level, c.layer, got, c.want)
			}
		}
		if (tried == 2) != c.again {
			t.Errorf("%s, %v: made %d times", c.level, c.layer, tried)
		}
	}
}

func TestReports(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(v *Verdict, out *bytes.Buffer) error
	}{
		{"text", func(v *Verdict, out *bytes.Buffer) (err error) {
			for _, l := range v.Layers {
				err = errors.Join(err, l.WriteText(out, false))
			}
			return err
		}},
		{"colour", func(v *Verdict, out *bytes.Buffer) error { return v.Layers[3].WriteText(out, true) }},
		{"json", func(v *Verdict, out *bytes.Buffer) error { return v.WriteJSON(out) }},
		{"digest", func(v *Verdict, out *bytes.Buffer) error { _, err := out.WriteString(v.Digest()); return err }},
	} {
		var out bytes.Buffer
		if err := c.write(sample(), &out); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "report_"+c.name+".golden")
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, out.Bytes(), want)
		}
	}
	var out bytes.Buffer
	if err := sample().WriteJSON(&out); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%v: no valid JSON", err)
	}
}

func TestDigestOfAPassIsEmpty(t *testing.T) {
	v := &Verdict{Layers: []Layer{{Name: "L1", Result: Pass}}}
	if got := v.Digest(); got != "" {
		t.Errorf("%q", got)
	}
}

// Case G27: however much there is, a digest stays within its bound, is valid UTF-8, and names what it leaves out.
func TestDigestIsBounded(t *testing.T) {
	ugly := strings.Repeat("错误🙂\x1b[31m\xff", 200)
	v := &Verdict{}
	for _, name := range Layers {
		l := Layer{Name: name, Result: Fail, Summary: ugly, Advice: ugly, Notes: []string{ugly, ugly, ugly}, Log: "/a/log", Dropped: 450}
		for i := range 50 {
			l.Findings = append(l.Findings, Finding{Path: "a/b_test.go", Line: i + 1, Rule: name, Message: ugly + fmt.Sprint(name, i)})
		}
		l.bound()
		v.Layers = append(v.Layers, l)
	}
	for _, layers := range [][]Layer{v.Layers, v.Layers[:1], v.Layers[4:6]} {
		d := (&Verdict{Layers: layers}).Digest()
		if len(d) > DigestSize || !utf8.ValidString(d) || strings.Contains(d, "\x1b") {
			t.Errorf("%d layers: %d bytes, valid %v", len(layers), len(d), utf8.ValidString(d))
		}
		if !strings.Contains(d, "more") {
			t.Errorf("nothing says that more was left out:\n%s", d)
		}
	}
}

func TestDigestPutsTheMostUsefulFirstAndSaysNothingTwice(t *testing.T) {
	same := Finding{Path: "a.go", Line: 3, Rule: "go vet", Message: "undefined: x"}
	again := same
	again.Rule = "go build"
	v := &Verdict{Layers: []Layer{
		{Name: "L1b", Result: Fail, Summary: "0 of 5", Advice: "write the tests first"},
		{Name: "L1", Result: Fail, Summary: "1 finding", Findings: []Finding{same}},
		{Name: "L2", Result: Fail, Summary: "0 passed", Findings: []Finding{again}},
	}}
	d := v.Digest()
	if strings.Count(d, "undefined: x") != 1 {
		t.Errorf("said twice:\n%s", d)
	}
	if a, b, c := strings.Index(d, "\nL1 fail"), strings.Index(d, "\nL2 fail"), strings.Index(d, "\nL1b fail"); a < 0 || a > b || b > c {
		t.Errorf("wrong order:\n%s", d)
	}
	if !strings.Contains(d, "Next: write the tests first") {
		t.Errorf("no advice:\n%s", d)
	}
}

func TestAdviceForRatio(t *testing.T) {
	for _, c := range []struct{ test, implementation, want, missing int }{{39, 60, 40, 1}, {0, 60, 40, 40}, {0, 3, 40, 2}, {1, 9, 40, 5}, {0, 1, 99, 99}} {
		advice := adviceForRatio(c.test, c.implementation, c.want)
		if !strings.Contains(advice, fmt.Sprintf(" %d test line", c.missing)) {
			t.Errorf("%+v: %s", c, advice)
		}
		if !(Share{c.test + c.missing, c.test + c.missing + c.implementation}).AtLeast(c.want) || (Share{c.test + c.missing - 1, c.test + c.missing - 1 + c.implementation}).AtLeast(c.want) {
			t.Errorf("%+v is not the least", c)
		}
	}
	if !strings.Contains(adviceForRatio(1, 1, 100), "no line of implementation can pass") {
		t.Error("100 per cent")
	}
}
