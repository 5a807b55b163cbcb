package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/nearest"
)

// Read decodes a ralph.yaml over the defaults. Every problem is reported, with its place; name is what the messages
// call the file. No data, or nothing but comments, gives the defaults.
func Read(name string, data []byte) (*Config, error) {
	c := Default()
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		return nil, exit.Fail("docs/configuration.md has every key and its default", "%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	r := reader{name: name}
	if dec.Decode(new(yaml.Node)) != io.EOF {
		r.problem(&yaml.Node{Line: 1, Column: 1}, "holds more than one document")
	}
	if len(doc.Content) > 0 && doc.Content[0].Tag != "!!null" {
		r.mapping(doc.Content[0], reflect.ValueOf(c).Elem(), "")
	}
	if len(r.problems) == 0 {
		r.limits(c)
	}
	if len(r.problems) > 0 {
		return nil, exit.Fail(r.hint, "%s", strings.Join(r.problems, "\n"))
	}
	return c, nil
}

type reader struct {
	name     string
	problems []string
	hint     string // of the first problem that has one
}

func (r *reader) problem(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("%s:%d:%d: %s", r.name, n.Line, n.Column, fmt.Sprintf(format, args...)))
}

// mapping decodes n into the struct v, key by key; at is where we are, as in "gate.".
func (r *reader) mapping(n *yaml.Node, v reflect.Value, at string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		what := "the file"
		if at != "" {
			what = strings.TrimSuffix(at, ".")
		}
		r.problem(n, "%s must hold keys and values", what)
		return
	}
	fields, names := map[string]reflect.Value{}, []string{}
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		fields[key], names = v.Field(i), append(names, key)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, known := fields[key.Value]
		switch first := seen[key.Value]; {
		case first > 0:
			r.problem(key, "%s%s stands twice, first in line %d", at, key.Value, first)
			continue
		case !known:
			r.problem(key, "unknown key %q", at+key.Value)
			if meant := nearest.Word(key.Value, names); meant != "" && r.hint == "" {
				r.hint = fmt.Sprintf("did you mean %s%s?", at, meant)
			}
			continue
		}
		seen[key.Value] = key.Line
		if field.Kind() == reflect.Struct && field.Type() != reflect.TypeFor[Coverage]() {
			r.mapping(value, field, at+key.Value+".")
			continue
		}
		// A null would silently leave the default in place, or a zero: neither is what was meant.
		if value.Tag == "!!null" {
			r.problem(value, "%s%s has no value", at, key.Value)
			continue
		}
		if err := value.Decode(field.Addr().Interface()); err != nil {
			text := err.Error()
			var typeError *yaml.TypeError
			if errors.As(err, &typeError) {
				text = fmt.Sprintf("%q does not fit: %s is wanted", value.Value, kind(field.Type()))
			}
			r.problem(value, "%s%s: %s", at, key.Value, text)
		}
	}
}

func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[Command]() {
			return `a list of commands, as in ["make test"],`
		}
		return "a list"
	}
	return "a text"
}

// limits refuses values that have the right type and make no sense.
func (r *reader) limits(c *Config) {
	for _, l := range []struct {
		key             string
		value, min, max int
	}{
		{"max_iterations", c.MaxIterations, 1, 1 << 20},
		{"agent.attempts", c.Agent.Attempts, 1, 100},
		{"agent.max_timeouts", c.Agent.MaxTimeouts, 1, 100},
		{"prompt.max_tokens", c.Prompt.MaxTokens, 500, 1 << 24},
		{"gate.test_ratio", c.Gate.TestRatio, 0, 100},
		{"gate.mock_density", c.Gate.MockDensity, 0, 100},
		{"gate.reruns", c.Gate.Reruns, 0, 10},
		{"learn.window", c.Learn.Window, 0, 1000},
		{"learn.promote_at", c.Learn.PromoteAt, 2, 1000},
		{"learn.agents_md_max_lines", c.Learn.AgentsMDMaxLines, 1, 1 << 20},
		{"learn.permanent_max_tokens", c.Learn.PermanentMaxTokens, 0, 1 << 20},
		{"cost.threshold", c.Cost.Threshold, 0, 1 << 40},
		{"cost.req_threshold", c.Cost.ReqThreshold, 0, 1 << 40},
	} {
		if l.value < l.min || l.value > l.max {
			r.problems = append(r.problems, fmt.Sprintf("%s: %s is %d; it must lie between %d and %d", r.name, l.key, l.value, l.min, l.max))
		}
	}
	for key, words := range map[string][]string{
		"gate.where " + c.Gate.Where:                  {"copy", "worktree"},
		"prompt.lang " + c.Prompt.Lang:                {"auto", "en", "zh"},
		"agent.rate_limit " + c.Agent.RateLimit:       {"wait", "stop"},
		"prompt.agents_md " + c.Prompt.AgentsMD:       {"auto", "always", "never"},
		"test_infra.fallback " + c.TestInfra.Fallback: {"template", "none"},
	} {
		name, value, _ := strings.Cut(key, " ")
		if !strings.Contains(" "+strings.Join(words, " ")+" ", " "+value+" ") {
			r.problems = append(r.problems, fmt.Sprintf("%s: %s is %q; known are %s", r.name, name, value, strings.Join(words, ", ")))
		}
	}
	infra := c.TestInfra
	if file := infra.File; file != "" && (!filepath.IsLocal(filepath.FromSlash(file)) || path.Clean(file) != file || file == ".") {
		r.problems = append(r.problems, fmt.Sprintf("%s: test_infra.file is %q; it must be a path of a file from the worktree's top, with slashes", r.name, file))
	}
	if len(infra.Exports) > 0 && (infra.File == "" || infra.File == NoTestInfra) {
		r.problems = append(r.problems, fmt.Sprintf("%s: test_infra.exports says what a file exports, and test_infra.file names none", r.name))
	}
	if !strings.Contains(c.Commit.Subject, "{id}") {
		r.problems = append(r.problems, fmt.Sprintf("%s: commit.subject must hold {id}", r.name))
	}
}
