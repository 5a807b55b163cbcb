// Package nearest finds what somebody who misspelled a word probably meant.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// Word is the known word that is closest to word, or "" where none is close: at most one edit for every three
// letters, at least one. Case does not count. Among equals the first wins.
func Word(word string, known []string) string {
	best, bestDistance := "", max(1, utf8.RuneCountInString(word)/3)
	for _, k := range known {
		if d := Distance(strings.ToLower(word), strings.ToLower(k), bestDistance+1); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// Distance is the number of insertions, deletions, replacements and swaps of neighbours between two words, or a
// number >= limit where there are at least that many.
func Distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
