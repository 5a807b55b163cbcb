package diffstat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"

	"ralph-loop/internal/git"
	"ralph-loop/internal/lazyregexp"
)

// generatedLine is the header that the Go project defined for all generated code (go help generate), in the comment
// signs of other languages too. It takes the whole line.
var generatedLine = lazyregexp.New(`^(//|#|--|;;?|%%?) Code generated .* DO NOT EDIT\.$`)

const (
	maxHead    = 64 << 10 // how far into a file its header is looked for, in bytes
	firstBytes = 8000     // how much of a file git looks at to tell text from binary
)

// version is one of the two versions of a file, and what its content says.
type version struct {
	file       int
	blob, path string // path: where the worktree may have it
	counted    bool   // its lines are
	about
}

// about is what a content says of its file.
type about struct {
	generated, script, binary bool
	lines                     int
}

// readContents finds the generated files, the scripts without an ending and the binary files, and counts the lines of
// the files that are new or gone.
func readContents(ctx context.Context, repo *git.Repo, files []File) error {
	var last, first []version
	for i, f := range files {
		same := f.OldBlob == f.NewBlob && f.Class == Other && f.Reason != unknown // nothing to learn
		if f.hasLines() && !same {
			last = append(last, version{file: i, blob: cmp.Or(f.NewBlob, f.OldBlob), path: f.Path, counted: f.Status == 'A' || f.Status == 'D'})
		}
	}
	if err := readVersions(ctx, repo, last); err != nil {
		return err
	}
	for _, v := range last {
		f := &files[v.file]
		f.learn(v.about)
		// A header that this very change puts on a hand-written file does not take the file out of the count: each
		// version must carry it.
		if f.Class != Other && v.generated {
			if f.OldBlob == "" || f.OldBlob == v.blob {
				f.Class, f.Reason = Other, generated
			} else {
				first = append(first, version{file: v.file, blob: f.OldBlob, path: f.Path})
			}
		}
	}
	if err := readVersions(ctx, repo, first); err != nil {
		return err
	}
	for _, v := range first {
		if v.generated {
			files[v.file].Class, files[v.file].Reason = Other, generated
		}
	}
	return nil
}

// learn makes up class and count from what the content of the last version says.
func (f *File) learn(a about) {
	if f.Class == Other && a.binary { // a source with a NUL in it (UTF-16, a trick) is a source
		f.Reason = binary
		return
	}
	if f.Reason == unknown && a.script {
		f.Class, f.Reason = ofScript(f.Path), ""
	}
	switch f.Status {
	case 'A':
		f.Added = a.lines
	case 'D':
		f.Removed = a.lines
	}
}

// readVersions reads what lies in the worktree from there and asks git for the rest, both on all cores: git's part is the
// slow one, above all with loose objects, and a process of git uses one.
func readVersions(ctx context.Context, repo *git.Repo, all []version) error {
	var mu sync.Mutex
	var rest []*version
	err := inParts(ctx, all, minFiles, func(ctx context.Context, part []version) error {
		missing, err := readFiles(ctx, repo.Files(), part)
		mu.Lock()
		defer mu.Unlock()
		rest = append(rest, missing...)
		return err
	})
	if err != nil {
		return err
	}
	return inParts(ctx, rest, minObjects, func(ctx context.Context, part []*version) error { return readObjects(ctx, repo, part) })
}

// The least that another goroutine, and another process, are worth.
const (
	minFiles   = 50
	minObjects = 500
)

