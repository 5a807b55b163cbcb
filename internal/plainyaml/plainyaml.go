// Package plainyaml writes and reads, fast, the YAML of files that the toolkit itself writes and that every program of it
// reads: a key a line, words and numbers that need no quotes. What it writes is byte for byte what yaml.v3 writes with an
// indent of two; whatever is not that plain it leaves to yaml.v3, a value at a time or as a whole, so that there is one
// opinion about what a file means.
package plainyaml

import (
	"bytes"
	"encoding"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// indent is how many spaces deeper each level stands.
const indent = 2

// hasOtherBreaks reports whether data holds characters that end a line too for yaml.v3: what it makes of the next one
// depends on how deep it stands.
func hasOtherBreaks(data []byte) bool {
	return bytes.IndexByte(data, '\r') >= 0 || bytes.Contains(data, []byte("\u0085")) || bytes.Contains(data, []byte("\u2028")) || bytes.Contains(data, []byte("\u2029"))
}

// field is a field of a struct as YAML knows it.
type field struct {
	name      string
	index     int
	omitEmpty bool
}

// shape is a struct type taken apart.
type shape struct {
	fields []field
	byName map[string]int // index into fields
}

var shapes sync.Map // reflect.Type → *shape; nil: not for us

// shapeOf is the shape of a struct type, or nil where yaml.v3 has rules for it that are not known here.
func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{byName: map[string]int{}}
	if special(t) {
		s = nil
	}
	for i := 0; s != nil && i < t.NumField(); i++ {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("yaml")
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case !f.IsExported() || tag == "-":
		case !tagged || name == "" || !plain(name) || option != "" && option != "omitempty":
			s = nil
		default:
			s.byName[name] = len(s.fields)
			s.fields = append(s.fields, field{name, i, option != ""})
		}
	}
	shapes.Store(t, s)
	return s
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	ownMethods = []reflect.Type{reflect.TypeFor[yaml.Marshaler](), reflect.TypeFor[yaml.Unmarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
		reflect.TypeFor[encoding.TextUnmarshaler](), reflect.TypeFor[yaml.IsZeroer]()}
)

var specials sync.Map // reflect.Type → bool

// special reports whether a type says itself how it is written.
func special(t reflect.Type) bool {
	if known, ok := specials.Load(t); ok {
		return known.(bool)
	}
	is := slices.ContainsFunc(ownMethods, func(m reflect.Type) bool { return t.Implements(m) || reflect.PointerTo(t).Implements(m) })
	specials.Store(t, is)
	return is
}

// timeOf is the time that v holds.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

// slow is what yaml.v3 writes for a value.
func slow(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// slowly reads data as yaml.v3 does. A key that v does not have is an error.
func slowly(data []byte, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	return dec.Decode(v)
}

// letters that no number, date or other word with a meaning of its own begins or holds: behind a digit one of them makes
// a word of it.
const decisive = "acdfghijklmnpqrsuvwyACDFGHIJKLMNPQRSUVWY/;()="

// reserved are the words that are not text.
var reserved = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true, "null": true}

// plain reports whether a text stands in YAML as it is, and surely is text there.
func plain(s string) bool {
	if s == "" || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte(" _./;()-+=,@", c) >= 0:
		default:
			return false
		}
	}
	if s[0] > '9' {
		return len(s) > len("false") || !reserved[strings.ToLower(s)]
	}
	if len(s) > 1 && s[0] == '0' && s[1] > '9' {
		return false // 0x, 0o, 0b
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	dated := digits == 4 && digits < len(s) && s[digits] == '-'
	return strings.ContainsAny(s, decisive) || !dated && strings.ContainsAny(s, "tTzZ")
}
