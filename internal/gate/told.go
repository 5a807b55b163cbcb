package gate

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

// A runner's line of a failed test names it and no more. Why it failed stands below: in TAP in a block of YAML or in
// comments, of Python's unittest in a traceback.

// toldFailure is a test that failed, as its runner told it: the message is the runner's own line.
type toldFailure struct {
	Finding
	reasons []reason // several where subtests failed
}

// reason is why a test failed.
type reason struct {
	subtest string // "" for the test itself
	text    string
	places  []site // the likeliest first; most are in no file of the tree
}

type site struct {
	file string
	line int
}

const (
	maxReasons    = 20
	maxReasonText = 600 // bytes
	maxBlock      = 300 // lines below a test that are looked at
)

// failure finds the places in the tree. The first reason gives the place, and the others a line each.
func (f toldFailure) failure(j *judge) failure {
	f.Message = j.withoutTop(f.Message)
	out := failure{Finding: f.Finding, line: f.Message}
	var texts []string
	for i, r := range f.reasons {
		at := Finding{Message: j.withoutTop(headTail(strings.TrimSpace(r.text), maxReasonText))}
		at.Path, at.Line = j.firstInTree(r.places)
		if r.subtest != "" {
			at.Message = strings.TrimSuffix(r.subtest+": "+at.Message, ": ")
		}
		if i == 0 {
			out.Path, out.Line, at.Path = at.Path, at.Line, ""
		}
		texts = append(texts, at.String())
	}
	if text := headTail(strings.Join(texts, "\n"), 3*maxReasonText); text != "" {
		out.Message += ": " + text
	}
	return out
}

// firstInTree is the first place that is in a file of the tree, and in no dependency.
func (j *judge) firstInTree(places []site) (string, int) {
	for _, at := range places {
		p, ok := j.pathInTree(Step{}, filepath.FromSlash(at.file))
		if ok && !slices.Contains(strings.Split(p, "/"), "node_modules") {
			return p, at.line
		}
	}
	return "", 0
}

// tapReasons collects what stands below TAP's lines of failed tests, at any depth.
type tapReasons struct {
	tap    *tally
	test   *tapTest // the failed test whose line came last
	nested []reason // of subtests, until their test's own line comes
}

type tapTest struct {
	name    string
	depth   int // the indentation of its line
	failed  int // its place in tap.failed, -1 for none
	inBlock bool
	ended   bool // what follows is not about it
	indent  int  // of the block
	block   []string
	remarks []string // comments
}

// next takes in the line of a test.
func (t *tapReasons) next(depth int, name string, isFailure bool, failed int) {
	t.flush()
	if isFailure {
		t.test = &tapTest{name: name, depth: depth, failed: failed}
	} else if depth == 0 {
		t.nested = nil
	}
}

// below takes in a line that is no test's. It reports whether the line is a part of a block.
func (t *tapReasons) below(line string) bool {
	test, text := t.test, strings.TrimSpace(line)
	if test == nil || test.ended {
		return false
	}
	depth := indentation(line)
	switch {
	case test.inBlock && (text == "..." && depth == test.indent || depth < test.indent && text != ""):
		test.ended = true
		return text == "..."
	case test.inBlock:
		if len(test.block) < maxBlock {
			test.block = append(test.block, line[min(test.indent, depth):])
		}
		return true
	case text == "---" && depth > test.depth:
		test.inBlock, test.indent = true, depth
		return true
	case strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "# Subtest") && depth >= test.depth:
		if len(test.remarks) < maxBlock {
			test.remarks = append(test.remarks, strings.TrimPrefix(strings.TrimPrefix(text, "#"), " "))
		}
	default:
		test.ended = true
	}
	return false
}

// flush ends what stands below the last test.
func (t *tapReasons) flush() {
	test := t.test
	t.test = nil
	if test == nil {
		return
	}
	r, parent := test.reason()
	if test.depth > 0 {
		if !parent && (r.text != "" || len(t.nested) == 0) && len(t.nested) < maxReasons {
			r.subtest = test.name
			t.nested = append(t.nested, r)
		}
		return
	}
	reasons := t.nested
	t.nested = nil
	if len(reasons) == 0 && (r.text != "" || len(r.places) > 0) {
		reasons = []reason{r}
	}
	if test.failed >= 0 {
		t.tap.failed[test.failed].reasons = reasons
	}
}

