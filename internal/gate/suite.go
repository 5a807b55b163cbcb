package gate

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/coverage"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
)

// untestable says why L2 and L3 have nothing to do on a tree, or gives nil.
func (p *plan) untestable() *Layer {
	switch {
	case len(p.of(goTest, ownTest)) > 0:
		return nil
	case !p.hasSource:
		return &Layer{Result: NotApplicable, Summary: "the tree holds no implementation"}
	}
	return &Layer{Result: Error, Summary: "nothing tells how to test " + strings.Join(p.untested, ", "),
		Advice: "give the test command in ralph.yaml: gate: {test: [\"...\"]}"}
}

// suite is L2.
func (j *judge) suite(ctx context.Context) (Layer, error) {
	l, err := j.remembered(ctx, j.suiteKey("L2", j.Tree), func(ctx context.Context) (Layer, error) {
		p, err := j.plan(ctx, j.Tree)
		if err != nil {
			return Layer{}, err
		}
		if l := p.untestable(); l != nil {
			return *l, nil
		}
		r, err := j.run(ctx, j.Tree)
		if err != nil {
			return Layer{}, err
		}
		return j.suiteLayer(ctx, p, r)
	})
	return j.nothingYet(l), err
}

// nothingYet excuses a baseline that is judged for itself: without a single test there is nothing to break yet. It is
// said behind the cache, since the same tree as the result of a change is no pass.
func (j *judge) nothingYet(l Layer) Layer {
	if l.untested && j.Tree == j.baseTree {
		return Layer{Result: NotApplicable, Summary: "the baseline has no test: nothing to break yet"}
	}
	return l
}

func (j *judge) suiteLayer(ctx context.Context, p *plan, r *testRun) (Layer, error) {
	r.counts.Flaky = len(r.flaky)
	l := Layer{Result: Pass, Counts: &r.counts, Summary: r.summary(), Log: r.log, Warnings: r.flaky}
	if len(p.untested) > 0 {
		l.Notes = append(l.Notes, "not tested by any command: "+strings.Join(p.untested, ", "))
	}
	switch {
	case len(r.failures)+len(r.builds) > 0:
		l.Result = Fail
		regressions, others, err := j.regressions(ctx, r.failures)
		if err != nil {
			return Layer{}, err
		}
		l.Findings = slices.Concat(r.builds, regressions, others, r.errors)
		if len(regressions) > 0 {
			l.Summary += fmt.Sprintf(", %d of them passed on the baseline", len(regressions))
			l.Advice = "mend what the change broke; do not change those tests"
		}
		if len(r.stopped) > 0 {
			l.Summary += fmt.Sprintf("; in %s the tests after the panic or exit did not run", short(strings.Join(r.stopped, ", "), 200))
		}
		if len(r.builds) > 0 {
			l.Summary += ", " + plural(len(r.builds), "build error")
		}
	case len(r.errors) > 0:
		l.Result, l.Findings, l.Advice = Error, r.errors, r.advice
		l.Summary = short(r.errors[0].Message, 200)
		if r.counts.Passed > 0 {
			l.Summary = "runner error after " + r.summary() + ": " + l.Summary
		}
	case r.counts.Passed == 0:
		l.Result, l.Summary, l.untested = Fail, "no test ran", r.counts == Counts{} && !r.silent
		l.Advice = "write the first test, or mend the command's filter"
		if r.silent {
			l.Summary = "nothing shows that a test ran, though the command ended well"
			l.Advice = "configure gate.test_reports (JUnit XML), or let the tests print what the gate knows: TAP, 'go test', Python's unittest"
		}
	}
	if l.Result != Pass {
		note, err := j.missingFiles(ctx)
		if err != nil {
			return Layer{}, err
		}
		l.Notes = append(l.Notes, note...)
	}
	return l, nil
}

func (r *testRun) summary() string {
	unit := ""
	if r.unit == "package" {
		unit = "packages "
	}
	text := fmt.Sprintf("%d %spassed", r.counts.Passed, unit)
	if r.counts.Failed > 0 {
		text = fmt.Sprintf("%d %sfailed, ", r.counts.Failed, unit) + text
	}
	if n := len(r.flaky); n > 0 {
		text += fmt.Sprintf(", %d of them flaky", n)
	}
	if r.counts.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", r.counts.Skipped)
	}
	return text
}

