package plainyaml

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

type word string

// own says itself how it is written.
type own struct{ N int }

func (o own) MarshalYAML() (any, error)         { return o.N, nil }
func (o *own) UnmarshalYAML(n *yaml.Node) error { return n.Decode(&o.N) }
func (o own) IsZero() bool                      { return o.N == 7 }

type leaf struct {
	Text  string    `yaml:"text"`
	Maybe string    `yaml:"maybe,omitempty"`
	At    time.Time `yaml:"at,omitempty"`
	Words []word    `yaml:"words,omitempty"`
}

type whole struct {
	Name     string         `yaml:"name"`
	Kind     word           `yaml:"kind,omitempty"`
	Number   int            `yaml:"number"`
	Share    float64        `yaml:"share,omitempty"`
	Yes      bool           `yaml:"yes_or_no"`
	At       time.Time      `yaml:"at"`
	List     []string       `yaml:"list"`
	Leaf     leaf           `yaml:"leaf"`
	MaybeOne leaf           `yaml:"maybe_one,omitempty"`
	Far      *leaf          `yaml:"far,omitempty"`
	Leaves   []leaf         `yaml:"leaves"`
	Far2     []*leaf        `yaml:"far_ones,omitempty"`
	Times    []time.Time    `yaml:"times,omitempty"`
	Own      own            `yaml:"own,omitempty"`
	Owns     []own          `yaml:"owns,omitempty"`
	Map      map[string]int `yaml:"map,omitempty"`
	Bytes    []byte         `yaml:"bytes,omitempty"`
	Last     string         `yaml:"last,omitempty"`
}

// texts are what people, agents and hashes write, and what YAML takes for something else.
var texts = []string{"", " ", "a", "REQ-001", "1.10", "010", "yes", "No", "ON", "y", "null", "~", "true", "False", "1e5", "12e4567", "0x1f", "0o17", "0b1", "1_000", "-1", "+1", ".5", "5.", ".inf",
	"2026-11-30", "2026-11-30T14:49:22Z", "20261130T144906Z-4123", "20261130T144906Z-4aef", "2026-1-2a", "1:30", "190:20:30", "328d9d01a0a91698a4e4de111cb5ea92984d1c3451244393348b463ae33b4c6d",
	"1234567890123456789012345678901234567890", "123456789e", "12345678901234567890e12345", "<<", "=", "- a", "-", "?", "? a", "a: b", "a:", ":a", "a #b", "a#b", "#a", "[a]", "{a}", "a, b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`",
	"'a'", `"a"`, `a\b`, "a\nb", "a\n", "\na", "a\n\n b\n", "  a\nb", "\ta", "a\tb", "a\r\nb", "é", "需求 一", "\u2028", "\ufeffa", "\x00", "\xff", "a\u0085b", "a ", " a", "---", "--- a", "...", "L1 pass; L1b 57/103; L2 212 passed; L3 8123/9410",
	"run/REQ-001/1", "# sha256: 00", "requirements: []", strings.Repeat("long words ", 30) + "end", "😀", "0", "00", "08", "1", "-0", "NaN", "inf", "1.", "1.5e3a", "a=b", "(a)", "a;b", "0xg", "0og", "1t", "1z", "1Z", "1T2", "2026-Z", "12:a", "nULL"}

func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(texts), rapid.StringMatching(`[0-9a-f]{1,40}`), rapid.StringMatching(`[-+]?[0-9xobeETZ_.:-]{1,12}`), rapid.StringMatching(`[ -~]{0,12}`), rapid.String())
}

func moment() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.SampledFrom([]int64{0, 1, 500_000_000}).Draw(t, "nanoseconds")).UTC()
		if rapid.Bool().Draw(t, "elsewhere") {
			at = at.In(time.FixedZone("", 3600*rapid.IntRange(-12, 12).Draw(t, "zone")))
		}
		return at
	})
}

func leaves() *rapid.Generator[leaf] {
	return rapid.Custom(func(t *rapid.T) leaf {
		return leaf{text().Draw(t, "text"), text().Draw(t, "maybe"), moment().Draw(t, "at"), rapid.SliceOfN(rapid.Map(text(), func(s string) word { return word(s) }), 0, 3).Draw(t, "words")}
	})
}

func wholes() *rapid.Generator[*whole] {
	return rapid.Custom(func(t *rapid.T) *whole {
		w := &whole{Name: text().Draw(t, "name"), Kind: word(text().Draw(t, "kind")), Number: rapid.Int().Draw(t, "number"), Share: rapid.Float64().Draw(t, "share"), Yes: rapid.Bool().Draw(t, "yes"),
			At: moment().Draw(t, "at"), List: rapid.SliceOfN(text(), 0, 3).Draw(t, "list"), Leaf: leaves().Draw(t, "leaf"), Leaves: rapid.SliceOfN(leaves(), 0, 3).Draw(t, "leaves"), Last: text().Draw(t, "last"), Own: own{rapid.SampledFrom([]int{0, 7}).Draw(t, "own")}}
		if rapid.Bool().Draw(t, "more") {
			one := leaves().Draw(t, "far")
			w.MaybeOne, w.Far, w.Far2 = leaves().Draw(t, "maybe one"), &one, []*leaf{&one, nil, {}}
			w.Times, w.Owns, w.Map, w.Bytes = rapid.SliceOfN(moment(), 0, 2).Draw(t, "times"), []own{{1}, {7}}, map[string]int{"b": 1, "a": 2}, []byte(text().Draw(t, "bytes"))
		}
		return w
	})
}

