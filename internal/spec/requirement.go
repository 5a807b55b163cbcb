package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// requirementKeys are the keys that mean something to the toolkit. Others are kept and shown to the agent.
var requirementKeys = []string{"id", "title", "description", "depends_on", "acceptance_criteria", "priority", "status", "allow", "no_test_required"}

// otherNames are keys of other tools for what a requirement has. To pass over them would lose what they say.
var otherNames = map[string]string{
	"dependencies": "depends_on", "dependency": "depends_on", "depends": "depends_on", "dependson": "depends_on",
	"deps": "depends_on", "requires": "depends_on", "needs": "depends_on", "blocked_by": "depends_on",
	"after": "depends_on", "prerequisites": "depends_on",
	"criteria": "acceptance_criteria", "acceptance": "acceptance_criteria", "acs": "acceptance_criteria",
}

// realWords lie near a known key and are keys in their own right.
var realWords = map[string]bool{"states": true}

// requirement reads one requirement; key is the id that stands before it in a mapping, else nil.
func (r *reader) requirement(item, key *yaml.Node) *Requirement {
	node := follow(item)
	req := &Requirement{Status: Pending, spec: r.spec, node: node}
	idAt := item
	if key != nil {
		req.ID, idAt = key.Value, key
	}
	for p := range pairsOf(node) {
		v := follow(p.value)
		switch p.key.Value {
		case "id":
			r.id(req, p, key)
			idAt = p.value
		case "title":
			req.Title = r.text(p)
		case "description":
			req.Description = r.text(p)
		case "depends_on":
			r.dependsOn(req, p)
		case "acceptance_criteria":
			r.criteria(req, p.value)
		case "priority":
			r.priority(req, p)
		case "status":
			r.status(req, p)
		case "allow":
			req.Allow = r.texts(p)
		case "no_test_required":
			if v.Tag == "!!bool" {
				r.refuse(p.value, "give the reason in a few words, or leave the key out", "no_test_required is %q, not a reason", v.Value)
			} else {
				req.NoTestRequired = r.text(p)
			}
		default:
			r.extraKey(p.key)
		}
	}
	if strings.TrimSpace(req.Title) == "" {
		req.Title = firstLine(req.Description)
	}
	r.add(req, idAt)
	return req
}

