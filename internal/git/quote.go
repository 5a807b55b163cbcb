package git

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote writes a path as one word on one line, as git does with core.quotePath off: as it is, or between quotes with
// C escapes if it holds a control character, a quote, a backslash or a byte that is not UTF-8. A name cannot move a
// terminal's cursor or pass for two.
func Quote(path string) string {
	plain := utf8.ValidString(path) && !strings.ContainsFunc(path, func(c rune) bool {
		return c == '"' || c == '\\' || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029'
	})
	if plain && path != "" {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); {
		c, size := utf8.DecodeRuneInString(path[i:])
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == utf8.RuneError && size == 1 || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029':
			for _, raw := range []byte(path[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, raw)
			}
		default:
			b.WriteRune(c)
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}
