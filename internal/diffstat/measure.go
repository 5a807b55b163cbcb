// Package diffstat counts the lines that a change adds and removes, apart by what they are for: test code,
// implementation, and the rest with the reason why it is neither. What changed comes from git's plumbing; no setting
// or attribute of the user's changes a number.
package diffstat

import (
	"bytes"
	"context"
	"fmt"
	"slices"
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
	Others     []string // further bases: the other parents of a merge
	Files      []File   // sorted by Path, byte by byte
}

// options make a diff of git the same for everybody, whatever diff.* and the environment say.
var options = []string{
	"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--ignore-submodules=none", "--no-abbrev", "--full-index",
	"--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "--no-indent-heuristic", "-O/dev/null", "-l0",
}

// Measure counts what the tree added to base; both are anything that names a tree. A rename counts what it changed.
//
// With other bases beside it, the parents of a merge, only that is counted which is new to every one of them: a file
// that one of them has as it is was changed there, and so was a line. Removed lines are then not counted.
//
// git lists what changed. Lines of new and deleted files are counted as they are read, from the worktree's own file where
// that holds the blob, for the header that marks generated code is looked for there anyway. Lines of the others are counted
// by git, as text, whatever an attribute says. A blob of more than 1 MiB is never held in memory, but for Rust sources up to
// maxRust.
func Measure(ctx context.Context, repo *git.Repo, base, tree string, c *Classifier, others ...string) (*Stat, error) {
	files, err := list(ctx, repo, base, tree)
	if err != nil {
		return nil, fmt.Errorf("list what changed: %w", err)
	}
	var elsewhere []map[string]string
	if files, elsewhere, err = newToAll(ctx, repo, files, tree, others); err != nil {
		return nil, fmt.Errorf("list what changed: %w", err)
	}
	err = inParts(ctx, files, minFiles, func(_ context.Context, part []File) error {
		for i := range part {
			part[i].classify(c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := readContents(ctx, repo, files); err != nil {
		return nil, fmt.Errorf("read what changed: %w", err)
	}
	if files, err = countChanged(ctx, repo, files, elsewhere); err != nil {
		return nil, fmt.Errorf("count what changed: %w", err)
	}
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return &Stat{Base: base, Tree: tree, Others: others, Files: files}, nil
}

func list(ctx context.Context, repo *git.Repo, base, tree string) ([]File, error) {
	args := append([]string{"diff-tree", "-r", "-z", "-M50%", "--raw"}, options...)
	out, err := repo.Output(ctx, append(args, "--end-of-options", base, tree)...)
	if err != nil {
		return nil, err
	}
	return parse(out)
}

// parse reads what diff-tree -z prints for --raw.
func parse(out []byte) ([]File, error) {
	var files []File
	next := func() (string, bool) {
		field, rest, ok := bytes.Cut(out, []byte{0})
		out = rest
		return string(field), ok
	}
	for len(out) > 0 {
		meta, _ := next()
		words := strings.Fields(strings.TrimPrefix(meta, ":"))
		if !strings.HasPrefix(meta, ":") || len(words) != 5 {
			return nil, fmt.Errorf("git printed %q", meta)
		}
		f := File{OldMode: words[0], NewMode: words[1], OldBlob: blobID(words[2]), NewBlob: blobID(words[3]), Status: words[4][0]}
		var ok bool
		if f.Path, ok = next(); !ok {
			return nil, fmt.Errorf("git printed %q without a path", meta)
		}
		if f.Status == 'R' {
			f.From = f.Path
			if f.Path, ok = next(); !ok {
				return nil, fmt.Errorf("git printed %q without its second path", meta)
			}
		}
		files = append(files, f)
	}
	return files, nil
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
		f.Class, f.Reason = Other, submodule // a pointer, not lines: git would call it one
	case mode == modeLink:
		f.Class, f.Reason = Other, symbolicLink
	}
}

// hasLines reports whether there is text to count, as far as it is known.
func (f *File) hasLines() bool { return f.Reason != submodule && f.Reason != binary }