// add puts a requirement into the specification, if its id can be used.
func (r *reader) add(req *Requirement, at *yaml.Node) {
	switch {
	case req.ID == "":
		hint := "add \"id: ...\""
		if keys := req.node.Content; len(keys) == 2 && r.extra[keys[0].Value] {
			hint = fmt.Sprintf("write \"- id: %s\" and the text below it as \"description: ...\"", keys[0].Value)
		}
		r.refuse(at, hint, "a requirement has no id")
		return
	case strings.TrimSpace(req.ID) != req.ID:
		r.refuse(at, "take the spaces away", "the id %q begins or ends with white space", req.ID)
	case strings.ContainsFunc(req.ID, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.refuse(at, "use letters, digits and punctuation", "the id %q holds a character that cannot be printed", req.ID)
	}
	place := r.src.place(at.Line, at.Column)
	if first := r.spec.byID[req.ID]; first != nil {
		r.refuse(at, "give each requirement its own id", "duplicate id %q, first at line %d", req.ID, first.idLine)
	} else {
		r.spec.byID[req.ID] = req
	}
	req.idLine = place.Line
	r.spec.Requirements = append(r.spec.Requirements, req)
}

// id reads the key "id"; before is the id that stands before the requirement in a mapping, or nil.
func (r *reader) id(req *Requirement, p pair, before *yaml.Node) {
	v := follow(p.value)
	switch {
	case v.Kind != yaml.ScalarNode:
		r.refuse(p.value, "write one word, such as REQ-001", "the id is not a text")
	case before == nil:
		req.ID = v.Value
	case v.Value != before.Value:
		r.refuse(p.value, "keep one of the two", "the id %q differs from the key %q that the requirement stands under", v.Value, before.Value)
	}
}

// dependsOn reads a list of ids, one id, or nothing.
func (r *reader) dependsOn(req *Requirement, p pair) {
	v := follow(p.value)
	if isNull(v) {
		r.nulls = append(r.nulls, p)
		return
	}
	items := []*yaml.Node{p.value}
	if v.Kind == yaml.SequenceNode {
		items = v.Content
	}
	var seen textSet
	for _, item := range items {
		switch id := follow(item); {
		case id.Kind != yaml.ScalarNode:
			r.refuse(item, "write a list of ids, such as [REQ-001, REQ-002]", "a dependency of %q is not an id", req.ID)
		case id.Value == "":
			r.refuse(item, "name the requirement, or take the entry out", "a dependency of %q is empty", req.ID)
		case seen.add(id.Value):
			req.DependsOn = append(req.DependsOn, id.Value)
			req.DependsOnAt = append(req.DependsOnAt, r.src.place(item.Line, item.Column))
		}
	}
}

// textSet is a set of texts that stays a list while it is small.
type textSet struct {
	few  []string
	many map[string]bool
}

// add reports whether the text is new.
func (s *textSet) add(text string) bool {
	if s.many[text] || slices.Contains(s.few, text) {
		return false
	}
	switch {
	case s.many != nil:
		s.many[text] = true
	case len(s.few) < fewKeys:
		s.few = append(s.few, text)
	default:
		s.many = map[string]bool{text: true}
	}
	return true
}

// text is the value of a key that holds one text, "" for none.
func (r *reader) text(p pair) string {
	v := follow(p.value)
	switch {
	case isNull(v):
		return ""
	case v.Kind == yaml.ScalarNode:
		return v.Value
	}
	r.refuse(p.value, "write one text; \"|\" begins one of several lines", "%q is not a text", p.key.Value)
	return ""
}

// texts is the value of a key that holds a list of texts, or one.
func (r *reader) texts(p pair) []string {
	v := follow(p.value)
	switch {
	case isNull(v):
		return nil
	case v.Kind == yaml.ScalarNode:
		return []string{v.Value}
	case v.Kind == yaml.SequenceNode:
		list := make([]string, 0, len(v.Content))
		for _, item := range v.Content {
			if t := follow(item); t.Kind == yaml.ScalarNode && t.Value != "" {
				list = append(list, t.Value)
			} else {
				r.refuse(item, "", "an entry of %q is not a text", p.key.Value)
			}
		}
		return list
	}
	r.refuse(p.value, "write a list of texts", "%q is not a list", p.key.Value)
	return nil
}

// statuses maps the spellings in use, in lower case with "_" for spaces and hyphens.
var statuses = map[string]Status{
	"pending": Pending, "todo": Pending, "open": Pending,
	"in_progress": InProgress,
	"blocked":     Blocked,
	"done":        Done, "complete": Done, "completed": Done, "passed": Done,
	"skipped": Skipped,
}

func (r *reader) status(req *Requirement, p pair) {
	v := follow(p.value)
	if isNull(v) {
		return
	}
	status, ok := statuses[v.Value]
	if !ok {
		status, ok = statuses[strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(v.Value))]
	}
	if ok && v.Kind == yaml.ScalarNode {
		req.Status = status
		return
	}
	r.refuse(p.value, "known are pending, in_progress, blocked, done, skipped", "unknown status %s", shown(v))
}

// priorities maps the words in use, in lower case, to numbers.
var priorities = map[string]int{
	"must": 0, "should": 1, "could": 2, "may": 3, "wont": 4,
	"critical": 0, "high": 1, "medium": 2, "low": 3,
}

func (r *reader) priority(req *Requirement, p pair) {
	v := follow(p.value)
	if isNull(v) {
		return
	}
	word := strings.ToLower(v.Value)
	number, ok := priorities[word]
	if len(word) == 2 && word[0] == 'p' && word[1] >= '0' && word[1] <= '9' {
		number, ok = int(word[1]-'0'), true
	}
	if n, err := strconv.ParseInt(word, 10, 32); err == nil {
		number, ok = int(n), true
	}
	if ok && v.Kind == yaml.ScalarNode {
		req.Priority, req.HasPriority = number, true
		return
	}
	r.refuse(p.value, "write an integer (lower first), P0 to P9, MUST/SHOULD/COULD/MAY/WONT or critical/high/medium/low", "unknown priority %s", shown(v))
}

// extraKey lets a key pass that the toolkit does not know, unless it is nearly one that it knows.
func (r *reader) extraKey(key *yaml.Node) {
	if r.extra[key.Value] {
		return
	}
	if r.extra == nil {
		r.extra = map[string]bool{}
		r.known = NewSuggester(requirementKeys)
	}
	meant := otherNames[strings.ToLower(key.Value)]
	if meant == "" {
		meant = r.known.Nearest(key.Value)
	}
	if meant == "" || realWords[key.Value] {
		r.extra[key.Value] = true
		return
	}
	r.refuse(key, fmt.Sprintf("write %q", meant), "unknown key %q", key.Value)
}

// shown is a value in a message.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "(a mapping)"
	case yaml.SequenceNode:
		return "(a list)"
	}
	return strconv.Quote(n.Value)
}

// firstLine is the first line of a text that holds anything.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
