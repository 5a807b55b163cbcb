package spec

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/lazyregexp"
)

// notUTF8 names the first byte that is not.
func (r *reader) notUTF8(data []byte) {
	line, col := 1, 1
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			hint := "save the file as UTF-8"
			if i == 0 && (bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))) {
				hint = "the file begins like UTF-16; save it as UTF-8"
			}
			r.refuseAt(line, col, hint, "the byte 0x%02x is not UTF-8", data[i])
			return
		}
		col++
		if c == '\n' {
			line, col = line+1, 1
		}
		i += size
	}
}

var parserMessage = lazyregexp.New(`^yaml: (?:line (\d+): )?(.*)$`)

// maxSearched is the size up to which the place of a syntax error is searched for by parsing again, in bytes.
const maxSearched = 1 << 20

// explain words a syntax error: where it is, which the parser knows only roughly, and what to do about it.
func (r *reader) explain(err error) {
	if line := markdownLine(r.src); line > 0 {
		r.refuseMarkdown(line)
		return
	}
	line, message := 1, err.Error()
	if m := parserMessage.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			line = min(n, len(r.src.starts))
		}
	}
	at := func(line, col int, hint, format string, args ...any) {
		place := r.src.place(line, col)
		r.refuseAt(place.Line, place.Col, hint, format, args...)
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name = strings.TrimSuffix(name, "' referenced")
		line, col := r.find("*" + name)
		at(line, col, "put quotes around a text that begins with *", "the alias *%s has no anchor before it", name)
		return
	}
	if strings.Contains(message, "control characters are not allowed") {
		line, col, c := r.controlCharacter()
		at(line, col, "remove it, or write it as an escape in double quotes", "the control character %U is not allowed", c)
		return
	}
	// What the parser stumbled over stands on this line or, as often, below it.
	last := r.lastGoodLine(err) + 1
	if tabLine, col := r.tabIndent(min(line, last), max(line, last)); tabLine > 0 {
		at(tabLine, col, "indent with spaces", "a tab in the indentation")
		return
	}
	if strings.Contains(message, "mapping values are not allowed") {
		for _, l := range []int{last, line} {
			if col := r.secondColon(l); col > 0 {
				at(l, col, "put quotes around the text", "a colon and a space within a text that has no quotes")
				return
			}
		}
	}
	if strings.Contains(message, "cannot start any token") || strings.Contains(message, "expected alphabetic or numeric") {
		if col, c := r.badStart(last); col > 0 {
			at(last, col, "put quotes around the text", "a text that has no quotes may not begin with %q", string(c))
			return
		}
	}
	hint := "put quotes around a text with \": \" or \" #\" in it, or that begins with one of [ ] { } * & ! | > % @ `"
	if strings.Contains(message, "expected key") || strings.Contains(message, "'-' indicator") {
		message = "this line does not go on with what stands above it (" + message + ")"
		hint = "keys of one mapping and dashes of one list need the same indentation; a text with special characters needs quotes"
	}
	if strings.Contains(message, "expected ',' or") || strings.Contains(message, "expected node content") {
		hint = "close the brackets or braces that are opened here"
	}
	if strings.Contains(message, "unexpected end of stream") || strings.Contains(message, "unexpected document indicator") {
		hint = "close the quotes that are opened here"
		last = line
	}
	text := strings.TrimRight(r.src.lineText(last), "\r\n")
	at(last, indentation(text)+1, hint, "not YAML: %s", message)
}

// find is the place of the first occurrence of a text.
func (r *reader) find(text string) (line, col int) {
	at := strings.Index(r.src.text, text)
	if at < 0 {
		return 1, 1
	}
	line = r.src.lineOf(at, 1)
	return line, utf8.RuneCountInString(r.src.text[r.src.starts[line-1]:at]) + 1
}

// controlCharacter is the first character that no YAML file may hold.
func (r *reader) controlCharacter() (line, col int, c rune) {
	at := strings.IndexFunc(r.src.text, func(c rune) bool {
		switch {
		case c == '\t', c == '\n', c == '\r', c == '\u0085':
			return false
		}
		return c < ' ' || c >= 0x7f && c < 0xa0 || c == '\ufeff' || c == '\ufffe' || c == '\uffff'
	})
	if at < 0 {
		return 1, 1, utf8.RuneError
	}
	c, _ = utf8.DecodeRuneInString(r.src.text[at:])
	line, col = r.find(string(c))
	return line, col, c
}

