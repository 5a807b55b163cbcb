package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/lazyregexp"
)

// Duration is a time span written as in 300s, 15m, 1h30m; a bare 0 is none.
type Duration time.Duration

// UnmarshalYAML reads the span.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	span, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || span < 0 {
		return fmt.Errorf("%q is no time span; write it as 300s, 15m or 1h", n.Value)
	}
	*d = Duration(span)
	return nil
}

// Months is a number of months, written 6mo.
type Months int

// UnmarshalYAML reads the number.
func (m *Months) UnmarshalYAML(n *yaml.Node) error {
	text, ok := strings.CutSuffix(n.Value, "mo")
	count, err := strconv.Atoi(text)
	if n.Kind != yaml.ScalarNode || !ok || err != nil || count < 0 {
		return fmt.Errorf("%q is no number of months; write it as 6mo", n.Value)
	}
	*m = Months(count)
	return nil
}

// Coverage is what L3 demands: a share in per cent, or that it does not fall.
type Coverage struct {
	Percent    int
	NoDecrease bool
}

// UnmarshalYAML reads a whole number of per cent or the word no-decrease.
func (c *Coverage) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == "no-decrease" {
		*c = Coverage{NoDecrease: true}
		return nil
	}
	percent, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || percent < 0 || percent > 100 {
		return fmt.Errorf("%q is no coverage; write a whole number from 0 to 100, or no-decrease", n.Value)
	}
	*c = Coverage{Percent: percent}
	return nil
}

// String is the form in which it is written.
func (c Coverage) String() string {
	if c.NoDecrease {
		return "no-decrease"
	}
	return strconv.Itoa(c.Percent)
}

// Level is what a check's findings do.
type Level string

// The levels.
const (
	Off     Level = "off"     // the check is not made
	Warn    Level = "warn"    // they are told, and hold nothing back
	Enforce Level = "enforce" // they fail the layer
)

// UnmarshalYAML reads one of the words.
func (l *Level) UnmarshalYAML(n *yaml.Node) error {
	switch value := Level(n.Value); value {
	case Off, Warn, Enforce:
		*l = value
		return nil
	}
	return fmt.Errorf("%q is none of off, warn, enforce", n.Value)
}

// Export is a name that the test infrastructure exports, with what it is for.
type Export struct{ Name, Meaning string }

// Exports are written as a mapping, name to meaning, and keep its order.
type Exports []Export

// UnmarshalYAML reads the mapping.
func (e *Exports) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("exports are written as {name: what it is for}")
	}
	list, seen := Exports{}, map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, meaning := n.Content[i].Value, n.Content[i+1]
		switch {
		case !identifier.MatchString(name):
			return fmt.Errorf("%q is no name that a file could export", name)
		case seen[name]:
			return fmt.Errorf("%q stands twice", name)
		case meaning.Kind != yaml.ScalarNode || meaning.Tag == "!!null" || strings.TrimSpace(meaning.Value) == "":
			return fmt.Errorf("say what %s is for, in a text: every prompt holds it", name)
		}
		seen[name] = true
		list = append(list, Export{name, strings.Join(strings.Fields(meaning.Value), " ")})
	}
	*e = list
	return nil
}

var identifier = lazyregexp.New(`^[\p{L}_$][\p{L}\p{N}_$]*$`)

// Command is one command of the project's: a program with its arguments as a list, or a line for sh.
type Command struct {
	Args []string
	Line string // as it was written, for messages
}

// UnmarshalYAML reads a list of words, or a text that sh -c runs.
func (c *Command) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		if strings.TrimSpace(n.Value) == "" || n.Tag == "!!null" {
			return errors.New("an empty command checks nothing; leave it out")
		}
		*c = Command{Args: []string{"sh", "-c", n.Value}, Line: n.Value}
		return nil
	case yaml.SequenceNode:
		var args []string
		if err := n.Decode(&args); err != nil || len(args) == 0 || args[0] == "" {
			return errors.New("a command is a text, or a list of texts that begins with the program")
		}
		*c = Command{Args: args, Line: strings.Join(args, " ")}
		return nil
	}
	return errors.New("a command is a text, or a list of texts")
}
