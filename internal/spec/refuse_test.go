package spec

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// problems is every problem of a text as "line:col: message [hint]", a line each.
func problems(t *testing.T, text string) string {
	t.Helper()
	_, _, err := Read("s.yaml", []byte(text))
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v", err)
	}
	var b strings.Builder
	for _, p := range invalid.Problems {
		fmt.Fprintf(&b, "%d:%d: %s [%s]\n", p.Line, p.Col, p.Message, p.Hint)
	}
	return b.String()
}

const reqs = "requirements:\n- id: A\n"

// refusals are texts that cannot be used, and every problem that is named.
var refusals = []struct{ name, text, want string }{
	// What is no specification at all (case O3).
	{"nothing", "", `1:0: no requirements: the file holds nothing, or comments only [list the work below the key "requirements"]`},
	{"comments only", "# x\n", `1:0: no requirements: the file holds nothing, or comments only [list the work below the key "requirements"]`},
	{"an empty document", "---\n", `1:0: no requirements: the document is empty [list the work below the key "requirements"]`},
	{"an empty list", "requirements: []\n", `1:1: no requirements: the list is empty [add at least one, with an id and a description]`},
	{"an empty mapping", "specification:\n  requirements: {}\n", `2:3: no requirements: the list is empty [add at least one, with an id and a description]`},
	{"no value", "requirements:\n", `1:1: no requirements: the list is empty [add at least one, with an id and a description]`},
	{"an empty wrapper", "specification:\n", `1:1: "specification" is empty [put "requirements:" below it]`},
	{"a wrapper that is a list", "specification:\n- id: A\n", `2:1: "specification" must be a mapping with the key "requirements" [put "requirements:" below it]`},
	{"another key", "tasks:\n- id: A\n", `1:1: no requirements: the key "tasks" is not read [rename it to "requirements"]`},
	{"no such key", "name: x\n", `1:1: no requirements: the key "requirements" is missing [list the work below the key "requirements"]`},
	{"a mistyped key", "requirments:\n- id: A\n", `1:1: unknown key "requirments" [write "requirements"]`},
	{"requirements in two places", "specification: {requirements: [{id: A}]}\nrequirements: [{id: B}]\n", `1:17: "requirements" stands in two places, here and at line 2 [keep one of them]`},
	{"a list", "- id: A\n", `1:1: the file is a list; a specification is a mapping with the key "requirements" [begin the file with "requirements:" and put the list below it]`},
	{"a text", "hello\n", `1:1: the file is a bare text; a specification is a mapping with the key "requirements" [begin the file with "requirements:" and put the list below it]`},
	{"requirements as a text", "requirements: none\n", `1:15: "requirements" is a bare text [write a list of requirements, or a mapping keyed by id]`},
	{"a second document", "---\n" + reqs + "---\n" + reqs, `4:1: a second document begins here [keep one document in the file, without a second "---"]`},
	{"a broken second document", reqs + "---\na: [\n", `4:1: not YAML: did not find expected node content [close the brackets or braces that are opened here]`},
	{"Markdown (case O6)", "# Spec\n\n---\n\n## Requirements\n\n- REQ-001: one\n- REQ-002: two\n\n---\n", `1:1: this is Markdown, not YAML: "# Spec" [write the requirements as YAML: "requirements:", then "- id: ..." for each]`},
	{"Markdown with a fence", "The plan:\n```yaml\nrequirements:\n- id: A\n```\n**Note** this\n", "2:1: this is Markdown, not YAML: \"```yaml\" [write the requirements as YAML: \"requirements:\", then \"- id: ...\" for each]"},
	{"Markdown list", "# Plan\n\n- [ ] one\n- [x] two\n", `1:1: this is Markdown, not YAML: "# Plan" [write the requirements as YAML: "requirements:", then "- id: ..." for each]`},

	// Syntax (case O3).
	{"a tab", "requirements:\n- id: A\n\ttitle: x\n", `3:1: a tab in the indentation [indent with spaces]`},
	{"an unquoted colon", "requirements:\n- id: A\n  title: Fix the login: page\n", `3:23: a colon and a space within a text that has no quotes [put quotes around the text]`},
	{"an open quote", "requirements:\n- id: A\n  title: \"x\n- id: B\n", `3:3: not YAML: found unexpected end of stream [close the quotes that are opened here]`},
	{"a reserved character", "requirements:\n- id: A\n  title: @home\n", `3:10: a text that has no quotes may not begin with "@" [put quotes around the text]`},
	{"a pattern that looks like an alias", "requirements:\n- id: A\n  title: *.go\n", `3:10: a text that has no quotes may not begin with "*" [put quotes around the text]`},
	{"an alias without an anchor", "requirements:\n- id: A\n  title: *go\n", `3:10: the alias *go has no anchor before it [put quotes around a text that begins with *]`},
	{"wrong indentation", "requirements:\n  - id: A\n    title: x\n   depends_on: []\n", `4:4: not YAML: this line does not go on with what stands above it (did not find expected '-' indicator) [keys of one mapping and dashes of one list need the same indentation; a text with special characters needs quotes]`},
	{"an open bracket", "requirements:\n- id: A\n  x: [a, b\n- id: B\n", `3:3: not YAML: did not find expected ',' or ']' [close the brackets or braces that are opened here]`},
	{"not UTF-8", "requirements:\n- id: \"é\xff\"\n", `2:9: the byte 0xff is not UTF-8 [save the file as UTF-8]`},
	{"UTF-16", "\xff\xfer\x00", `1:1: the byte 0xff is not UTF-8 [the file begins like UTF-16; save it as UTF-8]`},
	{"a control character", "requirements:\n- id: \"a\x1b\"\n", `2:9: the control character U+001B is not allowed [remove it, or write it as an escape in double quotes]`},

	// Structure.
	{"duplicate keys", "requirements:\n- id: A\n  title: x\n  title: y\n  x: {a: 1, a: 2}\n", "4:3: duplicate key \"title\", first at line 3 [keep one of them]\n5:13: duplicate key \"a\", first at line 5 [keep one of them]"},
	{"a duplicate id (case O1)", reqs + "- id: A\n", `3:7: duplicate id "A", first at line 2 [give each requirement its own id]`},
	{"a duplicate id as key", "requirements:\n  A: {title: x}\n  A: {title: y}\n", "3:3: duplicate key \"A\", first at line 2 [keep one of them]\n3:3: duplicate id \"A\", first at line 2 [give each requirement its own id]"},
	{"a key that is a list", "requirements:\n- id: A\n  ? [a]\n  : b\n", `3:5: a key must be a text [put quotes around a key that begins with [ or {]`},
	{"deep nesting", reqs + "  x: " + strings.Repeat("[", 150) + strings.Repeat("]", 150) + "\n", `3:103: mappings and lists are nested more than 100 deep []`},
	{"an alias inside itself", "requirements: &r\n- id: A\n  x: *r\n", `3:6: the alias *r stands inside what it repeats [write the repeated part out]`},

	{"merges of nothing", "x: &x {}\nrequirements:\n  <<: *x\n", `2:1: no requirements: what is merged in is empty [add at least one, with an id and a description]`},
	{"merges of what is no mapping", "x: &x [1]\nrequirements:\n- id: A\n  <<:\n- id: B\n  <<: *x\n- id: C\n  <<: text\n",
		"4:6: \"<<\" merges a mapping or a list of them, nothing else [name the mapping, such as *base, whose keys are meant]\n6:7: \"<<\" merges a mapping or a list of them, nothing else [name the mapping, such as *base, whose keys are meant]\n8:7: \"<<\" merges a mapping or a list of them, nothing else [name the mapping, such as *base, whose keys are meant]"},

	// Requirements.
	{"no id", "requirements:\n- title: x\n- id:\n- id: \"\"\n", "2:3: a requirement has no id [add \"id: ...\"]\n3:6: a requirement has no id [add \"id: ...\"]\n4:7: a requirement has no id [add \"id: ...\"]"},
	{"a pair for a requirement", "requirements:\n- REQ-1: do it\n", `2:3: a requirement has no id [write "- id: REQ-1" and the text below it as "description: ..."]`},
	{"a text for a requirement", "requirements:\n- do it\n", `2:3: requirement 1 is not a mapping [write "- id: ..." with its other keys below]`},
	{"a text below an id", "requirements:\n  A: do it\n", `2:3: requirement "A" is not a mapping [write a list of requirements, or a mapping keyed by id]`},
	{"two ids", "requirements:\n  A: {id: B}\n", `2:11: the id "B" differs from the key "A" that the requirement stands under [keep one of the two]`},
	{"ids that cannot be printed", "requirements:\n- id: \"a\\nb\"\n- id: \" x\"\n- id: [a]\n", "2:7: the id \"a\\nb\" holds a character that cannot be printed [use letters, digits and punctuation]\n3:7: the id \" x\" begins or ends with white space [take the spaces away]\n4:7: the id is not a text [write one word, such as REQ-001]\n4:7: a requirement has no id [add \"id: ...\"]"},
	{"keys that are nearly known", "requirements:\n- id: A\n  depend_on: [X]\n  acceptence_criteria: []\n  prority: 1\n  Title: x\n  dependsOn: []\n  dependencies: [B]\n  criteria: []\n",
		"3:3: unknown key \"depend_on\" [write \"depends_on\"]\n4:3: unknown key \"acceptence_criteria\" [write \"acceptance_criteria\"]\n5:3: unknown key \"prority\" [write \"priority\"]\n6:3: unknown key \"Title\" [write \"title\"]\n7:3: unknown key \"dependsOn\" [write \"depends_on\"]\n8:3: unknown key \"dependencies\" [write \"depends_on\"]\n9:3: unknown key \"criteria\" [write \"acceptance_criteria\"]"},
	{"status and priority", reqs + "  status: wip\n  priority: urgent\n- id: B\n  status: [done]\n  priority: 1.5\n- id: C\n  status: {}\n",
		"3:11: unknown status \"wip\" [known are pending, in_progress, blocked, done, skipped]\n4:13: unknown priority \"urgent\" [write an integer (lower first), P0 to P9, MUST/SHOULD/COULD/MAY/WONT or critical/high/medium/low]\n6:11: unknown status (a list) [known are pending, in_progress, blocked, done, skipped]\n7:13: unknown priority \"1.5\" [write an integer (lower first), P0 to P9, MUST/SHOULD/COULD/MAY/WONT or critical/high/medium/low]\n9:11: unknown status (a mapping) [known are pending, in_progress, blocked, done, skipped]"},
	{"texts that are none", reqs + "  title: [x]\n  description: {a: b}\n  allow: {a: b}\n  no_test_required: yes\n- id: B\n  allow: [[x]]\n  no_test_required: true\n",
		"3:10: \"title\" is not a text [write one text; \"|\" begins one of several lines]\n4:16: \"description\" is not a text [write one text; \"|\" begins one of several lines]\n5:10: \"allow\" is not a list [write a list of texts]\n8:11: an entry of \"allow\" is not a text []\n9:21: no_test_required is \"true\", not a reason [give the reason in a few words, or leave the key out]"},
	{"dependencies that are none", reqs + "  depends_on: {B: x}\n- id: B\n  depends_on: [[A], \"\", ]\n",
		"3:15: a dependency of \"A\" is not an id [write a list of ids, such as [REQ-001, REQ-002]]\n5:16: a dependency of \"B\" is not an id [write a list of ids, such as [REQ-001, REQ-002]]\n5:21: a dependency of \"B\" is empty [name the requirement, or take the entry out]"},
	{"null that may be an id", "requirements:\n- id: null\n- id: B\n  depends_on: null\n", `4:15: depends_on null can mean nothing, or the requirement of that id [write ["null"] for the requirement, [] for none]`},

	// Criteria.
	{"criteria", reqs + "  acceptance_criteria:\n  - id: AC-1\n  - [x]\n  - {a: b, c: d}\n  - {id: AC-2, criteia: x}\n  - AC-3: x\n  - AC-3: y\n  - {id: AC-4, criteria: {a: b}}\n  - {id: AC-5, then: [[a]]}\n",
		"4:5: criterion \"AC-1\" has no text [say what must hold, under \"criteria\"]\n" +
			"5:5: a criterion is a list [write \"- id: AC-001-01\" and \"criteria: ...\" below it]\n" +
			"6:5: a criterion has neither \"criteria\" nor \"description\" nor \"given\", \"when\", \"then\" [write \"- id: AC-001-01\" and \"criteria: ...\" below it]\n" +
			"7:5: criterion \"AC-2\" has no text [say what must hold, under \"criteria\"]\n" +
			"7:16: unknown key \"criteia\" in a criterion [write \"criteria\"]\n" +
			"9:5: duplicate criterion \"AC-3\" in requirement \"A\" [give each criterion its own id]\n" +
			"10:5: criterion \"AC-4\" has no text [say what must hold, under \"criteria\"]\n" +
			"10:26: a part of a criterion is a mapping [write a text, or a list of texts]\n" +
			"11:5: criterion \"AC-5\" has no text [say what must hold, under \"criteria\"]\n" +
			"11:23: a part of a criterion is not a text [write a text, or a list of texts]"},
	{"criteria under another name", reqs + "  acceptance_criteria:\n  - criterion: x\n  - text: y\n  - criterea: z\n  - {id: AC-1, text: x}\n",
		"4:5: unknown key \"criterion\" in a criterion [write \"criteria\"]\n5:5: unknown key \"text\" in a criterion [write \"criteria\"]\n" +
			"6:5: unknown key \"criterea\" in a criterion [write \"criteria\"]\n7:5: criterion \"AC-1\" has no text [rename \"text\" to \"criteria\"]"},
	{"separate criteria", reqs + "acceptance_criteria:\n- AC-1: x\n- AC-2: x\n  requirement: a\n", "4:3: a criterion beside the requirements does not say which one it belongs to [write \"requirement: REQ-001\" in each, or put the criteria below their requirements]\n6:16: the criterion belongs to \"a\", which does not exist [did you mean \"A\"?]"},
	{"separate criteria as a mapping", reqs + "acceptance_criteria: {AC-1: x}\n", `3:22: "acceptance_criteria" beside the requirements must be a list [write "requirement: REQ-001" in each, or put the criteria below their requirements]`},
}

