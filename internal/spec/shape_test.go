package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// read reads a specification that must be sound.
func read(t testing.TB, text string) *Spec {
	t.Helper()
	s, _, err := Read("spec.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// summary is what was read, in one line a requirement.
func summary(s *Spec) string {
	var b strings.Builder
	for _, r := range s.Requirements {
		priority := "-"
		if r.HasPriority {
			priority = fmt.Sprint(r.Priority)
		}
		fmt.Fprintf(&b, "%s|%s|%s|%s|%s", r.ID, r.Title, strings.Join(r.DependsOn, ","), priority, r.Status)
		for _, c := range r.Criteria {
			fmt.Fprintf(&b, "|%s=%q", c.ID, c.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shapes are the forms that real files have, and what is read in them.
var shapes = []struct{ name, text, want string }{
	{"the canonical shape", `
specification:
  requirements:
    - id: REQ-001
      title: One
      description: text
      depends_on: []
      acceptance_criteria:
        - id: AC-001-01
          criteria: it works
      priority: 2
      status: pending
`, `REQ-001|One||2|pending|AC-001-01="it works"`},
	{"without the wrapper", "requirements:\n- id: A\n", "A|||-|pending"},
	{"a mapping keyed by id (case O4)", "requirements:\n  A:\n    title: x\n  B:\n    id: B\n    depends_on: A\n", "A|x||-|pending\nB||A|-|pending"},
	{"flow style, as in JSON", `{"requirements": [{"id": "A", "title": "x"}, {"id": "B", "depends_on": ["A"]}]}`, "A|x||-|pending\nB||A|-|pending"},
	{"the title from the description", "requirements:\n- id: A\n  description: |\n\n    First line.\n    Second.\n", "A|First line.||-|pending"},
	{"dependencies: one id, null, nothing, repeats", "requirements:\n- id: A\n  depends_on: null\n- id: B\n  depends_on: A\n- id: C\n  depends_on:\n- id: D\n  depends_on: [A, B, A]\n",
		"A|||-|pending\nB||A|-|pending\nC|||-|pending\nD||A,B|-|pending"},
	{"ids of any form, as written (case O2)", "requirements:\n- id: 1.10\n- id: 1.1\n- id: 010\n- id: 10\n- id: null\n- id: yes\n- id: 0x1F\n- id: 1e3\n- id: US-001\n  depends_on: [1.10, 010, null, yes, 0x1F, 1e3]\n- id: 订单-1\n- id: \"a b: c\"\n",
		"1.10|||-|pending\n1.1|||-|pending\n010|||-|pending\n10|||-|pending\nnull|||-|pending\nyes|||-|pending\n0x1F|||-|pending\n1e3|||-|pending\nUS-001||1.10,010,null,yes,0x1F,1e3|-|pending\n订单-1|||-|pending\na b: c|||-|pending"},
	{"criteria: id and description, pairs, bare texts", "requirements:\n- id: A\n  acceptance_criteria:\n  - id: AC-1\n    description: d\n  - AC-2: \"text: here\"\n  - bare\n",
		`A|||-|pending|AC-1="d"|AC-2="text: here"|="bare"`},
	{"criteria: a mapping", "requirements:\n- id: A\n  acceptance_criteria:\n    AC-1: one\n    AC-2: {given: g, when: w, then: t}\n", `A|||-|pending|AC-1="one"|AC-2="Given g\nWhen w\nThen t"`},
	{"criteria: one text, one mapping", "requirements:\n- id: A\n  acceptance_criteria: works\n- id: B\n  acceptance_criteria:\n    id: AC-1\n    criteria: works\n", "A|||-|pending|=\"works\"\nB|||-|pending|AC-1=\"works\""},
	{"criteria: given, when, then over several lines (case O5)", "requirements:\n- id: A\n  acceptance_criteria:\n  - id: AC-1\n    given: |\n      Given a user\n      with a cart\n    when: she pays\n    then:\n    - the order exists\n    - a mail is sent\n    edge_cases: [empty cart]\n  test_coverage_requirements: {unit: 90}\n",
		`A|||-|pending|AC-1="Given a user\nwith a cart\nWhen she pays\nThen the order exists; a mail is sent"`},
	{"criteria: a separate list", "requirements:\n- id: A\n- id: B\nacceptance_criteria:\n- id: AC-1\n  requirement: B\n  criteria: one\n- AC-2: two\n  requirement: A\n",
		"A|||-|pending|AC-2=\"two\"\nB|||-|pending|AC-1=\"one\""},
	{"criteria: a separate list beside the wrapper", "specification:\n  requirements:\n  - id: A\nacceptance_criteria:\n- {id: AC-1, requirement: A, criteria: one}\n", `A|||-|pending|AC-1="one"`},
	{"priorities", "requirements:\n" + items("priority", "1", "-2", "P0", "p9", "MUST", "should", "Could", "MAY", "wont", "critical", "HIGH", "medium", "low", "null", `"7"`),
		"0|||1|pending\n1|||-2|pending\n2|||0|pending\n3|||9|pending\n4|||0|pending\n5|||1|pending\n6|||2|pending\n7|||3|pending\n8|||4|pending\n9|||0|pending\n10|||1|pending\n11|||2|pending\n12|||3|pending\n13|||-|pending\n14|||7|pending"},
	{"statuses", "requirements:\n" + items("status", "pending", "todo", "OPEN", "null", "in_progress", "In Progress", "in-progress", "blocked", "done", "complete", "Completed", "passed", "skipped"),
		"0|||-|pending\n1|||-|pending\n2|||-|pending\n3|||-|pending\n4|||-|in_progress\n5|||-|in_progress\n6|||-|in_progress\n7|||-|blocked\n8|||-|done\n9|||-|done\n10|||-|done\n11|||-|done\n12|||-|skipped"},
	{"byte order mark and CRLF (case O3)", "\ufeffrequirements:\r\n- id: A\r\n  title: x\r\n- id: B\r\n  depends_on: [A]\r\n", "A|x||-|pending\nB||A|-|pending"},
	{"anchors, aliases and merges", "base: &base\n  title: shared\n  priority: 1\nids: &ids [A]\nrequirements:\n- <<: *base\n  id: A\n- id: B\n  <<: [*base]\n  title: own\n  depends_on: *ids\n", "A|shared||1|pending\nB|own|A|1|pending"},
	{"extra keys", "project: x\nversion: 1\nrequirements:\n- id: A\n  context: {a: [1]}\n  edge_cases: []\n  test_type: unit\n  states: [on]\n", "A|||-|pending"},
	{"explicit keys and tags", "requirements:\n- ? id\n  : !!str A\n  title: !custom x\n", "A|x||-|pending"},
}

func TestShapes(t *testing.T) {
	for _, c := range shapes {
		t.Run(c.name, func(t *testing.T) {
			if got := summary(read(t, c.text)); got != c.want+"\n" {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// items is a list of requirements 0, 1, ... that each have the key with one of the values.
func items(key string, values ...string) string {
	var b strings.Builder
	for i, v := range values {
		fmt.Fprintf(&b, "- id: %d\n  %s: %s\n", i, key, v)
	}
	return b.String()
}

func TestOwnWords(t *testing.T) {
	s := read(t, "requirements:\n- id: A\n  allow: [package.json, \"*.lock\"]\n  no_test_required: configuration only\n  description: \"line\\nline\"\n- id: B\n  allow: x\n")
	a, b := s.Lookup("A"), s.Lookup("B")
	if !slices.Equal(a.Allow, []string{"package.json", "*.lock"}) || !slices.Equal(b.Allow, []string{"x"}) {
		t.Errorf("allow %q and %q", a.Allow, b.Allow)
	}
	if a.NoTestRequired != "configuration only" || b.NoTestRequired != "" {
		t.Errorf("no_test_required %q and %q", a.NoTestRequired, b.NoTestRequired)
	}
	if a.Description != "line\nline" || a.Line != 2 || b.Line != 6 {
		t.Errorf("description %q, lines %d and %d", a.Description, a.Line, b.Line)
	}
	if s.Lookup("C") != nil {
		t.Error("found what is not there")
	}
}

// sources are texts that try to hide where a requirement ends, and the source of each requirement in them.
var sources = []struct {
	name, text string
	want       []string
}{
	{"block list", "requirements:\n  # the first\n  - id: A # here\n    # inside\n    title: x\n\n    # still inside\n\n  # of B\n  # too\n  - id: B\n    depends_on:\n      - A\n\n# the end\n",
		[]string{"  # the first\n  - id: A # here\n    # inside\n    title: x\n\n    # still inside\n", "  # of B\n  # too\n  - id: B\n    depends_on:\n      - A\n"}},
	{"a list without indentation, keys behind it", "requirements:\n- id: A\n  title: x\n- id: B\nversion: 1\n", []string{"- id: A\n  title: x\n", "- id: B\n"}},
	{"no line end at the end of the file", "requirements:\n- id: A\n- id: B", []string{"- id: A\n", "- id: B"}},
	{"CRLF", "requirements:\r\n- id: A\r\n  title: x\r\n- id: B\r\n", []string{"- id: A\r\n  title: x\r\n", "- id: B\r\n"}},
	{"block scalars that hold what looks like comments and items", "requirements:\n- id: A\n  description: |\n    # heading\n    - id: C\n\n    text\n- id: B\n  description: >-\n    folded\n\n    # not a comment\n",
		[]string{"- id: A\n  description: |\n    # heading\n    - id: C\n\n    text\n", "- id: B\n  description: >-\n    folded\n\n    # not a comment\n"}},
	{"quoted text that leaves the indentation", "requirements:\n  - id: A\n    description: \"one\n  two\n# three\"\n  - id: B\n    title: 'it''s\n\n# so'\n",
		[]string{"  - id: A\n    description: \"one\n  two\n# three\"\n", "  - id: B\n    title: 'it''s\n\n# so'\n"}},
	{"flow values that leave the indentation", "requirements:\n  - id: A\n    x: [1,\n  2, # ]\n]\n  - id: B\n    y: {a: \"}\",\nb: 'c'\n}\n",
		[]string{"  - id: A\n    x: [1,\n  2, # ]\n]\n", "  - id: B\n    y: {a: \"}\",\nb: 'c'\n}\n"}},
	{"plain text over several lines", "requirements:\n- id: A\n  title: one\n    two\n   three\n- id: B\n", []string{"- id: A\n  title: one\n    two\n   three\n", "- id: B\n"}},
	{"a dash on a line of its own", "requirements:\n  -\n    # inside\n    id: A\n  - # about B\n    id: B\n  - &c\n    id: C\n",
		[]string{"  -\n    # inside\n    id: A\n", "  - # about B\n    id: B\n", "  - &c\n    id: C\n"}},
	{"flow items of a block list", "requirements:\n- {id: A, title: \"x: }\"}\n- {id: B,\n   title: y}\n", []string{"- {id: A, title: \"x: }\"}\n", "- {id: B,\n   title: y}\n"}},
	{"flow list", "requirements: [{id: A, x: [a, {b: c}]}, # of A\n  {id: B, title: \"]}\", y: it's,},\n  {id: C, z: [k: v]}]\n",
		[]string{"{id: A, x: [a, {b: c}]}", "{id: B, title: \"]}\", y: it's,}", "{id: C, z: [k: v]}"}},
	{"JSON on one line", `{"requirements":[{"id":"A","title":"é]"},{"id":"B","depends_on":["A"],"n":1.5},{"id":"C","e":{},"f":[]}]}`,
		[]string{`{"id":"A","title":"é]"}`, `{"id":"B","depends_on":["A"],"n":1.5}`, `{"id":"C","e":{},"f":[]}`}},
	{"mapping keyed by id", "requirements:\n  # one\n  A:\n    title: x\n  # two\n  B: {title: y}\n  C: &c\n    title: z\n", []string{"  # one\n  A:\n    title: x\n", "  # two\n  B: {title: y}\n", "  C: &c\n    title: z\n"}},
	{"flow mapping keyed by id", "requirements: {A: {title: x}, B: {title: 'y}'}}\n", []string{"A: {title: x}", "B: {title: 'y}'}"}},
	{"criteria of a separate list", "requirements:\n- id: A\n- id: B\nacceptance_criteria:\n- id: AC-1\n  requirement: B\n  criteria: |\n    one\n- {AC-2: two, requirement: A}\n",
		[]string{"- id: A\n# its acceptance criterion from line 9:\n- {AC-2: two, requirement: A}\n", "- id: B\n# its acceptance criterion from line 5:\n- id: AC-1\n  requirement: B\n  criteria: |\n    one\n"}},
	{"aliases bring what they stand for", "common: &c\n  - be fast\n  - |\n    be\n    small\nname: &n short\nother: 1\nrequirements:\n- id: A\n  rules: *c\n  title: *n\n- id: B\n  x: &x 1\n  y: *x\n",
		[]string{"- id: A\n  rules: *c\n  title: *n\n# *c stands for (line 1):\ncommon: &c\n  - be fast\n  - |\n    be\n    small\n# *n stands for (line 6):\nname: &n short\n", "- id: B\n  x: &x 1\n  y: *x\n"}},
	{"a document end", "---\nrequirements:\n- id: A\n...\n", []string{"- id: A\n"}},
	{"line breaks that only YAML knows", "requirements:\n- id: A\n  title: \"a\u2028  b\u0085c\"\n- id: B\n", []string{"- id: A\n  title: \"a\u2028  b\u0085c\"\n", "- id: B\n"}},
}

func TestSourceIsVerbatim(t *testing.T) {
	for _, c := range sources {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, c.text)
			var got []string
			for _, r := range s.Requirements {
				got = append(got, r.Source)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestHash(t *testing.T) {
	hash := func(text string) string { return read(t, text).Requirements[0].Hash() }
	base := hash("requirements:\n- id: A\n  title: x\n  extra: [1, two]\n  acceptance_criteria:\n  - AC: y\n")
	same := map[string]string{
		"layout and order":             "requirements: [{extra: [1, \"two\"], id: A, acceptance_criteria: [AC: y], title: 'x'}] # comment\n",
		"status, priority, depends_on": "requirements:\n- id: A\n  title: x\n  status: done\n  priority: 1\n  depends_on: [B]\n  extra: [1, two]\n  acceptance_criteria:\n  - AC: y\n- id: B\n",
		"keyed by id":                  "requirements:\n  A:\n    title: x\n    extra: [1, two]\n    acceptance_criteria:\n    - AC: y\n",
		"aliases and merges":           "m: &m {title: x}\ne: &e [1, two]\nrequirements:\n- <<: *m\n  id: A\n  extra: *e\n  acceptance_criteria:\n  - AC: y\n",
	}
	for name, text := range same {
		if got := hash(text); got != base {
			t.Errorf("%s changed the hash", name)
		}
	}
	other := map[string]string{
		"id":       "requirements:\n- id: B\n  title: x\n  extra: [1, two]\n  acceptance_criteria:\n  - AC: y\n",
		"title":    "requirements:\n- id: A\n  title: z\n  extra: [1, two]\n  acceptance_criteria:\n  - AC: y\n",
		"extra":    "requirements:\n- id: A\n  title: x\n  extra: [1two]\n  acceptance_criteria:\n  - AC: y\n",
		"criteria": "requirements:\n- id: A\n  title: x\n  extra: [1, two]\n",
		"separate": "requirements:\n- id: A\n  title: x\n  extra: [1, two]\n  acceptance_criteria:\n  - AC: y\nacceptance_criteria:\n- {requirement: A, AC2: z}\n",
	}
	for name, text := range other {
		if got := hash(text); got == base {
			t.Errorf("a change of %s did not change the hash", name)
		}
	}
}

func TestWarnings(t *testing.T) {
	text := "requirements:\n- id: A\n  title: x\n  acceptance_criteria: [one, two]\n- id: B\n  title: " + strings.Repeat("long ", 40) + "\n- id: C\n"
	s, warnings, err := Read("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range append(warnings, s.Large(100)...) {
		got = append(got, w.String())
	}
	want := []string{
		`s.yaml:2: all acceptance criteria are in requirement "A"`,
		`s.yaml:5: requirement "B" has no acceptance criteria`,
		`s.yaml:7: requirement "C" has no acceptance criteria`,
		`s.yaml:7: requirement "C" has neither title nor description`,
		`s.yaml:5: requirement "B" is about 55 tokens long, more than half of the prompt's 100`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := Tokens("abcd创建efg"); n != 4 {
		t.Errorf("%d tokens", n)
	}
}
