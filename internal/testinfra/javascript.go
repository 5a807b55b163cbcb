package testinfra

import (
	"path"
	"strings"

	"ralph-loop/internal/source"
)

// module is what one JavaScript or TypeScript file exports.
type module struct {
	values map[string]reference // by the name that it is exported under
	types  map[string]bool      // what is exported as a type alone
	stars  []string             // modules of which everything is exported
}

// reference is where an exported value comes from.
type reference struct{ from, name string } // from "": it is the file's own

// readModule finds the exports of ECMAScript modules, TypeScript's among them, and of CommonJS.
func readModule(name string, src []byte) *module {
	r := &moduleReader{code: source.Scan(name, src).Code, module: &module{values: map[string]reference{}, types: map[string]bool{}},
		own: map[string]bool{}, ownTypes: map[string]bool{}, imports: map[string]reference{}, objects: map[string]int{}, later: map[string]string{}}
	for r.at < len(r.code) {
		r.next()
	}
	// What a list exports may be declared behind it.
	for exported, local := range r.later {
		from, imported := r.imports[local]
		switch {
		case r.own[local]:
			r.values[exported] = reference{}
		case imported:
			r.values[exported] = from
		case r.ownTypes[local]:
			r.types[exported] = true
		}
	}
	return r.module
}

type moduleReader struct {
	*module
	code     []source.Token
	at       int
	own      map[string]bool      // values declared at the top
	ownTypes map[string]bool      // types declared or imported there
	imports  map[string]reference // values imported
	objects  map[string]int       // constants that are an object literal: where its brace is
	later    map[string]string    // exported name → local name
}

func (r *moduleReader) is(i int, texts ...string) bool {
	for n, text := range texts {
		if i+n < 0 || i+n >= len(r.code) || !r.code[i+n].Is(text) {
			return false
		}
	}
	return true
}

// word is the name at i, quoted or not, or "".
func (r *moduleReader) word(i int) string {
	if i < 0 || i >= len(r.code) {
		return ""
	}
	switch t := r.code[i]; t.Kind {
	case source.Word:
		return t.Text
	case source.String:
		if len(t.Text) > 1 && t.Text[0] != '`' {
			return t.Text[1 : len(t.Text)-1]
		}
	}
	return ""
}

// text is the string at i, or "".
func (r *moduleReader) text(i int) string {
	if i < len(r.code) && r.code[i].Kind == source.String {
		return r.word(i)
	}
	return ""
}

// past is what follows the token or bracket at i.
func (r *moduleReader) past(i int) int {
	if i < len(r.code) {
		if pair := r.code[i].Pair; pair > i {
			return pair + 1
		}
	}
	return i + 1
}

// next takes one token of the file's top level, or what it begins.
func (r *moduleReader) next() {
	i := r.at
	r.at = r.past(i)
	member := r.is(i-1, ".") || r.is(i-1, "?.")
	switch {
	case member:
	case r.is(i, "import") && !r.is(i+1, "(") && !r.is(i+1, "."):
		r.importing(i + 1)
	case r.is(i, "export"):
		r.exporting(i + 1)
	case r.is(i, "declare"):
		r.at = r.afterDeclare(i + 1)
	case r.is(i, "interface") || r.is(i, "type") && r.word(i+1) != "":
		r.ownTypes[r.word(i+1)] = true
	case r.is(i, "module", ".", "exports"):
		r.commonJS(i + 3)
	case r.is(i, "exports"):
		r.commonJS(i + 1)
	case r.is(i, "Object", ".", "defineProperty", "(", "exports", ","):
		r.values[r.text(i+6)] = reference{}
	default:
		for _, name := range r.declared(i) {
			r.own[name] = true
		}
	}
}

// afterDeclare passes over an ambient declaration, which makes no value.
func (r *moduleReader) afterDeclare(i int) int {
	for i < len(r.code) && !r.is(i, ";") && !r.is(i, "export") && !r.is(i, "import") {
		if r.is(i, "{") {
			return r.past(i)
		}
		if next := r.past(i); next < len(r.code) && r.code[next].First {
			return next
		} else {
			i = next
		}
	}
	return i
}

// declared are the values that a declaration at i makes; none where there is no declaration.
func (r *moduleReader) declared(i int) []string {
	if r.is(i, "async", "function") || r.is(i, "abstract", "class") || r.is(i, "const", "enum") {
		i++
	}
	switch {
	case r.is(i, "function"):
		if r.is(i+1, "*") {
			i++
		}
		return r.named(i + 1)
	case r.is(i, "class"), r.is(i, "enum"), r.is(i, "namespace"):
		return r.named(i + 1)
	case r.is(i, "const"), r.is(i, "let"), r.is(i, "var"):
		return r.bindings(i + 1)
	}
	return nil
}

