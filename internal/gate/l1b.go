package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/diffstat"
)

// L1b holds the added lines to the share of tests among them. It counts in integers.

const ratioVersion = 4

func (j *judge) ratioKey() inputs {
	g := j.Config.Gate
	in := inputs{Layer: "L1b", Version: ratioVersion, Tree: j.Tree, Base: j.baseTree, Settings: []any{g.TestRatio, g.TestGlobs, g.IgnoreGlobs, j.Config.TestInfra.File}}
	if j.Requirement != nil {
		in.Requirement = []any{j.Requirement.NoTestRequired, j.Made}
	}
	return in
}

func (j *judge) ratio(ctx context.Context) (Layer, error) {
	stat, err := j.added(ctx)
	if err != nil {
		return Layer{}, err
	}
	sums := stat.Sums()
	test, implementation := sums.Test.Added, sums.Implementation.Added
	l := Layer{Result: Pass, Share: &Share{Part: test, Whole: test + implementation}, Notes: leftOut(sums)}
	if j.Made != "" {
		l.Notes = append(l.Notes, "not counted: the test infrastructure that was made for it")
	}
	want := j.Config.Gate.TestRatio
	if l.Share.Whole == 0 {
		return j.noLines(stat, l), nil
	}
	l.Summary = fmt.Sprintf("%d of %d added lines are tests (%s %%)", l.Share.Part, l.Share.Whole, l.Share.Percent())
	if len(j.Others) > 0 {
		l.Summary = fmt.Sprintf("a merge: %d of %d lines that no side has are tests (%s %%)", l.Share.Part, l.Share.Whole, l.Share.Percent())
	}
	if l.Share.AtLeast(want) {
		return l, nil
	}
	l.Summary += fmt.Sprintf(", %d %% wanted", want)
	if j.Requirement != nil && j.Requirement.NoTestRequired != "" {
		l.Notes = append(l.Notes, "no_test_required: "+short(j.Requirement.NoTestRequired, 500))
		return l, nil
	}
	l.Result = Fail
	l.Advice = adviceForRatio(test, implementation, want)
	for _, f := range mostAdded(stat.Files, 5) {
		l.Findings = append(l.Findings, Finding{Path: f.Path, Rule: "untested lines", Message: plural(f.Added, "added line") + " of implementation"})
	}
	return l, nil
}

// adviceForRatio says how many test lines are missing: the least m with (test+m)×100 >= want×(all+m).
func adviceForRatio(test, implementation, want int) string {
	if want >= 100 {
		return "gate.test_ratio is 100: no line of implementation can pass"
	}
	missing := (want*(test+implementation) - 100*test + (100 - want) - 1) / (100 - want)
	return fmt.Sprintf("write the tests first: %s more for the behaviour that the new code adds, or less code", plural(missing, "test line"))
}

// noLines judges a change that adds neither test nor implementation.
func (j *judge) noLines(stat *diffstat.Stat, l Layer) Layer {
	l.Share = nil
	if len(j.Others) > 0 {
		l.Result, l.Summary = NotApplicable, "a merge: each added line of code is one of its sides'"
		return l
	}
	if j.Requirement == nil {
		l.Result, l.Summary = NotApplicable, whyNoLines(stat)
		return l
	}
	touched := slices.ContainsFunc(stat.Files, func(f diffstat.File) bool { return f.Class == diffstat.Test && f.Status != 'D' })
	switch {
	case j.Requirement.NoTestRequired != "":
		l.Summary = "no added lines; no test is required"
		l.Notes = append(l.Notes, "no_test_required: "+short(j.Requirement.NoTestRequired, 500))
	case touched:
		l.Summary = "no added lines; a test file is changed"
	default:
		l.Result, l.Summary = Fail, whyNoLines(stat)+"; no test file is added or changed"
		l.Advice = "add or change at least one test that shows the requirement is met"
		if len(stat.Files) == 0 {
			l.Summary, l.Advice = "no change", "do the work that the requirement asks for, its test first"
		}
	}
	return l
}

func whyNoLines(stat *diffstat.Stat) string {
	removed, docs, others := 0, 0, 0
	for _, f := range stat.Files {
		switch {
		case f.Class != diffstat.Other:
			removed++
		case f.Reason == "documentation":
			docs++
		default:
			others++
		}
	}
	switch {
	case len(stat.Files) == 0:
		return "nothing changed"
	case removed == len(stat.Files):
		return "only removed, moved or re-moded lines"
	case docs == len(stat.Files):
		return "only documentation"
	case removed == 0:
		return "no source code changed"
	}
	return "no added lines of code"
}

// leftOut tells how many added lines count as neither, by reason.
func leftOut(sums diffstat.Sums) []string {
	var parts []string
	for _, l := range sums.LeftOut {
		if l.Added > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", l.Added, l.Reason))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"added lines left out: " + strings.Join(parts, ", ")}
}

func mostAdded(files []diffstat.File, most int) []diffstat.File {
	files = slices.DeleteFunc(slices.Clone(files), func(f diffstat.File) bool { return f.Class != diffstat.Implementation || f.Added == 0 })
	slices.SortStableFunc(files, func(a, b diffstat.File) int { return b.Added - a.Added })
	return files[:min(most, len(files))]
}
