package gate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/testcode"
)

// sourceChange is a source file in the two versions that a change leads between. A nil version does not exist.
type sourceChange struct {
	Path          string // after, or before if the file is gone
	OldPath       string // before, if it was another one
	Before, After []byte
}

// changedTests is a sourceChange, read.
type changedTests struct{ before, after *testcode.File }

// integrityFindings judges whether a change leaves the tests as strong as they were. It looks at all changed files at
// once, so that a test may move within its folder, anywhere if its body stays the same, and may get another name with
// the same body. It finds
//
//   - tests and named subtests that are gone, or that no runner takes for tests any more: by a build constraint, a lost
//     attribute, the file's name or folder;
//   - skips that are new, tests that are to fail (xfail), and assertions behind a return or under a condition that is
//     never true;
//   - tests that keep the others of their file from running (it.only), or end the process;
//   - assertions removed from a test whose name stays. Fewer than before is a finding, unless the test became a table
//     (a loop around its assertions is new) or calls more that may fail it; none is always one. The same holds for the
//     helpers that assert for tests;
//   - new tests that cannot fail: no assertion, only assertions on constants, or skipped from the start;
//   - a TestMain that does not run the tests, or ends with os.Exit(0);
//   - what tells a checker to look away (nolint, @ts-ignore, noqa, ...), in any source file;
//   - Go files that do not parse.
//
// What it cannot see: rows taken out of a table, weaker comparisons, helpers of other files. In a language without a reader
// it sees only that a test file is gone, moved to where nothing takes it for one, emptied, or cut to less than half its lines;
// and new skips of bats, RSpec and minitest.
func integrityFindings(changes []sourceChange, class *diffstat.Classifier) []Finding {
	var findings []Finding
	var files []changedTests
	for _, c := range changes {
		old := cmp.Or(c.OldPath, c.Path)
		if why := lostUnread(c, class); why != "" {
			findings = append(findings, Finding{Path: old, Rule: "test-removed", Message: why})
		}
		if line, found := newSkip(c); found {
			findings = append(findings, Finding{Path: c.Path, Line: line, Rule: "test-skipped", Message: "more tests skip than before"})
		}
		if c.unread() {
			continue
		}
		var f changedTests
		f.before, _ = testcode.Read(old, c.Before, class) // what did not parse had no tests to lose
		var err error
		if f.after, err = testcode.Read(c.Path, c.After, class); err != nil {
			findings = append(findings, unparsed(c.Path, err))
			continue
		}
		files = append(files, f)
	}
	j := integrityJudge{files: files, findings: findings, said: map[Finding]bool{}}
	j.tests()
	j.helpers()
	j.marks()
	slices.SortStableFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return j.findings
}

type integrityJudge struct {
	files    []changedTests
	findings []Finding
	said     map[Finding]bool // skips, without their text: a group of tests is skipped by one line
}

func (j *integrityJudge) add(path string, line int, rule, format string, args ...any) {
	j.findings = append(j.findings, Finding{Path: path, Line: line, Rule: rule, Message: fmt.Sprintf(format, args...)})
}

func (f changedTests) testsBefore() map[string]*testcode.Func {
	if f.before == nil {
		return nil
	}
	return f.before.Tests
}

func (f changedTests) testsAfter() map[string]*testcode.Func {
	if f.after == nil {
		return nil
	}
	return f.after.Tests
}

// where is the file's path for a finding about what is no longer in it.
func (f changedTests) where() string {
	if f.after != nil {
		return f.after.Path
	}
	return f.before.Path
}

// tests pairs every test of before with the one that it became.
func (j *integrityJudge) tests() {
	paired := map[*testcode.Func]bool{}
	type lost struct {
		from changedTests
		name string
		test *testcode.Func
	}
	var homeless []lost
	for _, f := range j.files {
		for _, name := range slices.Sorted(maps.Keys(f.testsBefore())) {
			old := f.before.Tests[name]
			if now := f.testsAfter()[name]; now != nil {
				paired[now] = true
				j.compare(f.after.Path, name, old, now)
				continue
			}
			homeless = append(homeless, lost{f, name, old})
		}
	}
	// The nearest place first: of two tests that look alike, each finds its own.
	for _, fits := range []func(from changedTests, name string, old *testcode.Func, in *testcode.File, nowName string, now *testcode.Func) bool{
		func(from changedTests, name string, _ *testcode.Func, in *testcode.File, nowName string, _ *testcode.Func) bool {
			return name == nowName && path.Dir(in.Path) == path.Dir(from.before.Path)
		},
		func(_ changedTests, name string, old *testcode.Func, _ *testcode.File, nowName string, now *testcode.Func) bool {
			return name == nowName && now.Text == old.Text
		},
		func(_ changedTests, _ string, old *testcode.Func, _ *testcode.File, _ string, now *testcode.Func) bool {
			return now.Text == old.Text && old.Hard+old.Soft > 0
		},
	} {
		homeless = slices.DeleteFunc(homeless, func(l lost) bool {
			for _, f := range j.files {
				for _, nowName := range slices.Sorted(maps.Keys(f.testsAfter())) {
					now := f.after.Tests[nowName]
					if !paired[now] && f.after.Language == l.from.before.Language && fits(l.from, l.name, l.test, f.after, nowName, now) {
						paired[now] = true
						j.compare(f.after.Path, nowName, l.test, now)
						return true
					}
				}
			}
			return false
		})
	}
	for _, l := range homeless {
		if l.from.after != nil && l.from.after.Declared[l.name] {
			j.add(l.from.where(), 0, "test-not-run", "%s still stands there, but %s no longer runs it: look at its name, its parameters, what marks it as a test, the file's name, folder and build constraint", l.name, testcode.Runner(l.from.before.Language))
			continue
		}
		j.add(l.from.where(), 0, "test-removed", "%s is gone (it was in %s, line %d)", l.name, l.from.before.Path, l.test.Line)
	}
	for _, f := range j.files {
		for _, name := range slices.Sorted(maps.Keys(f.testsAfter())) {
			if now := f.after.Tests[name]; !paired[now] {
				j.fresh(f.after.Path, name, now)
			}
		}
	}
}