func (r *moduleReader) named(i int) []string {
	if i < len(r.code) && r.code[i].Kind == source.Word {
		return []string{r.code[i].Text}
	}
	return nil
}

// bindings are the names of const a = 1, {b, c: d} = e, [f] = g.
func (r *moduleReader) bindings(i int) (names []string) {
	for i < len(r.code) {
		names = append(names, r.pattern(i)...)
		if r.is(i+1, "=", "{") {
			r.objects[r.word(i)] = i + 2
		}
		// On to the comma before the next one; one between types stands before no = or :.
		for i = r.past(i); i < len(r.code); i = r.past(i) {
			if r.is(i, ";") || begins(r.code[i]) {
				return names
			}
			if r.is(i, ",") {
				if after := r.past(i + 1); r.is(after, "=") || r.is(after, ":") {
					break
				}
			}
		}
		i++
	}
	return names
}

// begins reports whether a token begins a line, and surely a statement.
func begins(t source.Token) bool {
	switch t.Text {
	case "export", "import", "const", "let", "var", "function", "class", "interface", "type", "enum", "declare", "namespace", "abstract", "async", "module", "exports", "if", "for", "while", "return", "try":
		return t.First && t.Kind == source.Word
	}
	return false
}

// pattern are the names that one binding makes.
func (r *moduleReader) pattern(i int) (names []string) {
	if !r.is(i, "{") && !r.is(i, "[") {
		return r.named(i)
	}
	end := r.code[i].Pair
	for i++; i < end; i++ {
		for r.is(i, "...") || r.is(i, ",") {
			i++
		}
		if after := r.past(i); r.is(after, ":") && r.code[i].Kind != source.Sign || r.is(i, "[") && r.is(after, ":") {
			i = after + 1 // the key of {key: name}
		}
		if i >= end {
			break
		}
		names = append(names, r.pattern(i)...)
		for i = r.past(i); i < end && !r.is(i, ","); i = r.past(i) { // a default
		}
	}
	return names
}

// importing reads what stands behind import.
func (r *moduleReader) importing(i int) {
	types := false
	if r.is(i, "type") && !r.is(i+1, "from") && !r.is(i+1, ",") {
		types = true
		i++
	}
	into := map[string]string{} // local → name there
	locals := []string{}
	add := func(local, name string, isType bool) {
		if types || isType {
			r.ownTypes[local] = true
			return
		}
		into[local] = name
		locals = append(locals, local)
	}
	for ; i < len(r.code) && !r.is(i, ";"); i = r.past(i) {
		switch {
		case r.is(i, "*", "as"):
			r.own[r.word(i+2)] = !types
			i += 2
		case r.is(i, "{"):
			for _, e := range r.list(i) {
				add(e.to, e.from, e.isType)
			}
		case r.is(i, "from") && r.text(i+1) != "":
			for _, local := range locals {
				r.imports[local] = reference{r.text(i + 1), into[local]}
			}
			r.at = i + 2
			return
		case r.is(i, "="): // import a = require("b")
			for _, local := range locals {
				r.own[local] = true
			}
			r.at = i + 1
			return
		case r.code[i].Kind == source.Word && (r.is(i+1, "from") || r.is(i+1, ",") || r.is(i+1, "=")):
			add(r.code[i].Text, "default", false)
		case r.text(i) != "": // for its effects
			r.at = i + 1
			return
		}
	}
	r.at = i
}

// entry is one of {from as to}.
type entry struct {
	from, to string
	isType   bool
}

// list reads {a, b as c, type d} at i.
func (r *moduleReader) list(i int) (entries []entry) {
	end := r.code[i].Pair
	for i++; i < end; i++ {
		var e entry
		// A name may be called type, or as.
		if r.is(i, "type") && r.word(i+1) != "" && !(r.is(i+1, "as") && r.word(i+2) != "" && !r.is(i+2, "as")) {
			e.isType = true
			i++
		}
		e.from = r.word(i)
		e.to = e.from
		if r.is(i+1, "as") {
			e.to = r.word(i + 2)
			i += 2
		}
		if e.from != "" {
			entries = append(entries, e)
		}
		for i++; i < end && !r.is(i, ","); i++ {
		}
	}
	return entries
}

