package gate

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/source"
)

// sourceChange is a source file in the two versions that a change leads between. A nil version does not exist.
type sourceChange struct {
	Path          string // after, or before if the file is gone
	OldPath       string // before, if it was another one
	Before, After []byte
}

// changedGo is a sourceChange, read.
type changedGo struct{ before, after *goFile }

// integrityFindings judges whether a change leaves the tests as strong as they were. It looks at all changed Go files
// at once, so that a test may move within its package, and anywhere if its body stays the same. It finds
//
//   - tests and named subtests that are gone, or that go test no longer runs: renamed, a build constraint, a folder
//     that go passes over, an example without its output;
//   - skips that are new, and assertions behind a return or under a condition that is never true;
//   - assertions removed from a test whose name stays. Fewer than before is a finding, unless the test became a table
//     (a loop around its assertions is new) or hands its t to a helper that it did not have; none is always one.
//     The same holds for helpers that are given a t;
//   - new tests that cannot fail: no assertion, only assertions on constants, or skipped from the start;
//   - a TestMain that does not run the tests, or ends with os.Exit(0);
//   - comments that tell a checker to look away (nolint, #nosec, lint:ignore), in any Go file;
//   - Go files that do not parse.
//
// What it cannot see: rows taken out of a table, weaker comparisons, helpers of other packages.
func integrityFindings(changes []sourceChange) []Finding {
	var findings []Finding
	var files []changedGo
	for _, c := range changes {
		old := cmp.Or(c.OldPath, c.Path)
		if !strings.HasSuffix(c.Path, ".go") && !strings.HasSuffix(old, ".go") {
			continue
		}
		var f changedGo
		if strings.HasSuffix(old, ".go") {
			f.before, _ = readGo(old, c.Before) // what did not parse had no tests to lose
		}
		if strings.HasSuffix(c.Path, ".go") {
			var err error
			if f.after, err = readGo(c.Path, c.After); err != nil {
				findings = append(findings, unparsed(c.Path, err))
				continue
			}
		}
		files = append(files, f)
	}
	j := integrityJudge{files: files, findings: findings}
	j.tests()
	j.helpers()
	j.mains()
	j.suppressions()
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return j.findings
}

type integrityJudge struct {
	files    []changedGo
	findings []Finding
}

func (j *integrityJudge) add(path string, line int, rule, format string, args ...any) {
	j.findings = append(j.findings, Finding{Path: path, Line: line, Rule: rule, Message: fmt.Sprintf(format, args...)})
}

func (f changedGo) testsBefore() map[string]*testFunc {
	if f.before == nil {
		return nil
	}
	return f.before.tests
}

func (f changedGo) testsAfter() map[string]*testFunc {
	if f.after == nil {
		return nil
	}
	return f.after.tests
}

// where is the file's path for a finding about what is no longer in it.
func (f changedGo) where() string {
	if f.after != nil {
		return f.after.path
	}
	return f.before.path
}

// tests pairs every test of before with the one that it became.
func (j *integrityJudge) tests() {
	paired := map[*testFunc]bool{}
	var homeless []func()
	for _, f := range j.files {
		for _, name := range slices.Sorted(maps.Keys(f.testsBefore())) {
			old := f.before.tests[name]
			if now := f.testsAfter()[name]; now != nil {
				paired[now] = true
				j.compare(f.after.path, name, old, now)
				continue
			}
			homeless = append(homeless, func() { j.moved(f, name, old, paired) })
		}
	}
	for _, find := range homeless {
		find()
	}
	for _, f := range j.files {
		for _, name := range slices.Sorted(maps.Keys(f.testsAfter())) {
			if now := f.after.tests[name]; !paired[now] {
				j.fresh(f.after.path, name, now)
			}
		}
	}
}

// moved looks for a test in the other changed files.
func (j *integrityJudge) moved(from changedGo, name string, old *testFunc, paired map[*testFunc]bool) {
	for _, sameFolder := range []bool{true, false} {
		for _, f := range j.files {
			if f.after == nil || sameFolder != (path.Dir(f.after.path) == path.Dir(from.before.path)) {
				continue
			}
			now := f.after.tests[name]
			if now == nil || paired[now] || !sameFolder && now.text != old.text {
				continue
			}
			paired[now] = true
			j.compare(f.after.path, name, old, now)
			return
		}
	}
	if from.after != nil && declares(from.after.file, name) {
		j.add(from.where(), 0, "test-not-run", "go test no longer runs %s: look at its parameters, its output comment, the file's build constraint, name and folder", name)
		return
	}
	j.add(from.where(), 0, "test-removed", "%s is gone (it was in %s, line %d)", name, from.before.path, old.line)
}

// declares reports whether a function or method of that key still stands in the file.
func declares(file *ast.File, key string) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			return false
		}
		name := f.Name.Name
		if r := receiver(f); r != "" {
			name = r + "." + name
		}
		return name == key
	})
}

