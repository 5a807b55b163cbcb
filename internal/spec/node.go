package spec

import "gopkg.in/yaml.v3"

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
func pairsOf(n *yaml.Node) []pair {
	pairs := make([]pair, 0, len(n.Content)/2)
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			merges = true
			continue
		}
		pairs = append(pairs, pair{follow(n.Content[i]), n.Content[i+1]})
	}
	if !merges {
		return pairs
	}
	known := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		known[p.key.Value] = true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		for _, from := range mergeSources(n.Content[i+1]) {
			for _, p := range pairsOf(from) {
				if !known[p.key.Value] {
					known[p.key.Value] = true
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs
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
