package gate

import (
	"bytes"
	"cmp"
	"path"

	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
	"ralph-loop/internal/source"
)

// Of a test file in a language without a reader the integrity layer knows only whether it is still there.

// unread reports whether there is no reader for the file's language, on both sides.
func (c sourceChange) unread() bool {
	return source.LanguageOf(c.Path) == source.Unknown && source.LanguageOf(c.OldPath) == source.Unknown
}

// lostUnread says what became of a test file that could not be read; "" is nothing bad.
func lostUnread(c sourceChange, class *diffstat.Classifier) string {
	old := cmp.Or(c.OldPath, c.Path)
	named := isTestFile(class, old) // a script without an ending is one by its text
	switch {
	case source.LanguageOf(old) != source.Unknown || c.Before == nil || bare(c.Before) || !named && path.Ext(old) != "":
		return ""
	case c.After == nil:
		return "the test file is gone"
	case named && !isTestFile(class, c.Path):
		return "the test file is now " + git.Quote(c.Path) + ", which is none"
	case bare(c.After):
		return "the test file is emptied"
	}
	return ""
}

// isTestFile reports whether a file is test code by its name.
func isTestFile(class *diffstat.Classifier, name string) bool {
	of, _ := class.ByName(name)
	return of == diffstat.Test
}

// commentSigns begin a line that is a comment in one language or another.
var commentSigns = [][]byte{[]byte("#"), []byte("//"), []byte("--"), []byte(";"), []byte("%"), []byte("/*"), []byte("*"), []byte("(*"), []byte("{-")}

// bare reports whether a text is nothing but blank lines and comments.
func bare(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		isComment := false
		for _, sign := range commentSigns {
			isComment = isComment || bytes.HasPrefix(line, sign)
		}
		if len(line) > 0 && !isComment {
			return false
		}
	}
	return true
}