// inParts has do work on parts of all at the same time, one a core, each at least least long. It ends with the first error.
func inParts[T any](ctx context.Context, all []T, least int, do func(context.Context, []T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for part := range slices.Chunk(all, max(least, (len(all)+cores-1)/cores)) {
		group.Go(func() {
			if err := do(ctx, part); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// readFiles reads those versions that lie in the worktree, and gives the others.
func readFiles(ctx context.Context, worktree *git.Files, part []version) (missing []*version, err error) {
	for i := range part {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		v := &part[i]
		data, ok := worktree.Blob(v.path, v.blob)
		if !ok {
			missing = append(missing, v)
			continue
		}
		v.about = look(data[:min(len(data), maxHead)])
		if v.counted {
			v.lines = bytes.Count(data, []byte("\n"))
			if len(data) > 0 && data[len(data)-1] != '\n' {
				v.lines++
			}
		}
	}
	return missing, nil
}

// readObjects has git read versions.
func readObjects(ctx context.Context, repo *git.Repo, part []*version) error {
	ids := make([]string, len(part))
	for i, v := range part {
		ids[i] = v.blob
	}
	buf := make([]byte, maxHead)
	return repo.Blobs(ctx, ids, func(n int, data io.Reader, _ int64) error {
		size, err := io.ReadFull(data, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		v := part[n]
		v.about = look(buf[:size])
		if !v.counted {
			return nil
		}
		v.lines, err = countLines(buf[:size], data, buf)
		return err
	})
}

// look tells what the start of a content, its first maxHead bytes, says.
func look(start []byte) about {
	return about{
		generated: isGenerated(start),
		script:    bytes.HasPrefix(start, []byte("#!")),
		binary:    bytes.IndexByte(start[:min(len(start), firstBytes)], 0) >= 0,
	}
}

// Scripts gives a tree's files that are implementation by their first two bytes, "#!", since their names tell nothing.
func Scripts(ctx context.Context, repo *git.Repo, tree string, c *Classifier) ([]string, error) {
	entries, err := repo.Entries(ctx, tree)
	if err != nil {
		return nil, err
	}
	var paths, blobs []string
	for _, e := range entries {
		if e.Kind != "blob" || e.Mode == modeLink {
			continue
		}
		if _, reason := c.ByName(e.Path); reason == unknown {
			paths, blobs = append(paths, e.Path), append(blobs, e.Hash)
		}
	}
	var scripts []string
	start := make([]byte, 2)
	err = repo.Blobs(ctx, blobs, func(i int, data io.Reader, _ int64) error {
		_, err := io.ReadFull(data, start)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil && string(start) == "#!" && ofScript(paths[i]) == Implementation {
			scripts = append(scripts, paths[i])
		}
		return err
	})
	return scripts, err
}

// countLines counts the lines of start and of what follows it, as git does: one without a newline at the end is one.
func countLines(start []byte, rest io.Reader, buf []byte) (int, error) {
	n, last := 0, byte('\n')
	for {
		if len(start) > 0 {
			n += bytes.Count(start, []byte("\n"))
			last = start[len(start)-1]
		}
		size, err := rest.Read(buf)
		start = buf[:size]
		if errors.Is(err, io.EOF) && size == 0 {
			if last != '\n' {
				n++
			}
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
}

// isGenerated looks for the header among a file's comments and blank lines, up to the first line of code.
func isGenerated(start []byte) bool {
	text := bytes.TrimPrefix(start, []byte("\xef\xbb\xbf"))
	inBlock := false
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole && len(start) == maxHead {
			return false // cut off
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if !inBlock && generatedLine.Match(line) {
			return true
		}
		if !comment(bytes.TrimSpace(line), &inBlock) {
			return false
		}
		text = rest
	}
	return false
}

// comment reports whether a line holds nothing but comment or blanks.
func comment(line []byte, inBlock *bool) bool {
	for len(line) > 0 {
		if *inBlock {
			_, after, closed := bytes.Cut(line, []byte("*/"))
			if !closed {
				return true
			}
			*inBlock, line = false, bytes.TrimSpace(after)
			continue
		}
		if after, opened := bytes.CutPrefix(line, []byte("/*")); opened {
			*inBlock, line = true, after
			continue
		}
		for _, sign := range []string{"//", "#", "--", ";", "%", "<?php"} {
			if bytes.HasPrefix(line, []byte(sign)) {
				return true
			}
		}
		return false
	}
	return true
}
