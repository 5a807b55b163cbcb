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

func readRust(ctx context.Context, repo *git.Repo, files []File, marks map[int]*rustMarks) error {
	var ids []string
	var to []*lineRanges
	for i, m := range marks {
		if id := files[i].OldBlob; id != "" {
			ids, to = append(ids, id), append(to, &m.old)
		}
		if id := files[i].NewBlob; id != "" {
			ids, to = append(ids, id), append(to, &m.new)
		}
	}
	return repo.Blobs(ctx, ids, func(n int, data io.Reader, size int64) error {
		if size > maxRust {
			return nil
		}
		src, err := io.ReadAll(data)
		if err == nil {
			*to[n] = source.Scan("x.rs", src).RustTests(src)
		}
		return err
	})
}
