// Package notify tells the user's own commands what happened: the lists below "on" in ralph.yaml. Each command gets one
// JSON object on its standard input and a limited time. What it says and how it ends changes nothing in the run; only a
// review's findings are heard.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/run"
)

// What can have happened.
const (
	Learned    = "learned"
	ReqDone    = "req_done"
	Regression = "regression"
	Blocked    = "blocked"
	Finished   = "finished"
	Review     = "review"
)

// Version is that of the object's form. Keys may be added, never renamed.
const Version = 1

// Variable is the environment variable that names the kind of event to its command.
const Variable = "RALPH_EVENT"

// Limit is how long one command may take; a review may take as long as an attempt.
const Limit = time.Minute

// maxFindings is how much of what a review prints is taken, in bytes.
const maxFindings = 4 << 10

// Event is what happened. Every kind has the first four fields, Run and Req where they are known; the others belong to the
// kinds that are named.
type Event struct {
	Version int       `json:"version" yaml:"version"`
	Kind    string    `json:"event" yaml:"event"`
	Text    string    `json:"text" yaml:"text"` // one sentence for a person
	At      time.Time `json:"at" yaml:"at"`
	Run     string    `json:"run,omitempty" yaml:"run,omitempty"`
	Req     string    `json:"req,omitempty" yaml:"req,omitempty"`

	Title   string `json:"title,omitempty" yaml:"title,omitempty"`     // of the requirement: req_done, regression, blocked, review
	Attempt int    `json:"attempt,omitempty" yaml:"attempt,omitempty"` // req_done, regression, blocked, review

	ID             string `json:"id,omitempty" yaml:"id,omitempty"`                         // learned
	Classification string `json:"classification,omitempty" yaml:"classification,omitempty"` // learned: permanent or contextual
	Pattern        string `json:"pattern,omitempty" yaml:"pattern,omitempty"`               // learned: the sentence
	Evidence       string `json:"evidence,omitempty" yaml:"evidence,omitempty"`             // learned: the newest

	Commit string `json:"commit,omitempty" yaml:"commit,omitempty"` // req_done
	Gate   string `json:"gate,omitempty" yaml:"gate,omitempty"`     // req_done: the verdict's figures
	Tokens int    `json:"tokens,omitempty" yaml:"tokens,omitempty"` // req_done: of its attempts; finished: of the run

	Tests   []string `json:"tests,omitempty" yaml:"tests,omitempty"`     // regression: path:line: message, the first 20
	Reason  string   `json:"reason,omitempty" yaml:"reason,omitempty"`   // blocked
	Waiting []string `json:"waiting,omitempty" yaml:"waiting,omitempty"` // blocked: the requirements behind it

	Status string  `json:"status,omitempty" yaml:"status,omitempty"` // finished: completed, partial, blocked or rolled_back
	Counts *Counts `json:"requirements,omitempty" yaml:"requirements,omitempty"`

	Base string `json:"base,omitempty" yaml:"base,omitempty"` // review: the commit that the work is measured against
	Tree string `json:"tree,omitempty" yaml:"tree,omitempty"` // review: the tree that would be committed
}

// Counts are how many requirements stand where, as a run is finished.
type Counts struct {
	Total   int `json:"total" yaml:"total"`
	Done    int `json:"done" yaml:"done"`
	Pending int `json:"pending" yaml:"pending"`
	Blocked int `json:"blocked" yaml:"blocked"`
	Skipped int `json:"skipped" yaml:"skipped"`
}

// Commands are those that a kind of event is told to.
func Commands(on config.On, kind string) []config.Command {
	switch kind {
	case Learned:
		return on.Learned
	case ReqDone:
		return on.ReqDone
	case Regression:
		return on.Regression
	case Blocked:
		return on.Blocked
	case Finished:
		return on.Finished
	case Review:
		return on.Review
	}
	return nil
}

// Place is where commands run.
type Place struct {
	Dir     string   // the worktree's top
	Environ []string // the process's own; what git hooks leak is taken out of it
}

// Tell runs each command of an event, one after the other. problems has a line for each that failed. The error is nil
// unless the context ended: then the event counts as not told.
func (p Place) Tell(ctx context.Context, commands []config.Command, e Event) (problems []string, err error) {
	for _, c := range commands {
		_, problem, err := p.call(ctx, c, e, Limit)
		if err != nil {
			return problems, err
		}
		if problem != "" {
			problems = append(problems, fmt.Sprintf("on.%s: %s", e.Kind, problem))
		}
	}
	return problems, nil
}