// lastGoodLine is the last line up to which the file does not yet have the error: the parser names the beginning of
// the construct that it was reading, which can be far above.
func (r *reader) lastGoodLine(err error) int {
	bad := len(r.src.starts) // with this many lines the error is there
	good := 0
	if len(r.src.text) > maxSearched {
		if m := parserMessage.FindStringSubmatch(err.Error()); m != nil {
			n, _ := strconv.Atoi(m[1])
			return max(min(n, bad)-1, 0)
		}
		return 0
	}
	for bad-good > 1 {
		middle := (bad + good) / 2
		if r.sameError(r.src.lines(1, middle), err) {
			bad = middle
		} else {
			good = middle
		}
	}
	return good
}

func (r *reader) sameError(text string, want error) bool {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var n yaml.Node
		if err := decode(decoder, &n); err != nil {
			return err.Error() == want.Error()
		}
	}
}

// tabIndent finds a tab in the indentation of the lines first to last.
func (r *reader) tabIndent(first, last int) (line, col int) {
	for line = first; line <= min(last, len(r.src.starts)); line++ {
		text := r.src.lineText(line)
		blank := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		if tab := strings.IndexByte(blank, '\t'); tab >= 0 && !isBlank(text) {
			return line, tab + 1
		}
	}
	return 0, 0
}

// secondColon is the column of the second colon of a line that would begin a value, or 0.
func (r *reader) secondColon(line int) int {
	text := strings.TrimRight(r.src.lineText(line), "\r\n") + " "
	first := strings.Index(text, ": ")
	if first < 0 {
		return 0
	}
	second := strings.Index(text[first+2:], ": ")
	if second < 0 {
		return 0
	}
	return utf8.RuneCountInString(text[:first+2+second]) + 1
}

// badStart is the column of a value on the line that begins with a character that YAML reserves, or 0.
func (r *reader) badStart(line int) (col int, c rune) {
	text := r.src.lineText(line)
	m := valueStart.FindStringSubmatchIndex(text)
	if m == nil {
		return 0, 0
	}
	c, _ = utf8.DecodeRuneInString(text[m[2]:])
	return utf8.RuneCountInString(text[:m[2]]) + 1, c
}

var valueStart = lazyregexp.New("(?:^|: +|- +|\\[ *|, *)([@`%*&])")

// What Markdown looks like. YAML comments look like headings, so no single sign is enough.
var markdownSigns = []*lazyregexp.Regexp{
	lazyregexp.New(`^#{1,6} +\S`),           // heading, with a blank line behind it
	lazyregexp.New(`^(---+|\*\*\*+|___+)$`), // rule, with a blank line before it
	lazyregexp.New("^(```|~~~)"),            // fence
	lazyregexp.New(`^\s*[-*] \[[ xX]\] `),   // task
	lazyregexp.New(`^(\s*[-*] )?\*\*\S`),    // bold text
	lazyregexp.New(`^\|.*\|$`),              // table
	lazyregexp.New(`^(\* |\d+\. )\S`),       // list item
}

var specificationKey = lazyregexp.New(`^"?(specification|requirements)"?\s*:`)

// markdownLine is the first line that shows a file to be Markdown, or 0. It is asked only about files that are no
// specification.
func markdownLine(s *source) int {
	first, kinds, fenced := 0, 0, false
	seen := make([]bool, len(markdownSigns))
	blankBefore := true
	for line := 1; line <= min(len(s.starts), 500); line++ {
		text := strings.TrimRight(s.lineText(line), " \t\r\n")
		blankAfter := line == len(s.starts) || isBlank(s.lineText(line+1))
		if specificationKey.MatchString(text) && !fenced {
			return 0
		}
		for kind, sign := range markdownSigns {
			if !sign.MatchString(text) || kind == 0 && !blankAfter || kind == 1 && (!blankBefore || line == 1) {
				continue
			}
			if kind == 2 {
				fenced = !fenced
			}
			if !seen[kind] {
				seen[kind] = true
				kinds++
			}
			if first == 0 {
				first = line
			}
		}
		blankBefore = text == ""
	}
	if kinds < 2 {
		return 0
	}
	return first
}

func (r *reader) refuseMarkdown(line int) {
	place := r.src.place(line, 1)
	r.refuseAt(place.Line, place.Col, "write the requirements as YAML: \"requirements:\", then \"- id: ...\" for each",
		"this is Markdown, not YAML: %q", strings.TrimSpace(r.src.lineText(line)))
}
