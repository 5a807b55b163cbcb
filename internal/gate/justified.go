package gate

import (
	"strings"
	"unicode/utf8"

	"ralph-loop/internal/source"
)

// minJustification is how long a justification must be, in characters.
const minJustification = 10

const (
	mockJustified       = "@mock-justified:"
	testChangeJustified = "@test-change-justified:"
)

// changeReasons are the reasons that a source file gives for changing tests. Where comments cannot be told from the rest
// they may stand in any line.
func changeReasons(name string, src []byte) []string {
	f := source.Scan(name, src)
	if f.Language == source.Unknown {
		f.Comments = []source.Token{{Kind: source.Comment, Text: string(src)}}
	}
	return justifications(f, testChangeJustified)
}

// justifications are the reasons that comments give behind marker, to the end of their line. Too short ones are no
// reasons. A string that holds the marker is not a comment.
func justifications(f *source.File, marker string) []string {
	var reasons []string
	for _, c := range f.Comments {
		for line := range strings.Lines(c.Text) {
			_, reason, ok := strings.Cut(line, marker)
			reason = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reason), "*/"))
			if ok && utf8.RuneCountInString(reason) >= minJustification {
				reasons = append(reasons, reason)
			}
		}
	}
	return reasons
}
