package gate

import (
	"fmt"
	"strings"

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
