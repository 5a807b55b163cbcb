package diffstat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"ralph-loop/internal/git"
)

// Lines are added and removed lines.
type Lines struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

func (l *Lines) add(f File) {
	l.Added += f.Added
	l.Removed += f.Removed
}

// LeftOut is what one reason kept out of the ratio.
type LeftOut struct {
	Reason string `json:"reason"`
	Files  int    `json:"files"`
	Lines
}

// Sums are a change's totals.
type Sums struct {
	Test           Lines     `json:"test"`
	Implementation Lines     `json:"implementation"`
	LeftOut        []LeftOut `json:"left_out"` // the most added lines first
}

// Sums adds up the files.
func (s *Stat) Sums() Sums {
	sums := Sums{LeftOut: []LeftOut{}}
	for _, f := range s.Files {
		switch f.Class {
		case Test:
			sums.Test.add(f)
		case Implementation:
			sums.Implementation.add(f)
		default:
			i := slices.IndexFunc(sums.LeftOut, func(l LeftOut) bool { return l.Reason == f.Reason })
			if i < 0 {
				i = len(sums.LeftOut)
				sums.LeftOut = append(sums.LeftOut, LeftOut{Reason: f.Reason})
			}
			sums.LeftOut[i].Files++
			sums.LeftOut[i].add(f)
		}
	}
	slices.SortFunc(sums.LeftOut, func(a, b LeftOut) int {
		if a.Added != b.Added {
			return b.Added - a.Added
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return sums
}

// name is how a file is shown on one line.
func (f *File) name() string {
	if f.From != "" {
		return git.Quote(f.From) + " => " + git.Quote(f.Path)
	}
	return git.Quote(f.Path)
}

// WriteText writes a line a file, then the sums, then what was left out by reason.
func (s *Stat) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%-14s %8s %8s  %s\n", "class", "added", "removed", "path")
	for _, f := range s.Files {
		fmt.Fprintf(w, "%-14s %8d %8d  %s", f.Class, f.Added, f.Removed, f.name())
		if f.Reason != "" {
			fmt.Fprintf(w, " (%s)", f.Reason)
		}
		fmt.Fprintln(w)
	}
	sums := s.Sums()
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%-14s %8d %8d  in all\n", Test, sums.Test.Added, sums.Test.Removed)
	fmt.Fprintf(w, "%-14s %8d %8d  in all\n", Implementation, sums.Implementation.Added, sums.Implementation.Removed)
	for _, l := range sums.LeftOut {
		fmt.Fprintf(w, "%-14s %8d %8d  %s, %s\n", "left out", l.Added, l.Removed, l.Reason, plural(l.Files, "file"))
	}
	return w.Flush()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteTSV writes a line a file: class, added, removed, path, path before a rename, reason. Paths are quoted as
// git.Quote does, so no field holds a tab.
func (s *Stat) WriteTSV(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "class\tadded\tremoved\tpath\tfrom\treason")
	for _, f := range s.Files {
		from := ""
		if f.From != "" {
			from = git.Quote(f.From)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\n", f.Class, f.Added, f.Removed, git.Quote(f.Path), from, f.Reason)
	}
	return w.Flush()
}

// jsonFile is a File as it is written. JSON text cannot hold every byte that a path can: where path or from is not
// UTF-8, its bytes stand beside it in base64.
type jsonFile struct {
	Path      string `json:"path"`
	PathBytes []byte `json:"path_base64,omitempty"`
	From      string `json:"from,omitempty"`
	FromBytes []byte `json:"from_base64,omitempty"`
	Class     Class  `json:"class"`
	Reason    string `json:"reason,omitempty"`
	Lines
}

// MarshalJSON gives {"version": 1, "base", "other_bases", "tree", "files", "sums"}.
func (s *Stat) MarshalJSON() ([]byte, error) {
	files := make([]jsonFile, 0, len(s.Files))
	for _, f := range s.Files {
		j := jsonFile{Class: f.Class, Reason: f.Reason, Lines: Lines{f.Added, f.Removed}}
		j.Path, j.PathBytes = text(f.Path)
		j.From, j.FromBytes = text(f.From)
		files = append(files, j)
	}
	return json.Marshal(struct {
		Version int        `json:"version"`
		Base    string     `json:"base"`
		Others  []string   `json:"other_bases,omitempty"`
		Tree    string     `json:"tree"`
		Files   []jsonFile `json:"files"`
		Sums    Sums       `json:"sums"`
	}{1, s.Base, s.Others, s.Tree, files, s.Sums()})
}

func text(s string) (string, []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return strings.ToValidUTF8(s, "\uFFFD"), []byte(s)
}
