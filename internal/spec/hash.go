package spec

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"gopkg.in/yaml.v3"
)

// writeCanonical writes the decoded requirement so that two requirements give the same bytes exactly when they mean
// the same. Each text carries its length, so that no text can pass for structure.
func writeCanonical(w io.Writer, r *Requirement) {
	writeText(w, 'i', r.ID)
	for _, p := range sortedPairs(r.node) {
		switch p.key.Value {
		case "id", "status", "priority", "depends_on":
		default:
			writeText(w, 'k', p.key.Value)
			writeNode(w, p.value)
		}
	}
	for _, item := range r.criteria {
		writeText(w, 'c', "")
		writeNode(w, item)
	}
}

// writeNode writes one value. The reader has bounded depth and expansion before, so recursion is safe.
func writeNode(w io.Writer, n *yaml.Node) {
	n = follow(n)
	switch n.Kind {
	case yaml.MappingNode:
		pairs := sortedPairs(n)
		fmt.Fprintf(w, "m%d:", len(pairs))
		for _, p := range pairs {
			writeText(w, 'k', p.key.Value)
			writeNode(w, p.value)
		}
	case yaml.SequenceNode:
		fmt.Fprintf(w, "l%d:", len(n.Content))
		for _, item := range n.Content {
			writeNode(w, item)
		}
	default:
		writeText(w, 's', n.Value)
	}
}

func sortedPairs(n *yaml.Node) []pair {
	pairs := slices.Collect(pairsOf(n))
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key.Value, b.key.Value) })
	return pairs
}

func writeText(w io.Writer, kind byte, text string) {
	fmt.Fprintf(w, "%c%d:%s", kind, len(text), text)
}
