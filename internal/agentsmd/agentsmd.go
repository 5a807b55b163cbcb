// Package agentsmd adds sections to AGENTS.md, the page that agents read before they work, and takes them out again,
// by cutting and joining bytes. What a person wrote there is never changed by one byte.
//
// A section stands between two comments, each a line of its own:
//
//	<!-- ralph-loop:begin REQ-001 2026-05-08 +1 -->
//	## ralph-loop: [REQ-001 title] (auto-added)
//	...
//	<!-- ralph-loop:end REQ-001 -->
//
// The id is percent-encoded. +1 counts the line ends directly before the section that were added with it, to part it
// from the text above: they are the section's, so that taking it out leaves exactly what was there before.
package agentsmd

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph-loop/internal/lazyregexp"
)

// Name is the file's name, at the worktree's top.
const Name = "AGENTS.md"

// Section is one requirement's section.
type Section struct {
	ID        string
	Title     string
	Date      time.Time // of its day, UTC
	Addition  string    // the agent's words; data, whatever they say
	Learnings []string  // the requirement's permanent learnings
}

// Found is a section as it stands in a file.
type Found struct {
	ID        string
	Date      time.Time
	Title     string   // as in its heading, without the id
	Learnings []string // its bullets
	Line      int      // 1-based line of its first comment
	Lines     int      // its length, both comments included
	Text      string   // all of it, both comments included, as it stands in the file

	start, end int    // where it is in the file, without the line ends before it
	parted     int    // where the line ends before it begin that are its own
	ending     string // of its first line
}

// AmbiguousError lists the markers that do not make sections, with their lines. A file with one is never changed: what
// lies between could be a person's.
type AmbiguousError struct {
	Problems []string // "line 12: ..."
}

func (e *AmbiguousError) Error() string {
	return Name + ": " + strings.Join(e.Problems, "; ")
}

const dateForm = "2006-01-02"

var (
	looksLikeMarker = lazyregexp.New(`(?i)^\s*<!--\s*ralph-loop\s*:`)
	beginMarker     = lazyregexp.New(`^<!-- ralph-loop:begin (\S+) (\d{4}-\d{2}-\d{2}) \+(\d{1,2}) -->$`)
	endMarker       = lazyregexp.New(`^<!-- ralph-loop:end (\S+) -->$`)
	heading         = lazyregexp.New(`^## ralph-loop: \[(.*)\] \(auto-added\)$`)
)

const (
	headingForm   = "## ralph-loop: [%s] (auto-added)"
	learnedBullet = "- Learned: "
)

// Sections are the sections of a file, in its order. The error is an *AmbiguousError.
func Sections(data []byte) ([]Found, error) {
	var (
		sections []Found
		problems []string
		open     *Found
		first    = map[string]int{}
	)
	problem := func(line int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("line %d: %s", line, fmt.Sprintf(format, args...)))
	}
	offset, number := 0, 0
	for raw := range bytes.Lines(data) {
		number++
		start := offset
		offset += len(raw)
		if start == 0 && bytes.HasPrefix(raw, bom) {
			start, raw = len(bom), raw[len(bom):]
		}
		if !looksLikeMarker.Match(raw) {
			if open != nil {
				open.read(strings.TrimRight(string(raw), "\r\n"))
			}
			continue
		}
		line, ending := cutLine(raw)
		if m := beginMarker.FindSubmatch(line); m != nil {
			id, date, ok := decode(string(m[1]), string(m[2]))
			switch {
			case open != nil:
				problem(number, "a section begins inside the one of line %d", open.Line)
			case !ok:
				problem(number, "a marker with an id or a date that is none")
			case first[id] > 0:
				problem(number, "a second section of %q, the first is in line %d", id, first[id])
			}
			own, _ := strconv.Atoi(string(m[3]))
			first[id] = number
			after := 0
			if len(sections) > 0 {
				after = sections[len(sections)-1].end
			}
			open = &Found{ID: id, Date: date, Line: number, start: start, ending: ending, parted: backOver(data, after, start, ending, own)}
			continue
		}
		m := endMarker.FindSubmatch(line)
		switch {
		case m == nil:
			problem(number, "a marker that was changed by hand")
		case open == nil:
			problem(number, "the end of a section that does not begin")
		default:
			if id, err := url.PathUnescape(string(m[1])); err != nil || id != open.ID {
				problem(number, "the end of %q in the section of %q, line %d", string(m[1]), open.ID, open.Line)
			}
			open.end, open.Lines = offset, number-open.Line+1
			open.Text = string(data[open.start:open.end])
			sections, open = append(sections, *open), nil
		}
	}
	if open != nil {
		problem(open.Line, "a section of %q that does not end", open.ID)
	}
	if len(problems) > 0 {
		return nil, &AmbiguousError{Problems: problems}
	}
	return sections, nil
}

// read takes what one line of a section says.
func (f *Found) read(line string) {
	if m := heading.FindStringSubmatch(line); m != nil && f.Title == "" {
		f.Title = strings.TrimPrefix(strings.TrimPrefix(m[1], f.ID), " ")
	}
	if text, ok := strings.CutPrefix(line, learnedBullet); ok {
		f.Learnings = append(f.Learnings, text)
	}
}

