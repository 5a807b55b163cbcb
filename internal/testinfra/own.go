package testinfra

import (
	"go/ast"
	"go/parser"
	"go/token"

	"ralph-loop/internal/source"
)

// Defines is the line, from 1, in which a file defines a function, class or value of its own under a name that the
// helper exports, at any depth; 0 where it does not. To import the name, or to give it to what the helper exports, is no
// definition. Other languages than JavaScript, TypeScript, Go and Python are not looked at.
func Defines(file string, src []byte, name string) int {
	switch source.LanguageOf(file) {
	case source.Go:
		return goDefines(src, name)
	case source.JavaScript, source.Python:
	default:
		return 0
	}
	code := source.Scan(file, src).Code
	is := func(i int, text string) bool { return i >= 0 && i < len(code) && code[i].Is(text) }
	for i, t := range code {
		if !t.Is(name) || is(i-1, ".") || is(i-1, "?.") {
			continue
		}
		switch {
		case is(i-1, "def"), is(i-1, "class"), is(i-1, "function"), is(i-1, "*") && is(i-2, "function"):
			return t.Line
		case is(i-1, "const"), is(i-1, "let"), is(i-1, "var"):
			if value := valueOf(code, i+1); value >= 0 && !takes(code, value, name) {
				return t.Line
			}
		}
	}
	return 0
}

// valueOf is where the value of a binding begins whose name stands before i; -1 where it has none.
func valueOf(code []source.Token, i int) int {
	for ; i < len(code); i = max(i, code[i].Pair) + 1 {
		switch t := code[i]; {
		case t.Is("="):
			return i + 1
		case t.Is(";"), t.Is(","), begins(t), t.Pair >= 0 && t.Pair < i:
			return -1
		}
	}
	return -1
}

// takes reports whether a value is one of the same name taken from elsewhere: helper.name, (await import(...)).name.
func takes(code []source.Token, i int, name string) bool {
	for first := i; i+1 < len(code); i = max(i, code[i].Pair) + 1 {
		switch t := code[i]; {
		case t.Is(".") && code[i+1].Is(name):
			return true
		case t.Is(";"), t.Is(","), t.Is("=>"), t.Is("function"), t.Is("class"), t.First && i > first && !t.Is("."):
			return false
		}
	}
	return false
}

func goDefines(src []byte, name string) int {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return 0 // L1 says so
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
			return fset.Position(f.Pos()).Line
		}
	}
	return 0
}
