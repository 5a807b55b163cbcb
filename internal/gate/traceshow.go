package gate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"ralph-loop/internal/plain"
)

// state is one word for a row.
func (r *TraceRow) state() string {
	switch {
	case r.Covered:
		return "covered"
	case !r.Held:
		return "open"
	}
	return "missing"
}

// name is the criterion, or the requirement that stands for itself.
func (r *TraceRow) name() string {
	if r.Criterion == "" {
		return r.Requirement
	}
	return r.Criterion
}

// WriteText writes a line a criterion and below it the tests that cover it, then the sums and what tests name in vain.
func (t *Trace) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	last, covered, held := "", 0, 0
	for _, r := range t.Rows {
		if r.Requirement != last {
			fmt.Fprintf(w, "%s\n", plain.Line(r.Requirement))
			last = r.Requirement
		}
		fmt.Fprintf(w, "  %-7s  %s  %s\n", r.state(), plain.Line(r.name()), short(r.Text, 100))
		for _, test := range r.Tests {
			fmt.Fprintf(w, "             %s\n", plain.Line(test.String()))
		}
		if r.Held {
			held++
			if r.Covered {
				covered++
			}
		}
	}
	fmt.Fprintf(w, "%d of %s covered that must be now\n", covered, criteria(held))
	for _, f := range t.Unknown {
		fmt.Fprintf(w, "unknown: %s\n", plain.Line(f.String()))
	}
	return w.Flush()
}

// WriteTSV writes a line for each criterion and test: requirement, criterion, state, path, line, test; a criterion
// without a test has one line that ends early.
func (t *Trace) WriteTSV(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "requirement\tcriterion\tstate\tpath\tline\ttest\tskipped")
	cell := func(s string) string { return strings.ReplaceAll(plain.Line(s), "\t", " ") }
	for _, r := range t.Rows {
		tests := r.Tests
		if len(tests) == 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\t\t\t\t\n", cell(r.Requirement), cell(r.Criterion), r.state())
		}
		for _, test := range tests {
			skipped := ""
			if test.Skipped {
				skipped = "skipped"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", cell(r.Requirement), cell(r.Criterion), r.state(), cell(test.Path), test.Line, cell(test.Name), skipped)
		}
	}
	return w.Flush()
}

// WriteJSON writes the matrix as one object and a newline.
func (t *Trace) WriteJSON(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(t)
}