// regressions parts the failures into those that passed on the baseline and the others. Where no kept run tells what
// passed, a Go test that the baseline has is taken for one that passed.
func (j *judge) regressions(ctx context.Context, failures []failure) (regressions, others []Finding, err error) {
	var passed func(name string, f Finding) bool
	if j.baseTree == j.Tree {
		passed = func(string, Finding) bool { return false }
	} else if e, ok := j.cache.read(j.suiteKey("passed tests", j.baseTree).key()); ok {
		names := map[string]bool{}
		for _, n := range e.Names {
			names[n] = true
		}
		passed = func(name string, _ Finding) bool { return names[name] }
	} else {
		old, err := testFunctions(ctx, j.Repo, j.baseTree)
		if err != nil {
			return nil, nil, err
		}
		passed = func(name string, f Finding) bool {
			_, test, _ := strings.Cut(name, " ")
			test, _, _ = strings.Cut(test, "/")
			folder := f.Path
			if strings.HasSuffix(folder, ".go") {
				folder = path.Dir(folder)
			}
			return old[path.Join(folder, test)]
		}
	}
	for _, f := range failures {
		if f.name != "" && passed(f.name, f.Finding) {
			f.Rule, f.Message = "regression", "regression: "+f.Message
			regressions = append(regressions, f.Finding)
		} else {
			others = append(others, f.Finding)
		}
	}
	return regressions, others, nil
}

// testFunctions are the Go tests of a tree, as folder/name.
func testFunctions(ctx context.Context, repo *git.Repo, tree string) (map[string]bool, error) {
	out, err := repo.Output(ctx, "grep", "--no-color", "--no-line-number", "--no-column", "-I", "-z", "-o", "-E", "-e", "^func (Test|Fuzz|Example)[^ (]*", tree)
	if git.CodeOf(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the baseline's tests: %w", err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		file, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		if file, found := strings.CutPrefix(file, tree+":"); ok && found && strings.HasSuffix(file, "_test.go") {
			names[path.Join(path.Dir(file), strings.TrimPrefix(text, "func "))] = true
		}
	}
	return names, nil
}

// coverage is L3.
func (j *judge) coverage(ctx context.Context) (Layer, error) {
	l, err := j.remembered(ctx, j.coverageKey(j.Tree), func(ctx context.Context) (Layer, error) {
		if j.Config.Gate.Coverage == (config.Coverage{}) {
			return Layer{Result: NotApplicable, Summary: "gate.coverage is 0"}, nil
		}
		p, err := j.plan(ctx, j.Tree)
		if err != nil {
			return Layer{}, err
		}
		if l := p.untestable(); l != nil {
			return *l, nil
		}
		r, err := j.run(ctx, j.Tree)
		if err != nil {
			return Layer{}, err
		}
		return j.coverageLayer(ctx, p, r)
	})
	return j.nothingYet(l), err
}

func (j *judge) coverageKey(tree string) inputs {
	in := j.suiteKey("L3", tree)
	if j.Config.Gate.Coverage.NoDecrease {
		in.Base = j.baseTree
		if tree == j.baseTree {
			in.Base = tree
		}
	}
	return in
}

func (j *judge) coverageLayer(ctx context.Context, p *plan, r *testRun) (Layer, error) {
	l := Layer{Result: Pass, Log: r.log}
	covered, total := r.cover.Total()
	switch {
	case r.coverErr != nil:
		l.Result, l.Summary = Error, r.coverErr.Error()
		if r.coverErr == errNoCoverage {
			l.Advice = adviceNoCoverage
		}
		return l, nil
	case total == 0 && len(r.leftOut) > 0:
		l.Result, l.Summary = Error, "the coverage data name test code only: nothing tells what the tests cover"
		l.Advice = "let the test command measure the code that the tests run"
		return l, nil
	case total == 0:
		l.Result, l.Summary = Error, "the coverage data name no line of code"
		return l, nil
	}
	l.Share = &Share{Part: covered, Whole: total}
	l.Summary = fmt.Sprintf("%d of %d covered (%s %%)", covered, total, l.Share.Percent())
	if note := leftOutOfCoverage(r.leftOut); note != "" {
		l.Notes = append(l.Notes, note)
	}
	if r.counts.Failed > 0 {
		l.Notes = append(l.Notes, "measured in a run in which tests failed")
	}
	want := j.Config.Gate.Coverage
	if want.NoDecrease {
		return j.noDecrease(ctx, l, r)
	}
	if l.Share.AtLeast(want.Percent) {
		return l, nil
	}
	l.Result = Fail
	l.Summary += fmt.Sprintf(", %d %% wanted", want.Percent)
	l.Advice = "write tests for the lines below"
	if j.Tree == j.baseTree {
		l.Advice = fmt.Sprintf("no change could pass: write tests first, or set gate.coverage to %d or to no-decrease in ralph.yaml", covered*100/total)
	}
	l.untested = r.counts == Counts{} && !r.silent
	var err error
	l.Findings, err = j.uncovered(ctx, p, &r.cover)
	return l, err
}