func decode(id, date string) (string, time.Time, bool) {
	id, err := url.PathUnescape(id)
	day, dateErr := time.Parse(dateForm, date)
	return id, day, err == nil && dateErr == nil
}

func cutLine(raw []byte) (line []byte, ending string) {
	for _, e := range []string{"\r\n", "\n"} {
		if bytes.HasSuffix(raw, []byte(e)) {
			return raw[:len(raw)-len(e)], e
		}
	}
	return raw, ""
}

// backOver is where the line ends before start that are a section's own begin: at most own of them, none before after.
// A single one is its own only below an empty line, or a person has taken that away and the one left ends a line of
// theirs.
func backOver(data []byte, after, start int, ending string, own int) int {
	at := start
	for n := own; n > 0 && ending != "" && at-len(ending) >= after && bytes.HasSuffix(data[:at], []byte(ending)); n-- {
		at -= len(ending)
	}
	if own == 1 && at > 0 && data[at-1] != '\n' {
		return start
	}
	return at
}

// Append adds a section at the file's end, or puts it in the place of the same requirement's. A section that says
// nothing is not added, and takes the old one away. What the file says elsewhere is not said again. The file's own
// line ends are used. The error is an *AmbiguousError, or says that the file is no text.
func Append(old []byte, s Section) ([]byte, error) {
	if err := text(old); err != nil {
		return nil, err
	}
	sections, err := Sections(old)
	if err != nil {
		return nil, err
	}
	eol := lineEnd(old)
	own := slices.IndexFunc(sections, func(f Found) bool { return f.ID == s.ID })
	rest := old
	if own >= 0 {
		rest = without(old, sections, func(f Found) bool { return f.ID == s.ID })
	}
	body := s.body(said(rest))
	if len(body) == 0 {
		return rest, nil
	}
	if own >= 0 {
		f := sections[own]
		parting := strings.Count(string(old[f.parted:f.start]), "\n")
		return slices.Concat(old[:f.start], s.lines(body, parting, f.ending), old[f.end:]), nil
	}
	parting := partingFor(old, eol)
	return slices.Concat(old, []byte(strings.Repeat(eol, parting)), s.lines(body, parting, eol)), nil
}

// partingFor is how many line ends part a section from the text before it: what makes an empty line.
func partingFor(before []byte, eol string) int {
	switch {
	case len(before) == 0 || bytes.Equal(before, bom) || bytes.HasSuffix(before, []byte(eol+eol)):
		return 0
	case bytes.HasSuffix(before, []byte("\n")):
		return 1
	}
	return 2
}

var bom = []byte("\uFEFF")

// text refuses what is not written in bytes that ASCII can be added to.
func text(data []byte) error {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return fmt.Errorf("%s is written in UTF-16; save it as UTF-8", Name)
		}
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("%s holds a NUL byte: it is no text", Name)
	}
	return nil
}

// lineEnd is the line end that most lines have.
func lineEnd(data []byte) string {
	windows := bytes.Count(data, []byte("\r\n"))
	if 2*windows > bytes.Count(data, []byte("\n")) {
		return "\r\n"
	}
	return "\n"
}

// Strip is the file without any section of ours: a person's bytes and nothing else. An ambiguous file comes back
// whole, since all of it may be a person's.
func Strip(data []byte) []byte {
	sections, err := Sections(data)
	if err != nil {
		return data
	}
	return without(data, sections, func(Found) bool { return true })
}

// without cuts sections out. No two lines are joined by it: a section that follows gets line ends of its own, and
// where a person wrote on below a text that had no last line end, one stays.
func without(data []byte, sections []Found, cut func(Found) bool) []byte {
	eol := lineEnd(data)
	var out []byte
	from, gap := 0, false
	for _, f := range append(slices.Clone(sections), Found{parted: len(data), end: -1}) {
		if theirs := data[from:f.parted]; len(theirs) > 0 {
			if gap && len(out) > 0 && out[len(out)-1] != '\n' {
				out = append(out, eol...)
			}
			out, gap = append(out, theirs...), false
		}
		switch {
		case f.end < 0:
		case cut(f):
			from, gap = f.end, true
		case gap:
			parting := partingFor(out, f.ending)
			out = append(out, strings.Repeat(f.ending, parting)...)
			count := ownCount.FindStringIndex(f.Text)
			out = fmt.Appendf(out, "%s+%d -->%s", f.Text[:count[0]], parting, f.Text[count[1]:])
			from, gap = f.end, false
		default:
			out = append(out, data[f.parted:f.end]...)
			from = f.end
		}
	}
	return out
}

// ownCount is the count in a section's first comment.
var ownCount = lazyregexp.New(`\+\d{1,2} -->`)

// lines is the section as it is written.
func (s Section) lines(body []string, parting int, eol string) []byte {
	id := url.PathEscape(s.ID)
	all := []string{
		fmt.Sprintf("<!-- ralph-loop:begin %s %s +%d -->", id, s.Date.UTC().Format(dateForm), min(parting, 99)),
		fmt.Sprintf(headingForm, s.label()),
	}
	all = append(all, body...)
	all = append(all, fmt.Sprintf("<!-- ralph-loop:end %s -->", id))
	return []byte(strings.Join(all, eol) + eol)
}
