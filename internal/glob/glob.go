// Package glob matches paths of a repository against patterns, by the rules of gitignore: it is the one matcher for
// every list of files in ralph.yaml and in a requirement.
//
//   - A pattern without a slash (other than at its end) matches a name at any depth: "*.md", "vendor/".
//   - A pattern with a slash starts at the worktree's top: "docs/*.md", "/Makefile".
//   - "*" and "?" stand for text within one name, "[a-z]" and "[!a-z]" for one character, "\" takes the next one as it is.
//   - "**" as a whole name stands for any number of names, none included; at the end for everything inside.
//   - What matches a folder matches all that is inside; with a slash at the end it matches folders only.
//
// There is no negation: a list is a set. Names are compared byte by byte, with letter case; a byte that is not UTF-8
// counts as one character.
package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Match reports whether pattern matches path, which is relative to the top, with slashes. Its time is bounded by the
// product of the two lengths. A malformed pattern matches nothing.
func Match(pattern, path string) bool {
	if path == "" || Check(pattern) != nil {
		return false
	}
	pattern, foldersOnly := cutSlashes(pattern)
	names := strings.Split(pattern, "/")
	switch {
	case names[0] == "": // "/a": anchored
		names = names[1:]
	case len(names) == 1:
		names = []string{"**", pattern}
	}
	if last := len(names) - 1; names[last] == "**" {
		names = append(names, "*") // everything inside, hence one name at least
	}
	at, rest := 0, path
	// Where to go on when the names behind the last "**" turn out not to fit. That it takes as little as it can is
	// enough: every other element takes exactly one name.
	again, againRest := -1, ""
	for {
		if at == len(names) {
			return rest != "" || !foldersOnly
		}
		if names[at] == "**" {
			at++
			again, againRest = at, rest
			continue
		}
		if rest == "" {
			return false
		}
		name, after, _ := strings.Cut(rest, "/")
		if matchName(names[at], name) {
			at, rest = at+1, after
			continue
		}
		if again < 0 {
			return false
		}
		if _, againRest, _ = strings.Cut(againRest, "/"); againRest == "" {
			return false
		}
		at, rest = again, againRest
	}
}

// Any reports whether one of the patterns matches path.
func Any(patterns []string, path string) bool {
	for _, p := range patterns {
		if Match(p, path) {
			return true
		}
	}
	return false
}

// Check says what is wrong with a pattern.
func Check(pattern string) error {
	trimmed, _ := cutSlashes(pattern)
	switch {
	case trimmed == "":
		return errors.New("an empty pattern")
	case pattern[0] == '!':
		return fmt.Errorf("pattern %q: negation with '!' is not supported; write '\\!' for a name that begins so", pattern)
	case strings.Contains(trimmed, "//"):
		return fmt.Errorf("pattern %q: an empty name between two slashes", pattern)
	}
	for _, name := range strings.Split(trimmed, "/") {
		if name == "." || name == ".." {
			return fmt.Errorf("pattern %q: %q can match nothing", pattern, name)
		}
		for name != "" {
			_, rest, err := element(name, 0)
			if err != nil {
				return fmt.Errorf("pattern %q: %w", pattern, err)
			}
			name = rest
		}
	}
	return nil
}

func cutSlashes(pattern string) (string, bool) {
	trimmed := strings.TrimRight(pattern, "/")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(pattern) {
		return pattern, false // an escaped slash: Check refuses it
	}
	return trimmed, len(trimmed) < len(pattern)
}

// matchName matches one name. Only the last "*" is ever taken back.
func matchName(pattern, name string) bool {
	again, againName, starred := "", "", false
	for {
		if strings.HasPrefix(pattern, "*") {
			pattern = pattern[1:]
			again, againName, starred = pattern, name, true
			continue
		}
		if name == "" {
			return pattern == ""
		}
		char, size := utf8.DecodeRuneInString(name)
		if char == utf8.RuneError && size == 1 {
			char = invalid + rune(name[0])
		}
		if pattern != "" {
			if ok, rest, err := element(pattern, char); err == nil && ok {
				pattern, name = rest, name[size:]
				continue
			}
		}
		if !starred {
			return false
		}
		_, size = utf8.DecodeRuneInString(againName)
		againName = againName[size:]
		pattern, name = again, againName
	}
}

// invalid is added to a byte that is not UTF-8, so that it is equal to itself alone.
const invalid = utf8.MaxRune + 1

// element compares char with the first element of pattern, which is not empty, and gives what follows the element.
func element(pattern string, char rune) (ok bool, rest string, err error) {
	switch pattern[0] {
	case '?', '*':
		return true, pattern[1:], nil
	case '[':
		return class(pattern[1:], char)
	case '\\':
		if len(pattern) == 1 {
			return false, "", errors.New("nothing follows the last '\\'")
		}
		pattern = pattern[1:]
	}
	c, rest := first(pattern)
	return c == char, rest, nil
}

func first(s string) (rune, string) {
	c, size := utf8.DecodeRuneInString(s)
	if c == utf8.RuneError && size == 1 {
		c = invalid + rune(s[0])
	}
	return c, s[size:]
}

// class compares char with what stands behind a "[".
func class(s string, char rune) (ok bool, rest string, err error) {
	negated := strings.HasPrefix(s, "!") || strings.HasPrefix(s, "^")
	if negated {
		s = s[1:]
	}
	for n := 0; ; n++ {
		if s == "" {
			return false, "", errors.New("'[' without ']'")
		}
		if s[0] == ']' && n > 0 {
			return ok != negated, s[1:], nil
		}
		low, after, err := classChar(s)
		if err != nil {
			return false, "", err
		}
		high := low
		if len(after) > 1 && after[0] == '-' && after[1] != ']' {
			if high, after, err = classChar(after[1:]); err != nil {
				return false, "", err
			}
		}
		ok = ok || low <= char && char <= high
		s = after
	}
}

func classChar(s string) (rune, string, error) {
	if s[0] == '\\' {
		if s = s[1:]; s == "" {
			return 0, "", errors.New("'[' without ']'")
		}
	}
	c, rest := first(s)
	return c, rest, nil
}
