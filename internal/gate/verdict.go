// Package gate answers whether a tree may be committed. It judges that tree, not the worktree, against a baseline, in
// layers: each gives pass, fail, not-applicable or error, and a check that examined nothing is never a pass.
package gate

import (
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Result is a layer's answer.
type Result string

// The four answers. An error is a check that could not be made: it is never a pass.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	NotApplicable Result = "not-applicable"
	Error         Result = "error"
)

// Layers are the names of all layers in the order in which they run: the cheap ones first.
var Layers = []string{"L0", "L1b", "mocks", "integrity", "infra", "trace", "scope", "L1", "L2", "L3", "red"}

// Finding is one thing that a layer holds against the tree.
type Finding struct {
	Path    string `json:"path,omitempty"` // in the tree, with slashes; "" where no file is meant
	Line    int    `json:"line,omitempty"` // from 1; 0 where no line is meant
	Rule    string `json:"rule"`           // short and stable: what was broken
	Message string `json:"message"`        // for a person; may hold several lines
}

// String is path:line: message, as far as they are known. An odd path is quoted as git does it.
func (f Finding) String() string {
	switch {
	case f.Path == "":
		return f.Message
	case f.Line == 0:
		return git.Quote(f.Path) + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", git.Quote(f.Path), f.Line, f.Message)
}

// Share is a part of a whole: test lines of added lines (L1b), covered of all statements or lines (L3).
type Share struct {
	Part  int `json:"part"`
	Whole int `json:"whole"`
}

// AtLeast reports whether the share reaches percent. It counts in integers: nothing is rounded up.
func (s Share) AtLeast(percent int) bool { return s.Part*100 >= percent*s.Whole }

// Percent is the share in per cent with two digits that are cut, not rounded: 7,996 of 9,999 is not 80.
func (s Share) Percent() string {
	if s.Whole == 0 {
		return "-"
	}
	hundredths := s.Part * 10000 / s.Whole
	return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
}

// Counts are the tests of one run, subtests included.
type Counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Flaky   int `json:"flaky,omitempty"` // of those that passed: failed first, and passed when they were run again
}

// Layer is the outcome of one layer.
type Layer struct {
	Name     string    `json:"name"`
	Result   Result    `json:"result"`
	Summary  string    `json:"summary"`            // the figures or the reason, on one line
	Share    *Share    `json:"share,omitempty"`    // L1b and L3
	Counts   *Counts   `json:"counts,omitempty"`   // L2
	Findings []Finding `json:"findings,omitempty"` // the most useful ones first
	Dropped  int       `json:"dropped,omitempty"`  // findings beyond the most that are kept
	Warnings []Finding `json:"warnings,omitempty"` // found by a check that is set to warn; they change no result
	Notes    []string  `json:"notes,omitempty"`    // what a person should know; changes no result
	Advice   string    `json:"advice,omitempty"`   // the next step after a fail or an error
	Log      string    `json:"log,omitempty"`      // the file with all that the tools printed
	Seconds  float64   `json:"seconds"`
	Cached   bool      `json:"cached"`

	untested bool // the tree has no test at all
	untold   bool // an error that no second run would mend: the tests ended by themselves, and do not tell
}

// Verdict is the gate's answer for one tree.
type Verdict struct {
	Version     int      `json:"version"`               // of this object's form
	Base        string   `json:"base"`                  // commit, or the empty tree
	Others      []string `json:"other_bases,omitempty"` // the other parents of a merge
	Tree        string   `json:"tree"`
	Requirement string   `json:"requirement,omitempty"` // the one in progress
	Result      Result   `json:"result"`                // pass, fail or error
	Layers      []Layer  `json:"layers"`
}

// Layer is the layer of that name, or nil if it did not run.
func (v *Verdict) Layer(name string) *Layer {
	i := slices.IndexFunc(v.Layers, func(l Layer) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Layers[i]
}

// Passed reports whether no layer failed or ended in an error, and one ran at all.
func (v *Verdict) Passed() bool { return v.outcome() == Pass }

func (v *Verdict) outcome() Result {
	outcome := Pass
	for _, l := range v.Layers {
		switch l.Result {
		case Fail:
			return Fail
		case Pass, NotApplicable:
		default:
			outcome = Error
		}
	}
	if len(v.Layers) == 0 {
		return Error
	}
	return outcome
}

// ExitCode is 0 for a pass, 1 if a layer failed, 3 if none failed and one could not be decided.
func (v *Verdict) ExitCode() int {
	switch v.outcome() {
	case Pass:
		return exit.OK
	case Fail:
		return exit.No
	}
	return exit.Error
}

// Trailer is the verdict in one line for a commit message: "L1 pass; L1b 57/103; L2 212 passed; L3 8123/9410". A share that
// is too small stands behind its result: "L1b fail 3/19".
func (v *Verdict) Trailer() string {
	var parts []string
	for _, name := range []string{"L1", "L1b", "L2", "L3"} {
		l := v.Layer(name)
		if l == nil {
			continue
		}
		text := string(l.Result)
		switch {
		case l.Result == Fail && l.Share != nil:
			text += fmt.Sprintf(" %d/%d", l.Share.Part, l.Share.Whole)
		case l.Result != Pass:
		case l.Share != nil:
			text = fmt.Sprintf("%d/%d", l.Share.Part, l.Share.Whole)
		case l.Counts != nil:
			text = fmt.Sprintf("%d passed", l.Counts.Passed)
			if l.Counts.Flaky > 0 {
				text += fmt.Sprintf(", %d of them flaky", l.Counts.Flaky)
			}
		}
		parts = append(parts, name+" "+text)
	}
	return strings.Join(parts, "; ")
}
