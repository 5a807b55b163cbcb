package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

// goRun is what "go test -json" told.
type goRun struct {
	counts Counts
	failed []failedTest    // in the order in which they ended; a parent only if it failed by itself
	passed []string        // "package test"
	broken []brokenPackage // failed without a failed test
	builds []string        // output of the packages that did not compile
	cut    []string        // packages whose test binary ended (a panic, an exit) with a failed test, before the tests after it
	idle   []string        // packages whose test binary ended well and ran none of its tests
}

type failedTest struct {
	pkg, name string
	output    string
}

type brokenPackage struct {
	pkg    string
	build  bool
	output string
}

type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// clip keeps the head and the tail of a text that arrives in pieces.
type clip struct {
	head, tail []byte
	cut        bool
}

const clipSize = 4 << 10

func (c *clip) add(s string) {
	if room := clipSize - len(c.head); room > 0 {
		n := min(room, len(s))
		c.head = append(c.head, s[:n]...)
		s = s[n:]
	}
	c.tail = append(c.tail, s...)
	if over := len(c.tail) - clipSize; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
		c.cut = true
	}
}

func (c *clip) String() string {
	if c == nil {
		return ""
	}
	if c.cut {
		return string(c.head) + "\n... (cut) ...\n" + string(c.tail)
	}
	return string(c.head) + string(c.tail)
}

// maxFailures is how many failed tests keep their output; the others keep their names.
const maxFailures = 2000

// readGoTest reads the events of "go test -json" and writes what the tests printed to plain. Lines that are no events
// (an older toolchain's build errors) are taken for output of the build.
func readGoTest(in io.Reader, plain io.Writer) (*goRun, error) {
	r := &goRun{}
	outputs := map[[2]string]*clip{} // of what still runs, by package and test
	builds := map[string]*clip{}
	failedBelow := map[[2]string]bool{}
	ranIn, binaryRan := map[string]int{}, map[string]bool{}
	loose := &clip{}
	var writeErr error
	write := func(s string) {
		if _, err := io.WriteString(plain, s); err != nil && writeErr == nil {
			writeErr = err
		}
	}
	err := eachLineOf(in, func(line string) {
		var e goEvent
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			write(line + "\n")
			loose.add(line + "\n")
			return
		}
		id := [2]string{e.Package, e.Test}
		switch e.Action {
		case "output":
			write(e.Output)
			// Only a package with test files has an "ok" line.
			if e.Test == "" && strings.HasPrefix(e.Output, "ok  \t") && !strings.Contains(e.Output, "[no tests to run]") {
				binaryRan[e.Package] = true
			}
			if outputs[id] == nil {
				outputs[id] = &clip{}
			}
			outputs[id].add(e.Output)
		case "build-output":
			write(e.Output)
			if builds[e.ImportPath] == nil {
				builds[e.ImportPath] = &clip{}
			}
			builds[e.ImportPath].add(e.Output)
		case "pass", "fail", "skip":
			r.end(e, outputs[id].String(), failedBelow, builds)
			delete(outputs, id)
			if last := len(r.broken) - 1; e.Test == "" && last >= 0 && r.broken[last].pkg == e.Package && !r.broken[last].build {
				r.broken[last].output += running(outputs, e.Package)
			}
			if e.Test != "" {
				ranIn[e.Package]++
			} else if e.Action == "pass" && ranIn[e.Package] == 0 && binaryRan[e.Package] {
				r.idle = append(r.idle, e.Package)
			}
		}
	})
	// What still runs when the stream ends was cut short: the runner died.
	for id := range outputs {
		if id[1] == "" && !slices.ContainsFunc(r.broken, func(b brokenPackage) bool { return b.pkg == id[0] }) {
			r.broken = append(r.broken, brokenPackage{pkg: id[0], output: outputs[id].String()})
		}
	}
	slices.SortStableFunc(r.broken, func(a, b brokenPackage) int { return strings.Compare(a.pkg, b.pkg) })
	for _, name := range sortedKeys(builds) {
		r.builds = append(r.builds, builds[name].String())
	}
	if text := loose.String(); text != "" {
		r.builds = append(r.builds, text)
	}
	if err == nil && writeErr != nil {
		err = fmt.Errorf("write the log: %w", writeErr)
	}
	return r, err
}

