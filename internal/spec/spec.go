// Package spec reads specification.yaml: the requirements, what they depend on, and the source lines that an agent
// is shown. It takes the many shapes that real files have and refuses, with every place named, what it cannot
// understand; a dependency that is silently lost would be the worst outcome of all.
//
// The file is never written. Texts and ids are kept exactly as they stand in the source: an id 1.10 is not 1.1.
package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/exit"
)

// Status is what the file, or the checkpoint, says of a requirement.
type Status string

// The statuses. The reader maps the spellings that are in use (todo, open, complete, passed, ...) to these.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Blocked    Status = "blocked"
	Done       Status = "done"
	Skipped    Status = "skipped"
)

// Finished reports whether nothing is left to do: done, or skipped by the user.
func (s Status) Finished() bool { return s == Done || s == Skipped }

// Criterion is one acceptance criterion. ID is "" for one that the file gives as a bare text.
type Criterion struct {
	ID, Text string
}

// Place is a position in the file: line and column are 1-based, the column counts characters.
type Place struct {
	Line, Col int
}

// Requirement is the unit of work, as the file has it.
type Requirement struct {
	ID             string
	Title          string // the title, else the first line of the description, else ""
	Description    string
	DependsOn      []string // as written, without repeats
	Criteria       []Criterion
	Priority       int // lower comes first; 0 without HasPriority
	HasPriority    bool
	Status         Status   // never ""
	Allow          []string // protected files and tests that this work may change
	NoTestRequired string   // why the work needs no test: the author's word; "" means that it needs one
	Line           int      // 1-based line of its first own character

	// Source is the requirement's own lines of the file, verbatim, with the comments inside and directly above it.
	// What belongs to it but stands elsewhere (criteria of a separate list, the text behind an alias) follows.
	Source string

	DependsOnAt []Place // where each entry of DependsOn stands

	spec     *Spec
	idLine   int          // where the id stands
	node     *yaml.Node   // its mapping
	criteria []*yaml.Node // its items of the separate list of criteria
	acIDs    textSet      // of its criteria
}

// Spec is the specification that the requirement was read from.
func (r *Requirement) Spec() *Spec { return r.spec }

// Hash is the SHA-256, in hexadecimal, of the decoded requirement: all its keys, unknown ones too, in sorted order,
// without status, priority and depends_on. Comments, quoting, layout and the order of keys do not change it.
func (r *Requirement) Hash() string {
	h := sha256.New()
	writeCanonical(h, r)
	return hex.EncodeToString(h.Sum(nil))
}

// Spec is a whole specification, its requirements in the order of the file.
type Spec struct {
	Name         string // of the file, as messages show it
	Requirements []*Requirement

	byID map[string]*Requirement
}

// Lookup finds a requirement by its id, or nil.
func (s *Spec) Lookup(id string) *Requirement {
	return s.byID[id]
}

// Require finds a requirement that a user names; an id that is not there is an error of code 3, everywhere.
func (s *Spec) Require(id string) (*Requirement, error) {
	if r := s.Lookup(id); r != nil {
		return r, nil
	}
	return nil, exit.Fail(cmp.Or(s.Suggest(id), "'ralph-order list --all' prints the known ids"), "%q has no requirement %q", s.Name, id)
}

// Suggest asks whether the requirement most like an unknown id was meant, or is "".
func (s *Spec) Suggest(id string) string {
	return NewSuggester(s.ids()).Hint(id)
}