// compare judges a test that stays.
func (j *integrityJudge) compare(path, name string, old, now *testcode.Func) {
	if len(now.Skips) > len(old.Skips) {
		j.skipped(path, now.Skips[len(now.Skips)-1], "%s skips, or is to fail, where it was not before", name)
	}
	for _, sub := range old.Subs {
		if !slices.Contains(now.Subs, sub) && len(now.Subs) < len(old.Subs) {
			j.add(path, now.Line, "test-removed", "the subtest %q of %s is gone", sub, name)
		}
	}
	switch {
	case now.Dead > old.Dead && now.Hard < old.Hard:
		j.add(path, now.Line, "test-disabled", "%s has %s that cannot be reached: behind a return, or under a condition that is never true", name, plural(now.Dead, "assertion"))
	case weaker(old, now):
		j.add(path, now.Line, "assertions-removed", "%s has %s, it had %d", name, plural(now.Hard, "assertion"), old.Hard)
	}
}

// skipped tells of a skip, once for the line that makes it.
func (j *integrityJudge) skipped(path string, line int, format string, args ...any) {
	at := Finding{Path: path, Line: line}
	if !j.said[at] {
		j.said[at] = true
		j.add(path, line, "test-skipped", format, args...)
	}
}

// weaker reports whether a function that stays checks less.
func weaker(old, now *testcode.Func) bool {
	if old.Hard+old.Soft > 0 && now.Hard+now.Soft == 0 {
		return !now.Free || old.Hard > 0
	}
	return now.Hard < old.Hard && now.Soft <= old.Soft && now.Loops <= old.Loops
}

// fresh judges a test that was not there before.
func (j *integrityJudge) fresh(path, name string, now *testcode.Func) {
	switch {
	case now.Always:
		j.skipped(path, now.Skips[0], "the new %s is skipped, or is to fail", name)
	case now.Hard+now.Soft == 0 && !now.Free && now.Dead > 0:
		j.add(path, now.Line, "test-disabled", "the new %s cannot reach its assertions", name)
	case now.Hard+now.Soft == 0 && !now.Free:
		j.add(path, now.Line, "test-without-assertion", "the new %s has no assertion that could fail", name)
	}
}

// helpers judges the functions that tests hand their t to: emptying one weakens them all.
func (j *integrityJudge) helpers() {
	for _, f := range j.files {
		if f.before == nil || f.after == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f.before.Helpers)) {
			old, now := f.before.Helpers[name], f.after.Helpers[name]
			if now == nil {
				continue // its callers are judged, and would not compile
			}
			if len(now.Skips) > len(old.Skips) {
				j.skipped(f.after.Path, now.Skips[len(now.Skips)-1], "the helper %s skips where it did not before", name)
			}
			if weaker(old, now) {
				j.add(f.after.Path, now.Line, "assertions-removed", "the helper %s has %s, it had %d", name, plural(now.Hard, "assertion"), old.Hard)
			}
		}
	}
}

// marks finds what is wrong wherever it stands, and the marks that are new; one that moved is not new.
func (j *integrityJudge) marks() {
	type key struct{ rule, text string }
	gone := map[key]int{}
	for _, f := range j.files {
		if f.before != nil {
			for _, m := range f.before.Marks {
				gone[key{m.Rule, m.Text}]++
			}
		}
	}
	for _, f := range j.files {
		if f.after == nil {
			continue
		}
		for _, m := range f.after.Broken {
			j.add(f.after.Path, m.Line, m.Rule, "%s", m.Text)
		}
		for _, m := range f.after.Marks {
			k := key{m.Rule, m.Text}
			if gone[k]--; gone[k] < 0 {
				j.add(f.after.Path, m.Line, m.Rule, "new: %s", m.Text)
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
		old := changeReasons(cmp.Or(c.OldPath, c.Path), c.Before)
		if slices.ContainsFunc(changeReasons(c.Path, c.After), func(r string) bool { return !slices.Contains(old, r) }) {
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