func TestRefusals(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			if got := problems(t, c.text); got != c.want+"\n" {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// An editor counts lines in its own way; the parser takes U+0085 and U+2028 for line breaks too.
func TestPlacesAreAnEditors(t *testing.T) {
	got := problems(t, "requirements:\r\n- id: A\r\n  title: \"a\u2028b\u0085c\"\r\n  status: wip\r\n- {id: \"\u2028\", status: wip}\n")
	for _, want := range []string{"4:11: unknown status", "5:21: unknown status"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %s", got, want)
		}
	}
}

// A small file must not become a large one.
func TestAliasesThatExplode(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := 1; i < 90; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	b.WriteString("requirements:\n- id: A\n  x: *a89\n")
	if got := problems(t, b.String()); !strings.Contains(got, "the aliases of the file expand to more than 16 MB") {
		t.Errorf("got %s", got)
	}
	deep := "requirements:\n- id: A\n"
	for i := range 120 {
		from := "x"
		if i > 0 {
			from = fmt.Sprintf("*b%d", i-1)
		}
		deep += fmt.Sprintf("  b%d: &b%d [%s]\n", i, i, from)
	}
	if got := problems(t, deep); !strings.Contains(got, "nested more than 100 deep") {
		t.Errorf("got %s", got)
	}
}

func TestTooLarge(t *testing.T) {
	_, _, err := Read("s.yaml", make([]byte, MaxSize+1))
	if err == nil || err.Error() != "s.yaml: the file is larger than 256 MB" {
		t.Errorf("got %v", err)
	}
}

// The search for the place of a syntax error parses again, so it is left out in a large file.
func TestSyntaxErrorInALargeFile(t *testing.T) {
	text := "requirements:\n" + strings.Repeat("# padding\n", 200_000) + "- id: A\n  title: a: b\n"
	if got, want := problems(t, text), "200003:11: a colon and a space within a text that has no quotes [put quotes around the text]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"depends_on", "status", "T-028", "REQ-001", "id"}
	cases := map[string]string{
		"depends-on": "depends_on", "DependsOn": "depends_on", "depnds_on": "depends_on", "dpeends_on": "depends_on",
		"statsu": "status", "state": "", "T-28": "T-028", "t28": "T-028", "REQ-1": "REQ-001", "ID": "id", "ix": "", "x": "",
	}
	for word, want := range cases {
		if got := NewSuggester(words).Nearest(word); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	if got := NewSuggester(words).Hint("nothing like it"); got != "" {
		t.Errorf("hint %q", got)
	}
}
