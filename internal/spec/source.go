package spec

import (
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// source is the text of a file and where its lines are. The YAML parser takes more characters for a line break than
// an editor does (U+0085, U+2028, U+2029), so its line numbers are translated before a person sees them.
type source struct {
	text   string
	starts []int   // the byte offset of each of the parser's lines
	shown  []Place // the place of each start as an editor counts; nil where the two agree

	// The place that was looked up last: in a file of one huge line, counting from its start would be quadratic.
	line, col, offset int
}

func newSource(text string) *source {
	s := &source{text: text}
	if !hasRareBreaks(text) {
		s.starts = make([]int, 1, strings.Count(text, "\n")+1)
		for i := 0; ; {
			k := strings.IndexByte(text[i:], '\n')
			if k < 0 {
				return s
			}
			i += k + 1
			s.starts = append(s.starts, i)
		}
	}
	s.starts, s.shown = []int{0}, []Place{{1, 1}}
	place := Place{1, 1}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		i += size
		place.Col++
		switch c {
		case '\r':
			if i < len(text) && text[i] == '\n' {
				i++
			}
			place = Place{place.Line + 1, 1}
		case '\n':
			place = Place{place.Line + 1, 1}
		case '\u0085', '\u2028', '\u2029':
		default:
			continue
		}
		s.starts, s.shown = append(s.starts, i), append(s.shown, place)
	}
	return s
}

// hasRareBreaks reports whether a line of the text ends in anything but a bare line feed.
func hasRareBreaks(text string) bool {
	return strings.IndexByte(text, '\r') >= 0 || strings.Contains(text, "\u0085") ||
		strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029")
}

// place is where the parser's line and column are in an editor.
func (s *source) place(line, col int) Place {
	if line > len(s.starts) { // the parser puts what is missing at the end behind the last line
		line, col = len(s.starts), 1
	}
	if s.shown == nil || line < 1 || line > len(s.shown) {
		return Place{line, col}
	}
	p := s.shown[line-1]
	return Place{p.Line, p.Col + col - 1}
}

// lineText is the parser's line (1-based) with its break.
func (s *source) lineText(line int) string {
	if line < len(s.starts) {
		return s.text[s.starts[line-1]:s.starts[line]]
	}
	return s.text[s.starts[line-1]:]
}

// lines is the text of the parser's lines first to last.
func (s *source) lines(first, last int) string {
	if last < len(s.starts) {
		return s.text[s.starts[first-1]:s.starts[last]]
	}
	return s.text[s.starts[first-1]:]
}

// offsetOf is the byte offset of the parser's line and column.
func (s *source) offsetOf(line, col int) int {
	if line > len(s.starts) {
		return len(s.text)
	}
	if line != s.line || col < s.col {
		s.line, s.col, s.offset = line, 1, s.starts[line-1]
	}
	for ; s.col < col && s.offset < len(s.text); s.col++ {
		_, size := utf8.DecodeRuneInString(s.text[s.offset:])
		s.offset += size
	}
	return s.offset
}

// lineOf is the parser's line that holds a byte offset, which lies at or behind the start of line from.
func (s *source) lineOf(offset, from int) int {
	for from < len(s.starts) && s.starts[from] <= offset {
		from++
	}
	return from
}

// region is the first and last line (the parser's) of a block item: its own lines and the comments inside it. first
// is where the item begins, column the one of its dash or key, node its value.
func (s *source) region(first, column int, node *yaml.Node) (int, int) {
	last := max(first, s.lastLine(node))
	for next := last + 1; next <= len(s.starts); next++ {
		text := s.lineText(next)
		if isBlank(text) {
			continue
		}
		if indentation(text) < column {
			break
		}
		last = next
	}
	return first, last
}

// lastLine is a line that the node's last part reaches at least. Only quoted texts and flow collections may go on with
// less indentation than what holds them; they are followed to their end.
func (s *source) lastLine(n *yaml.Node) int {
	for {
		if n.Style&(yaml.FlowStyle|yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			return s.lineOf(s.endOf(n)-1, n.Line)
		}
		if n.Kind == yaml.AliasNode || len(n.Content) == 0 {
			return n.Line
		}
		n = n.Content[len(n.Content)-1]
	}
}

