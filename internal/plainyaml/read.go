package plainyaml

import (
	"bytes"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Unmarshal reads YAML into the struct that v points to and holds zero values. A key that it does not have is an error.
func Unmarshal(data []byte, v any) error {
	value := reflect.ValueOf(v).Elem()
	if shapeOf(value.Type()) != nil && !hasOtherBreaks(data) {
		fast := reflect.New(value.Type())
		lines := strings.SplitAfter(string(data), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for len(lines) > 0 && lines[0][0] == '#' {
			lines = lines[1:]
		}
		if len(lines) > 0 && structure(fast.Elem(), lines, 0) == nil {
			value.Set(fast.Elem())
			return nil
		}
	}
	return slowly(data, v)
}

// errNotPlain sends the whole file to yaml.v3, which knows what it means, or what is wrong with it.
var errNotPlain = errors.New("not plain")

// extent is how many lines the value has that begins in the first one: all below it that are empty or stand deeper.
func extent(lines []string, depth int) int {
	n := 1
	for n < len(lines) && (lines[n] == "\n" || margin(lines[n]) > depth) {
		n++
	}
	return n
}

func margin(line string) int {
	n := 0
	for n < len(line) && line[n] == ' ' {
		n++
	}
	return n
}

// structure reads the lines of a struct whose keys stand at depth.
func structure(v reflect.Value, lines []string, depth int) error {
	s := shapeOf(v.Type())
	for next := 0; len(lines) > 0; {
		if margin(lines[0]) != depth {
			return errNotPlain
		}
		n := extent(lines, depth)
		key, rest, found := strings.Cut(strings.TrimSuffix(lines[0][depth:], "\n"), ":")
		i, known := s.byName[key]
		if !found || !known || i < next { // a key that stands twice is among those out of order
			return errNotPlain
		}
		next = i + 1
		target := v.Field(s.fields[i].index)
		if !value(target, rest, lines[1:n], depth) {
			one := reflect.New(reflect.MapOf(reflect.TypeFor[string](), target.Type()))
			if err := slowly(outdented(lines[:n], depth), one.Interface()); err != nil {
				return err
			}
			read := one.Elem().MapIndex(reflect.ValueOf(key))
			if !read.IsValid() {
				return errNotPlain
			}
			target.Set(read)
		}
		lines = lines[n:]
	}
	return nil
}

// outdented are lines that stand at depth, at the margin.
func outdented(lines []string, depth int) []byte {
	var b bytes.Buffer
	for _, line := range lines {
		b.WriteString(line[min(depth, margin(line)):])
	}
	return b.Bytes()
}

// value reads what stands behind a key and its colon, and on the lines below. ok is false where yaml.v3 must do it.
func value(v reflect.Value, rest string, below []string, depth int) (ok bool) {
	if v.Kind() == reflect.Pointer && len(below) > 0 {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if rest != "" {
		if v.Kind() == reflect.Slice && rest == " []" && !special(v.Type()) && len(below) == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return true
		}
		return rest[0] == ' ' && len(below) == 0 && scalar(v, rest[1:])
	}
	if len(below) == 0 {
		return false
	}
	switch v.Kind() {
	case reflect.Struct:
		return v.Type() != timeType && shapeOf(v.Type()) != nil && structure(v, below, depth+indent) == nil
	case reflect.Slice:
		return !special(v.Type()) && list(v, below, depth+indent) == nil
	}
	return false
}

// list reads the lines of a list whose dashes stand at depth.
func list(v reflect.Value, lines []string, depth int) error {
	out := reflect.MakeSlice(v.Type(), 0, len(lines))
	for len(lines) > 0 {
		if margin(lines[0]) != depth || !strings.HasPrefix(lines[0][depth:], "- ") {
			return errNotPlain
		}
		n := extent(lines, depth)
		element := reflect.New(v.Type().Elem()).Elem()
		if !item(element, lines[:n], depth) {
			one := reflect.New(v.Type())
			if err := slowly(outdented(lines[:n], depth), one.Interface()); err != nil {
				return err
			}
			if one.Elem().Len() != 1 {
				return errNotPlain
			}
			element = one.Elem().Index(0)
		}
		out = reflect.Append(out, element)
		lines = lines[n:]
	}
	v.Set(out)
	return nil
}

// item reads the lines of one item of a list. ok is false where yaml.v3 must do it.
func item(v reflect.Value, lines []string, depth int) (ok bool) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.Struct && v.Type() != timeType {
		if shapeOf(v.Type()) == nil {
			return false
		}
		keys := append([]string{lines[0][:depth] + " " + lines[0][depth+1:]}, lines[1:]...)
		return structure(v, keys, depth+indent) == nil
	}
	return len(lines) == 1 && scalar(v, strings.TrimSuffix(lines[0][depth+len("- "):], "\n"))
}

// scalar reads one word, if it is written as this package writes it.
func scalar(v reflect.Value, text string) (ok bool) {
	if v.Type() == timeType {
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || !strings.HasSuffix(text, "Z") || t.Format(time.RFC3339Nano) != text {
			return false
		}
		*v.Addr().Interface().(*time.Time) = t
		return true
	}
	if special(v.Type()) {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		if text == `""` {
			text = ""
		} else if !plain(text) {
			return false
		}
		v.SetString(text)
		return true
	case reflect.Int:
		n, err := strconv.Atoi(text)
		v.SetInt(int64(n))
		return err == nil && strconv.Itoa(n) == text
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		v.SetFloat(f)
		return err == nil && text[0] <= '9' && strconv.FormatFloat(f, 'g', -1, 64) == text
	case reflect.Bool:
		v.SetBool(text == "true")
		return text == "true" || text == "false"
	}
	return false
}
