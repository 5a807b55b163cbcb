package order

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph-loop/internal/plain"
	"ralph-loop/internal/spec"
)

// jsonVersion is the version of the JSON forms.
const jsonVersion = 1

// WriteTable writes aligned columns for people: id, priority ("-" without one), status, title.
func WriteTable(w io.Writer, rows []Row) error { return writeTable(w, rows, false) }

// WriteLayersTable is WriteTable with the layer before each id.
func WriteLayersTable(w io.Writer, rows []Row) error { return writeTable(w, rows, true) }

func writeTable(w io.Writer, rows []Row, layers bool) error {
	idWidth := 0
	for _, row := range rows {
		idWidth = max(idWidth, width(row.ID))
	}
	out := bufio.NewWriter(w)
	for _, row := range rows {
		if layers {
			fmt.Fprintf(out, "%-3d ", row.Layer)
		}
		_, _ = out.WriteString(row.ID)
		writeSpaces(out, idWidth-width(row.ID)+2)
		priority := priorityOf(row, "-")
		_, _ = out.WriteString(priority)
		writeSpaces(out, max(3-len(priority), 0)+1)
		_, _ = out.WriteString(string(row.Status))
		if title := plain.Line(row.Title); title != "" {
			writeSpaces(out, len(spec.InProgress)-len(row.Status)+2)
			_, _ = out.WriteString(title)
		}
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

func writeSpaces(out *bufio.Writer, n int) {
	for ; n > 0; n-- {
		_ = out.WriteByte(' ')
	}
}

// WriteTSV writes the columns of WriteTable, separated by single tabs, for cut and awk. No field holds a tab or a line
// break; a missing priority is an empty field.
func WriteTSV(w io.Writer, rows []Row) error { return writeTSV(w, rows, false) }

// WriteLayersTSV is WriteTSV with the layer as first column.
func WriteLayersTSV(w io.Writer, rows []Row) error { return writeTSV(w, rows, true) }

func writeTSV(w io.Writer, rows []Row, layers bool) error {
	out := bufio.NewWriter(w)
	for _, row := range rows {
		if layers {
			fmt.Fprintf(out, "%d\t", row.Layer)
		}
		for _, field := range []string{row.ID, priorityOf(row, ""), string(row.Status)} {
			_, _ = out.WriteString(field)
			_ = out.WriteByte('\t')
		}
		_, _ = out.WriteString(plain.Line(row.Title))
		_ = out.WriteByte('\n')
	}
	return out.Flush()
}

func priorityOf(row Row, missing string) string {
	if row.Priority == nil {
		return missing
	}
	return strconv.Itoa(*row.Priority)
}

// WriteJSON writes one object: its version, the specification's name and the rows under the key "requirements".
func (g *Graph) WriteJSON(w io.Writer, rows []Row) error {
	return writeJSON(w, struct {
		Version       int    `json:"version"`
		Specification string `json:"specification"`
		Requirements  []Row  `json:"requirements"`
	}{jsonVersion, g.spec.Name, rows})
}

// WriteLayersJSON writes one object with the ids of each layer.
func (g *Graph) WriteLayersJSON(w io.Writer) error {
	return writeJSON(w, struct {
		Version       int        `json:"version"`
		Specification string     `json:"specification"`
		Layers        [][]string `json:"layers"`
	}{jsonVersion, g.spec.Name, g.Layers()})
}

// WriteNextJSON writes what comes next, null where nothing does, and the outlook.
func (g *Graph) WriteNextJSON(w io.Writer, next *Row, outlook Outlook, reason string) error {
	return writeJSON(w, struct {
		Version       int     `json:"version"`
		Specification string  `json:"specification"`
		Next          *Row    `json:"next"`
		Outlook       Outlook `json:"outlook"`
		Reason        string  `json:"reason"`
	}{jsonVersion, g.spec.Name, next, outlook, reason})
}

func writeJSON(w io.Writer, value any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("encode as JSON: %w", err)
	}
	_, err := w.Write(plain.JSON(buf.Bytes()))
	return err
}

// colours of the statuses in graphs: fill and text.
var colours = map[spec.Status][2]string{
	spec.Pending:    {"#eeeeee", "#000000"},
	spec.InProgress: {"#cfe2ff", "#000000"},
	spec.Blocked:    {"#f8d7da", "#000000"},
	spec.Done:       {"#d1e7dd", "#000000"},
	spec.Skipped:    {"#ffffff", "#777777"},
}

// statusOrder is the order in which classes are declared.
var statusOrder = []spec.Status{spec.Pending, spec.InProgress, spec.Blocked, spec.Done, spec.Skipped}

// WriteDot writes the graph for Graphviz: an arrow from each dependency to what depends on it.
func WriteDot(w io.Writer, rows []Row) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "digraph requirements {\n\trankdir=LR;\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n")
	for _, row := range rows {
		c := colours[row.Status]
		fmt.Fprintf(out, "\t\"%s\" [label=\"%s\", fillcolor=\"%s\", fontcolor=\"%s\"];\n", dotString(row.ID), label(row, `\n`, dotString), c[0], c[1])
	}
	for _, row := range rows {
		for _, dep := range row.DependsOn {
			fmt.Fprintf(out, "\t\"%s\" -> \"%s\";\n", dotString(dep), dotString(row.ID))
		}
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

// WriteMermaid writes the graph for Mermaid, as Markdown renderers draw it.
func WriteMermaid(w io.Writer, rows []Row) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "flowchart LR\n")
	number := make(map[string]int, len(rows))
	for k, row := range rows {
		number[row.ID] = k + 1
		fmt.Fprintf(out, "    n%d[\"%s\"]:::%s\n", k+1, label(row, "<br/>", mermaidText), row.Status)
	}
	for _, row := range rows {
		for _, dep := range row.DependsOn {
			fmt.Fprintf(out, "    n%d --> n%d\n", number[dep], number[row.ID])
		}
	}
	for _, status := range statusOrder {
		fmt.Fprintf(out, "    classDef %s fill:%s,color:%s,stroke:#555555\n", status, colours[status][0], colours[status][1])
	}
	return out.Flush()
}

// label is the id and, behind a break, the title, both escaped.
func label(row Row, lineBreak string, escape func(string) string) string {
	if title := plain.Line(row.Title); title != "" {
		return escape(row.ID) + lineBreak + escape(title)
	}
	return escape(row.ID)
}

// dotString and mermaidText keep a text from being read as the graph language, or as HTML.
func dotString(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
}

func mermaidText(text string) string {
	return strings.NewReplacer("&", "#amp;", "#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(text)
}

// width is the number of terminal columns of a text, near enough for a table: East Asian wide characters take two.
func width(text string) int {
	n := utf8.RuneCountInString(text)
	if n == len(text) {
		return n
	}
	for _, c := range text {
		if unicode.In(c, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || c >= 0xff01 && c <= 0xff60 || c >= 0x3000 && c <= 0x303f {
			n++
		}
	}
	return n
}
