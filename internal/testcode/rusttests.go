package testcode

import (
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	rustTest      = lazyregexp.New(`^([a-zA-Z_]\w*::)*(test|rstest|test_case|quickcheck|wasm_bindgen_test|test_matrix|parameterized|googletest|gtest|case)(\(|$)`)
	rustAssertion = lazyregexp.New(`^(debug_|prop_|soft_)?(assert|check|verify|expect|ensure)(_\w+)?$`)
	rustUnwraps   = setOf("unwrap expect unwrap_err expect_err unwrap_none expect_none")
)

// readRust reads functions that attributes make tests, in any file.
func (t *File) readRust(f *source.File, src []byte, isTest bool) {
	b := &bodies{f: f, helpers: map[string]bool{}}
	b.weigh, b.skips = b.weighRust, func(*chain) bool { return false }
	ranges := f.RustTests(src)
	helpers := map[string][2]int{}
	rustFunctions(f, func(name string, attributes []source.Token, line int, body [2]int, _ string) {
		if (isTest || within(ranges, line)) && !isRustTest(attributes) {
			helpers[name] = body
		}
	})
	t.readHelpers(b, helpers, true)
	b.throws = true
	rustFunctions(f, func(name string, attributes []source.Token, line int, body [2]int, module string) {
		name = strings.TrimPrefix(module+"::"+name, "::")
		t.Declared[name] = true
		if !isRustTest(attributes) {
			return
		}
		fn := b.count(body[0], body[1])
		fn.Line = line
		_, fn.End = b.lines(body[0], body[1]+1)
		for _, text := range attributesOf(attributes) {
			switch name, _, _ := strings.Cut(text, "("); {
			case name == "ignore" || strings.HasPrefix(name, "ignore="), text == "cfg(any())", text == "cfg(false)":
				fn.Skips, fn.Always = append(fn.Skips, line), true
			case name == "cfg_attr" && strings.Contains(text, "ignore"):
				fn.Skips = append(fn.Skips, line)
			case name == "should_panic" || strings.HasPrefix(name, "should_panic="):
				fn.Hard++
			case name == "case" || name == "test_case" || name == "rstest" || name == "quickcheck" || name == "values":
				fn.Loops++
			}
		}
		// What returns a Result fails by its question marks.
		for i := body[0]; i < body[1] && i < len(f.Code); i++ {
			if f.Code[i].Is("?") || f.Code[i].Is("?.") {
				fn.Soft++
			}
		}
		t.Tests[t.unique(name)] = fn
	})
	for i, tok := range f.Code {
		if tok.Is("exit") && i > 1 && f.Code[i-1].Is("::") && f.Code[i-2].Is("process") && (isTest || within(ranges, tok.Line)) {
			t.Marks = append(t.Marks, Mark{"tests-not-run", tok.Line, "process::exit ends the tests that follow"})
		}
	}
}

func within(ranges [][2]int, line int) bool {
	for _, r := range ranges {
		if line >= r[0] && line <= r[1] {
			return true
		}
	}
	return false
}

// rustFunctions hands out each fn that has a body, with the tokens of the attributes in front of it and the modules
// around it.
func rustFunctions(f *source.File, do func(name string, attributes []source.Token, line int, body [2]int, module string)) {
	type module struct {
		name string
		end  int
	}
	var modules []module
	code := f.Code
	first := -1 // of the attributes
	for i := 0; i+1 < len(code); i++ {
		for len(modules) > 0 && i > modules[len(modules)-1].end {
			modules = modules[:len(modules)-1]
		}
		switch t := code[i]; {
		case t.Is("#") && code[i+1].Is("[") && code[i+1].Pair > i:
			if first < 0 {
				first = i
			}
			i = code[i+1].Pair
			continue
		case t.Is("mod") && i+2 < len(code) && code[i+2].Is("{") && code[i+2].Pair > i:
			modules = append(modules, module{code[i+1].Text, code[i+2].Pair})
			first = -1
		case t.Is("fn") && code[i+1].Kind == source.Word:
			open := i + 2
			for open < min(len(code), i+maxHead) && !code[open].Is("{") && !code[open].Is(";") {
				if p := code[open].Pair; (code[open].Is("(") || code[open].Is("[")) && p > open {
					open = p
				}
				open++
			}
			if open < len(code) && code[open].Is("{") && code[open].Pair > open {
				var path []string
				for _, m := range modules {
					path = append(path, m.name)
				}
				from := i
				if first >= 0 {
					from = first
				}
				do(code[i+1].Text, code[from:i], t.Line, [2]int{open + 1, code[open].Pair}, strings.Join(path, "::"))
			}
			first = -1
		case t.Is(";") || t.Is("{") || t.Is("}"):
			first = -1
		}
	}
}

// attributesOf are the texts of the attributes among the tokens.
func attributesOf(tokens []source.Token) []string {
	var texts []string
	depth, text := 0, ""
	for _, t := range tokens {
		switch {
		case t.Is("[") && depth == 0:
			depth, text = 1, ""
			continue
		case t.Is("["):
			depth++
		case t.Is("]"):
			if depth--; depth == 0 {
				texts = append(texts, text)
			}
		}
		text += t.Text
	}
	return texts
}

func isRustTest(attributes []source.Token) bool {
	for _, text := range attributesOf(attributes) {
		if rustTest.MatchString(text) {
			return true
		}
	}
	return false
}

// weighRust tells what a chain of calls means to a test.
func (b *bodies) weighRust(c *chain) weight {
	head, last := c.links[0], c.links[len(c.links)-1]
	if c.from > 0 && b.f.Code[c.from-1].Is("fn") {
		return nothing
	}
	macro := last.called && b.f.Code[last.args-1].Is("!")
	switch {
	case macro && rustAssertion.MatchString(last.name):
		return b.unlessConstant(last)
	case macro && (last.name == "panic" || last.name == "unreachable" || last.name == "bail"):
		return hard
	case head.called && len(c.links) == 1 && (rustAssertion.MatchString(head.name) || b.helpers[head.name]):
		return hard
	}
	for i, l := range c.links {
		if i > 0 && l.called && rustUnwraps[l.name] {
			return soft
		}
	}
	return nothing
}
