package testcode

import (
	"slices"
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	jsTestWords  = setOf("it test specify xit xtest xspecify fit ftest Deno")
	jsGroupWords = setOf("describe context suite xdescribe xcontext xsuite fdescribe fcontext")
	jsModifiers  = setOf("only skip todo each for concurrent sequential failing fails fixme slow skipIf runIf serial parallel shuffle describe ignore if todoIf test it t")
	// jsTAsserts are the assertions of ava, tap, tape and QUnit, on the parameter of a test.
	jsTAsserts = lazyregexp.New(`^(is|not|deepEqual|notDeepEqual|true|false|truthy|falsy|assert|ok|notOk|throws|throwsAsync|notThrows|notThrowsAsync|doesNotThrow|regex|notRegex|like|snapshot|matchSnapshot|equal|equals|notEqual|same|notSame|strictSame|strictNotSame|strictEqual|notStrictEqual|propEqual|match|matchOnly|has|hasStrict|rejects|resolves|resolveMatch|isA|fail|step|verifySteps|error|ifError|type)$`)
	jsHelper   = lazyregexp.New(`^(assert|expect|verify|check|ensure|must|should)([A-Z_]\w*)?$`)
	jsQueries  = lazyregexp.New(`^((get|find)(All)?By[A-Z]\w*|waitFor\w*)$`)
	chaiLast   = setOf("true false null undefined ok empty exist NaN arguments finite extensible sealed frozen called notCalled calledOnce calledTwice calledThrice rejected fulfilled")
)

// readJavaScript reads tests of jest, vitest, mocha, node:test, ava, playwright and their like.
func (t *File) readJavaScript(f *source.File, isTest bool) {
	b := &bodies{f: f, helpers: map[string]bool{}}
	b.weigh, b.skips = b.weighJS, b.skipsJS
	t.readHelpers(b, jsFunctions(f), isTest)
	r := &jsReader{File: t, bodies: b, takes: isTest}
	r.group(0, len(f.Code), "", nil, 0)
	if !isTest {
		return
	}
	chains(f, func(c *chain) bool {
		if c.head() == "process" && len(c.links) == 2 && c.links[1].name == "exit" && c.links[1].called || c.head() == "Deno" && len(c.links) == 2 && c.links[1].name == "exit" {
			t.Marks = append(t.Marks, Mark{"tests-not-run", f.Code[c.from].Line, c.head() + ".exit ends the tests that follow"})
		}
		return false
	})
}

// jsFunctions gives the bodies, as tokens from and up to, of the file's named functions.
func jsFunctions(f *source.File) map[string][2]int {
	functions := map[string][2]int{}
	code := f.Code
	for i := 0; i+2 < len(code); i++ {
		switch {
		case code[i].Is("function") && code[i+1].Kind == source.Word:
			if body, ok := jsBody(f, i+2, len(code)); ok {
				functions[code[i+1].Text] = body
			}
		case (code[i].Is("const") || code[i].Is("let") || code[i].Is("var")) && code[i+1].Kind == source.Word && code[i+2].Is("="):
			at := i + 3
			if at < len(code) && code[at].Is("async") {
				at++
			}
			if at < len(code) && (code[at].Is("function") || code[at].Is("(") || at+1 < len(code) && code[at+1].Is("=>")) {
				if body, ok := jsBody(f, at, len(code)); ok {
					functions[code[i+1].Text] = body
				}
			}
		}
	}
	return functions
}

// jsBody finds the body of a function whose parameters, or the word function, stand at token i: what is in its braces,
// or the expression behind its arrow up to end.
func jsBody(f *source.File, i, end int) ([2]int, bool) {
	code := f.Code
	for head := i + maxHead; i < min(end, head); i++ {
		switch t := code[i]; {
		case t.Is("=>"):
			if i+1 < end && code[i+1].Is("{") && code[i+1].Pair > i {
				return [2]int{i + 2, code[i+1].Pair}, true
			}
			n := i + 1
			for n < end && !code[n].Is(";") && !code[n].Is(",") && !code[n].Is(")") {
				if p := code[n].Pair; (code[n].Is("(") || code[n].Is("[") || code[n].Is("{")) && p > n {
					n = p
				}
				n++
			}
			return [2]int{i + 1, min(n, end)}, true
		case t.Is("("):
			if t.Pair < i {
				return [2]int{}, false
			}
			i = t.Pair
		case t.Is("{"):
			return [2]int{i + 1, t.Pair}, t.Pair > i
		case t.Is(";") || t.Is("="):
			return [2]int{}, false
		}
	}
	return [2]int{}, false
}

