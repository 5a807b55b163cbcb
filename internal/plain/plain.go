// Package plain makes text from a specification, a report or a tool harmless to print: no character of it moves the
// cursor, changes a colour, hides or reorders what stands beside it, or ends a line that is a record.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is the text as one line: white space of any kind, line breaks too, becomes single spaces.
func Line(text string) string {
	if isPlain(text) {
		return text
	}
	return escape(strings.Join(strings.Fields(text), " "))
}

// isPlain is the quick answer for nearly every title: printable ASCII and letters, single spaces inside.
func isPlain(text string) bool {
	space := true
	for _, c := range text {
		if c == ' ' && space || c != ' ' && !unicode.In(c, unicode.L, unicode.N) && (c < 0x21 || c > 0x7e) {
			return false
		}
		space = c == ' '
	}
	return !space || text == ""
}

// Text is the text with its line feeds and tabs; other control characters are written as escapes.
func Text(text string) string { return escape(text) }

func escape(text string) string {
	if strings.IndexFunc(text, isHarmful) < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == utf8.RuneError && size == 1, isHarmful(c) && c < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isHarmful(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// isHarmful reports control characters (C0, DEL, C1), those that reorder or break lines, and what is not UTF-8.
func isHarmful(c rune) bool {
	switch {
	case c == '\n', c == '\t':
		return false
	case c < ' ', c >= 0x7f && c < 0xa0, c == utf8.RuneError:
		return true
	}
	return c >= 0x2028 && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}

// JSON writes as escapes what encoding/json leaves as it is and a terminal may obey: DEL, the C1 controls and the
// characters that reorder text. In JSON they can only stand within strings.
func JSON(data []byte) []byte {
	text := string(data)
	harmful := func(c rune) bool { return c != utf8.RuneError && c >= 0x7f && isHarmful(c) }
	if strings.IndexFunc(text, harmful) < 0 {
		return data
	}
	var b strings.Builder
	for _, c := range text {
		if harmful(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return []byte(b.String())
}
