package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// document parses the file and checks what holds for every node. It returns the root, or nil where the file is not
// one well-formed document.
func (r *reader) document(data []byte) *yaml.Node {
	data = bytes.TrimPrefix(data, byteOrderMark)
	r.src = newSource("")
	switch {
	case len(data) > MaxSize:
		r.refuseAt(0, 0, "split the work into several specifications", "the file is larger than %d MB", MaxSize>>20)
		return nil
	case !utf8.Valid(data):
		r.notUTF8(data)
		return nil
	}
	r.src = newSource(string(data))
	var doc, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decode(decoder, &doc); err != nil {
		if errors.Is(err, io.EOF) {
			r.refuseAt(1, 0, "list the work below the key \"requirements\"", "no requirements: the file holds nothing, or comments only")
		} else {
			r.explain(err)
		}
		return nil
	}
	if err := decode(decoder, &second); !errors.Is(err, io.EOF) {
		if line := markdownLine(r.src); line > 0 {
			r.refuseMarkdown(line)
		} else if err != nil {
			r.explain(err)
		} else {
			r.refuse(&second, "keep one document in the file, without a second \"---\"", "a second document begins here")
		}
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		if line := markdownLine(r.src); line > 0 {
			r.refuseMarkdown(line)
			return nil
		}
		if isNull(root) {
			r.refuseAt(1, 0, "list the work below the key \"requirements\"", "no requirements: the document is empty")
			return nil
		}
	}
	w := walker{reader: r, measured: map[*yaml.Node]measure{}}
	if whole := w.walk(root, 1); w.broken {
		return nil
	} else if whole.size-len(data) > maxExpansion {
		r.refuse(root, "write the repeated parts out, or leave them out", "the aliases of the file expand to more than %d MB", maxExpansion>>20)
		return nil
	}
	return root
}

// decode reads one document. The parser reports some defects of a file by a panic that is not its own error type.
func decode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser cannot read this file: %v", p)
		}
	}()
	return d.Decode(n)
}

// measure is what a node comes to when its aliases are followed.
type measure struct {
	size  int // bytes, roughly; it stops growing far above maxExpansion
	depth int // levels below
}

// walker visits every node once. It refuses duplicate keys, keys that are no text, too deep nesting and aliases that
// stand inside what they repeat.
type walker struct {
	*reader
	measured map[*yaml.Node]measure // of the nodes that have an anchor and are complete
	broken   bool                   // what follows the nodes must not
}

func (w *walker) walk(n *yaml.Node, depth int) measure {
	if n.Kind == yaml.AliasNode {
		w.aliased = true
		m, complete := w.measured[n.Alias]
		if !complete {
			w.refuse(n, "write the repeated part out", "the alias *%s stands inside what it repeats", n.Value)
			w.broken = true
		}
		if complete && depth+m.depth > maxDepth {
			w.tooDeep(n)
		}
		return m
	}
	m := measure{size: len(n.Value) + 1}
	if depth > maxDepth {
		w.tooDeep(n)
		return m
	}
	if n.Kind == yaml.MappingNode {
		w.keys(n)
	}
	for _, child := range n.Content {
		below := w.walk(child, depth+1)
		m.size = min(m.size+below.size, 1<<40)
		m.depth = max(m.depth, below.depth+1)
	}
	if n.Anchor != "" {
		w.measured[n] = m
	}
	return m
}

func (w *walker) tooDeep(n *yaml.Node) {
	if !w.broken {
		w.refuse(n, "", "mappings and lists are nested more than %d deep", maxDepth)
	}
	w.broken = true
}

// fewKeys is up to where comparing every pair of keys is faster than a map.
const fewKeys = 12

// keys refuses a mapping's duplicate keys and keys that are no text.
func (w *walker) keys(n *yaml.Node) {
	var seen map[string]*yaml.Node
	if len(n.Content)/2 > fewKeys {
		seen = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := follow(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			w.refuse(n.Content[i], "put quotes around a key that begins with [ or {", "a key must be a text")
			w.broken = true
			continue
		}
		if isMerge(n.Content[i]) && !isMergeable(n.Content[i+1]) {
			w.refuse(n.Content[i+1], "name the mapping, such as *base, whose keys are meant", "\"<<\" merges a mapping or a list of them, nothing else")
		}
		first := seen[key.Value]
		if seen != nil && first == nil {
			seen[key.Value] = key
		}
		for j := 0; seen == nil && first == nil && j < i; j += 2 {
			if k := follow(n.Content[j]); k.Kind == yaml.ScalarNode && k.Value == key.Value {
				first = k
			}
		}
		if first != nil {
			line := w.src.place(first.Line, 1).Line
			w.refuse(n.Content[i], "keep one of them", "duplicate key %q, first at line %d", key.Value, line)
		}
	}
}
