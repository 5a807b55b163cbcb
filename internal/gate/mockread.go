package gate

import (
	"slices"

	"ralph-loop/internal/source"
)

// What counts as a mock is code that calls a mocking library or makes, steers or questions a mock; each language has a
// file of its own for that. Words in comments, strings and paths never count, and neither does a fake clock: time may be
// mocked.

// mocks is what one test file mocks.
type mocks struct {
	lines   map[int]bool // that mock
	total   int          // of test code
	targets []mock
}

// mock is one thing that is mocked.
type mock struct {
	line int
	name string // as the test names it: a module, a dotted name, a type
	own  bool   // it belongs to the project itself, as far as syntax tells
}

// crossing is a mock of what has no business to be mocked, with the reason.
type crossing struct {
	mock
	what string
}

// readMocks reads a test file; with inside only the lines of the tests in it count. The error is that of Go that does not
// parse.
func readMocks(name string, src []byte, inside bool) (m mocks, err error) {
	f := source.Scan(name, src)
	switch f.Language {
	case source.Go:
		m, err = goMocks(name, src)
	case source.JavaScript:
		m = javaScriptMocks(f)
	case source.Python:
		m = pythonMocks(f)
	case source.Java:
		m = javaMocks(f)
	case source.Rust:
		m = rustMocks(f)
	}
	m.total = f.Lines
	if inside && f.Language == source.Rust {
		m.within(f.RustTests(src))
	}
	return m, err
}

// within forgets what lies outside the ranges of lines.
func (m *mocks) within(ranges [][2]int) {
	m.total = 0
	for _, r := range ranges {
		m.total += r[1] - r[0] + 1
	}
	for line := range m.lines {
		if !within(ranges, line) {
			delete(m.lines, line)
		}
	}
	m.targets = slices.DeleteFunc(m.targets, func(one mock) bool { return !within(ranges, one.line) })
}

// crossings are the mocks of modules of the project's own, databases, routers and template engines, each name once.
func (m *mocks) crossings() []crossing {
	var found []crossing
	said := map[string]bool{}
	for _, one := range m.targets {
		if what := one.crosses(); what != "" && !said[one.name] {
			said[one.name] = true
			found = append(found, crossing{one, what})
		}
	}
	return found
}
