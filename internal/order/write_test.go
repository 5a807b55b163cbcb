package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"ralph-loop/internal/spec"
)

// written is a graph with wide, hostile and missing texts.
func written(t *testing.T) *Graph {
	t.Helper()
	g, _, err := Read("spec.yaml", []byte(`requirements:
- {id: 订单-1, title: "tab\tand \e[1mbold\e[0m", priority: 12}
- {id: B, depends_on: 订单-1, status: in_progress, description: "one\ntwo", allow: [a, "b\nc"], no_test_required: docs}
- {id: 'C"\', title: '<b>"x"</b> #1 & `+"`y`"+`', depends_on: [B, 订单-1], acceptance_criteria: [plain, AC-1: "two\nlines"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWriters(t *testing.T) {
	g := written(t)
	rows := g.Rows(FromFile(g.Spec()))
	cases := []struct {
		name  string
		write func(io.Writer) error
		want  string
	}{
		{"table", func(w io.Writer) error { return WriteTable(w, rows) },
			"订单-1  12  pending      tab and \\x1b[1mbold\\x1b[0m\nB       -   in_progress  one\nC\"\\     -   pending      <b>\"x\"</b> #1 & `y`\n"},
		{"table of layers", func(w io.Writer) error { return WriteLayersTable(w, rows[:1]) },
			"1   订单-1  12  pending      tab and \\x1b[1mbold\\x1b[0m\n"},
		{"tsv", func(w io.Writer) error { return WriteTSV(w, rows) },
			"订单-1\t12\tpending\ttab and \\x1b[1mbold\\x1b[0m\nB\t\tin_progress\tone\nC\"\\\t\tpending\t<b>\"x\"</b> #1 & `y`\n"},
		{"tsv of layers", func(w io.Writer) error { return WriteLayersTSV(w, rows[1:2]) }, "2\tB\t\tin_progress\tone\n"},
		{"dot", func(w io.Writer) error { return WriteDot(w, rows[2:]) },
			"digraph requirements {\n\trankdir=LR;\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n" +
				"\t\"C\\\"\\\\\" [label=\"C\\\"\\\\\\n<b>\\\"x\\\"</b> #1 & `y`\", fillcolor=\"#eeeeee\", fontcolor=\"#000000\"];\n" +
				"\t\"B\" -> \"C\\\"\\\\\";\n\t\"订单-1\" -> \"C\\\"\\\\\";\n}\n"},
		{"show", func(w io.Writer) error { return g.ShowText(w, g.Spec().Lookup("B"), nil) },
			"B  one\nstatus:      pending\nlayer:       2\ndepends on:  订单-1\nneeded by:   C\"\\\nmay change:  a, b c\nno test:     docs\nsource:      spec.yaml:3\n\none\ntwo\n"},
		{"show criteria", func(w io.Writer) error { return g.ShowText(w, g.Spec().Lookup(`C"\`), nil) },
			"C\"\\  <b>\"x\"</b> #1 & `y`\nstatus:      pending\nlayer:       3\ndepends on:  B, 订单-1\nsource:      spec.yaml:4\n\nacceptance criteria:\n  - plain\n  - AC-1: two\n    lines\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.write(&out); err != nil || out.String() != c.want {
				t.Errorf("error %v, got\n%s\nwant\n%s", err, out.String(), c.want)
			}
		})
	}
	var mermaid bytes.Buffer
	if err := WriteMermaid(&mermaid, rows); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"    n3[\"C#quot;\\<br/>#lt;b#gt;#quot;x#quot;#lt;/b#gt; #35;1 #amp; #96;y#96;\"]:::pending\n",
		"    n1 --> n2\n", "    n2 --> n3\n", "    n1 --> n3\n", "    classDef in_progress fill:#cfe2ff,color:#000000,stroke:#555555\n",
	} {
		if !strings.Contains(mermaid.String(), line) {
			t.Errorf("%q is missing in\n%s", line, mermaid.String())
		}
	}
}

func TestJSONForms(t *testing.T) {
	g := written(t)
	states := FromFile(g.Spec())
	rows := g.Rows(states)
	forms := map[string]func(io.Writer) error{
		"list":         func(w io.Writer) error { return g.WriteJSON(w, Unfinished(rows)) },
		"layers":       g.WriteLayersJSON,
		"next":         func(w io.Writer) error { return g.WriteNextJSON(w, &rows[0], SomeReady, "x") },
		"nothing next": func(w io.Writer) error { return g.WriteNextJSON(w, nil, Complete, "x") },
		"show":         func(w io.Writer) error { return g.ShowJSON(w, g.Spec().Lookup("B"), states) },
	}
	for name, write := range forms {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		var decoded struct {
			Version       int
			Specification string
		}
		if err := json.Unmarshal(out.Bytes(), &decoded); err != nil || decoded.Version != 1 || decoded.Specification != "spec.yaml" {
			t.Errorf("%s: %v in\n%s", name, err, out.String())
		}
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAFullDiskIsNoticed(t *testing.T) {
	g := written(t)
	rows := g.Rows(nil)
	for name, err := range map[string]error{
		"table": WriteTable(full{}, rows), "tsv": WriteTSV(full{}, rows), "dot": WriteDot(full{}, rows), "mermaid": WriteMermaid(full{}, rows),
		"json": g.WriteJSON(full{}, rows), "show": g.ShowText(full{}, g.Spec().Requirements[0], States{"B": {Status: spec.Done}}),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