// running tells of the tests that a package has begun and not ended: one of them ended it.
func running(outputs map[[2]string]*clip, pkg string) string {
	const most = 3
	var tests []string
	for id := range outputs {
		if id[0] == pkg && id[1] != "" {
			tests = append(tests, id[1])
		}
	}
	slices.Sort(tests)
	text := ""
	for _, name := range tests[:min(most, len(tests))] {
		text += name + " was running\n" + headTail(outputs[[2]string{pkg, name}].String(), 200)
	}
	return text
}

// end takes in that a test or a package ended.
func (r *goRun) end(e goEvent, output string, failedBelow map[[2]string]bool, builds map[string]*clip) {
	id := [2]string{e.Package, e.Test}
	switch {
	case e.Test != "" && e.Action == "pass":
		r.counts.Passed++
		r.passed = append(r.passed, e.Package+" "+e.Test)
	case e.Test != "" && e.Action == "skip":
		r.counts.Skipped++
	case e.Test != "":
		r.counts.Failed++
		failedBelow[[2]string{e.Package, ""}] = true
		for name := e.Test; strings.Contains(name, "/"); {
			name = name[:strings.LastIndex(name, "/")]
			failedBelow[[2]string{e.Package, name}] = true
		}
		if failedBelow[id] && !tellsSomething(output) {
			return // its subtests tell why
		}
		if len(r.failed) >= maxFailures {
			output = ""
		}
		r.failed = append(r.failed, failedTest{e.Package, e.Test, output})
	case e.Action == "fail":
		build := e.FailedBuild != "" || strings.Contains(output, "[build failed]") || strings.Contains(output, "[setup failed]")
		if build || !failedBelow[id] {
			r.broken = append(r.broken, brokenPackage{pkg: e.Package, build: build, output: output})
		} else if !strings.Contains("\n"+output, "\nFAIL\n") { // what a test binary prints as it comes to its own end
			r.cut = append(r.cut, e.Package)
		}
	}
}

var testPlace = lazyregexp.New(`(?m)^\s*([^\s:()]+\.go):(\d+): ?(.*)$`)

func tellsSomething(output string) bool {
	return testPlace.MatchString(output) || strings.Contains(output, "panic:")
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// frames of the line "goroutine ..." of a panic: a tab, a path, a line.
var panicFrame = lazyregexp.New(`(?m)^\t(/.*\.go|[A-Za-z]:.*\.go):(\d+)`)

// finding turns a failed test into a place and a text. folder is the package's folder in the tree, or "".
func (t failedTest) finding(folder string, inTree func(abs string) (string, bool)) Finding {
	f := Finding{Path: folder, Rule: "test failed"}
	text := tidy(t.output)
	if i := strings.Index(text, "panic: "); i >= 0 {
		end := strings.IndexByte(text[i:], '\n')
		if end < 0 {
			end = len(text) - i
		}
		f.Rule, f.Message = "test panicked", t.name+": "+text[i:i+end]
		for _, m := range panicFrame.FindAllStringSubmatch(text[i:], -1) {
			if p, ok := inTree(m[1]); ok {
				f.Path, f.Line = p, number(m[2])
				break
			}
		}
		return f
	}
	m := testPlace.FindStringSubmatchIndex(text)
	if m == nil {
		f.Message = t.name
		if text != "" {
			f.Message += ":\n" + headTail(text, 600)
		}
		return f
	}
	file := text[m[2]:m[3]]
	if p, ok := inTree(file); ok {
		f.Path = p
	} else {
		f.Path = path.Join(folder, path.Base(file))
	}
	f.Line = number(text[m[4]:m[5]])
	f.Message = t.name + ": " + strings.TrimSpace(headTail(text[m[6]:], 600))
	return f
}

// tidy takes the test runner's own lines out of a test's output.
func tidy(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- ") || text == "FAIL" || text == "PASS" {
			continue
		}
		b.WriteString(line)
	}
	return strings.TrimRight(clean(b.String()), "\n")
}
