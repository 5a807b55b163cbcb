package diffstat

import (
	"context"
	"io"

	"ralph-loop/internal/git"
	"ralph-loop/internal/source"
)

// maxRust is the largest Rust source that is looked into for test code, in bytes; a larger one is implementation.
const maxRust = 4 << 20

// rustMarks are the lines of test code in the two versions of a file.
type rustMarks struct{ old, new lineRanges }

// lineRanges are ranges of lines, first and last, in order and without overlap.
type lineRanges [][2]int

// count is how many of the n lines from start on lie within.
func (r lineRanges) count(start, n int) int {
	total := 0
	for _, x := range r {
		if first, last := max(x[0], start), min(x[1], start+n-1); last >= first {
			total += last - first + 1
		}
	}
	return total
}

// rustSource is a version of a file that may hold test code, and where to put what is found.
type rustSource struct {
	blob, path string // path: where the worktree may have it
	marks      *lineRanges
}

func readRust(ctx context.Context, repo *git.Repo, files []File, marks map[int]*rustMarks) error {
	var all []rustSource
	for i, m := range marks {
		if f := files[i]; f.OldBlob != "" {
			all = append(all, rustSource{f.OldBlob, f.Path, &m.old})
		}
		if f := files[i]; f.NewBlob != "" {
			all = append(all, rustSource{f.NewBlob, f.Path, &m.new})
		}
	}
	return inParts(ctx, all, minObjects, func(ctx context.Context, part []rustSource) error {
		worktree := repo.Files()
		var ids []string
		var rest []rustSource
		for _, s := range part {
			if src, ok := worktree.Blob(s.path, s.blob); ok {
				*s.marks = rustTests(src)
				continue
			}
			ids, rest = append(ids, s.blob), append(rest, s)
		}
		return repo.Blobs(ctx, ids, func(n int, data io.Reader, size int64) error {
			if size > maxRust {
				return nil
			}
			src, err := io.ReadAll(data)
			if err == nil {
				*rest[n].marks = rustTests(src)
			}
			return err
		})
	})
}

func rustTests(src []byte) lineRanges { return source.Scan("x.rs", src).RustTests(src) }
