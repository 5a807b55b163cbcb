package source

import "strings"

// python reads Python. A line inside brackets or behind a backslash goes on with the one before it: its first token is
// not marked as such.
func (s *scanner) python() {
	depth, continued := 0, false
	for {
		s.blanks()
		if s.done() {
			return
		}
		if depth > 0 || continued {
			s.first = false
		}
		continued = false
		c := s.src[s.at]
		switch {
		case c == '#':
			s.emit(Comment, s.lineEnd(s.at))
		case c == '\\' && (s.peek(1) == '\n' || s.peek(1) == '\r'):
			s.at++
			continued = true
			continue
		case c == '"' || c == '\'':
			s.emit(String, s.pythonString(s.at, ""))
		case isDigit(c) || c == '.' && isDigit(s.peek(1)):
			s.emit(Number, s.number())
		case isWord(c):
			end := s.wordEnd(s.at)
			prefix := strings.ToLower(s.src[s.at:end])
			if end < len(s.src) && (s.src[end] == '"' || s.src[end] == '\'') && len(prefix) <= 2 && strings.Trim(prefix, "rbuft") == "" {
				s.emit(String, s.pythonString(end, prefix))
				continue
			}
			s.emit(Word, end)
		default:
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth = max(0, depth-1)
			}
			s.sign()
		}
	}
}

// pythonString is the end of a string whose opening quotes lie at from.
func (s *scanner) pythonString(from int, prefix string) int {
	quote := s.src[from : from+1]
	if strings.HasPrefix(s.src[from:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	formatted := strings.ContainsAny(prefix, "ft")
	braces, lineEnd := 0, s.lineEnd(from)
	lastQuote := from + strings.LastIndexByte(s.src[from:lineEnd], quote[0])
	for i := from + len(quote); i < len(s.src); i++ {
		rest := s.src[i:]
		switch c := s.src[i]; {
		case braces == 0 && strings.HasPrefix(rest, quote):
			return i + len(quote)
		case c == '\\' && braces == 0:
			i++
		case c == '\n' && len(quote) == 1:
			// Since 3.12 a field may go over lines, but that is rare, and a lost brace must not cost the whole file.
			return lineEnd
		case formatted && braces == 0 && (strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}")):
			i++
		case formatted && c == '{':
			braces++
		case formatted && c == '}':
			braces = max(0, braces-1)
		case braces > 0 && (c == '"' || c == '\''):
			// A string inside a field: since 3.12 it may have the quotes of the string around it.
			if c == quote[0] && len(quote) == 1 {
				if s.quoted(i, false) > lastQuote {
					return i + 1
				}
			} else if c == quote[0] && strings.HasPrefix(rest, quote) {
				return i + len(quote)
			}
			i = min(s.quoted(i, false), len(s.src)) - 1
		}
	}
	return len(s.src)
}
