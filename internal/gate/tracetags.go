package gate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
	"ralph-loop/internal/testcode"
)

// tagged finds the files that hold a tag.
const tagged = `@(test|covers)([^A-Za-z0-9_]|$)`

// traceTag matches a tag at its place in a comment; what it names follows, up to the next tag or the end of the line.
var traceTag = lazyregexp.New(`(?:^|[^\w@.])@(test|covers)[ \t:]+`)

// tag is a line of a comment that names requirements or criteria.
type tag struct {
	line  int
	text  string // what follows the tag
	after int    // the line behind the comment
}

// tags finds the tags in a file's comments, and in Python's texts that stand where a statement could; in a language
// that cannot be read, in any line.
func tags(f *source.File, src []byte) []tag {
	var found []tag
	look := func(text string, line int) {
		last := line + strings.Count(text, "\n")
		for part := range strings.Lines(text) {
			places := traceTag.FindAllStringIndex(part, -1)
			for i, at := range places {
				end := len(part)
				if i+1 < len(places) {
					end = places[i+1][0]
				}
				found = append(found, tag{line, strings.TrimSpace(part[at[1]:end]), last})
			}
			line++
		}
	}
	if f.Language == source.Unknown {
		look(string(src), 1)
		return found
	}
	for _, c := range f.Comments {
		look(c.Text, c.Line)
	}
	if f.Language == source.Python {
		for _, t := range f.Code {
			if t.First && t.Kind == source.String {
				look(t.Text, t.Line)
			}
		}
	}
	return found
}

// testAt is the test that a comment belongs to: the one that it stands in, else the one that follows with nothing but
// further comments and decorators in between.
func testAt(t *testcode.File, f *source.File, c tag) TraceTest {
	inner, next := "", ""
	for name, fn := range t.Tests {
		switch {
		case c.line >= fn.Line && c.line <= fn.End:
			if inner == "" || fn.Line > t.Tests[inner].Line || fn.Line == t.Tests[inner].Line && name < inner {
				inner = name
			}
		case fn.Line > c.after:
			if next == "" || fn.Line < t.Tests[next].Line || fn.Line == t.Tests[next].Line && name < next {
				next = name
			}
		}
	}
	if inner == "" && next != "" {
		inner = next
		for i := 0; i < len(f.Code); i++ {
			tok := f.Code[i]
			if tok.Line <= c.after || tok.Line >= t.Tests[next].Line {
				continue
			}
			if tok.First && !tok.Is("#") && !strings.HasPrefix(tok.Text, "@") {
				inner = ""
				break
			}
			i = max(i, tok.Pair) // the arguments of a decorator may go over lines
		}
	}
	if inner == "" {
		return TraceTest{Line: c.line}
	}
	return TraceTest{Line: c.line, Name: inner, Skipped: t.Tests[inner].Always}
}

// ids reads the list of ids behind a tag: known ones, up to the first word that is none. A first word that looks like
// an id and is none is told.
func (m *traceMatrix) ids(t tag, path string) []string {
	var ids []string
	for rest := t.text; ; {
		rest = strings.TrimLeft(rest, " \t,;&")
		rest = strings.TrimPrefix(rest, "and ")
		id := m.longest(rest)
		if id == "" {
			first, _, _ := strings.Cut(strings.Join(strings.Fields(rest), " "), " ")
			if first = strings.TrimRight(first, ".,;:)*/\"'"); looksLikeID.MatchString(first) {
				m.unknown(path, t.line, first, fmt.Sprintf("%q is no requirement and no criterion of the specification", first))
			}
			return ids
		}
		ids = append(ids, id)
		if rest = rest[len(id):]; strings.TrimSpace(rest) == "" {
			return ids
		}
	}
}

// looksLikeID matches REQ-001, AC-1.2, US_3: words with a digit and a sign.
var looksLikeID = lazyregexp.New(`^[A-Za-z]+[-_.][\w.-]*\d[\w.-]*$`)

// longest is the longest known id that the text begins with and that ends there.
func (m *traceMatrix) longest(text string) string {
	best := ""
	try := func(id string) {
		rest, ok := strings.CutPrefix(text, id)
		if !ok || len(id) <= len(best) {
			return
		}
		next, size := utf8.DecodeRuneInString(rest)
		if unicode.IsLetter(next) || unicode.IsDigit(next) || next == '_' {
			return
		}
		if after, _ := utf8.DecodeRuneInString(rest[min(size, len(rest)):]); (next == '-' || next == '.') && (unicode.IsLetter(after) || unicode.IsDigit(after)) {
			return
		}
		best = id
	}
	for id := range m.reqs {
		try(id)
	}
	for id := range m.rows {
		try(id)
	}
	for _, id := range m.elsewhere {
		try(id)
	}
	return best
}
