package source

import "ralph-loop/internal/lazyregexp"

// testAttribute matches what stands in #[...] in front of an item that only tests compile.
var testAttribute = lazyregexp.New(`^\s*(cfg\s*\(\s*(all\s*\(\s*([^()]*,\s*)?)?test\s*[,)]|([a-z_]+\s*::\s*)*test\s*($|\())`)

// RustTests finds the lines, first and last, of the items behind #[cfg(test)], #[test] and #[tokio::test], and all
// lines behind a #![cfg(test)]. They are in order and do not overlap.
func (f *File) RustTests(src []byte) [][2]int {
	var out [][2]int
	for i := 0; i < len(f.Code); i++ {
		text, inner, next := f.attribute(src, i)
		if next == i || !testAttribute.Match(text) {
			continue
		}
		first := f.Code[i].Line
		if inner {
			return append(out, [2]int{first, f.end(src)})
		}
		last, next := f.item(src, next)
		out = append(out, [2]int{first, last})
		i = next - 1
	}
	return out
}

// end is the number of the line on which the source ends: behind a last newline that of an empty one.
func (f *File) end(src []byte) int {
	if len(src) > 0 && src[len(src)-1] != '\n' {
		return f.Lines
	}
	return f.Lines + 1
}

// attribute reads #[...] or #![...] at token i, and gives what is inside and the token behind it: i, if there is none.
func (f *File) attribute(src []byte, i int) (text []byte, inner bool, next int) {
	at := i + 1
	if !f.is(i, "#") {
		return nil, false, i
	}
	if f.is(at, "!") {
		inner = true
		at++
	}
	if !f.is(at, "[") {
		return nil, false, i
	}
	start, end, next := f.Code[at].End(), len(src), len(f.Code)
	if pair := f.Code[at].Pair; pair >= 0 {
		end, next = f.Code[pair].Start, pair+1
	}
	return src[start:end], inner, next
}

// is reports whether token i is that word or sign.
func (f *File) is(i int, text string) bool { return i < len(f.Code) && f.Code[i].Is(text) }

// item passes over one item from token i on, further attributes in front of it included. It gives its last line and
// the token behind it: the item ends with the brace that closes it, or its semicolon.
func (f *File) item(src []byte, i int) (last, next int) {
	for ; i < len(f.Code); i++ {
		t := f.Code[i]
		switch {
		case t.Is(";"):
			return t.Line, i + 1
		case t.Is("}"): // the item in front of it was the last of its block, without a semicolon
			return t.Line, i
		case t.Is("(") || t.Is("[") || t.Is("{"):
			if t.Pair < 0 {
				return f.end(src), len(f.Code)
			}
			i = t.Pair
			if t.Text != "{" {
				continue
			}
			if f.is(i+1, ";") { // use a::{b, c};
				i++
			}
			return f.Code[i].Line, i + 1
		}
	}
	return f.end(src), i
}
