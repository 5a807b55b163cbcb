package diffstat

import (
	"bytes"
	"context"
	"io"
	"regexp"

	"ralph-loop/internal/git"
)

// maxRust is the largest Rust source that is looked into for test code, in bytes; a larger one is implementation.
const maxRust = 4 << 20

// rustMarks are the lines of test code in the two versions of a file.
type rustMarks struct{ old, new lineRanges }

// lineRanges are ranges of lines, first and last, in order and without overlap.
type lineRanges [][2]int

// count is how many of the n lines from start on lie within.
func (r lineRanges) count(start, n int) int {
	total := 0
	for _, x := range r {
		if first, last := max(x[0], start), min(x[1], start+n-1); last >= first {
			total += last - first + 1
		}
	}
	return total
}

func readRust(ctx context.Context, repo *git.Repo, files []File, marks map[int]*rustMarks) error {
	var ids []string
	var to []*lineRanges
	for i, m := range marks {
		if id := files[i].OldBlob; id != "" {
			ids, to = append(ids, id), append(to, &m.old)
		}
		if id := files[i].NewBlob; id != "" {
			ids, to = append(ids, id), append(to, &m.new)
		}
	}
	return repo.Blobs(ctx, ids, func(n int, data io.Reader, size int64) error {
		if size > maxRust {
			return nil
		}
		src, err := io.ReadAll(data)
		if err == nil {
			*to[n] = rustTests(src)
		}
		return err
	})
}

// testAttribute matches what stands in #[...] in front of an item that only tests compile.
var testAttribute = regexp.MustCompile(`^\s*(cfg\s*\(\s*(all\s*\(\s*([^()]*,\s*)?)?test\s*[,)]|([a-z_]+\s*::\s*)*test\s*($|\())`)

// rustTests finds the lines of the items behind #[cfg(test)], #[test] and #[tokio::test], and everything behind a
// #![cfg(test)]. It knows comments, strings and characters, and no more of the language.
func rustTests(src []byte) lineRanges {
	s := rustScanner{src: src, line: 1}
	var out lineRanges
	for s.skipTrivia(); s.at < len(s.src); s.skipTrivia() {
		if s.src[s.at] != '#' {
			s.token()
			continue
		}
		first := s.line
		text, inner, ok := s.attribute()
		if !ok || !testAttribute.Match(text) {
			continue
		}
		if inner {
			return append(out, [2]int{first, bytes.Count(src, []byte("\n")) + 1})
		}
		out = append(out, [2]int{first, s.item()})
	}
	return out
}

type rustScanner struct {
	src  []byte
	at   int
	line int // of at, from 1
}

func (s *rustScanner) advance(n int) {
	n = min(n, len(s.src)-s.at)
	s.line += bytes.Count(s.src[s.at:s.at+n], []byte("\n"))
	s.at += n
}

func (s *rustScanner) has(prefix string) bool { return bytes.HasPrefix(s.src[s.at:], []byte(prefix)) }

// through goes behind the next end, or to the end of the source.
func (s *rustScanner) through(end string) {
	if i := bytes.Index(s.src[s.at:], []byte(end)); i >= 0 {
		s.advance(i + len(end))
		return
	}
	s.advance(len(s.src))
}

// skipTrivia passes over blanks and comments; block comments nest.
func (s *rustScanner) skipTrivia() {
	for s.at < len(s.src) {
		switch c := s.src[s.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.advance(1)
		case s.has("//"):
			s.through("\n")
		case s.has("/*"):
			s.advance(2)
			for depth := 1; depth > 0 && s.at < len(s.src); {
				switch {
				case s.has("/*"):
					depth++
					s.advance(2)
				case s.has("*/"):
					depth--
					s.advance(2)
				default:
					s.advance(1)
				}
			}
		default:
			return
		}
	}
}

// rawString matches the start of r"..." and r#"..."#, also as a byte or C string.
var rawString = regexp.MustCompile(`^(br|cr|r)(#*)"`)

// token passes over one string, character, word or sign, and gives its first byte.
func (s *rustScanner) token() byte {
	c := s.src[s.at]
	switch {
	case c == '"':
		s.quoted('"')
	case c == '\'':
		// 'a' and '\n' are characters, 'a without a second quote is a lifetime.
		rest := s.src[s.at+1:]
		if len(rest) > 0 && rest[0] == '\\' {
			s.quoted('\'')
		} else if i := bytes.IndexByte(rest[:min(len(rest), 6)], '\''); i > 0 && !bytes.ContainsAny(rest[:i], "\n ,;)>&") || i == 1 {
			s.advance(i + 2)
		} else {
			s.advance(1)
		}
	case word(c):
		if m := rawString.FindSubmatch(s.src[s.at:min(s.at+300, len(s.src))]); m != nil {
			s.advance(len(m[0]))
			s.through(`"` + string(m[2]))
			return c
		}
		n := 1
		for s.at+n < len(s.src) && word(s.src[s.at+n]) {
			n++
		}
		s.advance(n)
	default:
		s.advance(1)
	}
	return c
}

func word(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func (s *rustScanner) quoted(end byte) {
	s.advance(1)
	for s.at < len(s.src) && s.src[s.at] != end {
		if s.src[s.at] == '\\' {
			s.advance(1)
		}
		s.advance(1)
	}
	s.advance(1)
}

// attribute reads #[...] or #![...] and gives what is inside.
func (s *rustScanner) attribute() (text []byte, inner, ok bool) {
	s.advance(1)
	if s.at < len(s.src) && s.src[s.at] == '!' {
		inner = true
		s.advance(1)
	}
	if s.at >= len(s.src) || s.src[s.at] != '[' {
		return nil, inner, false
	}
	start := s.at + 1
	s.group('[', ']')
	return s.src[start:max(start, s.at-1)], inner, true
}

// group passes over a bracket and all up to its counterpart.
func (s *rustScanner) group(open, closing byte) {
	depth := 0
	for s.skipTrivia(); s.at < len(s.src); s.skipTrivia() {
		switch s.token() {
		case open:
			depth++
		case closing:
			if depth--; depth == 0 {
				return
			}
		}
	}
}

// item passes over one item, further attributes in front of it included, and gives its last line: up to the brace
// that closes it, or to its semicolon.
func (s *rustScanner) item() int {
	for s.skipTrivia(); s.at < len(s.src); s.skipTrivia() {
		switch s.src[s.at] {
		case '{':
			s.group('{', '}')
			last := s.line
			if s.skipTrivia(); s.at < len(s.src) && s.src[s.at] == ';' { // use a::{b, c};
				last = s.line
				s.advance(1)
			}
			return last
		case '(':
			s.group('(', ')')
		case '[':
			s.group('[', ']')
		case ';':
			s.advance(1)
			return s.line
		case '}': // the item in front of it was the last of its block, without a semicolon
			return s.line
		default:
			s.token()
		}
	}
	return s.line
}
