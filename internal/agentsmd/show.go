package agentsmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/spec"
)

// ShownTokens bounds the sections that a prompt holds, together.
const ShownTokens = 800

// Show is the file as a prompt holds it: a person's text whole, then the sections, the newest first, without their
// comments and whole or not at all, within ShownTokens. most bounds everything in tokens, 0 or less is no bound; what
// it leaves out is said: sections first, then the end of a person's text. told are learnings that the prompt holds
// elsewhere: they are left out, and so is a section that says nothing else.
func Show(data []byte, most int, told []string) (string, error) {
	sections, err := Sections(data)
	if err != nil {
		return "", err
	}
	hand := strings.TrimSpace(strings.ReplaceAll(string(bytes.TrimPrefix(Strip(data), bom)), "\r\n", "\n"))
	hand = strings.ToValidUTF8(hand, "\uFFFD")
	var b strings.Builder
	used := 0
	if hand != "" {
		if most > 0 && spec.Tokens(hand) > most {
			hand = head(hand, most-20)
			fmt.Fprintf(&b, "%s\n(cut here; %s has more: read it)\n", hand, Name)
			return b.String(), nil
		}
		b.WriteString(hand + "\n")
		used = spec.Tokens(hand)
	}
	room := ShownTokens
	if most > 0 {
		room = min(room, most-used)
	}
	newest := slices.Clone(sections)
	slices.Reverse(newest)
	slices.SortStableFunc(newest, func(a, b Found) int { return b.Date.Compare(a.Date) })
	known := map[string]bool{}
	for _, l := range told {
		known[learnedLine(l)] = true
	}
	left := 0
	for _, f := range newest {
		text := f.inner(known)
		if text == "" {
			continue
		}
		if n := spec.Tokens(text) + 1; n <= room {
			room -= n
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(text)
			continue
		}
		left++
	}
	if left > 0 && room > 20 {
		fmt.Fprintf(&b, "\n(%d older sections are in %s)\n", left, Name)
	}
	return b.String(), nil
}

// inner is a section's text between its comments without the lines that are known; "" if only its heading is left.
func (f Found) inner(known map[string]bool) string {
	var b strings.Builder
	said := false
	for line := range strings.Lines(strings.ToValidUTF8(strings.ReplaceAll(f.Text, "\r\n", "\n"), "\uFFFD")) {
		text := strings.TrimSuffix(line, "\n")
		if looksLikeMarker.MatchString(text) || known[text] {
			continue
		}
		said = said || !heading.MatchString(text)
		b.WriteString(line)
	}
	if !said {
		return ""
	}
	return b.String()
}

// head is as many whole lines of a text as most tokens hold.
func head(text string, most int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if most -= spec.Tokens(line); most < 0 {
			break
		}
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n")
}
