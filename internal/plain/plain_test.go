package plain

import (
	"encoding/json"
	"testing"
)

func TestLine(t *testing.T) {
	cases := map[string]string{
		"":                            "",
		"plain":                       "plain",
		"创建 User Model — ok":          "创建 User Model — ok",
		" a\tb\nc\r\n d  ":            "a b c d",
		"\x1b[31mred\x1b[0m":          `\x1b[31mred\x1b[0m`,
		"bell\a nul\x00 del\x7f":      `bell\x07 nul\x00 del\x7f`,
		"csi\u009b31m":                `csi\u009b31m`,
		"evil\u202etxt.exe":           `evil\u202etxt.exe`,
		"a\u2028b":                    "a b",
		"\xff\xfe":                    `\xff\xfe`,
		"family 👨\u200d👩\u200d👧 flag": "family 👨\u200d👩\u200d👧 flag",
	}
	for in, want := range cases {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextKeepsLinesAndTabs(t *testing.T) {
	if got, want := Text("a\n\tb\r\n\x1b]0;x\a"), "a\n\tb\\x0d\n\\x1b]0;x\\x07"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSONMeansTheSame(t *testing.T) {
	const text = "del\x7f csi\u009b bidi\u202e tab\t quote\" 创建 \ufffd"
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	safe := JSON(data)
	for _, c := range string(safe) {
		if c != '\ufffd' && isHarmful(c) {
			t.Errorf("%q is left in %s", c, safe)
		}
	}
	var back string
	if err := json.Unmarshal(safe, &back); err != nil || back != text {
		t.Errorf("decoded to %q (%v), want %q", back, err, text)
	}
}
