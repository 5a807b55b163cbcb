// Package diffstat counts the lines that a change adds and removes, apart by what they are for: test code,
// implementation, and the rest with the reason why it is neither. Every number comes from git's plumbing; no setting
// or attribute of the user's changes one.
package diffstat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ralph-loop/internal/git"
)

// File is what a change did to one file, or to the part of it that belongs to one class.
type File struct {
	Path           string // from the top, with slashes; any bytes but NUL
	From           string // its path before, if it was renamed, else ""
	Class          Class
	Reason         string // why it is Other; for a part of a file, what makes it test code
	Added, Removed int    // lines

	Status           byte   // A, D, M, R or T as git gives it
	OldMode, NewMode string // "000000" where there is none
	OldBlob, NewBlob string // "" where there is none
}

// Stat is a change, counted. A file with test code inside (Rust) has two entries, one behind the other.
type Stat struct {
	Base, Tree string
	Files      []File // sorted by Path, byte by byte
}

// options make a diff of git the same for everybody, whatever diff.* and the environment say.
var options = []string{
	"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--ignore-submodules=none", "--no-abbrev", "--full-index",
	"--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "--no-indent-heuristic", "-O/dev/null", "-l0",
}

// Measure counts what the tree added to base; both are anything that names a tree. A rename counts what it changed.
// A blob is never held in memory, but for Rust sources up to maxRust.
func Measure(ctx context.Context, repo *git.Repo, base, tree string, c *Classifier) (*Stat, error) {
	args := append([]string{"diff-tree", "-r", "-z", "-M50%", "--raw", "--numstat"}, options...)
	out, err := repo.Output(ctx, append(args, "--end-of-options", base, tree)...)
	if err != nil {
		return nil, fmt.Errorf("count the change: %w", err)
	}
	files, uncounted, err := parse(out)
	if err != nil {
		return nil, fmt.Errorf("count the change: %w", err)
	}
	for i := range files {
		files[i].classify(c)
	}
	if err := readHeads(ctx, repo, files, uncounted); err != nil {
		return nil, fmt.Errorf("look for generated files: %w", err)
	}
	if files, err = countHunks(ctx, repo, files, uncounted); err != nil {
		return nil, fmt.Errorf("count by hunks: %w", err)
	}
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return &Stat{Base: base, Tree: tree, Files: files}, nil
}

// parse reads what diff-tree -z prints for --raw --numstat: all raw records, then all counts, in the same order.
// uncounted holds the indices of the files that git takes for binary.
func parse(out []byte) (files []File, uncounted map[int]bool, err error) {
	fields := bytes.Split(out, []byte{0})
	fields = fields[:len(fields)-1] // behind the last NUL
	next := func() (string, bool) {
		if len(fields) == 0 {
			return "", false
		}
		f := string(fields[0])
		fields = fields[1:]
		return f, true
	}
	for len(fields) > 0 && bytes.HasPrefix(fields[0], []byte(":")) {
		meta, _ := next()
		words := strings.Fields(meta[1:])
		f := File{}
		var ok bool
		if len(words) != 5 {
			return nil, nil, fmt.Errorf("git printed %q", meta)
		}
		if f.Path, ok = next(); !ok {
			return nil, nil, fmt.Errorf("git printed %q without a path", meta)
		}
		f.OldMode, f.NewMode, f.Status = words[0], words[1], words[4][0]
		f.OldBlob, f.NewBlob = blobID(words[2]), blobID(words[3])
		if f.Status == 'R' {
			f.From = f.Path
			if f.Path, ok = next(); !ok {
				return nil, nil, fmt.Errorf("git printed %q without its second path", meta)
			}
		}
		files = append(files, f)
	}
	uncounted = map[int]bool{}
	for i := range files {
		record, ok := next()
		added, rest, ok1 := strings.Cut(record, "\t")
		removed, path, ok2 := strings.Cut(rest, "\t")
		if !ok || !ok1 || !ok2 {
			return nil, nil, fmt.Errorf("git printed the count %q", record)
		}
		if path == "" {
			next() // from
			path, _ = next()
		}
		if path != files[i].Path {
			return nil, nil, fmt.Errorf("git counted %q where %q was due", path, files[i].Path)
		}
		if added == "-" {
			uncounted[i] = true
			continue
		}
		if files[i].Added, err = strconv.Atoi(added); err != nil {
			return nil, nil, fmt.Errorf("git printed the count %q", record)
		}
		if files[i].Removed, err = strconv.Atoi(removed); err != nil {
			return nil, nil, fmt.Errorf("git printed the count %q", record)
		}
	}
	if len(fields) > 0 {
		return nil, nil, fmt.Errorf("git printed %q behind the counts", fields[0])
	}
	return files, uncounted, nil
}

// blobID is "" for the hash of nothing.
func blobID(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

const (
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// classify is what name and mode tell.
func (f *File) classify(c *Classifier) {
	mode := f.NewMode
	if f.Status == 'D' {
		mode = f.OldMode
	}
	f.Class, f.Reason = c.ByName(f.Path)
	switch {
	case f.NewMode == modeSubmodule || f.OldMode == modeSubmodule:
		// A pointer, not lines: git would call it one.
		f.Class, f.Reason, f.Added, f.Removed = Other, submodule, 0, 0
	case mode == modeLink:
		f.Class, f.Reason = Other, symbolicLink
	}
}

// source reports whether the file counts, or might count once its content is known.
func (f *File) source() bool { return f.Class != Other || f.Reason == unknown }

// maxHead is how far into a file its header is looked for, in bytes.
const maxHead = 64 << 10

// readHeads finds the generated files, the scripts without an ending, and among the uncounted those that are binary
// indeed, which it takes from the set.
func readHeads(ctx context.Context, repo *git.Repo, files []File, uncounted map[int]bool) error {
	type version struct {
		file int
		old  bool
	}
	var ids []string
	var of []version
	for i, f := range files {
		if !f.source() && !(uncounted[i] && f.Reason != submodule && f.Reason != binary) {
			continue
		}
		if f.OldBlob != "" {
			ids, of = append(ids, f.OldBlob), append(of, version{i, true})
		}
		if f.NewBlob != "" && f.NewBlob != f.OldBlob {
			ids, of = append(ids, f.NewBlob), append(of, version{i, false})
		}
	}
	// A header that this very change puts on a hand-written file does not take the file out of the count: each
	// version must carry it.
	type found struct{ plain, generated, script, binary bool }
	seen := make([]found, len(files))
	head := newHeadReader()
	err := repo.Blobs(ctx, ids, func(n int, data io.Reader, _ int64) error {
		h, err := head.read(data)
		s := &seen[of[n].file]
		s.generated = s.generated || h.generated
		s.plain = s.plain || !h.generated
		if !of[n].old || files[of[n].file].NewBlob == "" || files[of[n].file].NewBlob == files[of[n].file].OldBlob {
			s.script, s.binary = h.script, h.binary
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range files {
		f, s := &files[i], seen[i]
		switch {
		case f.Class == Other && s.binary: // a source with a NUL in it (UTF-16) is a source
			delete(uncounted, i)
			if f.Reason == unknown || f.Reason == data {
				f.Reason = binary
			}
		case f.Class == Other && s.script:
			f.Class, f.Reason = ofScript(f.Path), ""
		}
		if f.Class != Other && s.generated && !s.plain {
			f.Class, f.Reason = Other, generated
		}
	}
	return nil
}
