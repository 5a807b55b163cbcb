package testcode

import (
	"slices"

	"ralph-loop/internal/source"
)

// What counts as a mock is code that calls a mocking library or makes, steers or questions a mock; each language has a
// file of its own for that. Words in comments, strings and paths never count, and neither does a fake clock: time may be
// mocked.

// Mocks is what one test file mocks.
type Mocks struct {
	Lines   map[int]bool // that mock
	Total   int          // of test code
	Targets []Mock
}

// Mock is one thing that is mocked.
type Mock struct {
	Line int
	Name string // as the test names it: a module, a dotted name, a type
	Own  bool   // it belongs to the project itself, as far as syntax tells
}

// Crossing is a mock of what has no business to be mocked, with the reason.
type Crossing struct {
	Mock
	What string
}

// ReadMocks reads a test file; with inside only the lines of the tests in it count. The error is that of Go that does not
// parse.
func ReadMocks(name string, src []byte, inside bool) (m Mocks, err error) {
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
	m.Total = f.Lines
	if inside && f.Language == source.Rust {
		m.within(f.RustTests(src))
	}
	return m, err
}

// within forgets what lies outside the ranges of lines.
func (m *Mocks) within(ranges [][2]int) {
	m.Total = 0
	for _, r := range ranges {
		m.Total += r[1] - r[0] + 1
	}
	for line := range m.Lines {
		if !within(ranges, line) {
			delete(m.Lines, line)
		}
	}
	m.Targets = slices.DeleteFunc(m.Targets, func(one Mock) bool { return !within(ranges, one.Line) })
}

// Crossings are the mocks of modules of the project's own, databases, routers and template engines, each name once.
func (m *Mocks) Crossings() []Crossing {
	var found []Crossing
	said := map[string]bool{}
	for _, one := range m.Targets {
		if what := one.crosses(); what != "" && !said[one.Name] {
			said[one.Name] = true
			found = append(found, Crossing{one, what})
		}
	}
	return found
}
