package gate

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// gate.reruns: a test that fails and then passes on the same tree is flaky. That is a pass, and is told wherever the
// pass is.

// again runs what failed once more, as often as gate.reruns says. It gives the run that counts.
func (j *judge) again(ctx context.Context, p *plan, r *testRun, log *os.File) (*testRun, error) {
	for range j.Config.Gate.Reruns {
		if len(r.failures) == 0 || len(r.builds)+len(r.errors)+len(r.stopped) > 0 {
			break
		}
		fmt.Fprintln(log, "# gate.reruns: what failed is run again")
		var err error
		if len(j.Config.Gate.Test) > 0 {
			r, err = j.ownTestsAgain(ctx, p, r, log)
		} else {
			err = j.goTestsAgain(ctx, p, r, log)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ownTestsAgain runs the project's own commands again, all of them: nothing tells how to run one test. Only a run
// without any failure replaces the first.
func (j *judge) ownTestsAgain(ctx context.Context, p *plan, r *testRun, log *os.File) (*testRun, error) {
	second := &testRun{unit: "test", log: r.log}
	for _, s := range p.of(ownTest) {
		fmt.Fprintf(log, "$ %s\n", s)
		if err := j.runOwnTest(ctx, s, second, log); err != nil {
			return nil, err
		}
	}
	if err := j.readOwnReports(second); err != nil {
		return nil, err
	}
	if len(second.failures)+len(second.errors)+len(second.builds) > 0 || second.counts.Passed == 0 {
		return r, nil
	}
	second.flaky = append(r.flaky, flakyOf(r.failures)...)
	return second, nil
}

// goTestsAgain runs the failed tests again, each with all of its subtests, and takes out the failures that passed.
func (j *judge) goTestsAgain(ctx context.Context, p *plan, r *testRun, log *os.File) error {
	packages, names := map[string]bool{}, map[string]bool{}
	for _, f := range r.failures {
		pkg, test, ok := strings.Cut(f.name, " ")
		if !ok {
			return nil // a package without a test that ran: no second run mends that
		}
		test, _, _ = strings.Cut(test, "/")
		packages[pkg], names[test] = true, true
	}
	told, err := j.runGoTests(ctx, p, packages, names, log)
	if _, isTool := asTool(err); isTool {
		return nil // a run that was cut short mends nothing
	}
	if err != nil {
		return err
	}
	passed := map[string]bool{}
	for _, name := range told.passed {
		passed[name] = true
	}
	left := slices.DeleteFunc(slices.Clone(r.failures), func(f failure) bool { return passed[f.name] })
	healed := slices.DeleteFunc(slices.Clone(r.failures), func(f failure) bool { return !passed[f.name] })
	r.failures, r.flaky = left, append(r.flaky, flakyOf(healed)...)
	// What failed first and does not fail now, parents of subtests among it, has passed.
	if still := told.counts.Failed; still < r.counts.Failed {
		r.counts.Passed, r.counts.Failed = r.counts.Passed+r.counts.Failed-still, still
	}
	for _, f := range healed {
		r.passed = append(r.passed, f.name)
	}
	return nil
}

// runGoTests runs the tests of some names in some packages, without coverage and never from go's own cache. Beside the error
// of a step that did not come to its own end it gives what was told until then.
func (j *judge) runGoTests(ctx context.Context, p *plan, packages, names map[string]bool, log *os.File) (*goRun, error) {
	all := &goRun{}
	for _, s := range p.of(goTest) {
		s.Args = []string{"go", "test", "-json", "-count=1", "-run", "^(" + strings.Join(sortedKeys(names), "|") + ")$"}
		m, before := module{dir: s.Dir}, len(s.Args)
		own := m.importPath(j.copied.Dir)
		for _, pkg := range sortedKeys(packages) {
			if _, ok := m.folder(own, pkg); ok {
				s.Args = append(s.Args, pkg)
			}
		}
		if len(s.Args) == before {
			continue
		}
		fmt.Fprintf(log, "$ %s\n", strings.Join(s.Args, " "))
		out, err := j.exec(ctx, s)
		tool, isTool := asTool(err)
		if err != nil && !isTool {
			return nil, err
		}
		told, err := j.goEvents(out.stdout, log)
		if err != nil {
			return nil, err
		}
		all.counts.Passed += told.counts.Passed
		all.counts.Failed += told.counts.Failed
		all.passed = append(all.passed, told.passed...)
		all.failed = append(all.failed, told.failed...)
		all.broken = append(all.broken, told.broken...)
		all.builds = append(all.builds, told.builds...)
		if isTool {
			return all, tool
		}
	}
	return all, nil
}

// flakyOf tells of tests that failed first.
func flakyOf(failures []failure) []Finding {
	var found []Finding
	for _, f := range failures {
		f.Rule, f.Message = "flaky", "flaky: it passed when it was run again; at first: "+short(f.Message, 300)
		found = append(found, f.Finding)
	}
	return found
}
