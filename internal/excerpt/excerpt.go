// Package excerpt makes text that an agent or a tool wrote fit to be shown and stored: valid UTF-8, without control
// characters, bounded, and cut where no character is torn apart.
package excerpt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph-loop/internal/lazyregexp"
)

// Ellipsis marks a text that was cut.
const Ellipsis = " …"

// escapes are the sequences by which programs colour and move text on a terminal.
var escapes = lazyregexp.New("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\-_])")

// Text is s as valid UTF-8 with "\n" line ends, without terminal sequences and without control characters other than
// newline and tab. The invisible characters that reorder a line go too: they make a text read other than it is.
func Text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = escapes.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r), r == '\uFEFF', r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, s)
}

// Line is s as one line of at most most bytes: Text, with each run of white space made one space.
func Line(s string, most int) string {
	// What is far behind the bound need not be worked on; white space may shrink, so some more is taken.
	if len(s) > 16*most+4096 {
		s = s[:16*most+4096]
	}
	return Cut(strings.Join(strings.Fields(Text(s)), " "), most)
}

// Cut is s if it has at most most bytes, else its beginning with an ellipsis, together at most most bytes. It cuts
// between words where one ends near by, never inside a character, and never inside an emoji made of several.
// A bound too small for the ellipsis gives "".
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len(Ellipsis)
	if end <= 0 {
		return ""
	}
	if space := strings.LastIndexAny(s[:end+1], " \n"); space > end*3/4 {
		return strings.TrimRight(s[:space], " \n") + Ellipsis
	}
	for end > 0 && joined(s, end) {
		end--
	}
	return strings.TrimRight(s[:end], " \n") + Ellipsis
}

// joined reports whether a cut of s at byte i would part what is shown as one character.
func joined(s string, i int) bool {
	if !utf8.RuneStart(s[i]) {
		return true
	}
	const joiner = '\u200D'
	next, _ := utf8.DecodeRuneInString(s[i:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return next == joiner || before == joiner || unicode.Is(unicode.M, next) || next >= 0x1F3FB && next <= 0x1F3FF
}
