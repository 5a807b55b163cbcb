package agentsmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Archive takes sections out of a file that has more than maxLines lines: those that are older than keep months, and
// if that is not enough the oldest ones, until it fits. The newest section stays in any case. What was taken out is
// returned, the oldest first; none means that the file is as it was.
func Archive(data []byte, maxLines, keep int, now time.Time) ([]byte, []Found, error) {
	sections, err := Sections(data)
	if err != nil {
		return nil, nil, err
	}
	lines := CountLines(data)
	if lines <= maxLines || len(sections) == 0 {
		return data, nil, nil
	}
	byAge := slices.Clone(sections)
	slices.SortStableFunc(byAge, func(a, b Found) int { return a.Date.Compare(b.Date) })
	byAge = byAge[:len(byAge)-1]
	limit := now.UTC().AddDate(0, -keep, 0)
	var moved []Found
	left := lines
	for _, f := range byAge {
		if !f.Date.Before(limit) && left <= maxLines {
			break
		}
		moved = append(moved, f)
		left -= f.Lines + bytes.Count(data[f.parted:f.start], []byte("\n"))
	}
	out := without(data, sections, func(f Found) bool {
		return slices.ContainsFunc(moved, func(m Found) bool { return m.start == f.start })
	})
	return out, moved, nil
}

// CountLines is the number of lines of a file, one without a line end included.
func CountLines(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// ArchiveIndex is the name of the list of what was archived.
const ArchiveIndex = "index.md"

// ArchiveName is the file that a section goes to: one a month.
func (f Found) ArchiveName() string { return f.Date.Format("2006-01") + "-ralph-loop-entries.md" }

// Archived is the archive's file with sections added. A section that it holds already is not added again, so that a
// run which was cut short can be repeated.
func Archived(old []byte, sections []Found) []byte {
	out := slices.Clone(old)
	for _, f := range sections {
		body := strings.ReplaceAll(f.Text, "\r\n", "\n")
		if bytes.Contains(out, []byte(body)) {
			continue
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, body...)
	}
	return out
}

// Indexed is the archive's index with a line for each section.
func Indexed(old []byte, sections []Found) []byte {
	out := slices.Clone(old)
	if len(out) == 0 {
		out = []byte("# Sections moved out of AGENTS.md\n\n")
	}
	for _, f := range sections {
		line := fmt.Sprintf("- %s [%s %s](%s)\n", f.Date.Format(dateForm), f.ID, f.Title, f.ArchiveName())
		if !bytes.Contains(out, []byte(line)) {
			out = append(out, line...)
		}
	}
	return out
}
