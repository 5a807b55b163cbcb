package spec_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"ralph-loop/internal/order"
	"ralph-loop/internal/spec"
)

// Whatever the file holds: no panic and no hang, every problem has a place inside the file, what is accepted can be
// ordered, and the source of each requirement, read on its own, is that requirement again.
func FuzzRead(f *testing.F) {
	for _, seed := range seeds(f) {
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

// seeds are the texts of this package's tests and the specifications of ralph-order's scripts.
func seeds(f *testing.F) []string {
	texts := spec.Texts()
	scripts, err := filepath.Glob(filepath.Join("..", "cli", "testdata", "script", "order_*.txtar"))
	if err != nil || len(scripts) == 0 {
		f.Fatalf("no scripts (%v)", err)
	}
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) == ".yaml" {
				texts = append(texts, string(file.Data))
			}
		}
	}
	return texts
}
