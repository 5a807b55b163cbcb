package source

import "strings"

// curly reads Go, Java and Rust.
func (s *scanner) curly() {
	lang := s.file.Language
	if s.has("#!") && !s.has("#![") {
		s.emit(Comment, s.lineEnd(s.at)) // a script's first line; in Rust an attribute is none
	}
	for s.blanks(); !s.done(); s.blanks() {
		c := s.src[s.at]
		switch {
		case s.has("//"):
			s.emit(Comment, s.lineEnd(s.at))
		case s.has("/*"):
			s.emit(Comment, s.blockComment(lang == Rust))
		case c == '"' && lang == Java && s.has(`"""`):
			s.emit(String, s.textBlock())
		case c == '"':
			s.emit(String, s.quoted(s.at, lang == Rust))
		case c == '`' && lang == Go:
			s.emit(String, s.after(s.at+1, "`"))
		case c == '\'' && lang == Rust:
			s.rustQuote()
		case c == '\'':
			s.emit(String, s.quoted(s.at, false))
		case isDigit(c):
			s.emit(Number, s.number())
		case isWord(c):
			if lang == Rust {
				if end, ok := s.rustString(); ok {
					s.emit(String, end)
					continue
				}
			}
			s.emit(Word, s.wordEnd(s.at))
		default:
			s.sign()
		}
	}
}

// blockComment is the end of a comment at at.
func (s *scanner) blockComment(nests bool) int {
	if !nests {
		return s.after(s.at+2, "*/")
	}
	depth := 1
	for i := s.at + 2; i < len(s.src); i++ {
		switch {
		case strings.HasPrefix(s.src[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(s.src[i:], "*/"):
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s.src)
}

// textBlock is the end of Java's """...""".
func (s *scanner) textBlock() int {
	for i := s.at + 3; i < len(s.src); i++ {
		if s.src[i] == '\\' {
			i++
		} else if strings.HasPrefix(s.src[i:], `"""`) {
			return i + 3
		}
	}
	return len(s.src)
}

// rustQuote reads a character ('a', '\n', '\u{1F600}') or the quote in front of a lifetime's name ('a).
func (s *scanner) rustQuote() {
	rest := s.src[s.at+1:]
	if strings.HasPrefix(rest, `\`) {
		s.emit(String, s.quoted(s.at, false))
		return
	}
	for i, r := range rest {
		if i == 0 && r != '\n' && r != '\'' {
			continue
		}
		if r == '\'' && i > 0 {
			s.emit(String, s.at+1+i+1)
			return
		}
		break
	}
	s.emit(Sign, s.at+1)
}

// rustString is the end of a string with a prefix: r"...", r#"..."#, b"...", b'x', br"...", c"...", cr"...".
func (s *scanner) rustString() (end int, ok bool) {
	i := s.at
	for i < len(s.src) && i < s.at+2 && strings.IndexByte("bcr", s.src[i]) >= 0 {
		i++
	}
	if i == s.at || i >= len(s.src) {
		return 0, false
	}
	prefix := s.src[s.at:i]
	if strings.HasSuffix(prefix, "r") {
		hashes := 0
		for i+hashes < len(s.src) && s.src[i+hashes] == '#' {
			hashes++
		}
		if i+hashes < len(s.src) && s.src[i+hashes] == '"' {
			return s.after(i+hashes+1, `"`+strings.Repeat("#", hashes)), true
		}
		return 0, false
	}
	switch {
	case prefix != "b" && prefix != "c":
		return 0, false
	case s.src[i] == '"':
		return s.quoted(i, true), true
	case s.src[i] == '\'' && prefix == "b":
		return s.quoted(i, false), true
	}
	return 0, false
}
