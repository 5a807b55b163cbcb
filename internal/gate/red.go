package gate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/source"
	"ralph-loop/internal/testcode"
)

// red runs the new and changed tests on the baseline's implementation, in a second copy: tests that pass there too do
// not show that the change does anything (RED before GREEN). The tree of that run is the judged one with every file of
// implementation as the baseline has it.
//
// It costs a run of the tests: for Go of the new and changed ones, for a project's own commands of them all. So it is
// made last, only for a tree that nothing else holds back, and not in the hook.

const redVersion = 3

func (j *judge) redKey() inputs {
	g := j.Config.Gate
	in := j.suiteKey("red", j.Tree)
	in.Version, in.Base = redVersion, j.baseTree
	in.Settings = append(in.Settings, g.Red, j.Config.TestInfra.File, j.baselineIsGreen())
	if j.Requirement != nil {
		in.Requirement = []any{j.Requirement.NoTestRequired}
	}
	return in
}

// baselineIsGreen reports whether the baseline's own tests are known to pass: what fails on the mixed tree is then the new
// and changed ones' doing.
func (j *judge) baselineIsGreen() bool {
	_, green := j.cache.get(j.suiteKey("L2", j.baseTree).key())
	return green
}

// newTests are the tests that a change brings or alters.
type newTests struct {
	files []string        // test files that are new or changed
	names map[string]bool // the tests in them that are new or another text, without the groups around them
	first map[string]int  // for each file the line of the first of them
}

func (j *judge) red(ctx context.Context) (Layer, error) {
	switch {
	case j.Config.Gate.Red == config.Off:
		return Layer{Result: NotApplicable, Summary: "gate.red is off"}, nil
	case j.Requirement != nil && j.Requirement.NoTestRequired != "":
		return Layer{Result: NotApplicable, Summary: "no test is required: " + short(j.Requirement.NoTestRequired, 500)}, nil
	case len(j.Others) > 0:
		return Layer{Result: NotApplicable, Summary: "a merge: its tests were proved where they were written"}, nil
	case j.Config.Gate.Where == "worktree":
		return Layer{Result: NotApplicable, Summary: "gate.where is worktree: the baseline's implementation cannot be run there"}, nil
	}
	tests, mixed, err := j.findNewTests(ctx)
	if err != nil {
		return Layer{}, err
	}
	if len(tests.files) == 0 {
		if mixed > 0 {
			return untold("the new tests lie in the files of the implementation", ""), nil
		}
		return Layer{Result: NotApplicable, Summary: "no test is new or changed"}, nil
	}
	tree, reverted, err := j.redTree(ctx)
	if err != nil {
		return Layer{}, err
	}
	if reverted == 0 {
		return Layer{Result: NotApplicable, Summary: "the change touches no implementation: there is nothing that the tests could prove"}, nil
	}
	second := &judge{Request: j.Request, baseTree: j.baseTree, cache: j.cache, agreed: j.agreed, looked: j.looked, second: true,
		plans: map[string]*plan{}, tested: map[string]*testRun{}, logs: j.logs}
	second.Tree, second.Config = tree, withoutReruns(j.Config)
	defer second.close()
	p, err := second.plan(ctx, tree)
	if err != nil {
		return Layer{}, err
	}
	switch {
	case len(p.of(goTest)) > 0:
		return j.redGo(ctx, second, p, tests)
	case len(p.of(ownTest)) > 0:
		return j.redOwn(ctx, second, tests)
	}
	return untold("nothing tells how to run the tests", ""), nil
}

// untold is the answer where the tests do not tell, though they ran to their own end: it may be kept.
func untold(why, log string) Layer {
	return Layer{untold: true, Result: Error, Summary: why, Log: log, Advice: "let the tests' report name each test (gate.test_reports), or set gate.red to warn"}
}

// brokeOff is the answer where the run cannot be believed, whatever the tests are: another one may tell.
func brokeOff(why, advice, log string) Layer {
	return Layer{Result: Error, Summary: "on the baseline's implementation: " + short(why, 300), Log: log, Advice: advice}
}

// withoutReruns: a test that fails only sometimes fails here for no reason.
func withoutReruns(c *config.Config) *config.Config {
	same := *c
	same.Gate.Reruns = 0
	return &same
}

