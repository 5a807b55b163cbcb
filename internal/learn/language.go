package learn

import "unicode"

// Language is the language that a text is written in: "zh" where it has at least as many Chinese characters as words in
// letters (a Chinese text on software is full of English names), else "en", Japanese included.
func Language(text string) string {
	han, words := 0, 0
	inWord := false
	for _, r := range text {
		letter := false
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return "en"
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			letter = true
			if !inWord {
				words++
			}
		}
		inWord = letter
	}
	if han > 0 && han >= words {
		return "zh"
	}
	return "en"
}
