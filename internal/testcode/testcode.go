// Package testcode reads test code as far as syntax tells: which tests stand in a source file, how much each asserts and
// whether it is skipped, what keeps a checker quiet, and what is mocked. It judges nothing. Go is read by go/parser;
// JavaScript, TypeScript, Python, Rust and Java by the words and brackets of package source.
package testcode

import (
	"fmt"
	"strings"

	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

// File is one version of a source file, read for its tests.
type File struct {
	Path     string
	Language source.Language
	Tests    map[string]*Func // by name, with those of the groups around: Type.Name, "group > name"; empty if no runner takes the file
	Helpers  map[string]*Func // other functions that can fail the tests that call them
	Declared map[string]bool  // every function that stands there, test or not
	Marks    []Mark           // each to be judged only if it is new
	Broken   []Mark           // and these always
	named    map[string]int   // how many tests have a name
}

// Func is a test, or a helper of tests, counted.
type Func struct {
	Line, End int      // of its declaration or call, both from 1
	Hard      int      // assertions: t.Error, require.Equal, expect(x).toBe(y), assert x == y, ...
	Soft      int      // calls that may fail the test too: of functions that are given t, unwrap, getByText
	Dead      int      // assertions that cannot be reached: behind a return, under "if false"
	Loops     int      // loops with an assertion inside: the form of a table
	Skips     []int    // lines of what skips it
	Always    bool     // it is skipped under no condition, or is to fail
	Subs      []string // its named subtests
	Free      bool     // needs no assertion that is seen: a fuzz test, a method that may belong to no suite, a test whose body is elsewhere
	Text      string   // the body without comments
}

// Mark is a place in a file with the rule that it may break.
type Mark struct {
	Rule string
	Line int
	Text string
}

// Runner is the program that usually runs a language's tests, as a person calls it.
func Runner(l source.Language) string {
	return map[source.Language]string{source.Go: "go test", source.JavaScript: "the test runner", source.Python: "pytest", source.Rust: "cargo test", source.Java: "JUnit"}[l]
}

// Read reads a version of a source file. It gives nil for a version that does not exist or is in no known
// language, and an error for Go that does not parse.
func Read(name string, src []byte, class *diffstat.Classifier) (*File, error) {
	if src == nil || source.LanguageOf(name) == source.Unknown {
		return nil, nil
	}
	f := source.Scan(name, src)
	t := &File{Path: name, Language: f.Language, Tests: map[string]*Func{}, Helpers: map[string]*Func{}, Declared: map[string]bool{}, named: map[string]int{}}
	t.suppressions(f)
	byName, _ := class.ByName(name)
	isTest := byName == diffstat.Test
	switch f.Language {
	case source.Go:
		return t, readGoTests(t, src)
	case source.JavaScript:
		t.readJavaScript(f, isTest)
	case source.Python:
		t.readPython(f, isTest)
	case source.Rust:
		t.readRust(f, src, isTest)
	case source.Java:
		t.readJava(f, isTest)
	}
	return t, nil
}

// suppressing matches the comments that tell a checker to look away.
var suppressing = map[source.Language]*lazyregexp.Regexp{
	source.Go:         lazyregexp.New(`^//\s*(nolint\b|lint:(file-)?ignore\b|revive:disable|exhaustive:ignore|errcheck:ignore|coverage:ignore|golangci-lint:ignore|#nosec\b)|#nosec\b`),
	source.JavaScript: lazyregexp.New(`^(//|/\*)[\s*]*(@ts-(ignore|expect-error|nocheck)\b|eslint-disable|tslint:disable|biome-ignore|oxlint-disable|deno-lint-ignore|deno-coverage-ignore|jshint\s+ignore|(istanbul|c8|v8)\s+ignore|node:coverage\s+(ignore|disable)|\$Flow(FixMe|Ignore|Issue|ExpectedError)\b|stryker\s+disable|sonar-ignore|NOSONAR\b)`),
	source.Python:     lazyregexp.New(`(?i)#\s*(noqa\b|type:\s*ignore|pragma:\s*no\s*(cover|branch)|pylint:\s*(disable|skip-file)|mypy:\s*(ignore-errors|disable-error-code)|pyright:\s*(ignore|basic|off)|pyre-(ignore|fixme)|ruff:\s*noqa|flake8:\s*noqa|nosec\b|NOSONAR\b|bandit:\s*skip|lgtm\b)`),
	source.Rust:       lazyregexp.New(`^(//|/\*)[\s*/!]*(LCOV_EXCL_|GRCOV_|grcov-excl|tarpaulin:|cov:excl|NOSONAR\b|nosemgrep\b)`),
	source.Java:       lazyregexp.New(`^(//|/\*)[\s*]*(NOSONAR\b|NOPMD\b|NOCHECKSTYLE\b|CHECKSTYLE[:.]\s*(OFF|SUPPRESS)|noinspection\b|CPD-OFF|LCOV_EXCL_|@?formatter-off-pmd)`),
}

// quieting matches the annotations and attributes that do the same, up to their end.
var quieting = map[source.Language]*lazyregexp.Regexp{
	source.Python: lazyregexp.New(`^(typing\.)?no_type_check(_decorator)?$`),
	source.Rust:   lazyregexp.New(`^(allow|expect)\(|^cfg_attr\(.*\b(allow|expect|coverage|no_coverage)\b|^coverage\(off\)|^no_coverage$|^cfg\(not\((tarpaulin|coverage)|^mutants::skip|^(allow|expect)$`),
	source.Java:   lazyregexp.New(`^(SuppressWarnings|SuppressFBWarnings|SuppressLint|(javax\.annotation(\.processing)?\.|jakarta\.annotation\.)?Generated|ExcludeFromJacocoGeneratedReport|DoNotMutate)\b`),
}

// suppressions marks what keeps checkers quiet.
func (t *File) suppressions(f *source.File) {
	add := func(line int, text string) {
		t.Marks = append(t.Marks, Mark{"suppression", line, strings.Join(strings.Fields(text), " ")})
	}
	for _, c := range f.Comments {
		if suppressing[f.Language].MatchString(c.Text) {
			line, _, _ := strings.Cut(c.Text, "\n")
			add(c.Line, line)
		}
	}
	re := quieting[f.Language]
	if re == nil {
		return
	}
	for i, tok := range f.Code {
		text, at := "", 0
		switch {
		case f.Language == source.Rust && tok.Is("#"):
			at = i + 1
			if at < len(f.Code) && f.Code[at].Is("!") {
				at++
			}
			if at < len(f.Code) && f.Code[at].Is("[") && f.Code[at].Pair > 0 {
				text = joinTokens(f.Code[at+1:f.Code[at].Pair], "")
			}
		case f.Language != source.Rust && tok.Is("@"):
			for at = i + 1; at < len(f.Code) && (f.Code[at].Kind == source.Word || f.Code[at].Is(".")) && !(at > i+1 && f.Code[at].Kind == source.Word && f.Code[at-1].Kind == source.Word); at++ {
				text += f.Code[at].Text
			}
			if at < len(f.Code) && f.Code[at].Is("(") && f.Code[at].Pair > 0 && f.Language == source.Java {
				text += joinTokens(f.Code[at:f.Code[at].Pair+1], "")
			}
		}
		switch {
		case text == "" || !re.MatchString(text):
		case f.Language == source.Rust:
			add(tok.Line, "#["+text+"]")
		default:
			add(tok.Line, tok.Text+text)
		}
	}
}

// joinTokens is the code of some tokens, without comments and blanks.
func joinTokens(tokens []source.Token, sep string) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// unique gives a name that the file does not have yet: a second test of that name is another one.
func (t *File) unique(name string) string {
	t.named[name]++
	if n := t.named[name]; n > 1 {
		return fmt.Sprintf("%s #%d", name, n)
	}
	return name
}
