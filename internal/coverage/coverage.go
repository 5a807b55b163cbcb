// Package coverage reads what test runners write about the code that they ran, Go profiles and LCOV, and adds it up
// in integers: a threshold is met or not, never nearly.
package coverage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Data is the coverage of any number of files of any of the formats. What several of them say of one place is merged:
// it is covered if one says so. The zero value is empty and ready.
type Data struct {
	files map[string]map[string]block
}

// block is one place of a source file that can be covered.
type block struct {
	weight  int // statements of a Go profile, 1 for a line of LCOV
	covered bool
}

// File is the coverage of one source file, in statements (Go) or lines (LCOV).
type File struct {
	Path           string
	Covered, Total int
}

// ErrNoData means that a file is well formed and tells of no line of code.
var ErrNoData = errors.New("holds no coverage data")

// maxWeight bounds the statements of one block, so that no sum can overflow.
const maxWeight = 1 << 30

// Read adds one file, whose format is found from its content. An error names the line; an empty file, and one that
// tells of no code at all, is an error that wraps ErrNoData. After an error the data may hold a part of the file.
func (d *Data) Read(r io.Reader) error {
	lines := &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	for {
		line, err := lines.next()
		switch {
		case err == io.EOF:
			return ErrNoData
		case err != nil:
			return err
		case len(line) == 0:
		case bytes.HasPrefix(line, []byte("mode: ")):
			return d.goProfile(lines)
		case bytes.HasPrefix(line, []byte("TN:")), bytes.HasPrefix(line, []byte("SF:")), line[0] == '#':
			return d.lcov(lines, line)
		default:
			return fmt.Errorf("line %d: %q begins neither a Go profile nor LCOV", lines.number, shorten(line))
		}
	}
}

// Total is the sum over all files.
func (d *Data) Total() (covered, total int) {
	for _, f := range d.Files() {
		covered, total = covered+f.Covered, total+f.Total
	}
	return covered, total
}

