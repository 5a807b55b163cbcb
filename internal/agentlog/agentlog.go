// Package agentlog reads what a coding agent printed: the tokens that it used, its final message, and whether its last
// word was an error. Exit codes do not tell: several agents end with 0 when their model refused to answer.
//
// The agents' own forms of events are told apart by their keys, so nobody has to say which agent it was. What is plain
// text is text: of that only aider's line of tokens means anything.
package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

// Bounds: one event is read whole, a longer one is skipped; of a message and of the plain text the end is kept.
const (
	maxEvent   = 8 << 20
	maxMessage = 1 << 20
	maxPlain   = 2 << 10
)

// Usage counts tokens. Agents that leave cached input out of their input have it added.
type Usage struct {
	Input  int // cached input included
	Cached int // at most Input
	Output int
}

// Charged is what a budget counts: input that was not cached, and output.
func (u Usage) Charged() int { return u.Input - u.Cached + u.Output }

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output}
}

// Log is what an agent's output says.
type Log struct {
	Usage   Usage  // the zero value where it did not say, or said 0: unknown, not free
	Events  bool   // it printed events, so Message is the whole of its final message
	Message string // the final message; "" for plain text
	Failed  bool   // its last word was an error, whatever its exit code
	Error   string // the text of that error
	Plain   string // the end of what is no event, at most 2 KB
}

// ReadFile reads the log at path.
func ReadFile(path string) (Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return Log{}, fmt.Errorf("read the agent's log: %w", err)
	}
	defer f.Close()
	l, err := Read(f)
	if err != nil {
		return l, fmt.Errorf("read the agent's log: %w", err)
	}
	return l, nil
}

// Read reads a log of any size in bounded memory.
func Read(r io.Reader) (Log, error) {
	s := &scanner{}
	err := eachLine(r, s.line)
	if len(s.block) > 0 {
		s.text(s.block) // it never closed
	}
	l := s.Log
	l.Usage = s.total.plus(s.last)
	if l.Usage == (Usage{}) {
		l.Usage = s.plainUsage
	}
	l.Plain = strings.ToValidUTF8(string(s.plain), "\uFFFD")
	return l, err
}

// scanner is the state while a log is read.
type scanner struct {
	Log
	block      []byte // an object that is printed over several lines, so far
	plain      []byte
	plainUsage Usage
	total      Usage  // summed from steps
	last       Usage  // of the latest message, which may be told again
	lastID     string // its id
	final      bool   // an event said the total: steps do not count any more
}

// line takes one line; cut says that it was longer than an event may be.
func (s *scanner) line(line []byte, cut bool) {
	trimmed := bytes.TrimSpace(line)
	switch {
	case cut:
		s.block = nil
	case len(s.block) > 0 && len(line) > 0 && (line[0] == '}' || line[0] == ']'):
		// What another stream says may follow without a line end.
		block := append(s.block, line[0], '\n')
		s.block = nil
		if !s.events(block) {
			s.text(block)
		}
		if len(line) > 1 {
			s.line(line[1:], false)
		}
	case len(s.block) > 0:
		if s.block = append(append(s.block, line...), '\n'); len(s.block) > maxEvent {
			s.block = nil
		}
	case len(line) == 1 && (line[0] == '{' || line[0] == '['):
		s.block = append(append(s.block, line...), '\n')
	case len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') && s.events(trimmed):
	default:
		s.text(append(bytes.TrimRight(line, "\r"), '\n'))
	}
}

// text takes what is no event.
func (s *scanner) text(text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if u, ok := plainTokens(text); ok {
		s.plainUsage = s.plainUsage.plus(u)
	}
	s.plain = append(s.plain, text...)
	if over := len(s.plain) - maxPlain; over > 0 {
		s.plain = append(s.plain[:0], s.plain[over:]...)
	}
}

// tokensLine is how aider reports its use: "Tokens: 1.2k sent, 345 received."
var tokensLine = lazyregexp.New(`(?i)\btokens:\s*([0-9.,]+)\s*([km]?)\s+sent\b.*?\b([0-9.,]+)\s*([km]?)\s+received\b`)

func plainTokens(line []byte) (Usage, bool) {
	m := tokensLine.FindSubmatch(line)
	if m == nil {
		return Usage{}, false
	}
	sent, ok1 := count(m[1], m[2])
	received, ok2 := count(m[3], m[4])
	return Usage{Input: sent, Output: received}, ok1 && ok2
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
	return tokens(n + 0.5).int(), true
}

// events takes one event or a list of them; false: the text is neither.
func (s *scanner) events(text []byte) bool {
	if text[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil || len(list) == 0 {
			return false
		}
		known := false
		for _, one := range list {
			known = s.event(one) || known
		}
		return known
	}
	return s.event(text)
}

func (s *scanner) say(message string) {
	if over := len(message) - maxMessage; over > 0 {
		message = message[over:]
	}
	s.Message = strings.ToValidUTF8(message, "\uFFFD")
}

func (s *scanner) fail(text string) { s.Failed, s.Error = true, text }

func (s *scanner) succeed() { s.Failed, s.Error = false, "" }

// count adds the use of a step. A message that is told again under the same id counts once, as it was told last.
func (s *scanner) count(id string, u Usage) {
	switch {
	case s.final:
	case id != "" && id == s.lastID:
		s.last = u
	default:
		s.total, s.last, s.lastID = s.total.plus(s.last), u, id
	}
}

// sum sets the use of the whole run, as the agent itself added it up.
func (s *scanner) sum(u Usage) {
	if u != (Usage{}) {
		s.total, s.last, s.final = u, Usage{}, true
	}
}

// eachLine calls f with each line, without its line end, and with the first bytes of a line that is longer than an event.
func eachLine(r io.Reader, f func(line []byte, cut bool)) error {
	buf := make([]byte, 64<<10)
	var line []byte
	cut := false
	for {
		n, err := r.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			part, after, ended := bytes.Cut(rest, []byte{'\n'})
			if room := maxEvent - len(line); len(part) > room {
				part, cut = part[:room], true
			}
			line = append(line, part...)
			if ended {
				f(line, cut)
				line, cut = line[:0], false
			}
			rest = after
		}
		if err == io.EOF {
			if len(line) > 0 {
				f(line, cut)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}
