package spec_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"ralph-loop/internal/order"
	"ralph-loop/internal/spec"
)

// Whatever the file holds: no panic and no hang, every problem has a place inside the file, what is accepted can be
// ordered, and the source of each requirement, read on its own, is that requirement again.
func FuzzRead(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g, _, err := order.Read("s.yaml", data)
		var invalid *spec.InvalidError
		if errors.As(err, &invalid) {
			lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
			for _, p := range invalid.Problems {
				if p.Line < 0 || p.Line > lines || p.Col < 0 || p.Col > len(data)+1 || p.Message == "" || !utf8.ValidString(p.Message) {
					t.Fatalf("problem %+v in a file of %d lines", p, lines)
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		s := g.Spec()
		if len(g.Order()) != len(s.Requirements) || len(s.Requirements) == 0 {
			t.Fatalf("%d requirements, %d in order", len(s.Requirements), len(g.Order()))
		}
		// Aliases, tags of one's own and directives need the rest of the file.
		if strings.ContainsAny(string(data), "*%") {
			return
		}
		for _, r := range s.Requirements {
			if !spec.Elsewhere(r) {
				rereads(t, r)
			}
		}
	})
}

// rereads reads the source of a requirement as a specification of its own.
func rereads(t *testing.T, r *spec.Requirement) {
	texts := []string{"requirements:\n" + r.Source, "requirements: [" + r.Source + "\n]", "requirements: {" + r.Source + "\n}"}
	var errs []error
	for _, text := range texts {
		s, _, err := spec.Read("again.yaml", []byte(text))
		if err == nil && len(s.Requirements) == 1 && s.Requirements[0].Hash() == r.Hash() {
			return
		}
		errs = append(errs, err)
	}
	t.Fatalf("the source of %q is not the requirement:\n%q\n%v", r.ID, r.Source, errors.Join(errs...))
}

var seeds = []string{
	"specification:\n  requirements:\n    - id: REQ-001\n      title: One\n      description: text\n      acceptance_criteria:\n        - id: AC-001-01\n          criteria: it works\n      priority: 2\n      status: pending\n    - id: REQ-002\n      depends_on: [REQ-001]\n",
	"requirements:\n  A:\n    title: x\n  B: {id: B, depends_on: A}\n",
	`{"requirements": [{"id": "A", "title": "é]"}, {"id": "B", "depends_on": ["A"], "n": 1.5}]}`,
	"\ufeffrequirements:\r\n- id: 1.10\r\n  acceptance_criteria:\r\n  - AC-1: \"text: here\"\r\n  - bare\r\n",
	"requirements:\n- id: A\n  description: |\n    # heading\n\n    - id: C\n- id: B\n  title: \"one\n  two\n# three\"\n  x: [1, # ]\n2\n]\n",
	"requirements:\n# of A\n- id: A\n\n  # inside\n# of B\n- # here\n  id: B\n...\n",
	"requirements:\n- id: A\nacceptance_criteria:\n- {id: AC-1, requirement: A, given: g, when: [w, v], then: t}\n",
	"base: &b {title: x}\nrequirements:\n- <<: *b\n  id: A\n- <<: [*b]\n  id: B\n  depends_on: &d [A]\n- {id: C, depends_on: *d}\n",
	"requirements: [{id: A, x: [k: v, \"}\"], y: it's,}, # c\n {id: B, ? z : !t q}]\n",
	"requirements:\n- id: A\n  depends_on: [B, A, C]\n- id: B\n  depends_on: A\n- id: A\n  statsu: x\n",
	"requirements:\n- id: A\n\ttitle: x\n", "requirements:\n- id: A\n  title: a: b\n", "requirements:\n- id: A\n  title: \"x\n", "# M\n\n---\n\n- [ ] x\n", "- a\n", "a: &a [*a]\n", "x\n---\ny\n",
	"requirements:\n- id: A\n  title: \"a\u2028b\u0085c\"\n  status: wip\n  allow: [x, '', {}]\n  no_test_required: yes\n  priority: P1\n",
	"requirements:\n- ? id\n  : A\n- &x\n  id: B\n-\n  id: C\n",
}
