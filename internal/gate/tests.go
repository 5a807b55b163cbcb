package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/coverage"
)

// L2 and L3 are one run of all tests: L3 reads the coverage that this very run wrote.

const (
	suiteVersion    = 3
	coverageVersion = 4
)

// testRun is one run of the whole suite on one tree.
type testRun struct {
	counts   Counts
	unit     string    // what is counted: "test", or "package" where a runner tells no more
	failures []failure // tests
	errors   []Finding // why the run itself cannot be believed
	passed   []string  // names, where they are known
	builds   []Finding // what did not compile
	advice   string    // for the errors
	silent   bool      // a command ended well and nothing shows that a test ran
	cover    coverage.Data
	leftOut  []coverage.File // of cover: test code
	coverErr error           // why cover is not whole
	stopped  []string        // Go packages in which a panic or an exit kept the tests after it from running
	cut      *errTool        // a command that did not come to its own end; errors has it too
	flaky    []Finding       // tests that failed and passed when they were run again
	log      string
	notes    []string
}

type failure struct {
	Finding
	name string // as in passed; "" where it is not known
	line string // the runner's own, which names the test; "" where that is the message's first
}

func (j *judge) suiteKey(layer, tree string) inputs {
	g := j.Config.Gate
	in := inputs{Layer: layer, Version: suiteVersion, Tree: tree, Settings: []any{lines(g.Test), g.TestReports, g.TestGlobs, g.IgnoreGlobs, g.Timeout, g.Reruns, g.Where, lines(g.Setup)}}
	programs := [][]string{{"go"}}
	for _, c := range g.Test {
		programs = append(programs, c.Args)
	}
	in.Machine = j.machine(programs...)
	if layer == "L3" {
		in.Version = coverageVersion
		in.Settings = append(in.Settings, g.CoverageFiles, g.Coverage.String(), j.Config.TestInfra.File)
	}
	return in
}

// run gives the run of all tests on a tree; it is made once.
func (j *judge) run(ctx context.Context, tree string) (*testRun, error) {
	if r := j.tested[tree]; r != nil {
		return r, nil
	}
	p, err := j.plan(ctx, tree)
	if err != nil {
		return nil, err
	}
	if err := j.checkout(ctx, tree); err != nil {
		return nil, err
	}
	r := &testRun{unit: "test"}
	for _, s := range p.of(goTest, ownTest) {
		log, err := j.logFile("L2", tree)
		if err != nil {
			return nil, err
		}
		r.log = log.Name()
		fmt.Fprintf(log, "$ %s\n", s)
		if s.kind == goTest {
			err = j.runGoTest(ctx, s, r, log)
		} else {
			err = j.runOwnTest(ctx, s, r, log)
		}
		if closeErr := log.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write the log: %w", closeErr)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(j.Config.Gate.Test) > 0 {
		if err := j.readOwnReports(r); err != nil {
			return nil, err
		}
	}
	if len(r.failures) > 0 && j.Config.Gate.Reruns > 0 {
		log, err := j.logFile("L2", tree)
		if err != nil {
			return nil, err
		}
		r, err = j.again(ctx, p, r, log)
		if closeErr := log.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write the log: %w", closeErr)
		}
		if err != nil {
			return nil, err
		}
	}
	class, err := classifierOf(ctx, j.Repo, j.Config, tree)
	if err != nil {
		return nil, err
	}
	if r.leftOut, err = withoutTests(&r.cover, class, newSourceNames(j.copied.Dir, p.modules)); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.failures, func(a, b failure) int { return compareFindings(a.Finding, b.Finding) })
	j.tested[tree] = r
	// The names of what passed tell a later run which of its failures are regressions.
	if len(r.passed) > 0 && len(r.errors)+len(r.stopped) == 0 {
		// Without them failures are told apart by whether the test existed: nothing is lost but precision.
		_ = j.cache.write(CacheEntry{Key: j.suiteKey("passed tests", tree).key(), Name: "passed tests", Tree: tree, Names: r.passed})
	}
	return r, nil
}

// runGoTest runs the tests of one Go module.
func (j *judge) runGoTest(ctx context.Context, s Step, r *testRun, log *os.File) error {
	profile := filepath.Join(j.scratch(), "cover.out")
	s.Args = slices.Insert(slices.Clone(s.Args), len(s.Args)-1, "-coverprofile="+profile)
	out, err := j.exec(ctx, s)
	if err := appendFile(log, out.stderr); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write the log: %w", err)
	}
	tool, isTool := asTool(err)
	if err != nil && !isTool {
		return err
	}
	told, err := j.goEvents(out.stdout, log)
	if err != nil {
		return err
	}
	j.addGoRun(s, r, told)
	if isTool {
		r.cutShort(tool)
		return nil
	}
	if told.counts == (Counts{}) && len(told.broken) == 0 && len(r.builds) == 0 && out.code != 0 {
		_, rest, err := j.diagnostics(s, out.stderr, out.stdout)
		if err != nil {
			return err
		}
		r.builds = append(r.builds, Finding{Rule: "go test", Message: rest})
	}
	if len(told.broken)+len(told.builds)+len(told.cut) > 0 {
		r.coverErr = errUnfinished
	}
	if r.coverErr == nil {
		r.coverErr = readCoverage(&r.cover, profile)
	}
	return nil
}

