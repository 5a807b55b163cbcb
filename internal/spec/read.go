package spec

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits that only a hostile or broken file meets.
const (
	MaxSize      = 256 << 20 // bytes in a file
	maxDepth     = 100       // of mappings and lists in each other, aliases followed
	maxExpansion = 16 << 20  // bytes that aliases may add to the whole
)

// Read reads a specification. name stands for the file in messages. The error is an *InvalidError; the specification
// that comes with it holds what could be understood, so that a caller can look for more problems, and is nil where
// nothing could. Dependencies are not followed here: package order refuses those that lead nowhere.
func Read(name string, data []byte) (*Spec, []Problem, error) {
	r := &reader{name: name}
	if root := r.document(data); root != nil {
		r.specification(root)
	}
	if r.spec != nil {
		r.spec.Name = name
	}
	if err := Invalid(r.problems); err != nil {
		return r.spec, nil, err
	}
	return r.spec, r.warnings(), nil
}

// reader turns nodes into a specification and collects what is wrong on the way.
type reader struct {
	name     string
	src      *source
	spec     *Spec
	problems []Problem

	aliased bool            // the file has aliases
	nulls   []pair          // depends_on with the value null, which may have been meant as an id
	known   *Suggester      // of the keys of a requirement
	extra   map[string]bool // keys of requirements that have been found harmless

	knownCriterion *Suggester // the same for criteria
	extraCriterion map[string]bool
}

// refuse notes a problem at a node.
func (r *reader) refuse(at *yaml.Node, hint, format string, args ...any) {
	place := r.src.place(at.Line, at.Column)
	r.refuseAt(place.Line, place.Col, hint, format, args...)
}