type jsReader struct {
	*File
	bodies *bodies
	takes  bool // a runner takes this file
}

// maxGroups bounds how deep groups of tests may lie in each other.
const maxGroups = 50

// group reads the tests among the tokens from first up to end; skips are the lines that skip them all.
func (r *jsReader) group(first, end int, path string, skips []int, depth int) {
	f := r.bodies.f
	for i := first; i < end; i++ {
		c, ok := chainAt(f, i)
		if !ok || c.to >= end {
			continue
		}
		isGroup, isTest := jsDeclares(f, &c)
		if !isGroup && !isTest {
			continue
		}
		last := c.links[len(c.links)-1]
		closing := f.Code[last.args].Pair
		comma := argumentEnd(f, last.args+1, closing)
		name := strings.TrimPrefix(path+" > "+titleOf(f, last.args+1, comma), " > ")
		line := f.Code[i].Line
		skip, only := jsState(&c)
		own := slices.Clone(skips)
		if skip {
			own = append(own, line)
		}
		if only && r.takes {
			r.Marks = append(r.Marks, Mark{"test-focused", line, "only " + name + " runs of this file"})
		}
		body, hasBody := [2]int{}, false
		for at := comma + 1; at < closing && !hasBody; at = argumentEnd(f, at, closing) + 1 {
			if stop := argumentEnd(f, at, closing); f.Code[at].Is("async") || f.Code[at].Is("function") || f.Code[at].Is("(") || at+1 < stop && f.Code[at+1].Is("=>") {
				body, hasBody = jsBody(f, at, stop)
			}
		}
		if isGroup {
			if hasBody && depth < maxGroups {
				r.group(body[0], body[1], name, own, depth+1)
			}
			i = c.to
			continue
		}
		r.test(name, &c, own, body, hasBody, comma < closing)
		if hasBody && depth < maxGroups {
			r.group(body[0], body[1], name, own, depth+1) // t.test(...) inside
		}
		i = c.to
	}
}

// test records one test.
func (r *jsReader) test(name string, c *chain, skips []int, body [2]int, hasBody, hasArguments bool) {
	f := r.bodies.f
	name = r.unique(name)
	r.Declared[name] = true
	if !r.takes {
		return
	}
	fn := &Func{Free: true, Text: joinTokens(f.Code[c.from:c.to+1], " ")}
	if hasBody {
		r.bodies.params = map[string]bool{}
		for n := body[0] - 1; n > c.from && n > body[0]-12; n-- {
			if f.Code[n].Kind == source.Word {
				r.bodies.params[f.Code[n].Text] = true
			}
			if f.Code[n].Is(",") && f.Code[n-1].Kind == source.String {
				break
			}
		}
		r.bodies.throws = true
		fn = r.bodies.count(body[0], body[1])
		r.bodies.params = nil
	}
	fn.Line, fn.End = f.Code[c.from].Line, f.Code[c.to].Last
	for _, l := range c.links {
		if l.name == "each" || l.name == "for" {
			fn.Loops++
		}
	}
	fn.Skips = append(fn.Skips, skips...)
	fn.Always = fn.Always || len(skips) > 0 && !jsConditional(c)
	if !hasArguments { // it("will be written")
		fn.Skips, fn.Always = append(fn.Skips, fn.Line), true
	}
	r.Tests[name] = fn
}

// jsDeclares reports whether a chain declares a group of tests, or a test.
func jsDeclares(f *source.File, c *chain) (group, test bool) {
	last := c.links[len(c.links)-1]
	if !last.called || c.to != f.Code[last.args].Pair || c.to == last.args+1 {
		return false, false
	}
	head := c.head()
	switch {
	case jsGroupWords[head]:
		group = true
	case jsTestWords[head]:
		test = head != "Deno" || len(c.links) > 1 && c.links[1].name == "test"
	case len(c.links) == 2 && (c.links[1].name == "test" || c.links[1].name == "it"): // t.test of a test's own
		_, isText := literal(f, last.args+1)
		comma := argumentEnd(f, last.args+1, c.to)
		return false, isText && comma < c.to && hasFunction(f, comma+1, c.to)
	default:
		return false, false
	}
	for _, l := range c.links[1:] {
		if !jsModifiers[l.name] {
			return false, false
		}
		group = group || l.name == "describe"
	}
	return group, test && !group
}

