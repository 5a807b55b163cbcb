package gate

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/glob"
	"ralph-loop/internal/lazyregexp"
)

// tally is what a test command of the project's own said about its tests, in whatever form it said it.
type tally struct {
	counts Counts
	failed []toldFailure
	form   string // "TAP", "JUnit", "go test"; "" if nothing was recognised
	wrong  string // why the account itself cannot be believed: cut short, contradictory
	unit   string // "test" or "package"
}

var (
	tapPlan    = lazyregexp.New(`^1\.\.(\d+)(\s*#.*)?$`)
	tapLine    = lazyregexp.New(`^( *)(not )?ok\b(?:[ \t]+(\d+))?[ \t]*(?:-[ \t]*)?(.*)$`)
	tapSkip    = lazyregexp.New(`(?i)#\s*skip`)
	tapTodo    = lazyregexp.New(`(?i)#\s*todo`)
	goPackage  = lazyregexp.New(`^ok  \t\S+\t(\(cached\)|[0-9.]+s)`)
	goTestLine = lazyregexp.New(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)
)

// tallyOutput recognises TAP and the two forms of go test in what a command printed. Words in prose are no sign of a
// test: TAP needs its plan line.
func tallyOutput(in io.Reader) (*tally, error) {
	var tap, verbose tally
	planned, packages, bail := -1, 0, ""
	reasons := tapReasons{tap: &tap}
	err := eachLineOf(in, func(line string) {
		if reasons.below(line) {
			return
		}
		if m := tapPlan.FindStringSubmatch(line); m != nil && planned < 0 {
			planned = number(m[1])
			return
		}
		if goPackage.MatchString(line) {
			if !strings.Contains(line, "[no tests to run]") {
				packages++
			}
			return
		}
		if m := goTestLine.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "PASS":
				verbose.counts.Passed++
			case "SKIP":
				verbose.counts.Skipped++
			default:
				verbose.counts.Failed++
				verbose.fail(Finding{Rule: "test failed", Message: m[2]})
			}
			return
		}
		if rest, ok := strings.CutPrefix(line, "Bail out!"); ok {
			bail = "the tests bailed out:" + rest
			return
		}
		m := tapLine.FindStringSubmatch(line)
		if m == nil {
			return
		}
		depth, failed := len(m[1]), -1
		isSkip := tapSkip.MatchString(m[4])
		isFailure := m[2] != "" && !isSkip && !tapTodo.MatchString(m[4])
		switch {
		case depth > 0: // a subtest: its test's own line counts
		case isSkip:
			tap.counts.Skipped++
		case !isFailure:
			tap.counts.Passed++
		default:
			tap.counts.Failed++
			if tap.fail(Finding{Rule: "test failed", Message: strings.TrimSpace("not ok " + m[3] + " " + m[4])}) {
				failed = len(tap.failed) - 1
			}
		}
		reasons.next(depth, strings.TrimSpace(m[4]), isFailure, failed)
	})
	reasons.flush()
	switch {
	case err != nil:
		return nil, err
	case planned >= 0:
		tap.form, tap.unit, tap.wrong = "TAP", "test", bail
		if ran := tap.counts.Passed + tap.counts.Failed + tap.counts.Skipped; ran != planned && bail == "" {
			tap.wrong = fmt.Sprintf("%s planned, %d reported: the run was cut short", plural(planned, "test"), ran)
		}
		return &tap, nil
	case verbose.counts != Counts{}:
		verbose.form, verbose.unit = "go test", "test"
		return &verbose, nil
	case packages > 0:
		return &tally{counts: Counts{Passed: packages}, form: "go test", unit: "package"}, nil
	}
	return &tally{unit: "test"}, nil
}

// fail reports whether the failure is kept.
func (t *tally) fail(f Finding) bool {
	if len(t.failed) >= maxFailures {
		return false
	}
	t.failed = append(t.failed, toldFailure{Finding: f})
	return true
}

// junit adds a JUnit XML report. Only its test cases count: the totals that tools write beside them differ.
func (t *tally) junit(in io.Reader) error {
	d := xml.NewDecoder(in)
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var name, class, file, text string
	var line int
	var state string
	inside, inFailure, root := false, false, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "testsuites", "testsuite":
				root = true
			case "testcase":
				inside, state, text = true, "passed", ""
				name, class, file, line = attribute(e, "name"), attribute(e, "classname"), attribute(e, "file"), number(attribute(e, "line"))
			case "failure", "error":
				if inside {
					state, inFailure = "failed", true
					text = attribute(e, "message")
				}
			case "skipped":
				if inside && state == "passed" {
					state = "skipped"
				}
			}
		case xml.CharData:
			if inFailure && len(text) < clipSize {
				text += "\n" + string(e)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "failure", "error":
				inFailure = false
			case "testcase":
				inside = false
				switch state {
				case "passed":
					t.counts.Passed++
				case "skipped":
					t.counts.Skipped++
				default:
					t.counts.Failed++
					if class != "" {
						name = class + " " + name
					}
					t.fail(Finding{Path: file, Line: line, Rule: "test failed", Message: strings.TrimSpace(name + ": " + headTail(strings.TrimSpace(text), 600))})
				}
			}
		}
	}
	if !root {
		return errors.New("holds no testsuite: it is no JUnit report")
	}
	t.form, t.unit = "JUnit", "test"
	return nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// written are the files of the copy that match one of the patterns. Dependency folders are not searched.
func written(top string, patterns []string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != top && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == ".venv") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		if d.Type().IsRegular() && glob.Any(patterns, filepath.ToSlash(rel)) {
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for reports: %w", err)
	}
	return out, nil
}
