package gate

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"ralph-loop/internal/config"
)

// plural writes "1 path", "2 paths".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// lines are commands as they were written.
func lines(commands []config.Command) []string {
	var out []string
	for _, c := range commands {
		out = append(out, strings.Join(c.Args, "\x00"))
	}
	return out
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?|\x1b[@-Z\\^_]`)

// plainText takes colours and other control characters out of a tool's text; what is left is valid UTF-8.
func plainText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.Contains(s, "\x1b") {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(plainText(s)), " ") }

// headTail cuts the middle out of a text that is longer than most bytes, and says so. Both ends stay, since a cause
// may stand first and a failure last.
func headTail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const mark = "\n... (cut) ...\n"
	if most <= len(mark) {
		return strings.ToValidUTF8(s[:most], "")
	}
	half := (most - len(mark)) / 2
	return strings.ToValidUTF8(s[:half], "") + mark + strings.ToValidUTF8(s[len(s)-half:], "")
}
