package spec

import (
	"iter"

	"gopkg.in/yaml.v3"
)

// pair is one entry of a mapping. key is a scalar; value may be an alias.
type pair struct {
	key, value *yaml.Node
}

// follow is the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// isNull reports a value that is absent: nothing, ~ or null, unquoted.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// isMerge reports the key "<<", unquoted.
func isMerge(key *yaml.Node) bool { return key.Tag == "!!merge" }

// pairsOf is the entries of a mapping, in order, merged ones behind its own. An own key outranks a merged one, and an
// earlier merge a later one.
func pairsOf(n *yaml.Node) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		merges := false
		for i := 0; i+1 < len(n.Content); i += 2 {
			if isMerge(n.Content[i]) {
				merges = true
			} else if !yield(pair{follow(n.Content[i]), n.Content[i+1]}) {
				return
			}
		}
		if !merges {
			return
		}
		for _, p := range mergedPairs(n) {
			if !yield(p) {
				return
			}
		}
	}
}

// mergedPairs is the entries that the "<<" keys of a mapping add to its own.
func mergedPairs(n *yaml.Node) []pair {
	known := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; !isMerge(key) {
			known[follow(key).Value] = true
		}
	}
	var merged []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		for _, from := range mergeSources(n.Content[i+1]) {
			for p := range pairsOf(from) {
				if !known[p.key.Value] {
					known[p.key.Value] = true
					merged = append(merged, p)
				}
			}
		}
	}
	return merged
}

// isMergeable reports whether "<<" can take the value: a mapping, or a list of nothing but mappings.
func isMergeable(value *yaml.Node) bool {
	value = follow(value)
	return value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode && len(mergeSources(value)) == len(value.Content)
}

// mergeSources is the mappings that the value of "<<" names, one or a list of them.
func mergeSources(value *yaml.Node) []*yaml.Node {
	value = follow(value)
	if value.Kind == yaml.MappingNode {
		return []*yaml.Node{value}
	}
	var sources []*yaml.Node
	for _, item := range value.Content {
		if item = follow(item); item.Kind == yaml.MappingNode {
			sources = append(sources, item)
		}
	}
	return sources
}