// cutShort takes in that a command did not come to its own end.
func (r *testRun) cutShort(tool *errTool) {
	r.errors = append(r.errors, Finding{Rule: "runner", Message: tool.why})
	r.advice, r.coverErr, r.cut = tool.advice, errUnfinished, tool
}

// goEvents reads what "go test -json" printed to a file, and writes it to the log as a person reads it.
func (j *judge) goEvents(name string, log io.Writer) (*goRun, error) {
	stdout, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the tests' output: %w", err)
	}
	defer stdout.Close()
	return readGoTest(stdout, log)
}

var errUnfinished = errors.New("the tests did not run to their end, so nothing tells what they cover")

func readCoverage(data *coverage.Data, name string) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the tests wrote no coverage profile")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := data.Read(f); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

func (j *judge) addGoRun(s Step, r *testRun, told *goRun) {
	r.counts.Passed += told.counts.Passed
	r.counts.Failed += told.counts.Failed
	r.counts.Skipped += told.counts.Skipped
	r.passed = append(r.passed, told.passed...)
	r.stopped = append(r.stopped, told.cut...)
	m := module{dir: s.Dir}
	own := m.importPath(j.copied.Dir)
	for _, t := range told.failed {
		folder, _ := m.folder(own, t.pkg)
		inFolder := s
		inFolder.Dir = folder
		f := t.finding(folder, func(name string) (string, bool) { return j.pathInTree(inFolder, name) })
		r.failures = append(r.failures, failure{Finding: f, name: t.pkg + " " + t.name})
	}
	for _, text := range told.builds {
		r.builds = append(r.builds, j.compileErrors(s, text)...)
	}
	for _, b := range told.broken {
		if b.build {
			if len(told.builds) == 0 {
				r.builds = append(r.builds, Finding{Rule: "go build", Message: strings.TrimSpace(tidy(b.output))})
			}
			continue
		}
		r.errors = append(r.errors, Finding{Rule: "runner", Message: fmt.Sprintf("%s failed though no test of it did (TestMain, a panic outside a test, or an exit):\n%s", b.pkg, headTail(tidy(b.output), 800))})
		r.advice = "make the test binary end well: see the log"
	}
	for _, pkg := range told.idle {
		r.failures = append(r.failures, failure{Finding: Finding{Rule: "no test ran", Message: pkg + " has test files, and its test binary ended well without running one: does its TestMain call m.Run?"}})
	}
}

// compileErrors are the findings in a build's output.
func (j *judge) compileErrors(s Step, text string) []Finding {
	var found []Finding
	var rest []string
	for line := range strings.Lines(clean(text)) {
		line = strings.TrimRight(line, "\n")
		if m := placeColon.FindStringSubmatch(line); m != nil {
			if p, ok := j.pathInTree(s, m[1]); ok {
				found = append(found, Finding{Path: p, Line: number(m[2]), Rule: "go build", Message: m[4]})
				continue
			}
		}
		if last := len(found) - 1; last >= 0 && strings.HasPrefix(line, "\t") {
			found[last].Message += "\n" + line
			continue
		}
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "# ") {
			rest = append(rest, line)
		}
	}
	if len(found) == 0 && len(rest) > 0 {
		found = append(found, Finding{Rule: "go build", Message: headTail(strings.Join(rest, "\n"), 1000)})
	}
	return found
}