// withComments moves first up over the comment lines directly above it, but not to line limit or above.
func (s *source) withComments(first, limit int) int {
	for first-1 > limit && strings.HasPrefix(strings.TrimLeft(s.lineText(first-1), " "), "#") {
		first--
	}
	return first
}

// dash is the line and column of the dash before a sequence's item.
func (s *source) dash(item *yaml.Node) (line, col int) {
	start := s.starts[item.Line-1]
	before := s.text[start:s.offsetOf(item.Line, item.Column)]
	if trimmed := strings.TrimRight(before, " \t"); strings.HasSuffix(trimmed, "-") {
		return item.Line, utf8.RuneCountInString(trimmed)
	}
	for line = item.Line - 1; line >= 1; line-- {
		text := s.lineText(line)
		body := strings.TrimSpace(text)
		if body == "" || body[0] == '#' {
			continue
		}
		if body == "-" || strings.HasPrefix(body, "- ") || strings.HasPrefix(body, "-\t") {
			return line, indentation(text) + 1
		}
		break
	}
	return item.Line, item.Column
}

// columnOf is the column that the lines of a node lie behind.
func (s *source) columnOf(n *yaml.Node) int {
	switch {
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		_, column := s.dash(n.Content[0])
		return column
	case n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle == 0 && len(n.Content) > 0:
		return n.Content[0].Column
	}
	// A scalar: what its key or dash is indented by.
	text := s.lineText(n.Line)
	return len(text) - len(strings.TrimLeft(text, " -")) + 1
}

// endOf is the byte offset behind a quoted text, an alias or a flow node. Plain texts are followed as flow style
// reads them.
func (s *source) endOf(n *yaml.Node) int {
	at := s.offsetOf(n.Line, n.Column)
	if n.Kind == yaml.AliasNode {
		return min(at+1+len(n.Value), len(s.text))
	}
	at = s.skipProperties(at)
	if at == len(s.text) {
		return at
	}
	opener := s.text[at]
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&yaml.DoubleQuotedStyle != 0:
		for at++; at < len(s.text) && s.text[at] != '"'; at++ {
			if s.text[at] == '\\' {
				at++
			}
		}
		return min(at+1, len(s.text))
	case n.Kind == yaml.ScalarNode && n.Style&yaml.SingleQuotedStyle != 0:
		for at++; at < len(s.text); at++ {
			if s.text[at] != '\'' {
				continue
			}
			if at+1 == len(s.text) || s.text[at+1] != '\'' {
				return at + 1
			}
			at++
		}
		return at
	case n.Kind == yaml.ScalarNode:
		for ; at < len(s.text) && !strings.ContainsRune(",[]{}", rune(s.text[at])); at++ {
			if at > 0 && s.text[at] == '#' && strings.ContainsRune(" \t\r\n", rune(s.text[at-1])) {
				break
			}
		}
		return at
	}
	closer := byte(']')
	if n.Kind == yaml.MappingNode {
		closer = '}'
	}
	at++
	if len(n.Content) > 0 {
		at = s.endOf(n.Content[len(n.Content)-1])
	}
	if opener != '[' && opener != '{' { // a single pair in a sequence has no braces
		return at
	}
	for at < len(s.text) && s.text[at] != closer {
		if s.text[at] == '#' {
			at = s.endOfComment(at)
		} else {
			at++
		}
	}
	return min(at+1, len(s.text))
}

// skipProperties steps over a tag and an anchor, and the white space and comments behind them.
func (s *source) skipProperties(at int) int {
	for at < len(s.text) && (s.text[at] == '!' || s.text[at] == '&') {
		for at < len(s.text) && !strings.ContainsRune(" \t\r\n", rune(s.text[at])) {
			at++
		}
		for at < len(s.text) && strings.ContainsRune(" \t\r\n#", rune(s.text[at])) {
			if s.text[at] == '#' {
				at = s.endOfComment(at)
			} else {
				at++
			}
		}
	}
	return at
}

func (s *source) endOfComment(at int) int {
	if k := strings.IndexAny(s.text[at:], "\r\n"); k >= 0 {
		return at + k
	}
	return len(s.text)
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