// exporting reads what stands behind export.
func (r *moduleReader) exporting(i int) {
	switch {
	case r.is(i, "declare"):
		r.at = r.afterDeclare(i + 1)
	case r.is(i, "interface"), r.is(i, "type") && !r.is(i+1, "{") && !r.is(i+1, "*"):
		r.types[r.word(i+1)], r.ownTypes[r.word(i+1)] = true, true
		r.at = i + 1
	case r.is(i, "type"): // export type {a}, export type * from
		if r.is(i+1, "{") {
			for _, e := range r.list(i + 1) {
				r.types[e.to] = true
			}
		}
		r.at = r.past(i + 1)
	case r.is(i, "default"):
		r.values["default"] = reference{}
		r.at = i + 1 // what it names is the file's own too
	case r.is(i, "="): // TypeScript's module.exports =
		r.assigned(i + 1)
	case r.is(i, "import"):
		r.values[r.word(i+1)] = reference{}
		r.at = i + 2
	case r.is(i, "*", "as"):
		r.values[r.word(i+2)] = reference{}
		r.at = i + 3
	case r.is(i, "*", "from"):
		if from := r.text(i + 2); from != "" {
			r.stars = append(r.stars, from)
		}
		r.at = i + 3
	case r.is(i, "{"):
		r.exportList(i)
	default:
		for _, name := range r.declared(i) {
			r.values[name], r.own[name] = reference{}, true
		}
	}
}

func (r *moduleReader) exportList(i int) {
	entries := r.list(i)
	r.at = r.past(i)
	from := ""
	if r.is(r.at, "from") {
		from = r.text(r.at + 1)
		r.at += 2
	}
	for _, e := range entries {
		switch {
		case e.isType:
			r.types[e.to] = true
		case from != "":
			r.values[e.to] = reference{from, e.from}
		default:
			r.later[e.to] = e.from
		}
	}
}

// commonJS reads what stands behind exports: .name = or =.
func (r *moduleReader) commonJS(i int) {
	switch {
	case r.is(i, "="):
		r.assigned(i + 1)
	case r.is(i, ".") && r.is(i+2, "="):
		// exports.a = exports.b = undefined makes neither.
		value := i + 3
		for r.is(value+1, ".") && r.is(value+3, "=") || r.is(value, "module", ".", "exports", ".") && r.is(value+5, "=") {
			value += 4
			if r.is(value-4, "module") {
				value += 2
			}
		}
		if !r.nothing(value) {
			r.values[r.word(i+1)] = reference{}
		}
	}
}

func (r *moduleReader) nothing(i int) bool {
	return r.is(i, "undefined") || r.is(i, "null") || r.is(i, "void")
}

// assigned reads what becomes of module.exports: an object, another module, a constant that is an object.
func (r *moduleReader) assigned(i int) {
	r.values["default"] = reference{}
	switch {
	case r.is(i, "{"):
		r.object(i)
	case r.is(i, "require", "(") && r.text(i+2) != "":
		r.stars = append(r.stars, r.text(i+2))
	case r.word(i) != "":
		if brace, ok := r.objects[r.word(i)]; ok {
			r.object(brace)
		}
	}
}

// object reads the properties of an object literal that is exported.
func (r *moduleReader) object(i int) {
	end := r.code[i].Pair
	for i++; i < end; i++ {
		if r.is(i, "...", "require", "(") && r.text(i+3) != "" {
			r.stars = append(r.stars, r.text(i+3))
		}
		for (r.is(i, "async") || r.is(i, "get") || r.is(i, "*")) && (r.word(i+1) != "" || r.is(i+1, "*")) {
			i++
		}
		name := r.word(i)
		switch {
		case name == "":
		case r.is(i+1, ",") || i+1 == end:
			r.later[name] = name
		case r.is(i+1, "(") || r.is(i+1, ":") && !r.nothing(i+2):
			r.values[name] = reference{}
		}
		for ; i < end && !r.is(i, ","); i = r.past(i) {
		}
	}
}

// resolutions are the paths that an import of one file from another may mean, the likeliest first; none where it is a
// package's or an alias's.
func resolutions(from, specifier string) []string {
	if !strings.HasPrefix(specifier, "./") && !strings.HasPrefix(specifier, "../") && specifier != "." && specifier != ".." {
		return nil
	}
	base := path.Join(path.Dir(from), specifier)
	if base == ".." || strings.HasPrefix(base, "../") {
		return nil
	}
	var paths []string
	stem, ext := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	switch ext {
	case ".js", ".jsx":
		paths = append(paths, base, stem+".ts", stem+".tsx")
	case ".mjs":
		paths = append(paths, base, stem+".mts")
	case ".cjs":
		paths = append(paths, base, stem+".cts")
	case ".ts", ".tsx", ".mts", ".cts", ".json":
		paths = append(paths, base)
	}
	for _, ext := range []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.tsx", "/index.js", "/index.mjs", "/index.cjs"} {
		paths = append(paths, base+ext)
	}
	return paths
}