// compare judges a test that stays.
func (j *integrityJudge) compare(path, name string, old, now *testFunc) {
	if n := len(now.skips) - len(old.skips); n > 0 {
		j.add(path, now.skips[len(now.skips)-1], "test-skipped", "%s skips where it did not before", name)
	}
	for _, sub := range old.subs {
		if !slices.Contains(now.subs, sub) && len(now.subs) < len(old.subs) {
			j.add(path, now.line, "test-removed", "the subtest %q of %s is gone", sub, name)
		}
	}
	switch {
	case now.dead > old.dead && now.hard < old.hard:
		j.add(path, now.line, "test-disabled", "%s has %s that cannot be reached: behind a return, or under a condition that is never true", name, plural(now.dead, "assertion"))
	case weaker(old, now):
		j.add(path, now.line, "assertions-removed", "%s has %s, it had %d", name, plural(now.hard, "assertion"), old.hard)
	}
}

// weaker reports whether a function that stays checks less.
func weaker(old, now *testFunc) bool {
	if old.hard+old.soft > 0 && now.hard+now.soft == 0 {
		return !now.free || old.hard > 0
	}
	return now.hard < old.hard && now.soft <= old.soft && now.loops <= old.loops
}

// fresh judges a test that was not there before.
func (j *integrityJudge) fresh(path, name string, now *testFunc) {
	switch {
	case now.always:
		j.add(path, now.skips[0], "test-skipped", "the new %s skips itself", name)
	case now.hard+now.soft == 0 && !now.free && now.dead > 0:
		j.add(path, now.line, "test-disabled", "the new %s cannot reach its assertions", name)
	case now.hard+now.soft == 0 && !now.free:
		j.add(path, now.line, "test-without-assertion", "the new %s has no assertion that could fail", name)
	}
}

// helpers judges the functions that tests hand their t to: emptying one weakens them all.
func (j *integrityJudge) helpers() {
	for _, f := range j.files {
		if f.before == nil || f.after == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f.before.helpers)) {
			old, now := f.before.helpers[name], f.after.helpers[name]
			if now == nil {
				continue // its callers are judged, and would not compile
			}
			if len(now.skips) > len(old.skips) {
				j.add(f.after.path, now.skips[len(now.skips)-1], "test-skipped", "the helper %s skips where it did not before", name)
			}
			if weaker(old, now) {
				j.add(f.after.path, now.line, "assertions-removed", "the helper %s has %s, it had %d", name, plural(now.hard, "assertion"), old.hard)
			}
		}
	}
}

// mains judges TestMain.
func (j *integrityJudge) mains() {
	for _, f := range j.files {
		if f.after == nil || f.after.main == nil {
			continue
		}
		m := paramOf(f.after.main.Type, "M")
		runs, exits := false, 0
		ast.Inspect(f.after.main.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			base, name := callee(call)
			runs = runs || base == m && name == "Run"
			for _, a := range call.Args { // handed on: testscript.Main(m, ...), goleak.VerifyTestMain(m)
				if id, ok := a.(*ast.Ident); ok && id.Name == m {
					runs = true
				}
			}
			if base == "os" && name == "Exit" && len(call.Args) == 1 && isConstant(call.Args[0]) {
				if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Value == "0" {
					exits = f.after.line(call)
				}
			}
			return true
		})
		switch {
		case !runs:
			j.add(f.after.path, f.after.line(f.after.main), "tests-not-run", "TestMain does not call %s.Run: no test of the package runs", m)
		case exits > 0:
			j.add(f.after.path, exits, "tests-not-run", "TestMain ends with os.Exit(0), whatever the tests gave")
		}
	}
}

// suppressions finds the new ones; one that moved is not new.
func (j *integrityJudge) suppressions() {
	gone := map[string]int{}
	for _, f := range j.files {
		if f.before != nil {
			for _, s := range f.before.suppressions {
				gone[s.text]++
			}
		}
	}
	for _, f := range j.files {
		if f.after == nil {
			continue
		}
		for _, s := range f.after.suppressions {
			if gone[s.text]--; gone[s.text] < 0 {
				j.add(f.after.path, s.line, "suppression", "new: %s", s.text)
			}
		}
	}
}

// withoutJustified drops the findings that a person has given a reason for: a comment that this change brings,
// "@test-change-justified: why", in the file of the finding; for a file that is gone or does not parse, in another
// changed file of its folder. An old comment justifies nothing new.
func withoutJustified(findings []Finding, changes []sourceChange) []Finding {
	files, folders := map[string]bool{}, map[string]bool{}
	exists := map[string]bool{}
	for _, c := range changes {
		if c.After == nil {
			continue
		}
		exists[c.Path] = true
		old := justifications(source.Scan(cmp.Or(c.OldPath, c.Path), c.Before), testChangeJustified)
		if slices.ContainsFunc(justifications(source.Scan(c.Path, c.After), testChangeJustified), func(r string) bool { return !slices.Contains(old, r) }) {
			files[c.Path] = true
			folders[path.Dir(c.Path)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool {
		if f.Rule == "does-not-parse" {
			return false
		}
		return files[f.Path] || !exists[f.Path] && folders[path.Dir(f.Path)]
	})
}
