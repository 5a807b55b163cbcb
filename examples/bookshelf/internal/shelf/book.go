package shelf

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a book's fields. Lengths are in characters, not in bytes.
const (
	maxText = 200
	maxYear = 9999
)

// Book is one book as it is stored and as the API shows it.
type Book struct {
	ID     int    `json:"id"`
	Title  string `json:"title"`
	Author string `json:"author"`
	Year   int    `json:"year,omitempty"`
	ISBN   string `json:"isbn,omitempty"`
}

// InvalidError says which field of a book breaks a rule, and which rule.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string {
	return e.Field + ": " + e.Reason
}

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// clean returns the book as it is stored, or an *InvalidError.
func (b Book) clean() (Book, error) {
	var err error
	if b.Title, err = cleanText("title", b.Title); err != nil {
		return Book{}, err
	}
	if b.Author, err = cleanText("author", b.Author); err != nil {
		return Book{}, err
	}
	if b.Year < 0 || b.Year > maxYear {
		return Book{}, invalid("year", "must be between 0 and %d", maxYear)
	}
	b.ISBN = strings.TrimSpace(b.ISBN)
	return b, nil
}

func cleanText(field, text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", invalid(field, "is empty")
	case !utf8.ValidString(text):
		return "", invalid(field, "is not UTF-8")
	case utf8.RuneCountInString(text) > maxText:
		return "", invalid(field, "is longer than %d characters", maxText)
	}
	return text, nil
}
