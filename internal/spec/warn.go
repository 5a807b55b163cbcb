package spec

import (
	"fmt"
	"unicode/utf8"
)

// warnings are what a plan can be run with and is probably not meant like that.
func (r *reader) warnings() []Problem {
	var list []Problem
	warn := func(req *Requirement, hint, format string, args ...any) {
		list = append(list, Problem{File: r.name, Line: req.Line, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	var withCriteria []*Requirement
	for _, req := range r.spec.Requirements {
		if len(req.Criteria) > 0 {
			withCriteria = append(withCriteria, req)
		}
	}
	if len(withCriteria) == 1 && len(r.spec.Requirements) > 1 {
		warn(withCriteria[0], "give each requirement its own", "all acceptance criteria are in requirement %q", withCriteria[0].ID)
	}
	for _, req := range r.spec.Requirements {
		if len(req.Criteria) == 0 {
			warn(req, "say how one can tell that it is done", "requirement %q has no acceptance criteria", req.ID)
		}
		if req.Title == "" {
			warn(req, "add a title or a description", "requirement %q has neither title nor description", req.ID)
		}
	}
	return list
}

// Large warns of each requirement whose source is larger than half of maxTokens, the most that a prompt may have:
// little room is left for what an attempt must know beside it.
func (s *Spec) Large(maxTokens int) []Problem {
	var list []Problem
	for _, req := range s.Requirements {
		if tokens := Tokens(req.Source); tokens > maxTokens/2 {
			list = append(list, Problem{
				File: s.Name, Line: req.Line, Hint: "split it",
				Message: fmt.Sprintf("requirement %q is about %d tokens long, more than half of the prompt's %d", req.ID, tokens, maxTokens),
			})
		}
	}
	return list
}

// Tokens estimates how many tokens a language model counts in a text: one for four bytes of ASCII, one for any other
// character. Models differ; it is for limits, not for bills.
func Tokens(text string) int {
	ascii, other := 0, 0
	for i := 0; i < len(text); i++ {
		if text[i] < utf8.RuneSelf {
			ascii++
		} else if utf8.RuneStart(text[i]) {
			other++
		}
	}
	return (ascii+3)/4 + other
}
