package testcode

import (
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	javaTest      = setOf("Test ParameterizedTest RepeatedTest TestFactory TestTemplate Property Theory Example")
	javaTables    = setOf("ParameterizedTest ValueSource CsvSource MethodSource EnumSource RepeatedTest TestFactory Property Theory DataProvider")
	javaNever     = setOf("Disabled Ignore")
	javaSometimes = lazyregexp.New(`^(Disabled|Enabled)(If|On|For)\w*$`)
	javaAssertion = lazyregexp.New(`^(assert|expect|verify|should|andExpect|check|ensure)([A-Z]\w*)?$`)
	// javaPlain compare what they are given: literals alone make them say nothing.
	javaPlain  = setOf("assertTrue assertFalse assertEquals assertNotEquals assertSame assertNotSame assertNull assertNotNull assertArrayEquals assertIterableEquals")
	javaChecks = setOf("fail failBecauseExceptionWasNotThrown isEqualTo expectNext expectError verifyComplete until untilAsserted statusCode")
)

// readJava reads methods that annotations, or JUnit 3's names, make tests.
func (t *File) readJava(f *source.File, isTest bool) {
	b := &bodies{f: f, helpers: map[string]bool{}}
	b.weigh = b.weighJava
	b.skips = func(c *chain) bool {
		last := c.links[len(c.links)-1]
		return last.called && (strings.HasPrefix(last.name, "assume") && len(last.name) > 6 || last.name == "SkipException" || last.name == "TestAbortedException")
	}
	helpers := map[string][2]int{}
	javaMethods(f, func(m javaMethod) {
		if !m.isTest() {
			helpers[m.name] = m.body
		}
	})
	t.readHelpers(b, helpers, isTest)
	b.throws = true
	javaMethods(f, func(m javaMethod) {
		key := strings.TrimPrefix(m.class+"."+m.name, ".")
		t.Declared[key] = true
		if !isTest || !m.isTest() {
			return
		}
		fn := b.count(m.body[0], m.body[1])
		fn.Line = m.line
		_, fn.End = b.lines(m.body[0], m.body[1]+1)
		for _, a := range m.annotations {
			text := a.name + a.args
			switch {
			case javaNever[a.name], a.name == "Test" && strings.Contains(a.args, "enabled=false"):
				fn.Skips, fn.Always = append(fn.Skips, a.line), true
			case javaSometimes.MatchString(a.name):
				fn.Skips = append(fn.Skips, a.line)
			case strings.Contains(text, "expected=") || strings.Contains(text, "expectedExceptions="):
				fn.Hard++
			}
			if javaTables[a.name] {
				fn.Loops++
			}
		}
		for _, a := range m.outer {
			if javaNever[a.name] {
				fn.Skips, fn.Always = append(fn.Skips, a.line), true
			}
		}
		t.Tests[t.unique(key)] = fn
	})
	for i, tok := range f.Code {
		if isTest && tok.Is("exit") && i > 1 && f.Code[i-1].Is(".") && f.Code[i-2].Is("System") {
			t.Marks = append(t.Marks, Mark{"tests-not-run", tok.Line, "System.exit ends the tests that follow"})
		}
	}
}

type javaAnnotation struct {
	name, args string
	line       int
}

type javaMethod struct {
	name, class string
	annotations []javaAnnotation
	outer       []javaAnnotation // of the classes around it
	line        int
	body        [2]int
	junit3      bool // the class extends TestCase
}

func (m *javaMethod) isTest() bool {
	for _, a := range m.annotations {
		if javaTest[a.name] {
			return true
		}
	}
	return m.junit3 && strings.HasPrefix(m.name, "test")
}

