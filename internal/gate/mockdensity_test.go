package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func mockFindings(name string, src []byte, most int) []Finding {
	f := mockedIn(name, src, false)
	return f.density(most)
}

// mocked is a file of 100 lines of which n mock.
func mocked(n int, comment string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "package a\nfunc TestA(t *testing.T) {\n%s\n", comment)
	for range n {
		b.WriteString("\tm.EXPECT().Get()\n")
	}
	for range 100 - n - 4 {
		b.WriteString("\trun()\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// TestMockDensity holds the mock parts of cases G12 and G15.
func TestMockDensity(t *testing.T) {
	for name, c := range map[string]struct {
		n       int
		comment string
		pass    bool
	}{
		"none":                         {0, "", true},
		"exactly 30 %":                 {30, "", true},
		"31 %":                         {31, "", false},
		"justified":                    {31, "// @mock-justified: the paid API", true},
		"10 characters":                {31, "// @mock-justified: 1234567890", true},
		"9 characters":                 {31, "// @mock-justified: 123456789 ", false},
		"10 characters, not bytes":     {31, "// @mock-justified: éééééééééé", true},
		"9 characters, 27 bytes":       {31, "// @mock-justified: 日本語日本語日本語", false},
		"in a block":                   {31, "/* @mock-justified: the paid API */", true},
		"9 characters in a block":      {31, "/* @mock-justified: 123456789 */", false},
		"no reason":                    {31, "// @mock-justified:", false},
		"the reason is on a next line": {31, "// @mock-justified:\n// the paid API", false},
		"in a string":                  {31, "\t_ = `// @mock-justified: the paid API`", false},
		"another word":                 {31, "// mock-justified: the paid API", false},
	} {
		got := mockFindings("a_test.go", mocked(c.n, c.comment), 30)
		if (len(got) == 0) != c.pass {
			t.Errorf("%s: %v", name, got)
		}
		if len(got) > 0 && (got[0].Path != "a_test.go" || got[0].Line != 4 && got[0].Line != 5 || got[0].Rule != "mock-density" || !strings.Contains(got[0].Message, "@mock-justified:")) {
			t.Errorf("%s: %+v", name, got[0])
		}
	}
	if got := mockFindings("a_test.go", mocked(1, ""), 0); len(got) != 1 || !strings.Contains(got[0].Message, "1 of 100 lines mock (1.00 %, at most 0 %)") {
		t.Errorf("density 0: %v", got)
	}
	if got := mockFindings("a_test.go", []byte("package a\nvar x = mocks.New("), 100); len(got) != 1 || got[0].Rule != "does-not-parse" || got[0].Line != 2 {
		t.Errorf("a file that is not Go: %v", got)
	}
	if got := mockFindings("a_test.go", nil, 30); len(got) != 1 {
		t.Errorf("an empty file: %v", got)
	}
}

func FuzzMocks(f *testing.F) {
	f.Add(mocked(31, "// @mock-justified: 123456789 "))
	f.Add([]byte("package a\nvar _ = a.On(\"x\").b[c](d).EXPECT()"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if got := mockFindings("a_test.go", src, 100); len(got) > 0 && got[0].Rule != "does-not-parse" {
			t.Errorf("more than all lines mock: %v", got)
		}
	})
}

// TestDensityOfOtherLanguages holds case G12's and G15's mock parts.
func TestDensityOfOtherLanguages(t *testing.T) {
	for _, c := range []struct{ file, mock, other, comment string }{
		{"a.test.js", "jest.fn();", "run();", "// "},
		{"test_a.py", "monkeypatch.setattr(a, 'b')", "run()", "# "},
		{"ATest.java", "Mockito.reset(a);", "run();", "/* "},
		{"tests/a.rs", "MockA::new();", "run();", "// "},
	} {
		file := func(n int, reason string) []byte {
			lines := slices.Repeat([]string{c.mock}, n)
			lines = append(lines, slices.Repeat([]string{c.other}, 99-n)...)
			return []byte(c.comment + reason + map[bool]string{true: " */"}[c.comment == "/* "] + "\n" + strings.Join(lines, "\n"))
		}
		for _, d := range []struct {
			n      int
			reason string
			pass   bool
		}{{30, "", true}, {31, "", false}, {31, "@mock-justified: 1234567890", true}, {31, "@mock-justified: 123456789", false}, {31, "mock-justified: the paid API", false}} {
			f := mockedIn(c.file, file(d.n, d.reason), false)
			if got := f.density(30); (len(got) == 0) != d.pass {
				t.Errorf("%s, %d lines, %q: %v", c.file, d.n, d.reason, got)
			} else if len(got) > 0 && (got[0].Line != 2 || !strings.Contains(got[0].Message, "31 of 100 lines mock (31.00 %, at most 30 %)")) {
				t.Errorf("%s: %+v", c.file, got[0])
			}
		}
	}
}
