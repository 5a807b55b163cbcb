package testcode

import (
	"maps"
	"slices"

	"ralph-loop/internal/source"
)

// maxHead bounds how far the body of a function or class is looked for, in tokens.
const maxHead = 500

// weight is what a call means to the test that it stands in.
type weight int

const (
	nothing weight = iota
	vacuous        // an assertion that cannot fail
	soft
	hard
)

// bodies counts the bodies of functions in one file of any language but Go.
type bodies struct {
	f       *source.File
	helpers map[string]bool       // functions of the file that assert
	weigh   func(c *chain) weight // what a chain of calls means
	skips   func(c *chain) bool   // a chain that skips the test which it stands in
	params  map[string]bool       // the parameters of the test that is counted
	throws  bool                  // a nested throw counts as an assertion
	dead    []bool                // of the tokens from first on: it is never reached
	first   int
	lead    int                                          // Python: how far the body is indented
	onLine  func(b *bodies, i int) (w weight, skip bool) // Python: what the statement that begins at token i means
}

// count walks over the tokens from first up to, and without, end.
func (b *bodies) count(first, end int) *Func {
	fn := &Func{}
	if first >= end || first >= len(b.f.Code) {
		return fn
	}
	end = min(end, len(b.f.Code))
	b.lead = b.f.Code[first].Col
	b.first, b.dead = first, make([]bool, end-first)
	for _, r := range b.unreachable(first, end) {
		for i := r[0]; i < r[1]; i++ {
			b.dead[i-first] = true
		}
	}
	b.walk(first, end, 0, fn)
	fn.Text = joinTokens(b.f.Code[first:end], " ")
	return fn
}

// readHelpers counts the functions of a file, so that a call of one that asserts is an assertion.
func (t *File) readHelpers(b *bodies, functions map[string][2]int, isTest bool) {
	throws := b.throws
	b.throws = false
	for range 2 { // a helper may call a helper
		for _, name := range slices.Sorted(maps.Keys(functions)) {
			body := functions[name]
			fn := b.count(body[0], body[1])
			fn.Line, fn.End = b.lines(body[0], body[1])
			b.helpers[name] = fn.Hard > 0
			if isTest {
				t.Helpers[name] = fn
			}
			t.Declared[name] = true
		}
	}
	b.throws = throws
}

// lines are the first and the last line of the tokens from first up to end.
func (b *bodies) lines(first, end int) (from, to int) {
	if len(b.f.Code) == 0 {
		return 0, 0
	}
	last := len(b.f.Code) - 1
	return b.f.Code[min(first, last)].Line, b.f.Code[max(0, min(end-1, last))].Last
}

func (b *bodies) isDead(i int) bool { return b.dead[i-b.first] }

// walk counts into fn, and gives the number of assertions that it met, dead ones too. depth is how many braces, or in
// Python how deep a line, the tokens stand below the function's own statements.
func (b *bodies) walk(first, end, depth int, fn *Func) int {
	code, met := b.f.Code, 0
	one := func(i int, w weight) {
		switch {
		case w == soft && !b.isDead(i):
			fn.Soft++
		case w == hard && b.isDead(i):
			fn.Dead++
		case w == hard:
			fn.Hard++
		}
		if w == hard {
			met++
		}
	}
	for i := first; i < end; i++ {
		t := code[i]
		if b.f.Language == source.Python && (t.First || i == first && depth == 0) {
			depth = 0
			if t.Col > b.lead {
				depth = 1
			}
			w, skip := b.onLine(b, i)
			one(i, w)
			if skip {
				fn.Skips = append(fn.Skips, t.Line)
				fn.Always = fn.Always || depth == 0 && !b.isDead(i)
			}
		}
		switch {
		case t.Is("{"):
			depth++
		case t.Is("}"):
			depth--
		case t.Is("throw") && depth > 0 && b.throws:
			one(i, hard)
		case t.Is("for") || t.Is("while") || t.Is("loop"):
			open := b.loopBody(i, end)
			if open == 0 {
				break
			}
			n := b.walk(i+1, open, depth, fn) + b.walk(open, b.blockEnd(open, i), depth, fn)
			if n > 0 {
				fn.Loops++
			}
			met += n
			i = b.blockEnd(open, i) - 1
			continue
		case (t.Is("forEach") || t.Is("each")) && i+1 < end && code[i+1].Is("(") && code[i+1].Pair > 0 && code[i+1].Pair < end:
			n := b.walk(i+2, code[i+1].Pair, depth, fn)
			if n > 0 {
				fn.Loops++
			}
			met += n
			i = code[i+1].Pair
			continue
		}
		c, ok := chainAt(b.f, i)
		if !ok || c.to >= end {
			continue
		}
		if b.skips(&c) {
			fn.Skips = append(fn.Skips, t.Line)
			fn.Always = fn.Always || depth == 0 && !b.isDead(i)
		}
		switch w := b.weigh(&c); w {
		case hard, vacuous:
			// What asserts around other assertions (assertAll, expect(() => ...)) counts as they do.
			inner := 0
			if c.to > c.from {
				inner = b.walk(c.from+1, c.to, depth+1, fn)
			}
			met += inner
			if inner == 0 {
				one(i, w)
			}
			i = c.to
		case soft:
			one(i, soft)
		}
	}
	return met
}

