// Package source reads source code as far as one can without a compiler: it tells words and signs from comments,
// strings, regular expressions and the text between tags, and knows which brackets belong together.
//
// It is no parser. Input that no compiler would take is read all the same, and a mistake is held to its line where the
// language allows that.
package source

import (
	"path"
	"strings"
)

// Language is one that Scan reads.
type Language int

// The languages. TypeScript and JSX are JavaScript here.
const (
	Unknown Language = iota
	Go
	Java
	JavaScript
	Python
	Rust
)

var languages = map[string]Language{
	".go": Go, ".java": Java, ".py": Python, ".pyi": Python, ".rs": Rust,
	".js": JavaScript, ".jsx": JavaScript, ".mjs": JavaScript, ".cjs": JavaScript,
	".ts": JavaScript, ".tsx": JavaScript, ".mts": JavaScript, ".cts": JavaScript,
}

// LanguageOf tells a file's language by its name.
func LanguageOf(name string) Language { return languages[strings.ToLower(path.Ext(name))] }

// Kind says what a token is.
type Kind uint8

// The kinds. A template literal of JavaScript with code inside is several strings, with that code between them.
const (
	Word   Kind = iota + 1 // names, keywords
	Number                 //
	String                 // with its quotes and prefix; also a character
	Regexp                 // with its slashes and flags
	Text                   // between two JSX tags
	Comment
	Sign // one byte, or one of the joined signs
)

// Token is one piece of code.
type Token struct {
	Kind  Kind
	Text  string
	Start int  // in bytes
	Line  int  // of its first byte, from 1
	Last  int  // line of its last byte
	First bool // begins its line; in Python: a logical line
	Col   int  // of one that begins its line: the blanks before it, a tab up to the next 8
	Pair  int  // of a bracket in Code: the index of its counterpart, else -1
}

// End is where the token ends, in bytes.
func (t Token) End() int { return t.Start + len(t.Text) }

// Is reports whether the token is that word or sign.
func (t Token) Is(text string) bool { return (t.Kind == Sign || t.Kind == Word) && t.Text == text }

// File is a source file, read. Between its tokens lie blanks only, and in Python the backslash that joins two lines.
type File struct {
	Language Language
	Code     []Token
	Comments []Token
	Lines    int // a last one without its newline counts
}

// Scan reads a file; its name tells the language. Of an unknown language nothing but the lines is known.
func Scan(name string, src []byte) *File {
	s := &scanner{src: string(src), line: 1, first: true, file: &File{Language: LanguageOf(name)}}
	switch s.file.Language {
	case JavaScript:
		ext := strings.ToLower(path.Ext(name))
		s.javaScript(!strings.HasSuffix(ext, "ts")) // <T>x is a cast there
	case Python:
		s.python()
	case Go, Java, Rust:
		s.curly()
	}
	f := s.file
	f.Lines = strings.Count(s.src, "\n")
	if s.src != "" && s.src[len(s.src)-1] != '\n' {
		f.Lines++
	}
	f.pair()
	return f
}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// pair finds each bracket's counterpart. A closing bracket ends the innermost one of its kind that is open; what was
// opened in between has none.
func (f *File) pair() {
	var open []int
	for i := range f.Code {
		t := &f.Code[i]
		t.Pair = -1
		if t.Kind != Sign {
			continue
		}
		switch t.Text {
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			for n := len(open) - 1; n >= max(0, len(open)-20); n-- {
				if at := open[n]; closing[f.Code[at].Text] == t.Text {
					f.Code[at].Pair, t.Pair = i, at
					open = open[:n]
					break
				}
			}
		}
	}
}

// scanner walks over a source.
type scanner struct {
	src   string
	at    int
	line  int  // of at, from 1
	first bool // nothing but blanks since the line began
	col   int  // blanks since the line began, while first
	file  *File

	known [2]int // a place and the end of its line, as lineEnd found them
}

func (s *scanner) done() bool { return s.at >= len(s.src) }

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.src[s.at:], prefix) }

// peek is the byte n behind at, or 0.
func (s *scanner) peek(n int) byte {
	if s.at+n >= len(s.src) {
		return 0
	}
	return s.src[s.at+n]
}

// blanks passes over white space.
func (s *scanner) blanks() {
	for ; !s.done(); s.at++ {
		switch s.src[s.at] {
		case ' ', '\f', '\v', '\r':
			s.col++
		case '\t':
			s.col += 8 - s.col%8
		case '\n':
			s.line++
			s.first, s.col = true, 0
		default:
			if s.has("\ufeff") {
				s.at += len("\ufeff") - 1
				continue
			}
			return
		}
	}
}

// emit makes a token of what lies from at up to end.
func (s *scanner) emit(kind Kind, end int) {
	end = min(max(end, s.at+1), len(s.src))
	t := Token{Kind: kind, Text: s.src[s.at:end], Start: s.at, Line: s.line, First: s.first}
	if t.First {
		t.Col = s.col
	}
	s.line += strings.Count(t.Text, "\n")
	t.Last = s.line
	if kind == Comment {
		s.file.Comments = append(s.file.Comments, t)
	} else {
		s.file.Code = append(s.file.Code, t)
		s.first = false
	}
	s.at = end
}

// lineEnd is where the line of from ends.
func (s *scanner) lineEnd(from int) int {
	if from >= s.known[0] && from < s.known[1] {
		return s.known[1]
	}
	end := len(s.src)
	if from < end {
		if i := strings.IndexByte(s.src[from:], '\n'); i >= 0 {
			if end = from + i; end > from && s.src[end-1] == '\r' {
				end--
			}
		}
	}
	s.known = [2]int{from, end}
	return end
}

// after is the place behind the next text at or after from, or the source's end.
func (s *scanner) after(from int, text string) int {
	if from < len(s.src) {
		if i := strings.Index(s.src[from:], text); i >= 0 {
			return from + i + len(text)
		}
	}
	return len(s.src)
}

// quoted is the end of a string whose opening quote lies at from; a backslash hides what follows it. One that may not
// go over lines ends with its line.
func (s *scanner) quoted(from int, manyLines bool) int {
	quote := s.src[from]
	for i := from + 1; i < len(s.src); i++ {
		switch s.src[i] {
		case quote:
			return i + 1
		case '\\':
			i++
			if i+1 < len(s.src) && s.src[i] == '\r' && s.src[i+1] == '\n' {
				i++
			}
		case '\n':
			if !manyLines {
				return s.lineEnd(from)
			}
		}
	}
	return len(s.src)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) wordEnd(from int) int {
	for from < len(s.src) && isWord(s.src[from]) {
		from++
	}
	return from
}

// number is the end of a number at at.
func (s *scanner) number() int {
	i := s.at
	for i < len(s.src) && (isWord(s.src[i]) || s.src[i] == '.' && i+1 < len(s.src) && isDigit(s.src[i+1]) ||
		(s.src[i] == '+' || s.src[i] == '-') && i > s.at && (s.src[i-1] == 'e' || s.src[i-1] == 'E') && i+1 < len(s.src) && isDigit(s.src[i+1]) && !strings.HasPrefix(s.src[s.at:], "0x")) {
		i++
	}
	return i
}

// joined are the signs of more than one byte that are one token. >> is not: it closes two lists of types.
var joined = []string{"...", "=>", "->", "::", "?.", "==", "!=", "&&", "||", "++", "--"}

func (s *scanner) sign() {
	for _, j := range joined {
		if s.has(j) && (j != "?." || !isDigit(s.peek(2))) {
			s.emit(Sign, s.at+len(j))
			return
		}
	}
	s.emit(Sign, s.at+1)
}
