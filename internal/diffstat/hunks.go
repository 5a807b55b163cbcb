package diffstat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"ralph-loop/internal/git"
)

// A hunk is a place where a file changed: lines are counted from 1, and an empty side has a count of 0.
type hunk struct{ oldStart, oldLines, newStart, newLines int }

// countHunks counts the files that both trees have, and splits those that hold test code inside. elsewhere holds what
// newToAll found.
func countHunks(ctx context.Context, repo *git.Repo, files []File, elsewhere []map[string]string) ([]File, error) {
	var want []pair
	marks := map[int]*rustMarks{}
	for i, f := range files {
		if !f.hasLines() || f.OldBlob == f.NewBlob {
			continue
		}
		rust := strings.HasSuffix(f.Path, ".rs") && f.Class == Implementation
		if rust {
			marks[i] = &rustMarks{}
		}
		if rust || f.OldBlob != "" && f.NewBlob != "" || len(elsewhere) > 0 && f.NewBlob != "" {
			want = append(want, pair{i, f.OldBlob, f.NewBlob})
		}
	}
	if len(want) == 0 {
		return files, nil
	}
	if err := readRust(ctx, repo, files, marks); err != nil {
		return nil, err
	}
	inTests := map[int]*File{}
	count := func(i int, h hunk) {
		f := &files[i]
		if f.OldBlob != "" && f.NewBlob != "" || len(elsewhere) > 0 {
			f.Added += h.newLines
			f.Removed += h.oldLines
		}
		m := marks[i]
		if m == nil {
			return
		}
		added, removed := m.new.count(h.newStart, h.newLines), m.old.count(h.oldStart, h.oldLines)
		if added+removed == 0 {
			return
		}
		part := inTests[i]
		if part == nil {
			part = new(*f)
			part.Class, part.Reason, part.Added, part.Removed = Test, "#[cfg(test)]", 0, 0
			inTests[i] = part
		}
		part.Added += added
		part.Removed += removed
	}
	var err error
	if len(elsewhere) > 0 {
		err = countMerge(ctx, repo, files, want, elsewhere, count)
	} else {
		err = diffPairs(ctx, repo, want, count)
	}
	if err != nil {
		return nil, err
	}
	var out []File
	for i, f := range files {
		if part := inTests[i]; part != nil {
			f.Added -= part.Added
			f.Removed -= part.Removed
			if f.Added > 0 || f.Removed > 0 {
				out = append(out, f)
			}
			out = append(out, *part)
			continue
		}
		out = append(out, f)
	}
	return out, nil
}

// pair is the two blobs of one file; one may be "".
type pair struct {
	file     int
	old, new string
}

// diffPairs diffs the blobs of each pair, and hands out the hunks. They are put into two trees under
// numbers, so that neither an odd name nor the pairing of renames plays a part.
func diffPairs(ctx context.Context, repo *git.Repo, want []pair, each func(i int, h hunk)) error {
	var oldEntries, newEntries bytes.Buffer
	for _, p := range want {
		if p.old != "" {
			fmt.Fprintf(&oldEntries, "100644 blob %s\t%d\x00", p.old, p.file)
		}
		if p.new != "" {
			fmt.Fprintf(&newEntries, "100644 blob %s\t%d\x00", p.new, p.file)
		}
	}
	oldTree, err := repo.Input(ctx, nonNil(oldEntries.Bytes()), "mktree", "-z")
	if err != nil {
		return err
	}
	newTree, err := repo.Input(ctx, nonNil(newEntries.Bytes()), "mktree", "-z")
	if err != nil {
		return err
	}
	args := append([]string{"diff-tree", "-r", "-p", "--text", "-U0", "--inter-hunk-context=0", "--no-renames"}, options...)
	args = append(args, "--end-of-options", strings.TrimSpace(string(oldTree)), strings.TrimSpace(string(newTree)))
	return repo.Stream(ctx, nil, func(patch io.Reader) error { return readPatch(patch, each) }, args...)
}

func nonNil(b []byte) []byte { return append([]byte{}, b...) }

// readPatch reads the headers of a patch whose files are numbers. Of a line, however long, only the first few bytes
// are looked at.
func readPatch(in io.Reader, each func(i int, h hunk)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	file, middle := -1, false
	for {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		begins := !middle
		middle = err != nil
		if !begins {
			continue
		}
		// A line of content begins with a sign, so neither header can be one.
		switch {
		case bytes.HasPrefix(line, []byte("diff --git a/")):
			name, _, _ := bytes.Cut(line[len("diff --git a/"):], []byte(" "))
			if file, err = strconv.Atoi(string(name)); err != nil {
				return fmt.Errorf("git printed %q", line)
			}
		case bytes.HasPrefix(line, []byte("@@ ")):
			h, err := parseHunk(string(line))
			if err != nil || file < 0 {
				return fmt.Errorf("git printed %q", line)
			}
			each(file, h)
		}
	}
}

// parseHunk reads "@@ -1,2 +3 @@".
func parseHunk(line string) (h hunk, err error) {
	words := strings.SplitN(line, " ", 4)
	if len(words) < 4 || !strings.HasPrefix(words[1], "-") || !strings.HasPrefix(words[2], "+") {
		return h, errors.New("no hunk header")
	}
	if h.oldStart, h.oldLines, err = parseRange(words[1][1:]); err != nil {
		return h, err
	}
	h.newStart, h.newLines, err = parseRange(words[2][1:])
	return h, err
}

func parseRange(s string) (start, lines int, err error) {
	first, second, two := strings.Cut(s, ",")
	if start, err = strconv.Atoi(first); err != nil || !two {
		return start, 1, err
	}
	lines, err = strconv.Atoi(second)
	return start, lines, err
}

// Removed hands out the places of the base that the change takes away or rewrites: lines from the first, counted from
// 1, and the line of the new file where that happened. Files that are new are passed over.
func Removed(ctx context.Context, repo *git.Repo, files []File, each func(i, first, lines, now int)) error {
	var want []pair
	for i, f := range files {
		if f.hasLines() && f.OldBlob != "" && f.OldBlob != f.NewBlob {
			want = append(want, pair{i, f.OldBlob, f.NewBlob})
		}
	}
	if len(want) == 0 {
		return nil
	}
	return diffPairs(ctx, repo, want, func(i int, h hunk) {
		if h.oldLines > 0 {
			each(i, h.oldStart, h.oldLines, h.newStart)
		}
	})
}