var (
	yamlKey   = lazyregexp.New(`^([A-Za-z_]+):(?: (.*))?$`)
	placeEnd  = lazyregexp.New(`^(?:.*\(|(?:at |async )*)(?:file://)?([^()]+?):(\d+)(?::\d+)?\)?$`)
	placeFile = lazyregexp.New(`(?m)^(?:file|fileName): ["']?(.+?)["']?$`)
	placeLine = lazyregexp.New(`(?m)^(?:line|lineNumber): (\d+)$`)
	placeWord = lazyregexp.New(`(?:^|\s)([^\s,()]+),? line (\d+)`)
)

// reason reads the block, of which only a few keys matter; where there is none, the comments. parent is that the block
// says that it was subtests that failed.
func (t *tapTest) reason() (r reason, parent bool) {
	keys := map[string]string{}
	key, lead := "", 0
	if len(t.block) > 0 {
		lead = indentation(t.block[0])
	}
	for _, line := range t.block {
		line = line[min(lead, indentation(line)):]
		m := yamlKey.FindStringSubmatch(line)
		switch {
		case m != nil:
			key = m[1]
			keys[key] = unquoted(m[2])
		case keys[key] == "|-" || keys[key] == "|" || keys[key] == ">-" || keys[key] == ">":
			keys[key] = dedent(line)
		default:
			keys[key] += "\n" + dedent(line)
		}
	}
	for _, k := range []string{"error", "message"} {
		if r.text == "" {
			r.text = keys[k]
		}
	}
	if r.text == "" {
		for _, pair := range [][2]string{{"expected", "actual"}, {"wanted", "found"}} {
			want, hasWant := keys[pair[0]]
			got, hasGot := keys[pair[1]]
			if hasWant && hasGot {
				r.text = strings.TrimSpace(want) + " was wanted, not " + strings.TrimSpace(got)
			}
		}
	}
	for _, k := range []string{"stack", "at", "location"} {
		for line := range strings.Lines(keys[k]) {
			if m := placeEnd.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				r.places = append(r.places, site{m[1], number(m[2])})
			}
		}
	}
	if file, line := placeFile.FindStringSubmatch(keys["at"]), placeLine.FindStringSubmatch(keys["at"]); file != nil && line != nil {
		r.places = append(r.places, site{file[1], number(line[1])})
	}
	if len(t.block) == 0 {
		r.text = strings.Join(t.remarks, "\n")
		for _, line := range t.remarks {
			if m := placeWord.FindStringSubmatch(line); m != nil {
				r.places = append(r.places, site{m[1], number(m[2])})
			}
		}
	}
	return r, keys["failureType"] == "subtestsFailed"
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// dedent takes the two spaces off by which a value stands below its key.
func dedent(line string) string { return strings.TrimPrefix(line, "  ") }

// unquoted is the text of a value on one line.
func unquoted(value string) string {
	switch {
	case len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'':
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	case strings.HasPrefix(value, `"`):
		if text, err := strconv.Unquote(value); err == nil {
			return text
		}
	}
	return value
}

var (
	pythonFrame  = lazyregexp.New(`^\s*File "([^"]+)", line (\d+)`)
	pythonHeader = "Traceback (most recent call last):"
)

// traceback reads what Python's unittest prints below a failed test's heading.
type traceback struct {
	text   []string
	places []site // the innermost first
}

func (t *traceback) add(line string) {
	m := pythonFrame.FindStringSubmatch(line)
	switch {
	case m != nil:
		t.text = nil
		if t.places = append([]site{{m[1], number(m[2])}}, t.places...); len(t.places) > maxBlock {
			t.places = t.places[:maxBlock]
		}
	case line == pythonHeader: // what came before was handled, or wrapped, by this one
		*t = traceback{}
	case len(t.text) == 0 && (line == "" || line[0] == ' '):
	case len(t.text) < maxBlock:
		t.text = append(t.text, line)
	}
}

func (t *traceback) reasons() []reason {
	text := strings.TrimSpace(strings.Join(t.text, "\n"))
	if text == "" && len(t.places) == 0 {
		return nil
	}
	return []reason{{text: text, places: t.places}}
}
