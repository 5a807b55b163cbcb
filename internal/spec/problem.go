package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong, or worth a warning, at one place of a specification.
type Problem struct {
	File    string
	Line    int // 1-based; 0 where the problem concerns the whole file
	Col     int // 1-based, in characters; 0 where it is not known
	Message string
	Hint    string // the next step, or ""
}

func (p Problem) String() string {
	switch {
	case p.Line == 0:
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	case p.Col == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Message)
}

// InvalidError holds every problem that made a specification unusable, in the order of the file. There is at least
// one.
type InvalidError struct {
	Problems []Problem
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Invalid is the error for a list of problems, sorted by place; nil for an empty list.
func Invalid(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return &InvalidError{Problems: problems}
}
