package order

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"ralph-loop/internal/plain"
	"ralph-loop/internal/spec"
)

// ShowText writes a requirement for people.
func (g *Graph) ShowText(w io.Writer, r *spec.Requirement, states States) error {
	out := bufio.NewWriter(w)
	row := g.row(r, states)
	fmt.Fprintln(out, strings.TrimRight(r.ID+"  "+plain.Line(r.Title), " "))
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%-12s %s\n", name+":", value)
		}
	}
	field("status", string(row.Status))
	field("priority", priorityOf(row, ""))
	field("layer", fmt.Sprint(row.Layer))
	field("depends on", strings.Join(r.DependsOn, ", "))
	field("needed by", names(g.Dependents(r.ID)))
	field("commit", row.Commit)
	var allow []string
	for _, pattern := range r.Allow {
		allow = append(allow, plain.Line(pattern))
	}
	field("may change", strings.Join(allow, ", "))
	field("no test", plain.Line(r.NoTestRequired))
	field("source", fmt.Sprintf("%s:%d", plain.Line(g.spec.Name), r.Line))
	if text := strings.TrimRight(plain.Text(r.Description), "\n"); text != "" {
		fmt.Fprintf(out, "\n%s\n", text)
	}
	if len(r.Criteria) > 0 {
		fmt.Fprint(out, "\nacceptance criteria:\n")
	}
	for _, c := range r.Criteria {
		text := strings.ReplaceAll(strings.TrimRight(plain.Text(c.Text), "\n"), "\n", "\n    ")
		if c.ID == "" {
			fmt.Fprintf(out, "  - %s\n", text)
		} else {
			fmt.Fprintf(out, "  - %s: %s\n", plain.Line(c.ID), text)
		}
	}
	return out.Flush()
}

// ShowJSON writes all that the toolkit reads in a requirement, its source and its hash.
func (g *Graph) ShowJSON(w io.Writer, r *spec.Requirement, states States) error {
	type criterion struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	criteria := make([]criterion, len(r.Criteria))
	for i, c := range r.Criteria {
		criteria[i] = criterion(c)
	}
	return writeJSON(w, struct {
		Version       int    `json:"version"`
		Specification string `json:"specification"`
		Row
		Description    string      `json:"description"`
		Criteria       []criterion `json:"acceptance_criteria"`
		Allow          []string    `json:"allow"`
		NoTestRequired string      `json:"no_test_required,omitempty"`
		Hash           string      `json:"hash"`
		Source         string      `json:"source"`
	}{jsonVersion, g.spec.Name, g.row(r, states), r.Description, criteria, append([]string{}, r.Allow...), r.NoTestRequired, r.Hash(), r.Source})
}

// row is the requirement as a list has it.
func (g *Graph) row(r *spec.Requirement, states States) Row {
	return Select(g.Rows(states), []string{r.ID})[0]
}
