package spec

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// criterionKeys are the keys of a criterion that is written as a mapping.
var criterionKeys = []string{"id", "criteria", "description", "given", "when", "then", "requirement"}

// criteria reads the acceptance criteria of a requirement in any of their shapes.
func (r *reader) criteria(req *Requirement, value *yaml.Node) {
	v := follow(value)
	switch {
	case isNull(v):
	case v.Kind == yaml.SequenceNode:
		for _, item := range v.Content {
			r.criterion(req, item)
		}
	case v.Kind == yaml.MappingNode && !isStructured(v):
		for p := range pairsOf(v) {
			r.addCriterion(req, p.key, p.key.Value, r.criterionText(p.value))
		}
	default:
		r.criterion(req, value)
	}
}

// criterion reads one criterion: a bare text, a mapping of known keys, or a single pair of id and text.
func (r *reader) criterion(req *Requirement, item *yaml.Node) {
	v := follow(item)
	if v.Kind == yaml.ScalarNode {
		r.addCriterion(req, item, "", r.criterionText(item))
		return
	}
	if v.Kind != yaml.MappingNode {
		r.refuse(item, "write \"- id: AC-001-01\" and \"criteria: ...\" below it", "a criterion is a list")
		return
	}
	if isStructured(v) {
		id := ""
		for p := range pairsOf(v) {
			if p.key.Value == "id" {
				id = r.text(p)
			}
		}
		r.addCriterion(req, item, id, r.criterionText(item))
		return
	}
	pairs := slices.DeleteFunc(slices.Collect(pairsOf(v)), func(p pair) bool { return p.key.Value == "requirement" })
	if len(pairs) != 1 {
		r.refuse(item, "write \"- id: AC-001-01\" and \"criteria: ...\" below it", "a criterion has neither \"criteria\" nor \"description\" nor \"given\", \"when\", \"then\"")
		return
	}
	r.addCriterion(req, pairs[0].key, pairs[0].key.Value, r.criterionText(pairs[0].value))
}

// isStructured reports a mapping that describes one criterion by known keys.
func isStructured(n *yaml.Node) bool {
	for p := range pairsOf(n) {
		switch p.key.Value {
		case "id", "criteria", "description", "given", "when", "then":
			return true
		}
	}
	return false
}

func (r *reader) addCriterion(req *Requirement, at *yaml.Node, id, text string) {
	if strings.TrimSpace(text) == "" {
		r.refuse(at, "say what must hold, under \"criteria\"", "criterion %q has no text", id)
		return
	}
	if id != "" && !req.acIDs.add(id) {
		r.refuse(at, "give each criterion its own id", "duplicate criterion %q in requirement %q", id, req.ID)
		return
	}
	req.Criteria = append(req.Criteria, Criterion{ID: id, Text: text})
}

// criterionText is what a criterion says: its text, and its given, when and then, a line each.
func (r *reader) criterionText(value *yaml.Node) string {
	v := follow(value)
	switch v.Kind {
	case yaml.ScalarNode:
		if isNull(v) {
			return ""
		}
		return v.Value
	case yaml.SequenceNode:
		return r.joined(value)
	}
	var parts [5]string
	for p := range pairsOf(v) {
		switch p.key.Value {
		case "criteria":
			parts[0] = r.joined(p.value)
		case "description":
			parts[1] = r.joined(p.value)
		case "given":
			parts[2] = step("Given", r.joined(p.value))
		case "when":
			parts[3] = step("When", r.joined(p.value))
		case "then":
			parts[4] = step("Then", r.joined(p.value))
		default:
			r.criterionKey(p.key)
		}
	}
	text := ""
	for _, part := range parts {
		switch {
		case strings.TrimSpace(part) == "":
		case text == "":
			text = part
		default:
			text += "\n" + part
		}
	}
	return text
}

