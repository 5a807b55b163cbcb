package diffstat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
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

// versions is what the two versions of a file say of it.
type versions struct{ hand, generated, script, binary bool }

// version is one of the two versions of a file.
type version struct {
	blob string
	file int
	last bool // the one that tells what the file is
}

// readContents finds the generated files, the scripts without an ending and the binary files, and counts the lines of
// the files that are new or gone.
func readContents(ctx context.Context, repo *git.Repo, files []File) error {
	var all []version
	for i, f := range files {
		if !f.hasLines() {
			continue
		}
		if f.OldBlob != "" && (f.NewBlob == "" || f.Class != Other || f.Reason == unknown) {
			all = append(all, version{f.OldBlob, i, f.NewBlob == "" || f.NewBlob == f.OldBlob})
		}
		if f.NewBlob != "" && f.NewBlob != f.OldBlob {
			all = append(all, version{f.NewBlob, i, true})
		}
	}
	// Reading loose objects is the slow part of a large change, and it is done by one thread in each process of git.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	share := max(minShare, (len(all)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for len(all) > 0 {
		n := min(share, len(all))
		for n < len(all) && all[n].file == all[n-1].file { // both versions of a file go together
			n++
		}
		part := all[:n]
		all = all[n:]
		group.Go(func() {
			if err := readPart(ctx, repo, files, part); err != nil {
				cancel(err) // the first error is the one that is told
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// minShare is the least number of objects that another process is worth.
const minShare = 500

// readPart reads versions, all that there are of each file of theirs.
func readPart(ctx context.Context, repo *git.Repo, files []File, part []version) error {
	ids := make([]string, len(part))
	for i, v := range part {
		ids[i] = v.blob
	}
	buf := make([]byte, maxHead)
	var seen versions
	return repo.Blobs(ctx, ids, func(n int, data io.Reader, _ int64) error {
		f := &files[part[n].file]
		if n == 0 || part[n].file != part[n-1].file {
			seen = versions{}
		}
		size, err := io.ReadFull(data, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		start := buf[:size]
		if isGenerated(start) {
			seen.generated = true
		} else {
			seen.hand = true
		}
		if part[n].last {
			seen.script = bytes.HasPrefix(start, []byte("#!"))
			seen.binary = bytes.IndexByte(start[:min(size, firstBytes)], 0) >= 0
		}
		switch f.Status {
		case 'A':
			f.Added, err = countLines(start, data, buf)
		case 'D':
			f.Removed, err = countLines(start, data, buf)
		default:
			err = nil
		}
		if n == len(part)-1 || part[n].file != part[n+1].file {
			f.learn(seen)
		}
		return err
	})
}

// learn makes up the class from what the content says.
func (f *File) learn(s versions) {
	if f.Class == Other && s.binary { // a source with a NUL in it (UTF-16, a trick) is a source
		f.Added, f.Removed = 0, 0
		f.Reason = binary
		return
	}
	if f.Reason == unknown && s.script {
		f.Class, f.Reason = ofScript(f.Path), ""
	}
	// A header that this very change puts on a hand-written file does not take the file out of the count: each
	// version must carry it.
	if f.Class != Other && s.generated && !s.hand {
		f.Class, f.Reason = Other, generated
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