// TestWritesAsYAML: byte for byte what yaml.v3 writes.
func TestWritesAsYAML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := wholes().Draw(t, "value")
		want, err := slow(w)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Marshal(w)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("written is\n%s\nwant\n%s\n%v", got, want, err)
		}
	})
}

// same gives what two ways of reading make of a text: the same value, or both an error.
func same(t interface{ Errorf(string, ...any) }, data []byte) {
	var fast, want whole
	fastErr, err := Unmarshal(data, &fast), slowly(data, &want)
	if (fastErr == nil) != (err == nil) {
		t.Errorf("read with %v, by yaml.v3 with %v:\n%s", fastErr, err, data)
	}
	if err == nil && !reflect.DeepEqual(sane(fast), sane(want)) {
		t.Errorf("read is\n%+v\nby yaml.v3\n%+v\nof\n%s", fast, want, data)
	}
}

// sane makes equal what reflect does not call equal: NaN, and zones that are no object of their own.
func sane(w whole) whole {
	if math.IsNaN(w.Share) {
		w.Share = -1
	}
	return w
}

func TestReadsAsYAML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data, err := slow(wholes().Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, data)
	})
}

// TestReadsWhatOthersWrote: whatever stands there, it means what yaml.v3 says.
func TestReadsWhatOthersWrote(t *testing.T) {
	for _, data := range []string{
		"", "\n", "# only a comment\n", "{}\n", "name: a", "name: a\n\n", "name: a\nname: b\n", "number: 1\nname: a\n", "unknown: a\n", "name: a\nunknown: a\n", "---\nname: a\n", "name: a\n---\nname: b\n",
		"name: a # comment\n", "# comment\nname: a\n# comment\nkind: b\n", "name:   a\n", "name: 'a'\n", "name: >\n  a\n  b\nkind: c\n", "name: a\n  b\nkind: c\n", "name:\n  a\n", "name:\n", "number: 010\n", "number: 1_0\n", "number: 0x1f\n",
		"number: 1.0\n", "share: 1\n", "share: .5\n", "share: inf\n", "yes_or_no: yes\n", "yes_or_no: True\n", "at: 2026-11-30\n", "at: 2026-11-30T14:49:22+01:00\n", "at: null\n", "list: [a, b]\n", "list:\n- a\n- b\n", "list:\n  - a\n  -   b\n", "list:\n    - a\n",
		"list:\n  - a\n\n  - b\n", "list:\n  - a\n   - b\n", "list: a\n", "list: []\n", "leaf: {}\n", "leaf: {text: a}\n", "leaf:\n  text: a\n  words:\n    - a\n", "leaf:\n    text: a\n", "leaf:\n  text: a\n more: b\n", "leaf: &x\n  text: a\nmaybe_one: *x\n",
		"leaves:\n  - text: a\n    maybe: b\n  - text: |-\n      a\n      - text: b\n    words: []\n", "leaves:\n  - {text: a}\n", "leaves:\n  -\n    text: a\n", "leaves:\n  - text: a\n  - text: a\n    text: b\n", "leaves:\n  - nothing: a\n",
		"far: null\n", "far:\n  text: a\n", "far_ones:\n  - null\n  - text: a\n", "own: 3\n", "owns:\n  - 3\n  - 4\n", "map:\n  a: 1\n", "map: {a: 1}\n", "bytes: !!binary AAE=\n", "hidden: 1\n", "name:a\n", "name : a\n", "\"name\": a\n", "? name\n: a\n",
		"name: a\r\nkind: b\r\n", "name: a\tb\n", "\tname: a\n", " name: a\n", "name: \"\"\nlast: ''\n", "name: a\n...\n", "%YAML 1.2\n---\nname: a\n", "name: a\n\xff\n", "times:\n  - 2026-11-30T14:49:22Z\n  - 2026-11-30\n",
	} {
		same(t, []byte(data))
	}
}

func FuzzReadsAsYAML(f *testing.F) {
	for _, s := range texts {
		data, err := slow(&whole{Name: s, Leaves: []leaf{{Text: s, Words: []word{word(s)}}}, Far: &leaf{Text: s}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

// TestIsFast: what is plain does not go to yaml.v3, or this package would be for nothing.
func TestIsFast(t *testing.T) {
	w := &whole{Name: "a", At: time.Unix(0, 0).UTC(), List: []string{}, Leaf: leaf{Text: "b"}}
	for range 2000 {
		w.Leaves = append(w.Leaves, leaf{Text: "REQ-0001", Maybe: "328d9d01a0a91698a4e4de111cb5ea92984d1c3451244393348b463ae33b4c6d", At: time.Unix(1, 0).UTC(), Words: []word{"L1 pass; L1b 1/2", "20261130T144906Z-4123"}})
	}
	data, err := Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	fast := testing.AllocsPerRun(1, func() { _, _ = Marshal(w) }) + testing.AllocsPerRun(1, func() { _ = Unmarshal(data, &whole{}) })
	full := testing.AllocsPerRun(1, func() { _, _ = slow(w) }) + testing.AllocsPerRun(1, func() { _ = slowly(data, &whole{}) })
	if fast*10 > full {
		t.Errorf("it takes %.0f allocations, yaml.v3 %.0f", fast, full)
	}
}