// javaMethods hands out each method that has a body.
func javaMethods(f *source.File, do func(m javaMethod)) {
	type class struct {
		name        string
		end         int
		annotations []javaAnnotation
		junit3      bool
	}
	var classes []class
	var annotations []javaAnnotation
	code := f.Code
	for i := 0; i+1 < len(code); i++ {
		for len(classes) > 0 && i > classes[len(classes)-1].end {
			classes = classes[:len(classes)-1]
		}
		t := code[i]
		switch {
		case t.Is("@") && code[i+1].Kind == source.Word && !code[i+1].Is("interface"):
			a := javaAnnotation{name: code[i+1].Text, line: t.Line}
			i++
			for i+2 < len(code) && code[i+1].Is(".") {
				i += 2
				a.name = code[i].Text
			}
			if i+1 < len(code) && code[i+1].Is("(") && code[i+1].Pair > i {
				a.args = joinTokens(code[i+1:code[i+1].Pair+1], "")
				i = code[i+1].Pair
			}
			annotations = append(annotations, a)
		case (t.Is("class") || t.Is("interface") || t.Is("enum") || t.Is("record")) && code[i+1].Kind == source.Word && !(i > 0 && code[i-1].Is(".")):
			open, junit3 := i+2, false
			for open < min(len(code), i+maxHead) && !code[open].Is("{") && !code[open].Is(";") {
				junit3 = junit3 || code[open].Is("TestCase")
				open++
			}
			if open < len(code) && code[open].Is("{") && code[open].Pair > open {
				c := class{code[i+1].Text, code[open].Pair, annotations, junit3}
				if len(classes) > 0 {
					outer := classes[len(classes)-1]
					c.name, c.annotations = outer.name+"."+c.name, append(append([]javaAnnotation{}, outer.annotations...), annotations...)
				}
				classes = append(classes, c)
				i = open
			}
			annotations = nil
		case len(classes) > 0 && t.Kind == source.Word && code[i+1].Is("(") && code[i+1].Pair > i:
			open := code[i+1].Pair + 1
			if open < len(code) && code[open].Is("throws") {
				for open < min(len(code), i+maxHead) && !code[open].Is("{") && !code[open].Is(";") {
					open++
				}
			}
			if open < len(code) && code[open].Is("{") && code[open].Pair > open && !(i > 0 && (code[i-1].Is("new") || code[i-1].Is("."))) && !javaKeywords[t.Text] {
				c := classes[len(classes)-1]
				do(javaMethod{t.Text, c.name, annotations, c.annotations, t.Line, [2]int{open + 1, code[open].Pair}, c.junit3})
				i = code[open].Pair
				annotations = nil
			}
		case t.Is(";") || t.Is("}"):
			annotations = nil
		case t.Is("{") && t.Pair > i && len(classes) > 0: // an initialiser
			i = t.Pair
		}
	}
}

var javaKeywords = setOf("if for while switch catch synchronized try")

// weighJava tells what a chain of calls means to a test.
func (b *bodies) weighJava(c *chain) weight {
	for i, l := range c.links {
		switch {
		case !l.called:
		case l.name == "assertThat" || l.name == "then" || l.name == "assertThatCode" || l.name == "assertThatThrownBy":
			if len(c.links) == i+1 && b.f.Code[l.args].Pair == argumentEnd(b.f, l.args+1, b.f.Code[l.args].Pair) && l.name != "then" {
				return vacuous // assertThat(x) alone checks nothing
			}
			if l.name != "then" || i == 0 {
				return b.unlessConstants(c)
			}
		case javaAssertion.MatchString(l.name) && (i == 0 || strings.HasPrefix(l.name, "assert") || strings.HasPrefix(l.name, "expect") || strings.HasPrefix(l.name, "andExpect") || c.head() == "Mockito" || strings.HasPrefix(l.name, "should")):
			if javaPlain[l.name] {
				return b.unlessConstant(l)
			}
			return hard
		case javaChecks[l.name], i == 0 && b.helpers[l.name]:
			return hard
		}
	}
	return nothing
}

// unlessConstants is hard if any call of the chain has an argument that is no literal.
func (b *bodies) unlessConstants(c *chain) weight {
	for _, l := range c.links {
		if l.called && !constants(b.f, l.args+1, b.f.Code[l.args].Pair) {
			return hard
		}
	}
	return vacuous
}