// findNewTests reads the changed test files. mixed counts files with tests beside implementation (Rust), which cannot
// be told apart by files.
func (j *judge) findNewTests(ctx context.Context) (t newTests, mixed int, err error) {
	t.names, t.first = map[string]bool{}, map[string]int{}
	files, err := j.changedContents(ctx, func(f diffstat.File) bool { return f.Class == diffstat.Test && isFile(f.NewMode) })
	if err != nil {
		return t, 0, err
	}
	class := classifier(j.Config, j.agreed) // it is looked for by now
	for _, f := range files {
		if j.isInside(f.Path) {
			mixed++
			continue
		}
		old := f.Path
		if f.OldPath != "" {
			old = f.OldPath
		}
		before, _ := testcode.Read(old, f.Before, class)
		after, err := testcode.Read(f.Path, f.After, class)
		if err != nil || bytes.Equal(f.Before, f.After) {
			continue // what does not parse is another layer's matter
		}
		if after == nil { // no reader for the language: the file counts
			t.files = append(t.files, f.Path)
			continue
		}
		for _, name := range sortedKeys(after.Tests) {
			now := after.Tests[name]
			if before != nil && before.Tests[name] != nil && before.Tests[name].Text == now.Text || now.Always {
				continue
			}
			t.names[leaf(name, after.Language)] = true
			if t.first[f.Path] == 0 || now.Line < t.first[f.Path] {
				t.first[f.Path] = now.Line
			}
		}
		if t.first[f.Path] > 0 {
			t.files = append(t.files, f.Path)
		}
	}
	return t, mixed, nil
}

// leaf is a test's own name, without those of the groups around it.
func leaf(name string, language source.Language) string {
	name, _, _ = strings.Cut(name, " #")
	sep := map[source.Language]string{source.JavaScript: " > ", source.Rust: "::"}[language]
	if sep == "" {
		sep = "."
	}
	if i := strings.LastIndex(name, sep); i >= 0 {
		return name[i+len(sep):]
	}
	return name
}

// redTree makes the judged tree with the baseline's implementation, and counts the files that it took back.
func (j *judge) redTree(ctx context.Context) (tree string, reverted int, err error) {
	stat, err := j.changed(ctx)
	if err != nil {
		return "", 0, err
	}
	var entries bytes.Buffer
	zero := strings.Repeat("0", len(j.Tree))
	for _, f := range stat.Files {
		// A file with tests inside has a second entry, which is not looked at: the whole file goes back.
		if f.Class != diffstat.Implementation {
			continue
		}
		reverted++
		if f.NewBlob != "" && (f.OldBlob == "" || f.From != "") {
			fmt.Fprintf(&entries, "0 %s\t%s\x00", zero, f.Path)
		}
		if f.OldBlob != "" {
			old := f.Path
			if f.From != "" {
				old = f.From
			}
			fmt.Fprintf(&entries, "%s %s\t%s\x00", f.OldMode, f.OldBlob, old)
		}
	}
	if reverted == 0 {
		return "", 0, nil
	}
	dir, err := os.MkdirTemp("", "ralph-red-")
	if err != nil {
		return "", 0, fmt.Errorf("make room for an index: %w", err)
	}
	defer os.RemoveAll(dir)
	private := j.Repo.WithIndex(filepath.Join(dir, "index"))
	if err := private.Do(ctx, nil, io.Discard, "read-tree", j.Tree); err != nil {
		return "", 0, fmt.Errorf("put the baseline's implementation under the tests: %w", err)
	}
	if err := private.Do(ctx, &entries, io.Discard, "update-index", "-z", "--index-info"); err != nil {
		return "", 0, fmt.Errorf("put the baseline's implementation under the tests: %w", err)
	}
	out, err := private.Line(ctx, "write-tree")
	return out, reverted, err
}