func hasFunction(f *source.File, first, end int) bool {
	return slices.ContainsFunc(f.Code[first:end], func(t source.Token) bool { return t.Is("=>") || t.Is("function") })
}

// jsState reads the modifiers.
func jsState(c *chain) (skip, only bool) {
	head := c.head()
	skip = strings.HasPrefix(head, "x")
	only = strings.HasPrefix(head, "f") && head != "for"
	for _, l := range c.links[1:] {
		switch l.name {
		case "skip", "todo", "failing", "fails", "fixme", "skipIf", "runIf", "todoIf", "ignore", "if":
			skip = true
		case "only":
			only = true
		}
	}
	return skip, only
}

func jsConditional(c *chain) bool {
	return slices.ContainsFunc(c.links, func(l link) bool {
		return l.name == "skipIf" || l.name == "runIf" || l.name == "todoIf" || l.name == "if"
	})
}

// argumentEnd is the comma or the closing bracket behind the argument at token i.
func argumentEnd(f *source.File, i, closing int) int {
	for ; i < closing; i++ {
		t := f.Code[i]
		if t.Is(",") {
			return i
		}
		if (t.Is("(") || t.Is("[") || t.Is("{")) && t.Pair > i {
			i = t.Pair
		}
	}
	return closing
}

// titleOf is a test's name: its text, or the code that makes it.
func titleOf(f *source.File, first, end int) string {
	if text, ok := literal(f, first); ok && end == first+1 {
		return strings.Join(strings.Fields(text), " ")
	}
	return joinTokens(f.Code[first:min(end, first+40)], " ")
}

// weighJS tells what a chain of calls means to a test.
func (b *bodies) weighJS(c *chain) weight {
	head, last := c.links[0], c.links[len(c.links)-1]
	if head.name == "expect" || head.name == "expectTypeOf" || head.name == "assertType" || head.name == "expectType" {
		return b.weighExpect(c)
	}
	if b.params[head.name] && len(c.links) > 1 && last.called && jsTAsserts.MatchString(last.name) {
		return b.unlessConstant(last)
	}
	for i, l := range c.links {
		switch {
		case l.name == "should" && i > 0, l.name == "assert" && l.called && i > 0:
			return hard
		case l.called && jsHelper.MatchString(l.name) && !(i > 0 && (l.name == "check" || l.name == "verify" || l.name == "must" || l.name == "ensure")):
			if l.name == "assert" {
				return b.unlessConstant(l)
			}
			return hard
		case l.called && l.name == "fail" && i == 0, l.called && i == 0 && b.helpers[l.name]:
			return hard
		case i > 0 && c.links[i-1].name == "assert" && l.called:
			return b.unlessConstant(l)
		case l.called && jsQueries.MatchString(l.name):
			return soft
		}
	}
	return nothing
}

// unlessConstant is hard for a call with arguments that are not all literals.
func (b *bodies) unlessConstant(l link) weight {
	if end := b.f.Code[l.args].Pair; end > l.args+1 && constants(b.f, l.args+1, end) {
		return vacuous
	}
	return hard
}

// weighExpect is for expect(x).toBe(y): without a matcher behind it checks nothing.
func (b *bodies) weighExpect(c *chain) weight {
	head, last := c.links[0], c.links[len(c.links)-1]
	switch {
	case head.called && len(c.links) == 1:
		if head.name == "assertType" || head.name == "expectType" {
			return hard
		}
		return vacuous
	case len(c.links) == 1: // the word alone
		return nothing
	case !head.called:
		if c.links[1].called && (c.links[1].name == "fail" || c.links[1].name == "unreachable" || len(c.links) > 2 && (c.links[1].name == "soft" || c.links[1].name == "poll")) {
			return hard
		}
		return vacuous // expect.assertions(1), expect.any(String)
	case !last.called && !chaiLast[last.name]:
		return vacuous // the parentheses were forgotten
	}
	for _, l := range c.links {
		if end := b.f.Code[l.args].Pair; l.called && !constants(b.f, l.args+1, end) {
			return hard
		}
	}
	return vacuous
}

// skipsJS matches this.skip(), t.skip() and its like.
func (b *bodies) skipsJS(c *chain) bool {
	if len(c.links) != 2 || !c.links[1].called {
		return false
	}
	switch c.links[1].name {
	case "skip", "todo", "fixme":
		return c.head() == "this" || c.head() == "test" || b.params[c.head()]
	}
	return false
}
