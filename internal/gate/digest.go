package gate

import (
	"fmt"
	"slices"
	"strings"
)

// DigestSize bounds a digest, in bytes.
const DigestSize = 4 << 10

// ByUse is the order in which the next attempt wants to know what failed: what does not compile explains most.
var ByUse = []string{"L1", "L2", "integrity", "infra", "L0", "L1b", "mocks", "L3", "trace", "scope", "red"}

// DigestOpening begins the first line of every digest; what follows it names the layers.
const DigestOpening = "The gate refused this tree: "

// Digest is the verdict's failures for the next attempt's prompt: the most useful first, each with its place, at most
// DigestSize bytes of valid UTF-8. It is empty if the tree passed.
func (v *Verdict) Digest() string {
	var refused []Layer
	for _, name := range ByUse {
		if l := v.Layer(name); l != nil && (l.Result == Fail || l.Result == Error) {
			refused = append(refused, *l)
		}
	}
	if len(refused) == 0 {
		return ""
	}
	// The first line must do alone, as the reason of a requirement that is given up: the figures of the first layer, the
	// names of the others.
	var others []string
	for _, l := range refused[1:] {
		others = append(others, l.Name+" "+string(l.Result))
	}
	head := DigestOpening + refused[0].Name + ": " + short(refused[0].Summary, 120)
	if len(others) > 0 {
		head += "; also " + strings.Join(others, ", ")
	}
	head += "\n"
	room := DigestSize - len(head)
	said, advised := map[Finding]bool{}, map[string]bool{}
	var sections []string
	for i, l := range refused {
		if advised[l.Advice] {
			l.Advice = ""
		}
		advised[l.Advice] = true
		// What one section leaves, the next ones may use.
		section := digestSection(l, room/(len(refused)-i), said)
		sections = append(sections, section)
		room -= len(section)
	}
	return head + strings.Join(sections, "")
}

// digestSection is one layer in at most room bytes: first its frame, then as many findings as fit, whole.
func digestSection(l Layer, room int, said map[Finding]bool) string {
	width := min(300, max(60, room/8))
	top := fmt.Sprintf("\n%s %s: %s\n", l.Name, l.Result, short(l.Summary, width))
	if l.Advice != "" {
		top += "Next: " + short(l.Advice, width) + "\n"
	}
	bottom := ""
	for _, note := range l.Notes[:min(2, len(l.Notes))] {
		bottom += "Note: " + short(note, width) + "\n"
	}
	if l.Log != "" {
		bottom += "Full log: " + l.Log + "\n"
	}
	whole := room
	const more = "... and 100000 more\n"
	room -= len(top) + len(bottom) + len(more)
	findings := slices.DeleteFunc(slices.Clone(l.Findings), func(f Finding) bool {
		key := Finding{Path: f.Path, Line: f.Line, Message: f.Message}
		known := said[key]
		said[key] = true
		return known
	})
	middle, shown := "", 0
	for _, f := range findings {
		text := "- " + strings.ReplaceAll(clean(f.String()), "\n", "\n  ") + "\n"
		if len(middle)+len(text) > room {
			if shown > 0 {
				break
			}
			text = headTail(text, max(room-1, 0)) + "\n"
		}
		middle += text
		shown++
	}
	if left := len(findings) - shown + l.Dropped; left > 0 {
		middle += fmt.Sprintf("... and %d more\n", left)
	}
	return headTail(top+middle+bottom, whole)
}
