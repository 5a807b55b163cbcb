package spec

// Elsewhere reports whether parts of the requirement stand outside its own lines.
func Elsewhere(r *Requirement) bool { return len(r.criteria) > 0 }

// Texts are those of the tables of this package's tests.
func Texts() []string {
	var texts []string
	for _, c := range shapes {
		texts = append(texts, c.text)
	}
	for _, c := range sources {
		texts = append(texts, c.text)
	}
	for _, c := range refusals {
		texts = append(texts, c.text)
	}
	return texts
}
