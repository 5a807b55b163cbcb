package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name, in string
		most     int
		want     string
	}{
		{"lines become one", "  a\r\n\tb\rc  ", 100, "a b c"},
		{"colours go", "\x1b[31;1mred\x1b[0m \x1b]0;title\x07end", 100, "red end"},
		{"control characters go", "a\x00b\x07c\x7f", 100, "abc"},
		{"reordering goes", "a\u202Eb\u2066c", 100, "abc"},
		{"broken bytes are marked", "a\xff\xfeb", 100, "a\uFFFDb"},
		{"cut at a word", "alpha beta gamma delta", 16, "alpha beta …"},
		{"cut in a long word", "abcdefghijklmnop", 10, "abcdef …"},
		{"cut between Chinese characters", "迁移文件必须放在目录下", 17, "迁移文件 …"},
		{"an exact fit stays", "abcdef", 6, "abcdef"},
		{"no room at all", "abcdef", 3, ""},
		{"case L2: an emoji family is not parted", "abcdef👩‍👩‍👧", 16, "abcdef …"},
		{"a skin tone stays with its hand", "abcdefgh👍🏽x", 16, "abcdefgh …"},
	} {
		if got := Line(c.in, c.most); got != c.want {
			t.Errorf("%s: Line(%q, %d) = %q, want %q", c.name, c.in, c.most, got, c.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\xffb 👩‍👩‍👧 迁移\x1b[31m", 12)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most &= 1023
		got := Line(s, most)
		if len(got) > most || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b") {
			t.Errorf("Line(%q, %d) = %q", s, most, got)
		}
	})
}