// Files are the source files, sorted by path.
func (d *Data) Files() []File {
	var out []File
	for path, blocks := range d.files {
		f := File{Path: path}
		for _, b := range blocks {
			f.Total += b.weight
			if b.covered {
				f.Covered += b.weight
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Drop takes a source file out, or with spans the places of it that begin in one of them, and gives what it took.
func (d *Data) Drop(path string, spans ...Span) File {
	out := File{Path: path}
	for place, b := range d.files[path] {
		line := spanOf(place).From
		if len(spans) > 0 && !slices.ContainsFunc(spans, func(s Span) bool { return s.From <= line && line <= s.To }) {
			continue
		}
		out.Total += b.weight
		if b.covered {
			out.Covered += b.weight
		}
		delete(d.files[path], place)
	}
	if len(d.files[path]) == 0 {
		delete(d.files, path)
	}
	return out
}

// Span is a range of lines, both ends included.
type Span struct{ From, To int }

// Missed are the lines of a source file that nothing covered, in order, touching ranges joined.
func (d *Data) Missed(path string) []Span {
	var spans []Span
	for place, b := range d.files[path] {
		if !b.covered && b.weight > 0 {
			spans = append(spans, spanOf(place))
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.From - b.From })
	var out []Span
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.From <= out[last].To+1 {
			out[last].To = max(out[last].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// spanOf reads "12.3,45.6" or "12".
func spanOf(place string) Span {
	from, to, ok := strings.Cut(place, ",")
	if !ok {
		to = from
	}
	line := func(position string) int {
		text, _, _ := strings.Cut(position, ".")
		n, _ := strconv.Atoi(text) // digits; too many of them are no line anyway
		return n
	}
	return Span{line(from), line(to)}
}

func (d *Data) add(file, place string, weight int, covered bool) error {
	if d.files == nil {
		d.files = map[string]map[string]block{}
	}
	blocks := d.files[file]
	if blocks == nil {
		blocks = map[string]block{}
		d.files[file] = blocks
	}
	old, known := blocks[place]
	if known && old.weight != weight {
		return fmt.Errorf("%s:%s has %d statements here and %d before: two versions of the file are mixed", file, place, weight, old.weight)
	}
	blocks[place] = block{weight: weight, covered: covered || old.covered}
	return nil
}

// goProfile reads the lines behind "mode:", each "file:l.c,l.c statements count". -coverpkg repeats every block once
// for each test binary.
func (d *Data) goProfile(lines *lineReader) error {
	empty := true
	for {
		line, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		// Profiles that were simply joined bring their own first lines.
		if len(line) == 0 || bytes.HasPrefix(line, []byte("mode: ")) {
			continue
		}
		file, place, weight, count, ok := goBlock(string(line))
		if !ok {
			return fmt.Errorf("line %d: %q is no block of a Go profile", lines.number, shorten(line))
		}
		if err := d.add(file, place, weight, count > 0); err != nil {
			return fmt.Errorf("line %d: %w", lines.number, err)
		}
		empty = false
	}
	if empty {
		return ErrNoData
	}
	return nil
}

// goBlock takes a line apart from its end, since a file's name may hold anything.
func goBlock(line string) (file, place string, weight, count int, ok bool) {
	rest, last, ok1 := cutLast(line, ' ')
	rest, statements, ok2 := cutLast(rest, ' ')
	file, place, ok3 := cutLast(rest, ':')
	weight, err1 := strconv.Atoi(statements)
	count, err2 := strconv.Atoi(last)
	if errors.Is(err2, strconv.ErrRange) {
		count, err2 = 1, nil // a loop in mode count may pass any number
	}
	ok = ok1 && ok2 && ok3 && err1 == nil && err2 == nil && file != "" && isSpan(place) && weight >= 0 && weight <= maxWeight && count >= 0
	return file, place, weight, count, ok
}

// isSpan reports whether text has the form 12.3,45.6.
func isSpan(text string) bool {
	from, to, ok := strings.Cut(text, ",")
	for _, position := range []string{from, to} {
		line, column, found := strings.Cut(position, ".")
		ok = ok && found && isNumber(line) && isNumber(column) && line[0] != '0' && (column[0] != '0' || column == "0")
	}
	return ok
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// lcov reads tracefile records. Only lines count: "DA:line,count[,checksum]" between "SF:file" and "end_of_record".
func (d *Data) lcov(lines *lineReader, line []byte) error {
	empty, file := true, ""
	for {
		switch key, value, _ := strings.Cut(string(line), ":"); key {
		case "SF":
			if value == "" {
				return fmt.Errorf("line %d: SF names no file", lines.number)
			}
			file = value
		case "DA":
			number, rest, ok := strings.Cut(value, ",")
			count, _, _ := strings.Cut(rest, ",")
			if !ok || file == "" || !isNumber(number) || !isCount(count) {
				return fmt.Errorf("line %d: %q is no line record of LCOV", lines.number, shorten(line))
			}
			if err := d.add(file, strings.TrimLeft(number, "0"), 1, strings.Trim(count, "0") != "" && count[0] != '-'); err != nil {
				return fmt.Errorf("line %d: %w", lines.number, err)
			}
			empty = false
		case "end_of_record":
			file = ""
		}
		next, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		line = next
	}
	if empty {
		return ErrNoData
	}
	return nil
}

// isCount accepts what tools write as a line's count: a whole number, which geninfo lets become negative.
func isCount(text string) bool { return isNumber(strings.TrimPrefix(text, "-")) }

// lineReader reads lines of a bounded length, without their ends.
type lineReader struct {
	r      *bufio.Reader
	number int
}

func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.number++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d is longer than %d bytes", l.number, l.r.Size())
	case err == io.EOF && len(line) > 0, err == nil:
		return bytes.TrimRight(line, "\r\n"), nil
	}
	return nil, err
}

func shorten(line []byte) string {
	const most = 60
	if len(line) > most {
		return strings.ToValidUTF8(string(line[:most]), "") + "..."
	}
	return string(line)
}
