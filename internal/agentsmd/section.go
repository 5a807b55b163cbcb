package agentsmd

import (
	"strings"

	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/lazyregexp"
)

// Bounds on a section. It is read at the start of every attempt that follows, so it must earn its place.
const (
	MaxLines     = 12 // of a section, its two comments and its heading included
	maxLineBytes = 300
	maxLabel     = 160
	mostLearned  = 5 // bullets that a section's addition may not crowd out
	bodyLines    = MaxLines - 3
)

// label is what stands in the heading's brackets.
func (s Section) label() string {
	title := strings.NewReplacer("[", "(", "]", ")").Replace(excerpt.Line(s.Title, maxLabel))
	return strings.TrimSpace(defused(excerpt.Line(s.ID, maxLabel) + " " + title))
}

// body is the lines below the heading; none if there is nothing to say. known are the lines that the file holds
// already.
func (s Section) body(known map[string]bool) []string {
	var learned []string
	for _, l := range s.Learnings {
		line := learnedLine(l)
		if key := saying(line); key != "" && !known[key] {
			known[key] = true
			learned = append(learned, line)
		}
	}
	addition := tidy(s.Addition, known)
	room := bodyLines - min(len(learned), mostLearned)
	if len(addition) > room {
		addition = append(unfenced(addition)[:max(0, min(room-1, len(unfenced(addition))))], "…")
	}
	if room = bodyLines - len(addition); len(learned) > room {
		learned = learned[:room]
	}
	return append(addition, learned...)
}

// learnedLine is a learning as a section's bullet.
func learnedLine(l string) string { return learnedBullet + defused(excerpt.Line(l, maxLineBytes)) }

var (
	atxHeading  = lazyregexp.New(`^\s{0,3}#{1,6}(\s+|$)`)
	closing     = lazyregexp.New(`\s+#+\s*$`)
	underline   = lazyregexp.New(`^\s*(=+|-{2,}|(\* *){3,}|(_ *){3,}|(- *){3,})\s*$`)
	fence       = lazyregexp.New("^\\s*(`{3,}|~{3,})")
	htmlAtStart = lazyregexp.New(`^(\s{0,3})<`)
	markerWord  = lazyregexp.New(`(?i)ralph-loop\s*:\s*(begin|end)`)
)

// tidy is an agent's words as lines that cannot break the page: no headings, no rules, no comments, no HTML blocks, no
// fence that stays open, nothing that looks like our own marks, no empty lines, and nothing that is known already.
func tidy(addition string, known map[string]bool) []string {
	var out []string
	for line := range strings.Lines(excerpt.Text(addition)) {
		line = strings.TrimRight(strings.TrimSuffix(line, "\n"), " \t")
		if atxHeading.MatchString(line) {
			line = closing.ReplaceAllString(atxHeading.ReplaceAllString(line, ""), "")
			if line != "" {
				line = "**" + strings.Trim(line, "* ") + "**"
			}
		}
		if strings.TrimSpace(line) == "" || underline.MatchString(line) {
			continue
		}
		line = defused(htmlAtStart.ReplaceAllString(line, `$1\<`))
		if rest, ok := strings.CutPrefix(line, learnedBullet); ok {
			line = "* Learned: " + rest
		}
		if key := saying(line); key != "" && !fence.MatchString(line) {
			if known[key] {
				continue
			}
			known[key] = true
		}
		out = append(out, excerpt.Cut(line, maxLineBytes))
	}
	if !balanced(out) {
		out = unfenced(out)
	}
	return out
}

// defused takes from a line what a reader of the file, ours too, would take for a comment or a marker.
func defused(line string) string {
	line = strings.ReplaceAll(line, "<!--", `<\!--`)
	line = strings.ReplaceAll(line, "-->", `--\>`)
	return markerWord.ReplaceAllString(line, "ralph-loop $1")
}

// balanced reports whether each fence is closed by one of its own kind.
func balanced(lines []string) bool {
	open := ""
	for _, l := range lines {
		m := fence.FindStringSubmatch(l)
		switch {
		case m == nil:
		case open == "":
			open = m[1]
		case m[1][0] == open[0] && len(m[1]) >= len(open) && strings.TrimSpace(l) == m[1]:
			open = ""
		}
	}
	return open == ""
}

// unfenced is the lines without fences: their content stays, as text.
func unfenced(lines []string) []string {
	var out []string
	for _, l := range lines {
		if !fence.MatchString(l) {
			out = append(out, l)
		}
	}
	return out
}

// said are the lines of a file, by what they say.
func said(data []byte) map[string]bool {
	known := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if key := saying(line); key != "" {
			known[key] = true
		}
	}
	return known
}

// saying is a line without its list mark, its case and its closing stop; "" for a line that says nothing.
func saying(line string) string {
	line = strings.TrimLeft(strings.ToLower(strings.TrimSpace(line)), "-*+> ")
	line = strings.TrimPrefix(line, strings.ToLower(strings.TrimPrefix(learnedBullet, "- ")))
	return strings.Join(strings.Fields(strings.TrimRight(line, ".。!！;；*")), " ")
}