// Ask runs the commands of a review and gives what they print: findings, "" for none. A command that ends with another
// code than 0 or 1, or not at all, has not reviewed: that is a problem, and what it printed is not taken.
func (p Place) Ask(ctx context.Context, commands []config.Command, e Event, limit time.Duration) (findings string, problems []string, err error) {
	var all []string
	for _, c := range commands {
		printed, problem, err := p.call(ctx, c, e, limit)
		if err != nil {
			return "", nil, err
		}
		if problem != "" {
			problems = append(problems, "on.review: "+problem)
		} else if text := strings.TrimSpace(excerpt.Text(printed)); text != "" {
			all = append(all, text)
		}
	}
	return excerpt.Cut(strings.Join(all, "\n"), maxFindings), problems, nil
}

// call runs one command. problem says how it failed, with its last words.
func (p Place) call(ctx context.Context, c config.Command, e Event, limit time.Duration) (printed, problem string, err error) {
	var object bytes.Buffer
	enc := json.NewEncoder(&object)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return "", "", fmt.Errorf("write the event: %w", err)
	}
	// Files and not pipes: a command need not read, and what it leaves behind holds nothing up.
	dir, err := os.MkdirTemp("", "ralph-on-")
	if err != nil {
		return "", "", fmt.Errorf("make room for the event: %w", err)
	}
	defer os.RemoveAll(dir)
	var files [3]*os.File
	for i, name := range []string{"stdin", "stdout", "stderr"} {
		if files[i], err = os.CreateTemp(dir, name); err != nil {
			return "", "", fmt.Errorf("make room for the event: %w", err)
		}
		defer files[i].Close()
	}
	if _, err := files[0].Write(object.Bytes()); err != nil {
		return "", "", fmt.Errorf("write the event: %w", err)
	}
	if _, err := files[0].Seek(0, io.SeekStart); err != nil {
		return "", "", fmt.Errorf("write the event: %w", err)
	}
	command := run.Command{Args: c.Args, Dir: p.Dir, Env: run.Environment(p.Environ, Variable+"="+e.Kind), Stdin: files[0], Stdout: files[1], Stderr: files[2],
		Timeout: limit, ID: fmt.Sprintf("on-%d-%d", os.Getpid(), e.At.UnixNano())}
	ended, err := command.Run(ctx)
	if err != nil {
		return "", fmt.Sprintf("%q could not be started: %v", c.Line, err), nil
	}
	if ended.Why == run.Canceled {
		return "", "", context.Cause(ctx)
	}
	if printed, err = beginning(files[1]); err != nil {
		return "", "", err
	}
	words, err := lastLine(files[2])
	if err != nil {
		return "", "", err
	}
	if how := failure(ended, limit, e.Kind == Review && strings.TrimSpace(printed) != ""); how != "" {
		return "", strings.TrimSuffix(fmt.Sprintf("%q %s: %s", c.Line, how, words), ": "), nil
	}
	return printed, "", nil
}

// failure says how a command failed, "" if it did not. A review that printed something may say the same by 1.
func failure(e run.Ended, limit time.Duration, found bool) string {
	switch {
	case e.Why == run.TimedOut:
		return fmt.Sprintf("was ended after %s", limit)
	case e.Why == run.Flooded:
		return "printed too much"
	case e.Why == run.NotFound, e.Code == 127, e.Code == 126:
		return fmt.Sprintf("was not found (exit code %d)", e.Code)
	case e.Code != 0 && !(found && e.Code == 1):
		return fmt.Sprintf("ended with exit code %d", e.Code)
	}
	return ""
}

// beginning is as much of what a command printed as can be of use.
func beginning(f *os.File) (string, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 4*maxFindings))
	if err != nil {
		return "", fmt.Errorf("read what a command printed: %w", err)
	}
	return string(data), nil
}

// lastLine is the last words of a command on stderr.
func lastLine(f *os.File) (string, error) {
	const most = 4 << 10
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read what a command said: %w", err)
	}
	data := make([]byte, min(info.Size(), most))
	if _, err := f.ReadAt(data, info.Size()-int64(len(data))); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read what a command said: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(excerpt.Text(string(data))), "\n")
	return excerpt.Line(lines[len(lines)-1], 200), nil
}
