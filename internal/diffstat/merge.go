package diffstat

import (
	"context"

	"ralph-loop/internal/git"
)

// newToAll leaves of the files those that also differ from each of the other bases. For each of those bases it gives the
// blob that stood there, by the file's path in the tree; "" where the file is new.
func newToAll(ctx context.Context, repo *git.Repo, files []File, tree string, others []string) ([]File, []map[string]string, error) {
	var elsewhere []map[string]string
	for _, base := range others {
		changed, err := list(ctx, repo, base, tree)
		if err != nil {
			return nil, nil, err
		}
		before := map[string]string{}
		for _, f := range changed {
			before[f.Path] = f.OldBlob
		}
		var left []File
		for _, f := range files {
			if _, ok := before[f.Path]; ok {
				left = append(left, f)
			}
		}
		files, elsewhere = left, append(elsewhere, before)
	}
	return files, elsewhere, nil
}

// countMerge hands out, for each wanted file, the stretches of lines that are new to every base.
func countMerge(ctx context.Context, repo *git.Repo, files []File, want []pair, elsewhere []map[string]string, count func(i int, h hunk)) error {
	fresh := map[int]lineRanges{}
	for n := range len(elsewhere) + 1 {
		var pairs []pair
		for _, p := range want {
			if n > 0 {
				p.old = elsewhere[n-1][files[p.file].Path]
			}
			pairs = append(pairs, p)
		}
		found := map[int]lineRanges{}
		err := diffPairs(ctx, repo, pairs, func(i int, h hunk) {
			if h.newLines > 0 {
				found[i] = append(found[i], [2]int{h.newStart, h.newStart + h.newLines - 1})
			}
		})
		if err != nil {
			return err
		}
		if n == 0 {
			fresh = found
			continue
		}
		for i := range fresh {
			fresh[i] = fresh[i].and(found[i])
		}
	}
	for i := range files {
		files[i].Removed = 0 // as Measure says
	}
	for _, p := range want {
		files[p.file].Added = 0 // what was counted as the file was read
		for _, r := range fresh[p.file] {
			count(p.file, hunk{newStart: r[0], newLines: r[1] - r[0] + 1})
		}
	}
	return nil
}

// and gives the lines that lie in both.
func (r lineRanges) and(other lineRanges) lineRanges {
	var out lineRanges
	for i, j := 0, 0; i < len(r) && j < len(other); {
		if first, last := max(r[i][0], other[j][0]), min(r[i][1], other[j][1]); first <= last {
			out = append(out, [2]int{first, last})
		}
		if r[i][1] < other[j][1] {
			i++
		} else {
			j++
		}
	}
	return out
}