// redGo runs the new and changed Go tests alone. A package that does not compile is RED too: the tests call what is not
// there yet.
func (j *judge) redGo(ctx context.Context, second *judge, p *plan, tests newTests) (Layer, error) {
	if err := second.checkout(ctx, second.Tree); err != nil {
		return Layer{}, err
	}
	log, err := second.logFile("red", j.Tree)
	if err != nil {
		return Layer{}, err
	}
	defer log.Close()
	packages := map[string]bool{}
	for _, file := range tests.files {
		if pkg := packageOf(p.modules, second.copied.Dir, file); pkg != "" && source.LanguageOf(file) == source.Go {
			packages[pkg] = true
		}
	}
	if len(packages) == 0 {
		return Layer{Result: NotApplicable, Summary: "no Go test is new or changed"}, nil
	}
	told, err := second.runGoTests(ctx, p, packages, tests.names, log)
	cut, isTool := asTool(err)
	if err != nil && !isTool {
		return Layer{}, err
	}
	l := Layer{Result: Pass, Log: log.Name()}
	switch {
	case len(told.builds) > 0 || slices.ContainsFunc(told.broken, func(b brokenPackage) bool { return b.build }):
		l.Summary = "the new and changed tests do not compile on the baseline's implementation"
	case told.counts.Failed > 0:
		l.Summary = fmt.Sprintf("%s of the new and changed tests on the baseline's implementation", plural(told.counts.Failed, "failure"))
	case cut != nil:
		return brokeOff(cut.why, cut.advice, log.Name()), nil
	case len(told.broken) > 0:
		l.Summary = "the new and changed tests do not run to their end on the baseline's implementation"
	case told.counts.Passed == 0:
		return untold("none of the new and changed tests ran on the baseline's implementation", log.Name()), nil
	default:
		return j.green(l, tests, told.counts.Passed), nil
	}
	return l, nil
}

// packageOf is the import path of a Go file's package.
func packageOf(modules []module, top, file string) string {
	best, pkg := -1, ""
	for _, m := range modules {
		rel, ok := strings.CutPrefix(file, m.dir+"/")
		if m.dir == "" {
			rel, ok = file, true
		}
		if own := m.importPath(top); ok && own != "" && len(m.dir) > best {
			best, pkg = len(m.dir), path.Join(own, path.Dir(rel))
		}
	}
	return pkg
}

// redOwn runs the project's own commands. They run all tests: what fails must be told from what failed before.
func (j *judge) redOwn(ctx context.Context, second *judge, tests newTests) (Layer, error) {
	r, err := second.run(ctx, second.Tree)
	if err != nil {
		return Layer{}, err
	}
	l := Layer{Result: Pass, Log: r.log}
	failing := slices.Concat(r.builds, r.errors)
	named := 0
	for _, f := range r.failures {
		failing = append(failing, f.Finding)
		if tests.meant(f) {
			named++
		}
	}
	switch {
	case named > 0:
		l.Summary = fmt.Sprintf("%s of the new and changed tests on the baseline's implementation", plural(named, "failure"))
	case r.cut != nil:
		return brokeOff(r.cut.why, r.cut.advice, r.log), nil
	case len(failing) > 0 && j.baselineIsGreen():
		l.Summary = "the tests pass on the baseline, and fail with the new and changed ones: " + short(failing[0].Message, 200)
	case len(r.errors) > 0:
		return brokeOff(r.errors[0].Message, r.advice, r.log), nil
	case len(failing) > 0:
		l = untold("tests fail on the baseline's implementation, and nothing shows that the new ones are among them", r.log)
		l.Notes = []string{"where the baseline was judged before, as the loop does, it can be told"}
	case r.counts.Passed == 0:
		l = untold("nothing shows that a test ran on the baseline's implementation", r.log)
	default:
		return j.green(l, tests, len(tests.names)), nil
	}
	return l, nil
}

// meant reports whether a failure is one of a new or changed test, by its file or its name.
func (t *newTests) meant(f failure) bool {
	if f.Path != "" && slices.Contains(t.files, f.Path) && f.Rule != "tests failed" {
		return true
	}
	first, _, _ := strings.Cut(cmp.Or(f.line, f.Message), "\n")
	if slices.ContainsFunc(t.files, func(file string) bool { return mentionsFile(first, file) }) {
		return true
	}
	for name := range t.names {
		if len(name) > 3 && mentions(first, name, wordByte) {
			return true
		}
	}
	return false
}

// green is the finding: the tests prove nothing.
func (j *judge) green(l Layer, tests newTests, passed int) Layer {
	var found []Finding
	for _, file := range tests.files {
		found = append(found, Finding{Path: file, Line: tests.first[file], Rule: "not-red", Message: "the new and changed tests pass without the change to the implementation: they do not show what it does"})
	}
	l.Summary = "the new and changed tests pass on the baseline's implementation too"
	if passed > 0 {
		l.Summary = fmt.Sprintf("%s, new or changed, and none fails on the baseline's implementation", plural(passed, "test"))
	}
	if l.hold(j.Config.Gate.Red, found); len(l.Findings) > 0 {
		l.Result = Fail
		l.Advice = "write a test that fails without the change, see it fail, then make it pass"
	}
	return l
}