// noDecrease holds the share to the baseline's.
func (j *judge) noDecrease(ctx context.Context, l Layer, r *testRun) (Layer, error) {
	if j.Tree == j.baseTree {
		return l, nil
	}
	before, err := j.baselineShare(ctx)
	if err != nil {
		return Layer{}, err
	}
	if before == nil {
		l.Notes = append(l.Notes, "the baseline has no coverage to compare with")
		return l, nil
	}
	l.Summary += fmt.Sprintf(", %d of %d (%s %%) before", before.Part, before.Whole, before.Percent())
	if l.Share.Part*before.Whole >= before.Part*l.Share.Whole {
		return l, nil
	}
	l.Result, l.Advice = Fail, "write tests for the lines below"
	p, err := j.plan(ctx, j.Tree)
	if err != nil {
		return Layer{}, err
	}
	l.Findings, err = j.uncovered(ctx, p, &r.cover)
	return l, err
}

// baselineShare is the baseline's coverage, from the cache or from a run; nil if it has none.
func (j *judge) baselineShare(ctx context.Context) (*Share, error) {
	key := j.coverageKey(j.baseTree)
	if l, ok := j.cache.get(key.key()); ok {
		return l.Share, nil
	}
	p, err := j.plan(ctx, j.baseTree)
	if err != nil || len(p.of(goTest, ownTest)) == 0 {
		return nil, err
	}
	r, err := j.run(ctx, j.baseTree)
	if err != nil {
		return nil, err
	}
	if r.cut != nil { // another day there may be something to compare with
		return nil, &errTool{"the baseline's tests: " + r.cut.why, r.cut.advice}
	}
	covered, total := r.cover.Total()
	if r.coverErr != nil || total == 0 {
		return nil, nil
	}
	return &Share{Part: covered, Whole: total}, nil
}

// uncovered names the lines of the changed files that no test reached, the most first; where the change is to none of
// them, of all files.
func (j *judge) uncovered(ctx context.Context, p *plan, data *coverage.Data) ([]Finding, error) {
	stat, err := j.changed(ctx)
	if err != nil {
		return nil, err
	}
	// Names are looked up in the copy, which may hold the baseline now.
	if err := j.checkout(ctx, j.Tree); err != nil {
		return nil, err
	}
	isChanged := map[string]bool{}
	for _, f := range stat.Files {
		isChanged[f.Path] = f.Class == diffstat.Implementation
	}
	type gap struct {
		Finding
		missing int
		changed bool
	}
	var gaps []gap
	names := newSourceNames(j.copied.Dir, p.modules)
	for _, f := range data.Files() {
		name, ok := names.path(f.Path)
		if missing := f.Total - f.Covered; ok && missing > 0 {
			spans := data.Missed(f.Path)
			gaps = append(gaps, gap{Finding{Path: name, Line: spans[0].From, Rule: "uncovered",
				Message: fmt.Sprintf("%d of %d not covered: %s", missing, f.Total, spanList(spans))}, missing, isChanged[name]})
		}
	}
	slices.SortStableFunc(gaps, func(a, b gap) int {
		if a.changed != b.changed {
			if a.changed {
				return -1
			}
			return 1
		}
		return b.missing - a.missing
	})
	var out []Finding
	for _, g := range gaps[:min(10, len(gaps))] {
		out = append(out, g.Finding)
	}
	return out, nil
}

func spanList(spans []coverage.Span) string {
	const most = 8
	var parts []string
	for _, s := range spans[:min(most, len(spans))] {
		if s.From == s.To {
			parts = append(parts, fmt.Sprint(s.From))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s.From, s.To))
		}
	}
	if len(spans) > most {
		parts = append(parts, "...")
	}
	if len(spans) == 1 && spans[0].From == spans[0].To {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts, ", ")
}
