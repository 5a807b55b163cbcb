package source

import "strings"

// mode is what is being read of JavaScript: code, or one of the things that code stands in.
type mode struct {
	kind   modeKind
	braces int // of code: open ones
}

type modeKind uint8

const (
	code       modeKind = iota // a program, or an expression in braces between tags
	inTemplate                 // an expression in a template literal, up to its brace
	tag                        // <a b="c"
	endTag                     // </a
	children                   // between two tags
)

type jsScanner struct {
	*scanner
	jsx    bool
	modes  []mode
	value  bool   // the last token ends an expression: a slash divides, < compares
	brace  bool   // the last token was a closing brace
	parens []bool // of each open parenthesis: a keyword such as if stands before it
	before string // the last word or sign
	wasted int    // bytes that were searched in vain for the end of a regular expression
}

// javaScript reads JavaScript and TypeScript; jsx lets a tag begin where an expression may.
func (s *scanner) javaScript(jsx bool) {
	j := &jsScanner{scanner: s, jsx: jsx, modes: []mode{{}}}
	if s.has("#!") {
		s.emit(Comment, s.lineEnd(s.at))
	}
	for s.blanks(); !s.done(); s.blanks() {
		switch j.top().kind {
		case tag, endTag:
			j.inTag()
		case children:
			j.between()
		default:
			j.code()
		}
	}
}

func (j *jsScanner) top() *mode { return &j.modes[len(j.modes)-1] }

func (j *jsScanner) push(kind modeKind) { j.modes = append(j.modes, mode{kind: kind}) }

func (j *jsScanner) pop() { j.modes = j.modes[:max(1, len(j.modes)-1)] }

// comment passes over a comment, if there is one.
func (j *jsScanner) comment() bool {
	switch {
	case j.has("//"):
		j.emit(Comment, j.lineEnd(j.at))
	case j.has("/*"):
		j.emit(Comment, j.after(j.at+2, "*/"))
	default:
		return false
	}
	return true
}

func (j *jsScanner) code() {
	if j.comment() {
		return
	}
	c := j.src[j.at]
	switch {
	case c == '"' || c == '\'':
		j.operand(String, j.quoted(j.at, false))
	case c == '`':
		j.template(j.at + 1)
	case isDigit(c) || c == '.' && isDigit(j.peek(1)):
		j.operand(Number, j.number())
	case isWord(c) || c == '#' && isWord(j.peek(1)) || c == '@' && isWord(j.peek(1)):
		end := j.wordEnd(j.at + 1)
		word, member := j.src[j.at:end], j.before == "." || j.before == "?."
		j.emit(Word, end)
		j.value, j.brace, j.before = member || !beforeExpression[word], false, word
		if member {
			j.before = "" // x.if(...) is a call
		}
	case c == '/' && j.regexpStarts():
		j.operand(Regexp, j.regexp())
	case c == '<' && j.tagStarts():
		j.emit(Sign, j.at+1)
		j.push(tag)
		if j.peek(0) == '>' { // <>...</>
			j.top().kind = children
			j.emit(Sign, j.at+1)
		}
	default:
		j.codeSign(c)
	}
}

func (j *jsScanner) operand(kind Kind, end int) {
	j.emit(kind, end)
	j.value, j.brace, j.before = true, false, ""
}

// beforeExpression are the words after which an expression begins.
var beforeExpression = map[string]bool{"return": true, "typeof": true, "case": true, "do": true, "else": true, "in": true, "of": true, "instanceof": true, "new": true, "delete": true, "void": true,
	"throw": true, "yield": true, "await": true, "default": true, "extends": true, "export": true, "import": true, "if": true, "while": true, "for": true, "with": true}

func (j *jsScanner) codeSign(c byte) {
	keyword := j.before == "if" || j.before == "while" || j.before == "for" || j.before == "with"
	m := j.top()
	switch c {
	case '(':
		j.parens = append(j.parens, keyword)
	case ')':
		keyword = false
		if n := len(j.parens); n > 0 {
			keyword, j.parens = j.parens[n-1], j.parens[:n-1]
		}
		j.emit(Sign, j.at+1)
		j.value, j.brace, j.before = !keyword, false, ")"
		return
	case '{':
		m.braces++
	case '}':
		switch {
		case m.braces > 0:
			m.braces--
		case m.kind == inTemplate:
			j.pop()
			j.template(j.at + 1)
			return
		case len(j.modes) > 1: // of an expression between tags, or in one
			j.pop()
		}
	}
	j.sign()
	j.before = j.file.Code[len(j.file.Code)-1].Text
	if j.before == "++" || j.before == "--" {
		return // x++ is a value still
	}
	j.value, j.brace = c == ']' || c == '}', c == '}'
}

