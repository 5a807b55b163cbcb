package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// schema is the part of JSON Schema that ours uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a name or a list of names
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	AnyOf      []*schema          `json:"anyOf"`
	Enum       []any              `json:"enum"`
	MinItems   int                `json:"minItems"`
	MinLength  int                `json:"minLength"`
	Defs       map[string]*schema `json:"$defs"`

	Schema      string `json:"$schema"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

func loadSchema(t *testing.T) *schema {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "docs", "specification.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields() // a keyword that this test does not check proves nothing
	var s schema
	if err := dec.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// The page for users shows a specification that is sound and has the schema's shape, and names every key.
func TestSpecificationPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "specification.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, table, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the page shows no specification")
	}
	s, warnings, err := Read("specification.yaml", []byte(example))
	if err != nil || len(s.Requirements) != 3 {
		t.Fatalf("%v, %+v", err, s)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, "no acceptance criteria") {
		t.Errorf("%+v", warnings)
	}
	var v any
	if err := yaml.Unmarshal([]byte(example), &v); err != nil {
		t.Fatal(err)
	}
	root := loadSchema(t)
	if why := root.validate(root, v, "page"); why != "" {
		t.Error(why)
	}
	for _, key := range requirementKeys {
		if !strings.Contains(table, "| `"+key+"` |") {
			t.Errorf("the page does not say what %s means", key)
		}
	}
}

// validate says why v does not match, or "".
func (root *schema) validate(s *schema, v any, at string) string {
	if s.Ref != "" {
		s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if s.Type != nil && !isOfType(v, s.Type) {
		return fmt.Sprintf("%s: %v is not of type %v", at, v, s.Type)
	}
	if s.Enum != nil && !slices.Contains(s.Enum, v) {
		return fmt.Sprintf("%s: %v is not one of %v", at, v, s.Enum)
	}
	for _, key := range s.Required {
		if m, ok := v.(map[string]any); !ok || m[key] == nil {
			return fmt.Sprintf("%s: %s is missing", at, key)
		}
	}
	if len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, func(one *schema) bool { return root.validate(one, v, at) == "" }) {
		return at + ": none of the alternatives"
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if p := s.Properties[key]; p != nil {
				if why := root.validate(p, v[key], at+"."+key); why != "" {
					return why
				}
			}
		}
	case []any:
		if len(v) < s.MinItems {
			return at + ": too few"
		}
		for i, item := range v {
			if s.Items != nil {
				if why := root.validate(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); why != "" {
					return why
				}
			}
		}
	case string:
		if len(v) < s.MinLength {
			return at + ": too short"
		}
	}
	return ""
}

func isOfType(v, want any) bool {
	names, many := want.([]any)
	if !many {
		names = []any{want}
	}
	for _, name := range names {
		ok := false
		switch v.(type) {
		case map[string]any:
			ok = name == "object"
		case []any:
			ok = name == "array"
		case string:
			ok = name == "string"
		case int:
			ok = name == "integer" || name == "number"
		case float64:
			ok = name == "number"
		case bool:
			ok = name == "boolean"
		case nil:
			ok = name == "null"
		}
		if ok {
			return true
		}
	}
	return false
}

func check(t *testing.T, root *schema, data []byte) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return root.validate(root, v, "$")
}

func TestSchemaAcceptsTheExamples(t *testing.T) {
	root := loadSchema(t)
	files := []string{filepath.Join("testdata", "canonical.yaml")}
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "specification.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, examples...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if why := check(t, root, data); why != "" {
			t.Errorf("%s: %s", file, why)
		}
		if _, _, err := Read(file, data); err != nil {
			t.Error(err)
		}
	}
}

// What the schema refuses is refused by the reader too, or is a shape that the schema leaves to it.
func TestSchemaRefuses(t *testing.T) {
	root := loadSchema(t)
	for _, text := range []string{
		"{}", "requirements: []", "specification: {}", "requirements: [x]", "requirements: [{title: x}]",
		"requirements: [{id: A, status: wip}]", "requirements: [{id: A, priority: soon}]", "requirements: [{id: A, priority: 1.5}]",
		"requirements: [{id: A, title: [x]}]", "requirements: [{id: A, depends_on: {B: x}}]", "requirements: [{id: A, no_test_required: true}]",
		"requirements: [{id: A, acceptance_criteria: [{id: AC-1}]}]", "requirements: [{id: A, allow: [1]}]",
	} {
		if why := check(t, root, []byte(text)); why == "" {
			t.Errorf("the schema accepts %s", text)
		}
	}
}

// The schema names what the reader knows, and nothing else.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	root := loadSchema(t)
	properties := root.Defs["requirement"].Properties
	if got, want := slices.Sorted(maps.Keys(properties)), slices.Sorted(slices.Values(requirementKeys)); !slices.Equal(got, want) {
		t.Errorf("keys %q, the reader knows %q", got, want)
	}
	var inSchema []string
	for _, status := range properties["status"].Enum {
		inSchema = append(inSchema, status.(string))
	}
	slices.Sort(inSchema)
	if want := slices.Sorted(maps.Keys(statuses)); !slices.Equal(inSchema, want) {
		t.Errorf("statuses %q, the reader knows %q", inSchema, want)
	}
	words := 0
	for _, alternative := range properties["priority"].AnyOf {
		for _, word := range alternative.Enum {
			words++
			if s := read(t, fmt.Sprintf("requirements: [{id: A, priority: %s}]", word)); !s.Requirements[0].HasPriority {
				t.Errorf("the reader does not know the priority %s", word)
			}
		}
	}
	if words != len(priorities)+10 {
		t.Errorf("%d words for priorities, the reader knows %d", words, len(priorities)+10)
	}
}