// loopBody is the token at which the body of the loop at i begins: its brace, in Python the first statement of its block.
func (b *bodies) loopBody(i, end int) int {
	code := b.f.Code
	for n := i + 1; n < end; n++ {
		switch t := code[n]; {
		case b.f.Language == source.Python && t.First:
			if code[i].First && t.Col > code[i].Col {
				return n
			}
			return 0
		case t.Is("{") && t.Pair > n && t.Pair < end && b.f.Language != source.Python:
			return n
		case t.Is(";") && b.f.Language != source.Java:
			return 0
		case (t.Is("(") || t.Is("[")) && t.Pair > n:
			n = t.Pair
		}
	}
	return 0
}

// blockEnd is the token behind the block that opens at token open; loop is the statement that it belongs to.
func (b *bodies) blockEnd(open, loop int) int {
	if b.f.Language != source.Python {
		return b.f.Code[open].Pair + 1
	}
	return pythonBlock(b.f, open, b.f.Code[loop].Col)
}

// pythonBlock is the token behind the lines from token i on that are indented by more than col.
func pythonBlock(f *source.File, i, col int) int {
	for ; i < len(f.Code); i++ {
		if f.Code[i].First && f.Code[i].Col <= col {
			return i
		}
	}
	return i
}

// unreachable finds what stands behind a return among the function's own statements, and blocks under a condition that
// is never true.
func (b *bodies) unreachable(first, end int) [][2]int {
	code := b.f.Code
	var dead [][2]int
	if b.f.Language == source.Python {
		for i := first; i < end; i++ {
			t := code[i]
			if !t.First && i != first {
				continue
			}
			switch {
			case t.Is("return") && t.Col == b.lead:
				for n := i + 1; n < end; n++ {
					if code[n].First {
						return append(dead, [2]int{n, end})
					}
				}
			case (t.Is("if") || t.Is("while")) && i+2 < end && (code[i+1].Text == "False" || code[i+1].Text == "0") && code[i+2].Is(":"):
				dead = append(dead, [2]int{i + 2, min(end, pythonBlock(b.f, i+3, t.Col))})
				i = dead[len(dead)-1][1] - 1
			}
		}
		return dead
	}
	for i := first; i+4 < end; i++ {
		open := 0
		switch {
		case !code[i].Is("if") && !code[i].Is("while"):
		case code[i+1].Is("(") && (code[i+2].Is("false") || code[i+2].Text == "0") && code[i+3].Is(")"):
			open = i + 4
		case code[i+1].Is("false") && code[i+2].Is("{"):
			open = i + 2
		}
		if open > 0 && code[open].Is("{") && code[open].Pair > open && code[open].Pair < end {
			dead = append(dead, [2]int{open, code[open].Pair})
			i = code[open].Pair
		}
	}
	for i := first; i < end; i++ {
		t := code[i]
		if (t.Is("{") || t.Is("(") || t.Is("[")) && t.Pair > i {
			i = t.Pair
			continue
		}
		if !t.Is("return") || i > first && (code[i-1].Is(".") || code[i-1].Is(")") || code[i-1].Is("else")) {
			continue
		}
		for n := i + 1; n < end; n++ {
			s := code[n]
			if (s.Is("{") || s.Is("(") || s.Is("[")) && s.Pair > n {
				n = s.Pair
				continue
			}
			if s.Is(";") || s.First && b.f.Language == source.JavaScript && !s.Is(".") {
				if n+1 < end || s.First {
					dead = append(dead, [2]int{n, end})
				}
				break
			}
		}
		return dead
	}
	return dead
}

// constants reports whether the tokens are literals and signs only.
func constants(f *source.File, first, end int) bool {
	for i := first; i < end; i++ {
		switch t := f.Code[i]; {
		case t.Kind == source.Number, t.Kind == source.Regexp, t.Kind == source.Sign:
		case t.Kind == source.String:
			if f.Language == source.Python && (t.Text[0] == 'f' || t.Text[0] == 'F') || f.Language == source.JavaScript && t.Text[0] == '}' {
				return false
			}
		case t.Kind == source.Word && constantWords[t.Text]:
		default:
			return false
		}
	}
	return true
}

var constantWords = setOf("true false null undefined NaN Infinity True False None not and or is in nil")
