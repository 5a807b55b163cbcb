package checkpoint

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFirstLine: a reason is one line of a table, whatever a tool printed.
func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{"": "no reason given", "\n \n a \nb\n": "a"} {
		if got := firstLine([]byte(in)); got != want {
			t.Errorf("firstLine(%q) = %q, want %q", in, got, want)
		}
	}
	got := firstLine([]byte(strings.Repeat("é", 300) + "\nmore"))
	if strings.Contains(got, "\n") || len(got) > 200 || !utf8.ValidString(got) || !strings.HasSuffix(got, "é...") {
		t.Errorf("a long line became %q", got)
	}
}
