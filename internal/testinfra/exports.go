package testinfra

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

// exportReader answers whether files of a tree export a name.
type exportReader struct {
	tree    Tree
	modules map[string]*module
	sources []string // the files that were read
	byName  bool
}

// exports reports whether a file exports a name as a value; why may say more where it does not.
func (r *exportReader) exports(file, name string) (ok bool, why string, err error) {
	language := source.LanguageOf(file)
	if language == source.JavaScript {
		ok, isType, err := r.moduleExports(file, name, map[string]bool{})
		if isType && !ok {
			why = "it is exported as a type only"
		}
		return ok, why, err
	}
	if !slices.Contains(r.sources, file) {
		r.sources = append(r.sources, file)
	}
	src, err := r.tree.Read(file)
	if err != nil {
		return false, "", err
	}
	switch language {
	case source.Go:
		ok, why = goExports(file, src, name)
	case source.Python:
		ok = pythonDefines(file, src, name)
	default:
		r.byName, ok = true, declares(src, name)
	}
	return ok, why, nil
}

// moduleExports follows re-exports from file to file. What a package exports cannot be seen: a name taken from one is
// believed, "export * from" one gives none.
func (r *exportReader) moduleExports(file, name string, seen map[string]bool) (ok, isType bool, err error) {
	if source.LanguageOf(file) != source.JavaScript {
		return true, false, nil // JSON, a component of another kind
	}
	if seen[file+"\x00"+name] {
		return false, false, nil
	}
	seen[file+"\x00"+name] = true
	m := r.modules[file]
	if m == nil {
		src, err := r.tree.Read(file)
		if err != nil {
			return false, false, err
		}
		m = readModule(file, src)
		r.modules[file] = m
		r.sources = append(r.sources, file)
	}
	from, exported := m.values[name]
	if exported && from.from == "" {
		return true, false, nil
	}
	if exported {
		paths := resolutions(file, from.from)
		if paths == nil {
			return true, false, nil
		}
		there, err := r.tree.Present(paths)
		if err != nil || len(there) == 0 {
			return false, false, err
		}
		return r.moduleExports(there[0], from.name, seen)
	}
	isType = m.types[name]
	for _, star := range m.stars {
		paths := resolutions(file, star)
		if paths == nil {
			continue
		}
		there, err := r.tree.Present(paths)
		if err != nil {
			return false, false, err
		}
		if len(there) == 0 {
			continue
		}
		ok, alsoType, err := r.moduleExports(there[0], name, seen)
		if err != nil || ok {
			return ok, false, err
		}
		isType = isType || alsoType
	}
	return false, isType, nil
}

// goExports reports whether a Go file has a function of that name, or a variable that may hold one, at its top level.
func goExports(place string, src []byte, name string) (ok bool, why string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		return false, "the file is not Go: " + err.Error()
	}
	switch {
	case !source.BuiltByGo(place, src):
		return false, "its name or its build constraint leaves it out"
	case !token.IsExported(name):
		return false, "Go exports no name that begins with a small letter"
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			ok = ok || d.Recv == nil && d.Name.Name == name
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					ok = ok || d.Tok == token.VAR && slices.ContainsFunc(s.Names, func(id *ast.Ident) bool { return id.Name == name })
				case *ast.TypeSpec:
					if s.Name.Name == name {
						why = "it is a type"
					}
				}
			}
		}
	}
	return ok, why
}

// pythonDefines reports whether a Python module's own level, nothing indented, defines or imports the name.
func pythonDefines(file string, src []byte, name string) bool {
	code := source.Scan(file, src).Code
	is := func(i int, text string) bool { return i < len(code) && code[i].Is(text) }
	for i, t := range code {
		if !t.First || t.Col > 0 {
			continue
		}
		end := i + 1
		for end < len(code) && !code[end].First {
			end++
		}
		switch {
		case t.Is("async") && is(i+1, "def"):
			i++
			fallthrough
		case t.Is("def"), t.Is("class"):
			if is(i+1, name) {
				return true
			}
		case t.Is("from"), t.Is("import"):
			for k := i + 1; k < end; k++ {
				// The last word of "a as b" and of "a.b" is what the module has then.
				if code[k].Is(name) && !is(k+1, "as") && !is(k+1, ".") && !is(k+1, "import") && !code[k-1].Is("from") && !code[k-1].Is(".") {
					return true
				}
			}
		case t.Kind == source.Word:
			for k := i; k < end; k = max(k, code[k].Pair) + 1 {
				if code[k].Is(name) && (is(k+1, "=") || is(k+1, ",") || is(k+1, ":") && slices.ContainsFunc(code[k:end], func(t source.Token) bool { return t.Is("=") })) {
					return true
				}
				if !code[k].Is(",") && !is(k+1, ",") && !is(k+1, "=") {
					break
				}
			}
		}
	}
	return false
}

// declaring are the words by which languages without a reader here declare a function or a value.
var declaring = lazyregexp.New(`\b(def|defp|defmodule|defmacro|fn|fun|func|function|sub|proc|method|let|var|val|const|public|internal|protected|static|export|extern|override|open)\b`)

// head is what follows a name in the head of a function; calling stands before a name that is used.
var (
	head    = lazyregexp.New(`^\s*\([^)]*\)[^;]*\{`)
	calling = lazyregexp.New(`[=(,!?]|\b(return|if|while|for|switch|new|await|do|then|not|and|or)\b`)
)

// declares reports whether a line that is no comment declares the name.
func declares(src []byte, name string) bool {
	word := lazyregexp.New(`(^|[^\p{L}\p{N}_$.])` + lazyregexp.QuoteMeta(name) + `($|[^\p{L}\p{N}_$])`)
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "#[") || strings.HasPrefix(line, "*") ||
			strings.HasPrefix(line, "/*") || strings.HasPrefix(line, "--") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "%") {
			continue
		}
		at := word.FindStringIndex(line)
		if at == nil {
			continue
		}
		before, after := line[:at[0]], strings.TrimLeft(line[at[0]:], " \t*&")[len(name):]
		if declaring.MatchString(before) || head.MatchString(after) && !calling.MatchString(before) {
			return true
		}
	}
	return false
}
