package checkpoint

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"ralph-loop/internal/agentlog"
	"ralph-loop/internal/lazyregexp"
)

// tokens is how many tokens an attempt used: what the agent said, else an estimate of a token for four bytes of prompt
// and output. A request that was refused used nothing that can be guessed.
func tokens(a *Attempted, log agentlog.Log, prompt string) (n int, guessed bool, err error) {
	if n := log.Usage.Charged(); n > 0 || a.Outcome == OutcomeNotFound || couldNotWork(a.Outcome) {
		return n, false, nil
	}
	var size int64
	for _, path := range []string{a.Log, prompt} {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false, fmt.Errorf("estimate the tokens: %w", err)
		}
		size += info.Size()
	}
	return int((size + 3) / 4), true, nil
}

// lastWords are what an agent said at its end, at most 1 KB: its error, else the end of its final message or of its log.
func lastWords(path string, log agentlog.Log) string {
	const most = 1 << 10
	switch {
	case log.Error != "":
		return clip(plain(log.Error), most)
	case log.Events:
		return clip(plain(log.Message[max(0, len(log.Message)-most):]), most)
	}
	text, err := lastLines(path, most)
	if err != nil {
		return ""
	}
	return text
}

// colours are the escape sequences by which programs colour their output.
var colours = lazyregexp.New(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// plain is a text without colours and control characters, as valid UTF-8.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(colours.ReplaceAllString(text, ""), "\uFFFD"))
}

// lastLines are the last lines of a file, at most n bytes of them.
func lastLines(path string, n int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-n)
	data := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(data, from); err != nil && err != io.EOF {
		return "", err
	}
	if from > 0 {
		if _, rest, ok := bytes.Cut(data, []byte{'\n'}); ok {
			data = rest
		}
	}
	return plain(string(data)), nil
}