// joined is a text, or a list of texts as one.
func (r *reader) joined(value *yaml.Node) string {
	v := follow(value)
	switch {
	case isNull(v):
		return ""
	case v.Kind == yaml.ScalarNode:
		return v.Value
	case v.Kind == yaml.MappingNode:
		r.refuse(value, "write a text, or a list of texts", "a part of a criterion is a mapping")
		return ""
	}
	texts := make([]string, 0, len(v.Content))
	for _, item := range v.Content {
		if t := follow(item); t.Kind == yaml.ScalarNode {
			texts = append(texts, t.Value)
		} else {
			r.refuse(item, "write a text, or a list of texts", "a part of a criterion is not a text")
		}
	}
	return strings.Join(texts, "; ")
}

// step puts the word before a given, when or then that does not begin with it already.
func step(word, text string) string {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > len(word) && strings.EqualFold(text[:len(word)], word) && text[len(word)] == ' ' {
		return text
	}
	return word + " " + text
}

// criterionKey refuses a key that is nearly one of a criterion's.
func (r *reader) criterionKey(key *yaml.Node) {
	if r.extraCriterion[key.Value] {
		return
	}
	if r.extraCriterion == nil {
		r.extraCriterion = map[string]bool{}
		for _, known := range criterionKeys {
			r.extraCriterion[known] = true
		}
		r.knownCriterion = NewSuggester(criterionKeys)
		r.criterionKey(key)
		return
	}
	if near := r.knownCriterion.Nearest(key.Value); near != "" {
		r.refuse(key, fmt.Sprintf("write %q", near), "unknown key %q in a criterion", key.Value)
		return
	}
	r.extraCriterion[key.Value] = true
}

// separateCriteria reads a list of criteria that stands beside the requirements; each names the one it belongs to.
func (r *reader) separateCriteria(p pair) {
	list := follow(p.value)
	if isNull(list) {
		return
	}
	const hint = "write \"requirement: REQ-001\" in each, or put the criteria below their requirements"
	if list.Kind != yaml.SequenceNode {
		r.refuse(p.value, hint, "\"acceptance_criteria\" beside the requirements must be a list")
		return
	}
	var suggest *Suggester
	apart := map[*Requirement]*strings.Builder{}
	for _, item := range list.Content {
		owner, at := "", item
		if v := follow(item); v.Kind == yaml.MappingNode {
			for q := range pairsOf(v) {
				if q.key.Value == "requirement" {
					owner, at = r.text(q), q.value
				}
			}
		}
		req := r.spec.byID[owner]
		switch {
		case owner == "":
			r.refuse(item, hint, "a criterion beside the requirements does not say which one it belongs to")
		case req == nil:
			if suggest == nil {
				suggest = NewSuggester(r.spec.ids())
			}
			r.refuse(at, suggest.Hint(owner), "the criterion belongs to %q, which does not exist", owner)
		default:
			r.criterion(req, item)
			req.criteria = append(req.criteria, item)
			if apart[req] == nil {
				apart[req] = &strings.Builder{}
			}
			r.writeCriterion(apart[req], list, item)
		}
	}
	for req, text := range apart {
		req.Source = endLine(req.Source) + text.String()
	}
}

// writeCriterion writes a criterion's own lines, below a comment that says whence.
func (r *reader) writeCriterion(b *strings.Builder, list, item *yaml.Node) {
	var text string
	line := item.Line
	if list.Style&yaml.FlowStyle != 0 {
		from := r.src.offsetOf(item.Line, item.Column)
		text = r.src.text[from:max(from, r.src.endOf(item))]
	} else {
		var column int
		line, column = r.src.dash(item)
		text = r.src.lines(r.src.region(line, column, item))
	}
	fmt.Fprintf(b, "# its acceptance criterion from line %d:\n%s", r.src.place(line, 1).Line, endLine(text))
}

func (s *Spec) ids() []string {
	ids := make([]string, len(s.Requirements))
	for i, r := range s.Requirements {
		ids[i] = r.ID
	}
	return ids
}
