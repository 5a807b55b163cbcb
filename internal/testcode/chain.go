package testcode

import (
	"strings"

	"ralph-loop/internal/source"
)

// chain is a name with what is called on it: a.b(...).c[...].d(...). Its head stands behind no dot.
type chain struct {
	from, to int // tokens, both in it
	links    []link
}

// link is one name of a chain.
type link struct {
	name   string // "" for a head in parentheses
	at     int    // its token
	called bool
	args   int // the token that opens the arguments of its last call
}

// called reports whether anything in the chain is.
func (c *chain) called() bool {
	for _, l := range c.links {
		if l.called {
			return true
		}
	}
	return false
}

// head is the name of the chain's first link.
func (c *chain) head() string { return c.links[0].name }

// chainAt reads the chain that begins at token i, if one does.
func chainAt(f *source.File, i int) (chain, bool) {
	code := f.Code
	t := code[i]
	if i > 0 && (code[i-1].Is(".") || code[i-1].Is("?.") || code[i-1].Is("::")) && !(f.Language == source.Rust && (i < 2 || code[i-2].Kind != source.Word)) {
		return chain{}, false
	}
	c := chain{from: i, to: i, links: []link{{at: i}}}
	switch {
	case t.Kind == source.Word:
		c.links[0].name = t.Text
	case t.Is("(") && t.Pair > i && !(i > 0 && (code[i-1].Kind == source.Word && !notCallee[code[i-1].Text] || code[i-1].Is(")") || code[i-1].Is("]"))):
		c.to = t.Pair
	default:
		return chain{}, false
	}
	for c.extend(f) {
	}
	return c, true
}

// notCallee are words behind which a parenthesis holds an expression.
var notCallee = map[string]bool{"return": true, "await": true, "yield": true, "typeof": true, "void": true, "in": true, "of": true, "and": true, "or": true, "not": true, "if": true, "while": true, "assert": true, "else": true, "case": true, "throw": true, "raise": true, "new": true}

// extend takes one more piece into the chain.
func (c *chain) extend(f *source.File) bool {
	next := c.to + 1
	if next >= len(f.Code) {
		return false
	}
	t, last := f.Code[next], &c.links[len(c.links)-1]
	if f.Language == source.Python && t.First {
		return false
	}
	switch {
	case t.Is("(") && t.Pair > next:
		last.called, last.args = true, next
		c.to = t.Pair
	case t.Is("[") && t.Pair > next && f.Language != source.Rust:
		c.to = t.Pair
	case t.Is(".") || t.Is("?.") || t.Is("::"):
		if next+1 >= len(f.Code) {
			return false
		}
		switch after := f.Code[next+1]; {
		case after.Kind == source.Word:
			c.links = append(c.links, link{name: after.Text, at: next + 1})
			c.to = next + 1
		case after.Is("(") && t.Is("?.") || after.Is("[") && t.Is("?."):
			c.to = next
		case after.Is("<"):
			end := typesEnd(f, next+1)
			if end == 0 {
				return false
			}
			c.to = end
			if f.Code[end+1].Kind == source.Word { // Java: a.<T>b()
				c.links = append(c.links, link{name: f.Code[end+1].Text, at: end + 1})
				c.to = end + 1
			}
		default:
			return false
		}
	case t.Is("<") && f.Language == source.JavaScript:
		end := typesEnd(f, next)
		if end == 0 || !f.Code[end+1].Is("(") {
			return false
		}
		c.to = end
	case t.Is("!") && next+1 < len(f.Code) && f.Language == source.JavaScript && (f.Code[next+1].Is(".") || f.Code[next+1].Is("[")):
		c.to = next
	case t.Is("!") && next+1 < len(f.Code) && f.Language == source.Rust: // a macro
		open := f.Code[next+1]
		if !open.Is("(") && !open.Is("[") && !open.Is("{") || open.Pair < 0 {
			return false
		}
		last.called, last.args = true, next+1
		c.to = open.Pair
	case t.Is("?") && f.Language == source.Rust:
		c.to = next
	case t.Kind == source.String && strings.HasPrefix(t.Text, "`") && f.Language == source.JavaScript: // it.each`...`
		end := next
		for end+1 < len(f.Code) && (f.Code[end].Kind != source.String || !strings.HasSuffix(f.Code[end].Text, "`") || end == next && len(f.Code[end].Text) < 2) {
			end++
		}
		c.to = end
	default:
		return false
	}
	return true
}

// typesEnd is the token that closes the list of types opened at token i, where another token follows; else 0.
func typesEnd(f *source.File, i int) int {
	depth := 0
	for n := i; n < min(i+200, len(f.Code)-1); n++ {
		switch t := f.Code[n]; {
		case t.Is("<"):
			depth++
		case t.Is(">"):
			if depth--; depth == 0 {
				return n
			}
		case t.Is(";") || t.Is("&&") || t.Is("||") || t.Is("==") || t.Is("!="):
			return 0
		case t.Is("(") || t.Is("[") || t.Is("{"):
			if t.Pair < 0 {
				return 0
			}
			n = t.Pair
		}
	}
	return 0
}

// chains hands out each chain of a file in order. When each reports true it has taken the chain whole; else the chains
// inside it follow.
func chains(f *source.File, each func(c *chain) bool) {
	for i := 0; i < len(f.Code); i++ {
		if c, ok := chainAt(f, i); ok && each(&c) {
			i = c.to
		}
	}
}

// literal is the text of the string that the token at i is, without its quotes.
func literal(f *source.File, i int) (string, bool) {
	if i >= len(f.Code) || f.Code[i].Kind != source.String {
		return "", false
	}
	text := strings.TrimLeft(f.Code[i].Text, "rRbBuUfF")
	return strings.Trim(text, "\"'`"), true
}
