package diffstat

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
)

// generatedLine is the header that the Go project defined for all generated code (go help generate), in the comment
// signs of other languages too. It takes the whole line.
var generatedLine = regexp.MustCompile(`^(//|#|--|;;?|%%?) Code generated .* DO NOT EDIT\.$`)

// firstBytes is how much of a file git looks at to tell text from binary, in bytes.
const firstBytes = 8000

type head struct{ generated, script, binary bool }

type headReader struct{ buf *bufio.Reader }

func newHeadReader() *headReader { return &headReader{bufio.NewReaderSize(nil, maxHead)} }

// read looks at a file's comments and blank lines up to the first line of code.
func (r *headReader) read(data io.Reader) (head, error) {
	var h head
	r.buf.Reset(io.LimitReader(data, maxHead))
	start, err := r.buf.Peek(firstBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	if bytes.IndexByte(start, 0) >= 0 {
		h.binary = true
		return h, nil
	}
	h.script = bytes.HasPrefix(start, []byte("#!"))
	inBlock := false
	for {
		line, err := r.buf.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return h, err
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if !inBlock && generatedLine.Match(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) {
			h.generated = true
			return h, nil
		}
		if err != nil || !comment(bytes.TrimSpace(text), &inBlock) {
			return h, nil
		}
	}
}

// comment reports whether a line holds nothing but comment or blanks.
func comment(line []byte, inBlock *bool) bool {
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
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
