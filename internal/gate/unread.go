package gate

import (
	"bytes"
	"cmp"
	"fmt"
	"path"

	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

// Of a test file in a language without a reader the integrity layer knows only whether it is still there, how many lines
// of it are, and the words by which the tests of a few runners skip.

// unread reports whether there is no reader for the file's language, on both sides.
func (c sourceChange) unread() bool {
	return source.LanguageOf(c.Path) == source.Unknown && source.LanguageOf(c.OldPath) == source.Unknown
}

// lostUnread says what became of a test file that could not be read; "" is nothing bad.
func lostUnread(c sourceChange, class *diffstat.Classifier) string {
	old := cmp.Or(c.OldPath, c.Path)
	named := isTestFile(class, old) // a script without an ending is one by its text
	switch {
	case source.LanguageOf(old) != source.Unknown || c.Before == nil || solid(c.Before) == 0 || !named && path.Ext(old) != "":
		return ""
	case c.After == nil:
		return "the test file is gone"
	case named && !isTestFile(class, c.Path):
		return "the test file is now " + git.Quote(c.Path) + ", which is none"
	}
	before, after := solid(c.Before), solid(c.After)
	switch {
	case after == 0:
		return "the test file is emptied"
	case c.unread() && isCode(old) && 2*after < before:
		return fmt.Sprintf("%s of its %d left, blank ones and comments aside", plural(after, "line"), before)
	}
	return ""
}

// isCode reports whether a file is no data, documentation or the like, whoever calls it a test: those may shrink.
func isCode(name string) bool {
	_, reason := new(diffstat.Classifier).ByName(name)
	return reason == "" || reason == "unknown kind of file"
}

// skipWords begin a line that skips a test, by the ending of the file.
var skipWords = map[string]*lazyregexp.Regexp{
	".bats": lazyregexp.New(`^skip($|[ \t;])`),
	".rb":   lazyregexp.New(`^(xit|xspecify|xexample|xdescribe|xcontext|xfeature|xscenario)[ (]|^(skip|pending)($|\(| *["'{]| (do|if|unless)\b)`),
}

// newSkip finds the last line that skips, where a file that was there has more of them than before.
func newSkip(c sourceChange) (line int, found bool) {
	words := skipWords[path.Ext(c.Path)]
	if words == nil || c.Before == nil || c.After == nil {
		return 0, false
	}
	before, _ := skips(words, c.Before)
	after, last := skips(words, c.After)
	return last, after > before
}

func skips(words *lazyregexp.Regexp, text []byte) (count, last int) {
	n := 0
	for line := range bytes.Lines(text) {
		if n++; words.MatchString(string(bytes.TrimSpace(line))) {
			count, last = count+1, n
		}
	}
	return count, last
}

// isTestFile reports whether a file is test code by its name.
func isTestFile(class *diffstat.Classifier, name string) bool {
	of, _ := class.ByName(name)
	return of == diffstat.Test
}

// commentSigns begin a line that is a comment in one language or another.
var commentSigns = [][]byte{[]byte("#"), []byte("//"), []byte("--"), []byte(";"), []byte("%"), []byte("/*"), []byte("*"), []byte("(*"), []byte("{-")}

// solid counts the lines of a text that are neither blank nor comments.
func solid(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		isComment := false
		for _, sign := range commentSigns {
			isComment = isComment || bytes.HasPrefix(line, sign)
		}
		if len(line) > 0 && !isComment {
			n++
		}
	}
	return n
}
