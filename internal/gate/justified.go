package gate

import (
	"go/ast"
	"strings"
	"unicode/utf8"
)

// minJustification is how long a justification must be, in characters.
const minJustification = 10

const (
	mockJustified       = "@mock-justified:"
	testChangeJustified = "@test-change-justified:"
)

// justifications are the reasons that comments give behind marker, to the end of their line. Too short ones are no
// reasons. A string that holds the marker is not a comment.
func justifications(f *ast.File, marker string) []string {
	var reasons []string
	for _, group := range f.Comments {
		for _, c := range group.List {
			for line := range strings.Lines(c.Text) {
				_, reason, ok := strings.Cut(line, marker)
				reason = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(reason), "*/"))
				if ok && utf8.RuneCountInString(reason) >= minJustification {
					reasons = append(reasons, reason)
				}
			}
		}
	}
	return reasons
}
