package spec

// Elsewhere reports whether parts of the requirement stand outside its own lines.
func Elsewhere(r *Requirement) bool { return len(r.criteria) > 0 }