func (r *reader) refuseAt(line, col int, hint, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.name, Line: line, Col: col, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// specification finds the requirements and the separate list of criteria below the root.
func (r *reader) specification(root *yaml.Node) {
	if root.Kind != yaml.MappingNode {
		hint := "begin the file with \"requirements:\" and put the list below it"
		if root.Kind == yaml.SequenceNode {
			r.refuse(root, hint, "the file is a list; a specification is a mapping with the key \"requirements\"")
		} else {
			r.refuse(root, hint, "the file is a bare text; a specification is a mapping with the key \"requirements\"")
		}
		return
	}
	top := r.topKeys(root, []string{"specification", "requirements", "acceptance_criteria"})
	places := []map[string]pair{top}
	if wrapper, ok := top["specification"]; ok {
		switch inner := follow(wrapper.value); {
		case inner.Kind == yaml.MappingNode:
			places = append(places, r.topKeys(inner, []string{"requirements", "acceptance_criteria"}))
		case isNull(inner):
			r.refuse(wrapper.key, "put \"requirements:\" below it", "\"specification\" is empty")
		case top["requirements"].key == nil:
			r.refuse(wrapper.value, "put \"requirements:\" below it", "\"specification\" must be a mapping with the key \"requirements\"")
		}
	}
	var requirements pair
	var criteria []pair
	for _, keys := range places {
		if p, ok := keys["requirements"]; ok {
			if requirements.key != nil {
				line := r.src.place(requirements.key.Line, 1).Line
				r.refuse(p.key, "keep one of them", "\"requirements\" stands in two places, here and at line %d", line)
			}
			requirements = p
		}
		if p, ok := keys["acceptance_criteria"]; ok {
			criteria = append(criteria, p)
		}
	}
	if requirements.key == nil {
		if len(r.problems) == 0 {
			r.noRequirements(root, places[len(places)-1])
		}
		return
	}
	r.spec = &Spec{byID: map[string]*Requirement{}}
	r.requirements(requirements)
	if len(r.spec.Requirements) == 0 && len(r.problems) == 0 {
		r.refuse(requirements.key, "add at least one, with an id and a description", "no requirements: what is merged in is empty")
	}
	for _, p := range r.nulls {
		if v := follow(p.value); r.spec.byID[v.Value] != nil {
			r.refuse(p.value, fmt.Sprintf("write [%q] for the requirement, [] for none", v.Value), "depends_on %s can mean nothing, or the requirement of that id", v.Value)
		}
	}
	for _, p := range criteria {
		r.separateCriteria(p)
	}
}

// noRequirements refuses a file without the key, and names the key that was probably meant to be it.
func (r *reader) noRequirements(root *yaml.Node, keys map[string]pair) {
	for _, guess := range []string{"tasks", "stories", "user_stories", "userStories", "features", "items", "reqs", "specs"} {
		if p, ok := keys[guess]; ok {
			r.refuse(p.key, "rename it to \"requirements\"", "no requirements: the key %q is not read", guess)
			return
		}
	}
	r.refuse(root, "list the work below the key \"requirements\"", "no requirements: the key \"requirements\" is missing")
}

// topKeys is the pairs of the outermost mappings, by key. A key that is nearly a known one is refused.
func (r *reader) topKeys(n *yaml.Node, known []string) map[string]pair {
	keys := make(map[string]pair)
	suggest := NewSuggester(known)
	for p := range pairsOf(n) {
		key := p.key.Value
		keys[key] = p
		if near := suggest.Nearest(key); near != "" && near != key {
			r.refuse(p.key, fmt.Sprintf("write %q", near), "unknown key %q", key)
		}
	}
	return keys
}

// requirements reads the list, or the mapping keyed by id.
func (r *reader) requirements(p pair) {
	list := follow(p.value)
	previous := p.key.Line
	const hint = "write a list of requirements, or a mapping keyed by id"
	switch {
	case isNull(list) || list.Kind != yaml.ScalarNode && len(list.Content) == 0:
		r.refuse(p.key, "add at least one, with an id and a description", "no requirements: the list is empty")
	case list.Kind == yaml.SequenceNode:
		r.spec.Requirements = make([]*Requirement, 0, len(list.Content))
		for i, item := range list.Content {
			if n := follow(item); n.Kind == yaml.MappingNode {
				req := r.requirement(item, nil)
				previous = r.cut(req, list, nil, item, previous)
			} else {
				r.refuse(item, "write \"- id: ...\" with its other keys below", "requirement %d is not a mapping", i+1)
			}
		}
	case list.Kind == yaml.MappingNode:
		for entry := range pairsOf(list) {
			if n := follow(entry.value); n.Kind == yaml.MappingNode {
				req := r.requirement(entry.value, entry.key)
				previous = r.cut(req, list, entry.key, entry.value, previous)
			} else {
				r.refuse(entry.key, hint, "requirement %q is not a mapping", entry.key.Value)
			}
		}
	default:
		r.refuse(p.value, hint, "\"requirements\" is a bare text")
	}
}

// cut sets the requirement's line and its source: whole lines in block style, the very characters in flow style. It
// returns the last line, behind which the comments of the next one may begin.
func (r *reader) cut(req *Requirement, list, key, value *yaml.Node, previous int) int {
	start := value
	if key != nil {
		start = key
	}
	if list.Style&yaml.FlowStyle != 0 {
		from := r.src.offsetOf(start.Line, start.Column)
		req.Source = r.src.text[from:max(from, r.src.endOf(value))]
		req.Line = r.src.place(start.Line, 1).Line
		r.appendAliased(req, start.Line, start.Line+strings.Count(req.Source, "\n"))
		return start.Line
	}
	line, column := start.Line, start.Column
	if key == nil {
		line, column = r.src.dash(value)
	}
	first, last := r.src.region(line, column, value)
	first = r.src.withComments(first, previous)
	req.Source = r.src.lines(first, last)
	req.Line = r.src.place(line, 1).Line
	r.appendAliased(req, first, last)
	return last
}

// appendAliased adds to the source what the requirement's aliases stand for, where that stands elsewhere: an agent
// that is shown "*common" alone would not know it.
func (r *reader) appendAliased(req *Requirement, first, last int) {
	if !r.aliased {
		return
	}
	seen := map[*yaml.Node]bool{}
	pending := []*yaml.Node{req.node}
	for len(pending) > 0 {
		n := pending[0]
		pending = pending[1:]
		for _, child := range n.Content {
			target := child.Alias
			if child.Kind != yaml.AliasNode {
				pending = append(pending, child)
				continue
			}
			if seen[target] || target.Line >= first && target.Line <= last {
				continue
			}
			seen[target] = true
			pending = append(pending, target)
			from, to := r.src.region(target.Line, r.src.columnOf(target), target)
			req.Source = endLine(req.Source) + fmt.Sprintf("# *%s stands for (line %d):\n", child.Value, r.src.place(from, 1).Line) + r.src.lines(from, to)
		}
	}
}

// endLine gives a text that is not empty its line end.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
