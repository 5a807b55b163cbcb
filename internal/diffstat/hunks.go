package diffstat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ralph-loop/internal/git"
)

// A hunk is a place where a file changed: lines are counted from 1, and an empty side has a count of 0.
type hunk struct{ oldStart, oldLines, newStart, newLines int }

// countChanged counts the files that both trees have, and splits those that hold test code inside. elsewhere holds what
// newToAll found.
func countChanged(ctx context.Context, repo *git.Repo, files []File, elsewhere []map[string]string) ([]File, error) {
	var whole, want []pair // what is counted as a whole, and by its hunks
	marks := map[int]*rustMarks{}
	for i, f := range files {
		if !f.hasLines() || f.OldBlob == f.NewBlob {
			continue
		}
		rust := strings.HasSuffix(f.Path, ".rs") && f.Class == Implementation
		if rust {
			marks[i] = &rustMarks{}
		}
		switch {
		case rust || len(elsewhere) > 0 && f.NewBlob != "":
			want = append(want, pair{i, f.OldBlob, f.NewBlob})
		case len(elsewhere) == 0 && f.OldBlob != "" && f.NewBlob != "":
			whole = append(whole, pair{i, f.OldBlob, f.NewBlob})
		}
	}
	binary, err := countPairs(ctx, repo, files, whole)
	if err != nil {
		return nil, err
	}
	if want = append(want, binary...); len(want) == 0 {
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
	if len(elsewhere) > 0 {
		err = countMerge(ctx, repo, files, want, elsewhere, count)
	} else {
		want = slices.DeleteFunc(want, func(p pair) bool {
			switch { // a new or deleted file is one hunk, and was counted as it was read
			case p.old == "":
				count(p.file, hunk{newStart: 1, newLines: files[p.file].Added})
			case p.new == "":
				count(p.file, hunk{oldStart: 1, oldLines: files[p.file].Removed})
			}
			return p.old == "" || p.new == ""
		})
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

// countPairs has git count the pairs, on all cores; each has both its blobs. It gives those that git calls binary.
func countPairs(ctx context.Context, repo *git.Repo, files []File, pairs []pair) (binary []pair, err error) {
	var mu sync.Mutex
	err = inParts(ctx, pairs, minObjects, func(ctx context.Context, part []pair) error {
		args, err := diffOf(ctx, repo, part, "--numstat", "-z")
		if err != nil {
			return err
		}
		out, err := repo.Output(ctx, args...)
		if err != nil {
			return err
		}
		counts, err := readNumstat(out)
		if err != nil {
			return err
		}
		for _, p := range part {
			c, ok := counts[p.file]
			switch {
			case !ok:
				return fmt.Errorf("git counted %d of %d files", len(counts), len(part))
			case c.binary:
				mu.Lock()
				binary = append(binary, p)
				mu.Unlock()
			default:
				files[p.file].Added, files[p.file].Removed = c.added, c.removed
			}
		}
		return nil
	})
	return binary, err
}

// counted is git's count of one file.
type counted struct {
	added, removed int
	binary         bool // and then nothing is counted
}

// readNumstat reads what --numstat -z prints of files whose names are numbers.
func readNumstat(out []byte) (map[int]counted, error) {
	counts := map[int]counted{}
	for len(out) > 0 {
		line, rest, _ := bytes.Cut(out, []byte{0})
		out = rest
		words := strings.Split(string(line), "\t")
		if len(words) != 3 {
			return nil, fmt.Errorf("git printed %q", line)
		}
		var c counted
		file, err := strconv.Atoi(words[2])
		if c.binary = words[0] == "-" && words[1] == "-"; !c.binary && err == nil {
			if c.added, err = strconv.Atoi(words[0]); err == nil {
				c.removed, err = strconv.Atoi(words[1])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("git printed %q", line)
		}
		counts[file] = c
	}
	return counts, nil
}

// diffPairs diffs the blobs of each pair, and hands out the hunks.
func diffPairs(ctx context.Context, repo *git.Repo, want []pair, each func(i int, h hunk)) error {
	if len(want) == 0 {
		return nil
	}
	args, err := diffOf(ctx, repo, want, "-p", "--text", "-U0", "--inter-hunk-context=0")
	if err != nil {
		return err
	}
	return repo.Stream(ctx, nil, func(patch io.Reader) error { return readPatch(patch, each) }, args...)
}

// diffOf is the call of git that diffs pairs. They are put into two trees under the files' numbers, so that neither an
// odd name nor the pairing of renames plays a part, nor an attribute, but for one of all files.
func diffOf(ctx context.Context, repo *git.Repo, pairs []pair, form ...string) (args []string, err error) {
	var entries bytes.Buffer
	tree := func(blob func(pair) string) {
		for _, p := range pairs {
			if id := blob(p); id != "" {
				fmt.Fprintf(&entries, "100644 blob %s\t%d\x00", id, p.file)
			}
		}
		entries.WriteByte(0) // the end of one tree
	}
	tree(func(p pair) string { return p.old })
	tree(func(p pair) string { return p.new })
	out, err := repo.Input(ctx, entries.Bytes(), "mktree", "-z", "--missing", "--batch")
	if err != nil {
		return nil, err
	}
	trees := strings.Fields(string(out))
	if len(trees) != 2 {
		return nil, fmt.Errorf("git made %d trees of two", len(trees))
	}
	args = append([]string{"diff-tree", "-r", "--no-renames"}, form...)
	return append(append(args, options...), "--end-of-options", trees[0], trees[1]), nil
}

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
	return diffPairs(ctx, repo, want, func(i int, h hunk) {
		if h.oldLines > 0 {
			each(i, h.oldStart, h.oldLines, h.newStart)
		}
	})
}

// Added hands out the places of the tree that the change brings or rewrites: lines from the first, counted from 1.
func Added(ctx context.Context, repo *git.Repo, files []File, each func(i, first, lines int)) error {
	var want []pair
	for i, f := range files {
		if f.hasLines() && f.NewBlob != "" && f.OldBlob != f.NewBlob {
			want = append(want, pair{i, f.OldBlob, f.NewBlob})
		}
	}
	return diffPairs(ctx, repo, want, func(i int, h hunk) {
		if h.newLines > 0 {
			each(i, h.newStart, h.newLines)
		}
	})
}
