package testcode

import (
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/glob"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	pyCollected = []string{"test*.py", "*_test.py", "*_tests.py"}
	pyHelper    = lazyregexp.New(`^_?(assert|expect|verify|check|ensure)(_\w+|[A-Z]\w*)?$`)
	pyAssertion = lazyregexp.New(`^assert(_\w+|[A-Z]\w*)$`)
	// pyPlain compare what they are given: literals alone make them say nothing.
	pyPlain      = setOf("assertEqual assertEquals assertNotEqual assertTrue assertFalse assertIs assertIsNot assertIsNone assertIsNotNone assertIn assertNotIn assertGreater assertGreaterEqual assertLess assertLessEqual assertAlmostEqual assertListEqual assertDictEqual assertSetEqual assertTupleEqual assertSequenceEqual assertCountEqual assertMultiLineEqual")
	pySkipping   = setOf("skip skipTest xfail importorskip SkipTest")
	pyDecorators = map[string]bool{"skip": true, "xfail": true, "expectedFailure": true, "skipif": false, "skipIf": false, "skipUnless": false} // and whether always
)

// readPython reads tests of pytest and unittest: functions called test..., in classes or alone.
func (t *File) readPython(f *source.File, isTest bool) {
	takes := isTest && glob.Any(pyCollected, path.Base(t.Path))
	b := &bodies{f: f, helpers: map[string]bool{}}
	b.weigh, b.onLine = b.weighPython, pythonLine
	b.skips = func(c *chain) bool {
		last := c.links[len(c.links)-1]
		return last.called && pySkipping[last.name] && (len(c.links) > 1 && (c.head() == "pytest" || c.head() == "self" || c.head() == "unittest") || last.name == "importorskip")
	}
	r := pyReader{File: t, bodies: b, takes: takes, outer: map[string][]int{}}
	r.findOuter()
	helpers := map[string][2]int{}
	r.each(func(name, _ string, body [2]int, _, _ int) {
		if !strings.HasPrefix(name, "test") {
			helpers[name] = body
		}
	})
	for i := 0; i+4 < len(f.Code); i++ { // eq = self.assertEqual
		if f.Code[i].First && f.Code[i].Kind == source.Word && f.Code[i+1].Is("=") && f.Code[i+2].Is("self") && f.Code[i+3].Is(".") && pyAssertion.MatchString(f.Code[i+4].Text) {
			b.helpers[f.Code[i].Text] = true
		}
	}
	t.readHelpers(b, helpers, isTest)
	r.each(r.test)
	if !takes {
		return
	}
	for i, tok := range f.Code {
		switch {
		case tok.First && tok.Is("__test__") && i+2 < len(f.Code) && f.Code[i+2].Is("False"):
			t.Marks = append(t.Marks, Mark{"tests-not-run", tok.Line, "__test__ = False"})
		case tok.Is("_exit") && i > 1 && f.Code[i-1].Is(".") && f.Code[i-2].Is("os"):
			t.Marks = append(t.Marks, Mark{"tests-not-run", tok.Line, "os._exit ends the tests that follow"})
		}
	}
}

type pyReader struct {
	*File
	bodies *bodies
	takes  bool
	outer  map[string][]int // the lines that skip a whole class, by its name, or the whole module, by ""
}

// pyScope is a class, or the module, around what is read.
type pyScope struct {
	name string
	col  int
}

// each hands out every function: its name, the class around it, its body, the line of the first decorator or of the
// function itself, and the token of that.
func (r *pyReader) each(do func(name, class string, body [2]int, line, from int)) {
	code := r.bodies.f.Code
	scopes := []pyScope{{col: -1}}
	decorated := -1
	for i := 0; i+1 < len(code); i++ {
		t := code[i]
		if !t.First {
			continue
		}
		for len(scopes) > 1 && t.Col <= scopes[len(scopes)-1].col {
			scopes = scopes[:len(scopes)-1]
		}
		at := i
		if t.Is("async") {
			at++
		}
		switch {
		case t.Is("@"):
			if decorated < 0 {
				decorated = i
			}
			continue
		case code[at].Is("class"):
			names := scopes[len(scopes)-1].name
			scopes = append(scopes, pyScope{name: strings.TrimPrefix(names+"."+code[at+1].Text, "."), col: t.Col})
		case code[at].Is("def") && code[at+1].Kind == source.Word:
			from := i
			if decorated >= 0 {
				from = decorated
			}
			colon := pythonColon(code, at+2)
			do(code[at+1].Text, scopes[len(scopes)-1].name, [2]int{colon + 1, max(colon+1, pythonBlock(r.bodies.f, colon+1, t.Col))}, t.Line, from)
		}
		decorated = -1
	}
}

// pythonColon is the colon that ends the head of a def or class.
func pythonColon(code []source.Token, i int) int {
	for ; i < len(code) && !code[i].Is(":") && !code[i].First; i++ {
		if (code[i].Is("(") || code[i].Is("[")) && code[i].Pair > i {
			i = code[i].Pair
		}
	}
	return i
}

