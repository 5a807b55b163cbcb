package spec

import (
	"fmt"
	"strings"

	"ralph-loop/internal/nearest"
)

// maxComparisons bounds the costly half of the search: of ten thousand typing errors among as many words, the first
// ones get their hints.
const maxComparisons = 2_500_000

// Suggester finds the known word that a mistyped one was meant to be.
type Suggester struct {
	words  []string
	folded map[string]string // the first word of each folded form
	left   int               // comparisons
}

// NewSuggester prepares the known words.
func NewSuggester(words []string) *Suggester {
	s := &Suggester{words: words, folded: make(map[string]string, len(words)), left: maxComparisons}
	for _, w := range words {
		if f := foldWord(w); s.folded[f] == "" {
			s.folded[f] = w
		}
	}
	return s
}

// Nearest is the known word that is most like word, or "" where none is near.
func (s *Suggester) Nearest(word string) string {
	if near := s.folded[foldWord(word)]; near != "" {
		return near
	}
	if s.left < len(s.words) || len(word) > 100 {
		return ""
	}
	s.left -= len(s.words)
	best, bestDistance := "", maxTypos(word)+1
	for _, w := range s.words {
		if d := nearest.Distance(word, w, bestDistance); d < bestDistance {
			best, bestDistance = w, d
		}
	}
	return best
}

// Hint asks whether the nearest word was meant, or is "".
func (s *Suggester) Hint(word string) string {
	if near := s.Nearest(word); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// foldWord leaves out what people vary without meaning it: case, separators and zeros before a number.
func foldWord(word string) string {
	var b strings.Builder
	inNumber := false
	lower := strings.ToLower(word)
	for i, c := range lower {
		switch {
		case strings.ContainsRune("-_ .", c):
			inNumber = false
			continue
		case c == '0' && !inNumber && i+1 < len(lower) && lower[i+1] >= '0' && lower[i+1] <= '9':
			continue
		}
		inNumber = c >= '0' && c <= '9'
		b.WriteRune(c)
	}
	return b.String()
}

// maxTypos is the number of typing errors that a word of this length may have.
func maxTypos(word string) int {
	switch n := len([]rune(word)); {
	case n < 4:
		return 0
	case n < 8:
		return 1
	default:
		return 2
	}
}