// template reads a template literal's text from at on, up to its end or to the code that begins in it.
func (j *jsScanner) template(from int) {
	for i := from; i < len(j.src); i++ {
		switch {
		case j.src[i] == '\\':
			i++
		case j.src[i] == '`':
			j.operand(String, i+1)
			return
		case strings.HasPrefix(j.src[i:], "${"):
			j.emit(String, i+2)
			j.value, j.brace, j.before = false, false, ""
			j.push(inTemplate)
			return
		}
	}
	j.operand(String, len(j.src))
}

// regexpStarts reports whether the slash at at begins a regular expression.
func (j *jsScanner) regexpStarts() bool {
	switch {
	case j.peek(1) == '>' || j.before == "<": // a tag that was not taken for one
		return false
	case j.value && !(j.brace && j.first): // a brace at the end of a line closes a block more often than an object
		return false
	}
	return j.regexp() > j.at+1
}

// maxWasted keeps the search for the ends of regular expressions from taking for ever, in bytes.
const maxWasted = 1 << 20

// regexp is the end of a regular expression at at; a slash alone if there is none on this line.
func (j *jsScanner) regexp() int {
	if j.wasted > maxWasted {
		return j.at + 1
	}
	class, i := false, j.at+1
	for ; i < len(j.src) && j.src[i] != '\n'; i++ {
		switch j.src[i] {
		case '\\':
			if i+1 < len(j.src) && j.src[i+1] != '\n' {
				i++
			}
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return j.wordEnd(i + 1)
			}
		}
	}
	j.wasted += i - j.at
	return j.at + 1
}

// tagStarts reports whether the < at at begins a tag. <T>(x) and <T, are lists of types.
func (j *jsScanner) tagStarts() bool {
	if !j.jsx || j.value && !(j.brace && j.first) {
		return false
	}
	next := j.peek(1)
	if next == '>' {
		return true
	}
	if !isWord(next) || isDigit(next) {
		return false
	}
	end := j.wordEnd(j.at + 1)
	rest := strings.TrimLeft(j.src[end:min(len(j.src), end+20)], " \t\r\n")
	oneLetter := end == j.at+2 && next >= 'A' && next <= 'Z'
	return !strings.HasPrefix(rest, ",") && !strings.HasPrefix(rest, "extends ") && !(oneLetter && (strings.HasPrefix(rest, ">(") || strings.HasPrefix(rest, "=")))
}

func (j *jsScanner) inTag() {
	if j.comment() {
		return
	}
	c, m := j.src[j.at], j.top()
	switch {
	case c == '"' || c == '\'':
		j.emit(String, j.after(j.at+1, string(c)))
	case c == '{':
		j.emit(Sign, j.at+1)
		j.expression()
	case j.has("/>") && m.kind == tag:
		j.emit(Sign, j.at+1)
		j.emit(Sign, j.at+1)
		j.endElement()
	case c == '>':
		j.emit(Sign, j.at+1)
		if m.kind == tag {
			m.kind = children
			return
		}
		j.pop()
		j.endElement()
	case isWord(c):
		end := j.wordEnd(j.at)
		for end < len(j.src) && strings.IndexByte("-.:", j.src[end]) >= 0 {
			end = j.wordEnd(end + 1)
		}
		j.emit(Word, end)
	default:
		j.emit(Sign, j.at+1)
	}
}

// expression begins code in braces.
func (j *jsScanner) expression() {
	j.push(code)
	j.value, j.brace, j.before = false, false, "{"
}

// endElement goes back to what the element stands in.
func (j *jsScanner) endElement() {
	j.pop()
	j.value, j.brace, j.before = true, false, ">"
}

func (j *jsScanner) between() {
	switch {
	case j.src[j.at] == '{':
		j.emit(Sign, j.at+1)
		j.expression()
	case j.has("</"):
		j.emit(Sign, j.at+1)
		j.emit(Sign, j.at+1)
		j.push(endTag)
	case j.src[j.at] == '<':
		j.emit(Sign, j.at+1)
		j.push(tag)
		if j.peek(0) == '>' {
			j.top().kind = children
			j.emit(Sign, j.at+1)
		}
	default:
		end := len(j.src)
		if i := strings.IndexAny(j.src[j.at:], "<{"); i >= 0 {
			end = j.at + i
		}
		j.emit(Text, j.at+len(strings.TrimRight(j.src[j.at:end], " \t\r\n")))
	}
}
