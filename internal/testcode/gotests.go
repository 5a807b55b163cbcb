package testcode

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph-loop/internal/source"
)

// goFile is one version of a Go source file as the counter walks over it.
type goFile struct {
	*File
	file *ast.File
	fset *token.FileSet
}

// readGoTests parses a version of a file.
func readGoTests(t *File, src []byte) error {
	g := &goFile{File: t, fset: token.NewFileSet()}
	var err error
	if g.file, err = parser.ParseFile(g.fset, t.Path, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return err
	}
	runs := compiled(t.Path, src) && strings.HasSuffix(t.Path, "_test.go")
	for _, d := range g.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		key := f.Name.Name
		if r := receiver(f); r != "" {
			key = r + "." + key
		}
		t.Declared[key] = true
		switch {
		case f.Body == nil || !runs:
		case f.Recv == nil && key == "TestMain" && paramOf(f.Type, "M") != "":
			g.main(f)
		case isTest(f):
			t.Tests[key] = g.count(f)
		case f.Recv == nil && isExample(f):
			if n := g.outputs(f); n > 0 {
				t.Tests[key] = &Func{Line: g.line(f), End: g.endLine(f), Hard: n, Text: g.text(f)}
			}
		case len(params(f.Type)) > 0:
			t.Helpers[key] = g.count(f)
		}
	}
	return nil
}

// main judges a TestMain: it must run the tests, and give their result.
func (g *goFile) main(f *ast.FuncDecl) {
	m := paramOf(f.Type, "M")
	runs, exits := false, 0
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		base, name := callee(call)
		runs = runs || base == m && name == "Run"
		for _, a := range call.Args { // handed on: testscript.Main(m, ...), goleak.VerifyTestMain(m)
			if id, ok := a.(*ast.Ident); ok && id.Name == m {
				runs = true
			}
		}
		if base == "os" && name == "Exit" && len(call.Args) == 1 && isConstant(call.Args[0]) {
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Value == "0" {
				exits = g.line(call)
			}
		}
		return true
	})
	switch {
	case !runs:
		g.Broken = append(g.Broken, Mark{"tests-not-run", g.line(f), fmt.Sprintf("TestMain does not call %s.Run: no test of the package runs", m)})
	case exits > 0:
		g.Broken = append(g.Broken, Mark{"tests-not-run", exits, "TestMain ends with os.Exit(0), whatever the tests gave"})
	}
}

// compiled reports whether the go command takes the file into a test of its folder on this machine.
func compiled(name string, src []byte) bool {
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		if folder == "testdata" || folder == "vendor" || strings.HasPrefix(folder, "_") || len(folder) > 1 && folder[0] == '.' {
			return false
		}
	}
	return source.BuiltByGo(name, src)
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

func (g *goFile) endLine(n ast.Node) int { return g.fset.Position(n.End()).Line }

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