// runOwnTest runs one test command of the project's own. What it wrote before is removed first, so that nothing stale
// can be read.
func (j *judge) runOwnTest(ctx context.Context, s Step, r *testRun, log *os.File) error {
	if r.notes == nil {
		stale, err := written(j.copied.Dir, slices.Concat(j.Config.Gate.TestReports, j.Config.Gate.CoverageFiles))
		if err != nil {
			return err
		}
		for _, name := range stale {
			if err := os.Remove(name); err != nil {
				return fmt.Errorf("remove an old report: %w", err)
			}
		}
		r.notes = []string{}
	}
	out, err := j.exec(ctx, s)
	for _, name := range []string{out.stdout, out.stderr} {
		if err := appendFile(log, name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("write the log: %w", err)
		}
	}
	tool, isTool := asTool(err)
	if err != nil && !isTool {
		return err
	}
	told, events, err := readTally(out.stdout)
	if err != nil {
		return err
	}
	if told.form == "" && events == nil {
		var python *tally
		err := readFile(out.stderr, func(in io.Reader) (err error) {
			python, err = tallyUnittest(in)
			return err
		})
		if err != nil {
			return fmt.Errorf("read the tests' output: %w", err)
		}
		if python.form != "" {
			told = python
		}
	}
	if events != nil {
		j.addGoRun(s, r, events)
		if len(events.broken)+len(events.builds)+len(events.cut) > 0 {
			r.coverErr = errUnfinished
		}
	} else {
		r.counts.Passed += told.counts.Passed
		r.counts.Failed += told.counts.Failed
		r.counts.Skipped += told.counts.Skipped
		r.unit = told.unit
		for _, f := range told.failed {
			r.failures = append(r.failures, f.failure(j))
		}
		if told.wrong != "" {
			r.errors = append(r.errors, Finding{Rule: "runner", Message: told.wrong})
		}
	}
	if isTool {
		r.cutShort(tool)
		return nil
	}
	if told.form == "" && len(j.Config.Gate.TestReports) == 0 {
		r.silent = r.silent || out.code == 0
	}
	if out.code == 0 {
		return nil
	}
	places, rest, err := j.diagnostics(s, out.stdout, out.stderr)
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s: exit code %d\n%s", s, out.code, rest)
	switch {
	case len(r.failures) > 0 || len(r.builds) > 0:
	case told.form != "" && told.counts.Failed == 0:
		r.errors = append(r.errors, Finding{Rule: "runner", Message: "the runner failed though no test did; " + message})
		r.advice = "see the log: the test runner itself ended badly"
	default:
		for _, f := range places {
			r.failures = append(r.failures, failure{Finding: f})
		}
		r.failures = append(r.failures, failure{Finding: Finding{Rule: "tests failed", Message: message}})
	}
	return nil
}

// readTally reads what a test command printed: the events of "go test -json", else what tallyOutput knows.
func readTally(name string) (*tally, *goRun, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the tests' output: %w", err)
	}
	defer f.Close()
	start := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, start)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("read the tests' output: %w", err)
	}
	if bytes.Contains(start[:n], []byte(`"Action":"start"`)) {
		run, err := readGoTest(f, io.Discard)
		return &tally{form: "go test", unit: "test"}, run, err
	}
	told, err := tallyOutput(f)
	return told, nil, err
}

// readOwnReports reads the reports and coverage files that the project's commands wrote.
func (j *judge) readOwnReports(r *testRun) error {
	g := j.Config.Gate
	if len(g.TestReports) > 0 {
		names, err := written(j.copied.Dir, g.TestReports)
		if err != nil {
			return err
		}
		t := &tally{}
		for _, name := range names {
			if err := readFile(name, t.junit); err != nil {
				r.errors = append(r.errors, Finding{Path: j.below(name), Rule: "report", Message: err.Error()})
			}
		}
		if len(names) == 0 {
			r.errors = append(r.errors, Finding{Rule: "report", Message: "the tests wrote no report that matches gate.test_reports (" + strings.Join(g.TestReports, ", ") + ")"})
		}
		// The reports are the account; what was printed beside them is not counted twice.
		r.counts, r.unit = t.counts, "test"
		if t.counts.Failed > 0 {
			r.failures = nil
		}
		for _, f := range t.failed {
			r.failures = append(r.failures, failure{Finding: f.Finding})
		}
	}
	if r.coverErr != nil {
		return nil
	}
	if len(g.CoverageFiles) == 0 {
		r.coverErr = errNoCoverage
		return nil
	}
	names, err := written(j.copied.Dir, g.CoverageFiles)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		r.coverErr = fmt.Errorf("the tests wrote no file that matches gate.coverage_files (%s)", strings.Join(g.CoverageFiles, ", "))
	}
	for _, name := range names {
		if err := readFile(name, r.cover.Read); err != nil {
			r.coverErr = fmt.Errorf("%s: %w", j.below(name), err)
		}
	}
	return nil
}

var errNoCoverage = errors.New("nothing tells the coverage: gate.coverage_files names no file")

const adviceNoCoverage = "name what the tests write (Go profile or LCOV) in gate.coverage_files, or set gate.coverage: 0"

func readFile(name string, read func(io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return read(f)
}

// below is a file of the copy as a path of the tree.
func (j *judge) below(name string) string {
	rel, err := filepath.Rel(j.copied.Dir, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// compareFindings puts findings without a line behind the others.
func compareFindings(a, b Finding) int {
	if (a.Line == 0) != (b.Line == 0) {
		return b.Line - a.Line
	}
	if d := strings.Compare(a.Path, b.Path); d != 0 {
		return d
	}
	return a.Line - b.Line
}
