package learn

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph-loop/internal/lazyregexp"
)

// Two learnings are the same when their normalised texts are equal, or when their words overlap. The words are those
// that carry meaning: no articles, no auxiliary verbs, plurals made singular; Chinese, which has no word boundaries,
// by pairs of neighbouring characters. A name (a path, an identifier, an abbreviation) weighs as much as three words.
//
// The overlap is the weight of the common words over the weight of all, in per cent. Where one says everything that
// the other says, overlapContained is enough; where each has a word of its own, one was probably put in place of the
// other ("the books table", "the authors table"), and overlapReplaced is demanded. Texts that differ in a number, in
// a name, or in whether they forbid are never the same.
const (
	overlapContained = 75
	overlapReplaced  = 85
	nameWeight       = 3
)

// wording is what a text says, for comparison.
type wording struct {
	normal  string
	words   map[string]int // weight by word
	weight  int            // sum of words
	forbids bool           // an odd number of negations
}

var (
	negations = setOf("not no never don't dont avoid without cannot can't instead rather mustn't shouldn't doesn't isn't forbid forbidden prohibit")
	fillers   = setOf(`a an the this that these those it its is are was were be been being to of in on at by for from with as and or
		must should shall need needs have has had do does did will would can could may might always please also then so
		use uses used using live lives go goes put keep place located only we our you your there here all any each every`)
	// Longer ones first: 不要 must not be read as 不 and 要. What is a part of many words (用, 中, 会) stays.
	negationsChinese = lazyregexp.New(`不要|不得|不能|不可|不应|不用|禁止|避免|切勿|勿|别|没有|不`)
	fillersChinese   = lazyregexp.New(`必须|应该|应当|需要|使用|所有|一律|统一|可以|以及|这个|那个|要|该|的|了|都|在|请|是|把|被|就|和|与|或|也`)
	// A name is kept whole: src/migrations/, hashPassword(), t.TempDir, user_id, REQ-001, --flag.
	wordPattern = lazyregexp.New(`[\p{L}\p{N}_$@./:#'’-]+`)
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// normal is the text without what two writings of one sentence may differ in: case, quotes, punctuation, spacing.
func normal(text string) string {
	return strings.Join(wordsOf(text), " ")
}

// wordsOf are the words of a text in order, names as they stand, others in lower case, Chinese runs as one word.
func wordsOf(text string) []string {
	var out []string
	for _, w := range wordPattern.FindAllString(strings.ReplaceAll(text, "’", "'"), -1) {
		for _, part := range splitHan(w) {
			part = strings.TrimRight(strings.TrimLeft(part, "'-:#@"), "'-:#./")
			switch {
			case part == "":
			case isName(part):
				out = append(out, part)
			default:
				out = append(out, strings.ToLower(part))
			}
		}
	}
	return out
}

// splitHan parts a run such as 使用bcrypt where the writing changes.
func splitHan(w string) []string {
	var out []string
	start, last := 0, false
	for i, r := range w {
		han := isHan(r)
		if i > 0 && han != last {
			out, start = append(out, w[start:i]), i
		}
		last = han
	}
	return append(out, w[start:])
}

// isHan reports whether r is written without spaces between words.
func isHan(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// isName tells a path, an identifier or an abbreviation from a word of the language.
func isName(w string) bool {
	if strings.ContainsAny(w, "/_$.:") {
		return true
	}
	upper, lower, digit := 0, 0, 0
	for i, r := range w {
		switch {
		case unicode.IsDigit(r):
			digit++
		case unicode.IsUpper(r) && i > 0:
			upper++
		case unicode.IsLower(r):
			lower++
		}
	}
	return upper > 0 || digit > 0 && (lower > 0 || utf8.RuneCountInString(w) > digit)
}

func isNumber(w string) bool {
	return w != "" && strings.Trim(w, "0123456789.,%") == ""
}

func wordingOf(text string) *wording {
	words := wordsOf(text)
	out := &wording{normal: strings.Join(words, " "), words: map[string]int{}}
	add := func(w string, weight int) {
		if out.words[w] == 0 {
			out.words[w] = weight
			out.weight += weight
		}
	}
	for _, w := range words {
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case isHan(first):
			out.forbids = out.forbids != (len(negationsChinese.FindAllString(w, -1))%2 == 1)
			// The rest closes up, or 列顺序是固定的 would have other pairs than 列顺序固定.
			for _, pair := range pairs(fillersChinese.ReplaceAllString(negationsChinese.ReplaceAllString(w, ""), "")) {
				add(pair, 1)
			}
		case negations[w]:
			out.forbids = !out.forbids
		case fillers[w]:
		case isNumber(w):
			add(w, 1)
		case isName(w):
			add(w, nameWeight)
		default:
			add(singular(w), 1)
		}
	}
	return out
}

// pairs are the pairs of neighbouring characters of a run; a lone character is itself.
func pairs(run string) []string {
	chars := []rune(run)
	switch len(chars) {
	case 0:
		return nil
	case 1:
		return []string{run}
	}
	var out []string
	for i := 0; i+1 < len(chars); i++ {
		out = append(out, string(chars[i:i+2]))
	}
	return out
}

func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		return w[:len(w)-1]
	}
	return w
}

// same reports whether two texts say the same, by the rule at the top of this file.
func (a *wording) same(b *wording) bool {
	if a.normal == b.normal {
		return true
	}
	if a.forbids != b.forbids || a.weight == 0 || b.weight == 0 {
		return false
	}
	common := 0
	for w, weight := range a.words {
		if b.words[w] > 0 {
			common += weight
		} else if isNumber(w) || weight == nameWeight {
			return false
		}
	}
	for w, weight := range b.words {
		if a.words[w] == 0 && (isNumber(w) || weight == nameWeight) {
			return false
		}
	}
	needed := overlapReplaced
	if common == a.weight || common == b.weight {
		needed = overlapContained
	}
	return 100*common >= needed*(a.weight+b.weight-common)
}

// shared is the weight of the words that a text has in common with others.
func (a *wording) shared(others map[string]int) int {
	sum := 0
	for w, weight := range a.words {
		if others[w] > 0 {
			sum += weight
		}
	}
	return sum
}

// found are the matches of a pattern in text, each once, in order.
func found(pattern *lazyregexp.Regexp, text string, most int) []string {
	var out []string
	for _, m := range pattern.FindAllString(text, -1) {
		if m = strings.TrimSpace(m); !slices.Contains(out, m) && len(out) < most {
			out = append(out, m)
		}
	}
	return out
}
