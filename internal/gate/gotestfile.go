package gate

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph-loop/internal/lazyregexp"
)

// goFile is what the integrity layer knows of one version of a Go source file.
type goFile struct {
	path         string
	file         *ast.File
	fset         *token.FileSet
	tests        map[string]*testFunc // by name, a method's as Type.Name; empty if go test passes the file over
	helpers      map[string]*testFunc // other functions of a test file that are given a *testing.T or its like
	main         *ast.FuncDecl        // TestMain
	suppressions []suppression
}

// testFunc is a test, counted.
type testFunc struct {
	line   int
	hard   int // assertions: t.Error, require.Equal, ...
	soft   int // calls of functions that are given t, and so may fail it
	dead   int // assertions that cannot be reached: behind a return, under "if false"
	loops  int // loops with an assertion inside: the form of a table
	skips  []int
	always bool // a skip is among its own statements, under no condition
	subs   []string
	free   bool   // needs no assertion: a fuzz test (a panic fails it), a method (which may belong to no suite)
	text   string // the body without comments
}

type suppression struct {
	line int
	text string
}

// readGo parses a version of a file. It gives nil for a version that does not exist.
func readGo(name string, src []byte) (*goFile, error) {
	if src == nil {
		return nil, nil
	}
	g := &goFile{path: name, fset: token.NewFileSet(), tests: map[string]*testFunc{}, helpers: map[string]*testFunc{}}
	var err error
	if g.file, err = parser.ParseFile(g.fset, name, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	g.findSuppressions()
	if !compiled(name, src) || !strings.HasSuffix(name, "_test.go") {
		return g, nil
	}
	for _, d := range g.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		key := f.Name.Name
		if r := receiver(f); r != "" {
			key = r + "." + key
		}
		switch {
		case f.Recv == nil && key == "TestMain" && paramOf(f.Type, "M") != "":
			g.main = f
		case isTest(f):
			g.tests[key] = g.count(f)
		case f.Recv == nil && isExample(f):
			if n := g.outputs(f); n > 0 {
				g.tests[key] = &testFunc{line: g.line(f), hard: n, text: g.text(f)}
			}
		case len(params(f.Type)) > 0:
			g.helpers[key] = g.count(f)
		}
	}
	return g, nil
}

// compiled reports whether the go command takes the file into a test of its folder on this machine.
func compiled(name string, src []byte) bool {
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		if folder == "testdata" || folder == "vendor" || strings.HasPrefix(folder, "_") || len(folder) > 1 && folder[0] == '.' {
			return false
		}
	}
	rules := build.Default
	rules.CgoEnabled = true
	rules.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(src)), nil }
	ok, err := rules.MatchFile("/", path.Base(name))
	return ok && err == nil
}

// isTest reports whether f is called by go test, or as a method of a suite.
func isTest(f *ast.FuncDecl) bool {
	name := f.Name.Name
	switch {
	case f.Recv != nil:
		return named(name, "Test") && f.Type.Params.NumFields() == 0 && f.Type.Results.NumFields() == 0
	case named(name, "Test"):
		return paramOf(f.Type, "T") != "" && f.Type.Params.NumFields() == 1
	case named(name, "Fuzz"):
		return paramOf(f.Type, "F") != "" && f.Type.Params.NumFields() == 1
	}
	return false
}

func isExample(f *ast.FuncDecl) bool {
	return named(f.Name.Name, "Example") && f.Type.Params.NumFields() == 0
}

// named is go test's rule: what follows the prefix does not begin with a small letter.
func named(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(first))
}

// params are the names of the parameters that a test can be failed by: *testing.T, B, F, testing.TB.
func params(f *ast.FuncType) []string {
	var names []string
	for _, kind := range []string{"T", "B", "F", "TB"} {
		if name := paramOf(f, kind); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// paramOf is the name of the parameter of type testing.kind, or of a pointer to it; "_" if it has none.
func paramOf(f *ast.FuncType, kind string) string {
	for _, p := range f.Params.List {
		t := p.Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		sel, ok := t.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != kind {
			continue
		}
		if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "testing" && pkg.Name != "rapid" && pkg.Name != "quick" {
			continue
		}
		if len(p.Names) == 0 {
			return "_"
		}
		return p.Names[0].Name
	}
	return ""
}

func (g *goFile) line(n ast.Node) int { return g.fset.Position(n.Pos()).Line }

// text is the function's body as gofmt writes it, without its comments.
func (g *goFile) text(f *ast.FuncDecl) string {
	var b bytes.Buffer
	if err := format.Node(&b, g.fset, f.Body); err != nil {
		return ""
	}
	return b.String()
}

// outputs is how many output comments an example has; without one it is compiled and never run.
func (g *goFile) outputs(f *ast.FuncDecl) int {
	n := 0
	for _, group := range g.file.Comments {
		text := strings.ToLower(strings.TrimSpace(group.Text()))
		if group.Pos() > f.Body.Lbrace && group.End() < f.Body.Rbrace && (strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")) {
			n++
		}
	}
	return n
}

// suppressing matches a comment that tells a checker to look away.
var suppressing = lazyregexp.New(`^//\s*(nolint\b|lint:(file-)?ignore\b|revive:disable|exhaustive:ignore|errcheck:ignore|coverage:ignore|golangci-lint:ignore|#nosec\b)|#nosec\b`)

func (g *goFile) findSuppressions() {
	for _, group := range g.file.Comments {
		for _, c := range group.List {
			if suppressing.MatchString(c.Text) {
				g.suppressions = append(g.suppressions, suppression{g.line(c), strings.Join(strings.Fields(c.Text), " ")})
			}
		}
	}
}