// test records one test.
func (r *pyReader) test(name, class string, body [2]int, line, from int) {
	if !strings.HasPrefix(name, "test") {
		return
	}
	key := strings.TrimPrefix(class+"."+name, ".")
	r.Declared[key] = true
	if !r.takes {
		return
	}
	r.bodies.throws = true
	fn := r.bodies.count(body[0], body[1])
	fn.Line = line
	_, fn.End = r.bodies.lines(body[0], body[1])
	code := r.bodies.f.Code
	for i := from; i < body[0] && i < len(code) && !code[i].Is("def"); i++ {
		if code[i].Is("parametrize") || code[i].Is("given") {
			fn.Loops++
		}
		r.decorate(fn, i)
	}
	outer := r.outer[""]
	if class != "" {
		outer = slices.Concat(outer, r.outer[class[strings.LastIndexByte(class, '.')+1:]])
	}
	fn.Skips, fn.Always = append(fn.Skips, outer...), fn.Always || len(outer) > 0
	r.Tests[r.unique(key)] = fn
}

// decorate takes token i into account, if it is a decorator's name that skips.
func (r *pyReader) decorate(fn *Func, i int) {
	code := r.bodies.f.Code
	always, skips := pyDecorators[code[i].Text]
	if code[i].Kind != source.Word || !skips || i > 0 && !code[i-1].Is(".") && !code[i-1].Is("@") {
		return
	}
	fn.Skips = append(fn.Skips, code[i].Line)
	fn.Always = fn.Always || always || i+2 < len(code) && code[i+1].Is("(") && code[i+2].Is("True")
}

// findOuter finds the lines that skip a whole class or the whole module.
func (r *pyReader) findOuter() {
	code := r.bodies.f.Code
	var decorators Func
	for i := 0; i < len(code); i++ {
		t := code[i]
		end := i + 1
		for end < len(code) && !code[end].First {
			end++
		}
		if !t.First {
			continue
		}
		fn := &Func{}
		switch {
		case t.Is("@"):
			fn = &decorators
		case t.Is("class") && i+1 < end:
			r.outer[code[i+1].Text] = append(r.outer[code[i+1].Text], decorators.Skips...)
		case t.Col > 0 || end < i+3:
		case t.Is("raise") && strings.Contains(joinTokens(code[i:end], ""), "SkipTest"):
			fn.Skips = []int{t.Line}
		}
		if !t.Is("@") {
			decorators = Func{}
		}
		if t.Is("@") || t.Col == 0 && (t.Is("pytestmark") || t.Is("pytest")) {
			for n := i + 1; n < end; n++ {
				r.decorate(fn, n)
			}
		}
		if fn != &decorators {
			r.outer[""] = append(r.outer[""], fn.Skips...)
		}
		i = end - 1
	}
}

// weighPython tells what a chain of calls means to a test.
func (b *bodies) weighPython(c *chain) weight {
	last := c.links[len(c.links)-1]
	if c.from > 0 && (b.f.Code[c.from-1].Is("def") || b.f.Code[c.from-1].Is("class")) {
		return nothing
	}
	switch {
	case !last.called || c.head() == "assert": // a statement: pythonLine knows it
		return nothing
	case len(c.links) > 1 && (c.head() == "pytest" && (last.name == "raises" || last.name == "warns" || last.name == "fail" || last.name == "deprecated_call") || c.head() == "self" && last.name == "fail"):
		return hard
	case pyPlain[last.name]:
		return b.unlessConstant(last)
	case pyAssertion.MatchString(last.name) && len(c.links) > 1, pyHelper.MatchString(last.name) && (len(c.links) == 1 || c.head() == "self"):
		return hard
	case strings.HasPrefix(last.name, "test") && c.head() == "self" && len(c.links) == 2:
		return soft // another test
	case b.helpers[last.name] && (len(c.links) == 1 || c.head() == "self" || c.head() == "cls"):
		return hard
	}
	return nothing
}

// pythonLine tells what the statement that begins at token i means: assert, raise.
func pythonLine(b *bodies, i int) (weight, bool) {
	code := b.f.Code
	end := i + 1
	for end < len(code) && !code[end].First {
		end++
	}
	switch t := code[i]; {
	case t.Is("assert"):
		comma := argumentEnd(b.f, i+1, end)
		if constants(b.f, i+1, comma) || code[i+1].Is("(") && code[i+1].Pair == end-1 && argumentEnd(b.f, i+2, end-1) < end-1 && !joined(code, i+1, end) {
			return vacuous, false // assert (a, b) is always true
		}
		return hard, false
	case t.Is("raise"):
		if strings.Contains(joinTokens(code[i:end], ""), "SkipTest") {
			return nothing, true
		}
		if t.Col > b.lead && b.throws {
			return hard, false
		}
	}
	return nothing, false
}

// joined reports a generator in the parentheses: assert (x for x, y in z) is no pair.
func joined(code []source.Token, first, end int) bool {
	for _, t := range code[first:end] {
		if t.Is("for") {
			return true
		}
	}
	return false
}
