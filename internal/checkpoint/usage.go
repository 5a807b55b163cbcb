package checkpoint

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/run"
)

// tokensLine is how agents that print plain text report their use, aider among them:
// "Tokens: 1.2k sent, 345 received."
var tokensLine = lazyregexp.New(`(?i)\btokens:\s*([0-9.,]+)\s*([km]?)\s+sent\b.*?\b([0-9.,]+)\s*([km]?)\s+received\b`)

// usage is how many tokens an attempt used: what the agent said in its log, summed, else an estimate of a token for
// four bytes of prompt and output.
func usage(log, prompt, why string) (tokens int, guessed bool, err error) {
	if why == run.NotFound {
		return 0, false, nil
	}
	f, err := os.Open(log)
	if err != nil {
		return 0, false, fmt.Errorf("read the agent's log: %w", err)
	}
	defer f.Close()
	said := false
	err = eachLine(f, func(line []byte) {
		m := tokensLine.FindSubmatch(line)
		if m == nil {
			return
		}
		sent, ok1 := count(m[1], m[2])
		received, ok2 := count(m[3], m[4])
		if ok1 && ok2 {
			tokens, said = tokens+sent+received, true
		}
	})
	if err != nil {
		return 0, false, fmt.Errorf("read the agent's log: %w", err)
	}
	// A finished run that used nothing did not count.
	if said && tokens > 0 {
		return tokens, false, nil
	}
	var size int64
	for _, path := range []string{log, prompt} {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false, fmt.Errorf("estimate the tokens: %w", err)
		}
		size += info.Size()
	}
	return int((size + 3) / 4), true, nil
}

func count(number, unit []byte) (int, bool) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(string(number), ",", ""), 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0, false
	}
	switch strings.ToLower(string(unit)) {
	case "k":
		n *= 1e3
	case "m":
		n *= 1e6
	}
	return int(n + 0.5), true
}

// eachLine calls f with each line, of a line that is longer than 64 KB with its first 64 KB.
func eachLine(r io.Reader, f func(line []byte)) error {
	const most = 64 << 10
	buf := make([]byte, most)
	var line []byte
	for {
		n, err := r.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			part, after, ended := bytes.Cut(rest, []byte{'\n'})
			if room := most - len(line); len(part) > room {
				part = part[:room]
			}
			line = append(line, part...)
			if ended {
				f(line)
				line = line[:0]
			}
			rest = after
		}
		if err == io.EOF {
			if len(line) > 0 {
				f(line)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// colours are the escape sequences by which programs colour their output.
var colours = lazyregexp.New(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// lastLines are the last lines of a file, at most n bytes of them, without colours and as valid UTF-8.
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
	text := strings.ToValidUTF8(string(colours.ReplaceAll(data, nil)), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text), nil
}
