package checkpoint

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"ralph-loop/internal/agentlog"
	"ralph-loop/internal/lazyregexp"
)

// mostASecond is how many tokens a second a model is taken to write at most.
const mostASecond = 100

// tokens is how many tokens an attempt used: what the agent said, else an estimate of a token for four bytes of prompt
// and output. Output is mostly what tools printed, of which an agent reads a part and writes nothing, so no more of it counts
// than a model could have written in the time. A request that was refused used nothing that can be guessed.
func tokens(a *Attempted, log agentlog.Log, prompt string) (n int, guessed bool, err error) {
	if n := log.Usage.Charged(); n > 0 || a.Outcome == OutcomeNotFound || couldNotWork(a.Outcome) {
		return n, false, nil
	}
	var sizes [2]int
	for i, path := range []string{prompt, a.Log} {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false, fmt.Errorf("estimate the tokens: %w", err)
		}
		sizes[i] = int((info.Size() + 3) / 4)
	}
	return sizes[0] + min(sizes[1], mostASecond*int(math.Ceil(a.Seconds))), true, nil
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
