package gate

import (
	"fmt"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/plain"
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

// escapes are the sequences by which programs colour and move text on a terminal.
var escapes = lazyregexp.New(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])`)

// clean makes a tool's text fit to be shown and kept: no colours, plain line ends, valid UTF-8.
func clean(s string) string {
	if strings.Contains(s, "\x1b") {
		s = escapes.ReplaceAllString(s, "")
	}
	return plain.Text(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
}

// short is a text on one line of at most most bytes.
func short(s string, most int) string {
	const mark = "..."
	s = plain.Line(clean(s))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(mark)], "") + mark
}

// mentions reports whether a name stands in a text with no byte that could be a part of it on either side.
func mentions(text, name string, part func(byte) bool) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		i += from
		end := i + len(name)
		if (i == 0 || !part(text[i-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		from = i + 1
	}
	return false
}

// mentionsFile is mentions for a path, which a tool may begin with "./" and end a sentence with.
func mentionsFile(text, path string) bool {
	text = strings.ReplaceAll(text+" ", ". ", " ")
	return mentions(text, path, pathByte) || mentions(text, "./"+path, pathByte)
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

func pathByte(b byte) bool {
	return wordByte(b) || b >= 0x80 || strings.IndexByte(`/\.-+@~`, b) >= 0
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
