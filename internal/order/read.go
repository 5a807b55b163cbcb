package order

import (
	"errors"

	"ralph-loop/internal/spec"
)

// Read reads a specification and orders it. Its error, a *spec.InvalidError, holds the reader's problems and those
// of the dependencies together, so that one run shows everything.
func Read(name string, data []byte) (g *Graph, warnings []spec.Problem, err error) {
	s, warnings, err := spec.Read(name, data)
	var invalid *spec.InvalidError
	if err != nil && (s == nil || !errors.As(err, &invalid)) {
		return nil, nil, err
	}
	g, problems := build(s)
	if invalid != nil {
		problems = append(invalid.Problems, problems...)
	}
	if err := spec.Invalid(problems); err != nil {
		return nil, nil, err
	}
	return g, warnings, nil
}
