package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/exit"
)

func TestNothingGivesTheDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "null\n"} {
		c, err := Read("ralph.yaml", []byte(text))
		if err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	data, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read("ralph.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	// Each key is set to something else than its default: a field that equals it was not read.
	var walk func(at string, got, usual reflect.Value)
	walk = func(at string, got, usual reflect.Value) {
		for i := range got.NumField() {
			name := at + got.Type().Field(i).Tag.Get("yaml")
			if got.Field(i).Kind() == reflect.Struct && got.Field(i).Type() != reflect.TypeFor[Coverage]() {
				walk(name+".", got.Field(i), usual.Field(i))
				continue
			}
			if reflect.DeepEqual(got.Field(i).Interface(), usual.Field(i).Interface()) {
				t.Errorf("%s was not read from testdata/whole.yaml", name)
			}
		}
	}
	walk("", reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem())
	if c.Agent.Timeout != Duration(90*time.Second) || c.Learn.AgentsMDKeep != 3 || !c.Gate.Coverage.NoDecrease || c.Gate.Coverage.String() != "no-decrease" {
		t.Errorf("read %+v", c)
	}
	if want := (Exports{{"NewApp", "the application, served"}, {"WithDB", "a database of its own"}}); !reflect.DeepEqual(c.TestInfra.Exports, want) {
		t.Errorf("the exports are %+v", c.TestInfra.Exports)
	}
	want := []Command{{[]string{"sh", "-c", "make test"}, "make test"}, {[]string{"go", "test", "./..."}, "go test ./..."}}
	if !reflect.DeepEqual(c.Gate.Test, want) {
		t.Errorf("the commands are %+v", c.Gate.Test)
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]struct{ message, hint string }{
		"gate: {coverge: 70}":                          {`ralph.yaml:1:8: unknown key "gate.coverge"`, "did you mean gate.coverage?"},
		"zebra: 1":                                     {`ralph.yaml:1:1: unknown key "zebra"`, ""},
		"a: 1\nb: 2":                                   {"ralph.yaml:2:1: unknown key \"b\"", ""},
		"gate:\n  coverage: 70\n  coverage: 60":        {"ralph.yaml:3:3: gate.coverage stands twice, first in line 2", ""},
		"gate: {coverage: 101}":                        {"write a whole number from 0 to 100", ""},
		"gate: {coverage: 79.5}":                       {"write a whole number from 0 to 100", ""},
		"gate: {test_ratio: -1}":                       {"gate.test_ratio is -1; it must lie between 0 and 100", ""},
		"gate: {test_ratio: many}":                     {`"many" does not fit: a whole number is wanted`, ""},
		"gate: {test_ratio: }":                         {"gate.test_ratio has no value", ""},
		"gate: {test: make test}":                      {`does not fit: a list of commands, as in ["make test"], is wanted`, ""},
		"gate: {link: data}":                           {"does not fit: a list is wanted", ""},
		"gate: {test: [\"\"]}":                         {"an empty command checks nothing", ""},
		"gate: {test: [[]]}":                           {"begins with the program", ""},
		"gate: {test: [{a: b}]}":                       {"a command is a text, or a list of texts", ""},
		"gate: {mock_boundary: on}":                    {`"on" is none of off, warn, enforce`, ""},
		"gate: 5":                                      {"gate must hold keys and values", ""},
		"- a":                                          {"the file must hold keys and values", ""},
		"agent: {timeout: 300}":                        {`"300" is no time span; write it as 300s, 15m or 1h`, ""},
		"agent: {timeout: -5s}":                        {`"-5s" is no time span`, ""},
		"agent: {attempts: 0}":                         {"agent.attempts is 0", ""},
		"agent: {require_report: perhaps}":             {"true or false is wanted", ""},
		"learn: {agents_md_keep: 6}":                   {"write it as 6mo", ""},
		"max_iterations: 0":                            {"max_iterations is 0", ""},
		"prompt: {lang: fr}":                           {`prompt.lang is "fr"; known are auto, en, zh`, ""},
		"test_infra: {file: ../a.ts}":                  {`test_infra.file is "../a.ts"; it must be a path of a file`, ""},
		"test_infra: {file: a/}":                       {`test_infra.file is "a/"`, ""},
		"test_infra: {exports: {a: b}}":                {"test_infra.file names none", ""},
		"test_infra: {file: a, exports: [b]}":          {"1:32: test_infra.exports: exports are written as {name: what it is for}", ""},
		"test_infra: {file: a, exports: {b: }}":        {"say what b is for", ""},
		"test_infra: {file: a, exports: {b.c: d}}":     {`"b.c" is no name`, ""},
		"test_infra: {file: a, exports: {b: c, b: d}}": {`"b" stands twice`, ""},
		"test_infra: {fallback: perhaps}":              {`test_infra.fallback is "perhaps"; known are template, none`, ""},
		"commit: {subject: done}":                      {"commit.subject must hold {id}", ""},
		"gate: [":                                      {"ralph.yaml: line 1: did not find expected node content", "docs/configuration.md"},
		"spec: a\n---\nspec: b":                        {"holds more than one document", ""},
		"gate: {coverage: 70}\ncost: {thresh: 1":       {"ralph.yaml: line", ""},
	} {
		_, err := Read("ralph.yaml", []byte(text))
		if exit.Code(err) != exit.Error || !strings.Contains(err.Error(), want.message) || !strings.Contains(exit.HintOf(err), want.hint) {
			t.Errorf("%q: %v, hint %q; want %q, hint %q", text, err, exit.HintOf(err), want.message, want.hint)
		}
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("gate: &g {coverage: 1}\nhook: *g"))
	f.Add([]byte("gate: {coverage: &a [*a]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read("ralph.yaml", data)
		if (c == nil) == (err == nil) {
			t.Errorf("%+v and %v", c, err)
		}
	})
}

// The documentation's first example is the defaults, with every key; the others can be read.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```\n").FindAllStringSubmatch(string(page), -1)
	if len(examples) < 3 {
		t.Fatalf("%d examples were found", len(examples))
	}
	for _, e := range examples {
		if _, err := Read("ralph.yaml", []byte(e[1])); err != nil {
			t.Errorf("%v in\n%s", err, e[1])
		}
	}
	all := examples[0][1]
	c, err := Read("ralph.yaml", []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := yaml.Unmarshal([]byte(all), &keys); err != nil {
		t.Fatal(err)
	}
	var walk func(at string, keys map[string]any, got, usual reflect.Value)
	walk = func(at string, keys map[string]any, got, usual reflect.Value) {
		for i := range got.NumField() {
			key, field, byDefault := got.Type().Field(i).Tag.Get("yaml"), got.Field(i), usual.Field(i)
			below, isMapping := keys[key].(map[string]any)
			_, written := keys[key]
			switch {
			case !written:
				t.Errorf("%s%s is not in docs/configuration.md", at, key)
			case isMapping && field.Kind() == reflect.Struct:
				walk(at+key+".", below, field, byDefault)
			case field.Kind() == reflect.Slice && field.Len() == 0 && byDefault.Len() == 0:
			case !reflect.DeepEqual(field.Interface(), byDefault.Interface()):
				t.Errorf("%s%s is %v in docs/configuration.md and by default %v", at, key, field, byDefault)
			}
		}
	}
	walk("", keys, reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem())
}
