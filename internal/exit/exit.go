// Package exit holds the exit codes of every program of the toolkit and the one rule that maps an error to a code.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes of the four programs.
const (
	OK      = 0   // yes, or done
	No      = 1   // no: the gate failed, nothing is ready, the event is illegal
	Usage   = 2   // the command line is wrong
	Error   = 3   // could not decide: bad input, git or a tool failed
	Timeout = 124 // a command ran out of its time
	Signal  = 128 // plus the number of the signal that ended the work
)

// The exit codes of ralph-loop that say why a run stopped short of its end; a verb of ralph-checkpoint that wants the
// loop to end so uses them too.
const (
	Blocked   = 11 // a decision is needed
	Budget    = 12 // the run used more than it may
	RateLimit = 13 // the agent is over a limit of its service
)

// Coded is an error that knows its exit code and, where there is one, the user's next step.
type Coded struct {
	Code int
	Hint string
	Err  error
}

func (e *Coded) Error() string { return e.Err.Error() }
func (e *Coded) Unwrap() error { return e.Err }

// Refuse is the answer no (code 1): the question was understood and the answer is negative.
func Refuse(hint, format string, args ...any) error {
	return &Coded{Code: No, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Misuse is a wrong command line (code 2).
func Misuse(hint, format string, args ...any) error {
	return &Coded{Code: Usage, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Fail means that no answer could be found (code 3).
func Fail(hint, format string, args ...any) error {
	return &Coded{Code: Error, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Silent ends a program with code when everything has been said on stdout already.
func Silent(code int) error { return &Coded{Code: code, Err: errSilent} }

var errSilent = errors.New("")

// IsSilent reports whether err carries a code only.
func IsSilent(err error) bool { return errors.Is(err, errSilent) }

// Code is the exit code of err: 0 for nil, the code that a Coded error carries, else 3.
func Code(err error) int {
	if err == nil {
		return OK
	}
	var coded *Coded
	if errors.As(err, &coded) {
		return coded.Code
	}
	return Error
}

// HintOf is the next step that err carries, or "".
func HintOf(err error) string {
	var coded *Coded
	if errors.As(err, &coded) {
		return coded.Hint
	}
	return ""
}
