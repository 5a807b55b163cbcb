package gate

import (
	"fmt"
	"strings"
	"testing"

	"ralph-loop/internal/spec"
)

func matrixOf(t *testing.T, text string) *traceMatrix {
	t.Helper()
	s, _, err := spec.Read("specification.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := &traceMatrix{spec: s, trace: &Trace{}, rows: map[string][]int{}, reqs: map[string]bool{}}
	for _, r := range s.Requirements {
		m.reqs[r.ID] = true
		m.add(r, true)
	}
	return m
}

const ids = `requirements:
  - {id: REQ-001, acceptance_criteria: [AC-1: one, AC-10: ten]}
  - {id: REQ-DSH-001, acceptance_criteria: [{id: 1.1, criteria: a}, {id: "1.10", criteria: b}]}
  - {id: US_3, acceptance_criteria: [it works]}
  - {id: 需求-1, acceptance_criteria: [{id: "AC 1 of it", criteria: c}, {id: AC-1, criteria: of another}]}
`

func TestIdsOfAnyForm(t *testing.T) {
	for text, want := range map[string]string{
		"AC-1":                      "AC-1",
		"AC-10, AC-1":               "AC-10 AC-1",
		"AC-1,AC-10;REQ-001 US_3":   "AC-1 AC-10 REQ-001 US_3",
		"AC-1 and AC-10":            "AC-1 AC-10",
		"AC-1.":                     "AC-1",
		"AC-1: it works with AC-10": "AC-1",
		"AC-1 - AC-10":              "AC-1",
		"AC-1 it works, see AC-10":  "AC-1",
		"AC-1*/":                    "AC-1",
		"1.10":                      "1.10",
		"1.1":                       "1.1",
		"1.1.":                      "1.1",
		"1.100":                     "",
		"REQ-DSH-001":               "REQ-DSH-001",
		"REQ-DSH-001-2":             "",
		"AC 1 of it":                "AC 1 of it",
		"需求-1。":                     "需求-1",
		"AC-1x":                     "",
		"AC-1_x":                    "",
		"AC-1-x":                    "",
		"nothing":                   "",
		"":                          "",
	} {
		m := matrixOf(t, ids)
		if got := strings.Join(m.ids(tag{text: text}, "a"), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestTraceOfOneFile: which test a comment belongs to, and what counts at all.
func TestTraceOfOneFile(t *testing.T) {
	for _, c := range []struct{ name, path, src, want string }{
		{"above", "a_test.go", "package a\n\n// TestA is it.\n// @covers AC-10\nfunc TestA(t *testing.T) {\n}\n", "AC-10:4 TestA"},
		{"inside", "a_test.go", "package a\nfunc TestA(t *testing.T) {\n\t// @covers AC-10\n}\nfunc TestB(t *testing.T) {}\n", "AC-10:3 TestA"},
		{"above a helper", "a_test.go", "package a\n// @covers AC-10\nfunc help() {}\nfunc TestB(t *testing.T) {}\n", "AC-10:2"},
		{"head of the file", "a_test.go", "// @covers AC-10\npackage a\nfunc TestB(t *testing.T) {}\n", "AC-10:1"},
		{"string", "a_test.go", "package a\nvar x = `// @covers AC-10`\n", ""},
		{"an address", "a_test.go", "package a\n// mail a@test AC-10, x.@covers AC-10\n", ""},
		{"skipped", "a_test.go", "package a\nfunc TestA(t *testing.T) {\n\tt.Skip() // @covers AC-10\n}\n", "AC-10:3 TestA (skipped)"},
		{"does not parse", "a_test.go", "package a\n// @covers AC-10\nfunc {", "AC-10:2"},
		{"nested", "a.test.js", "describe('a', () => {\n  // @covers AC-10\n  it('b', () => {});\n  it('c', () => { // @covers 1.1\n  });\n});\n", "AC-10:2 a > b; 1.1:4 a > c"},
		{"decorated", "test_a.py", "class TestA:\n    # @covers AC-10\n    @a(\n      b,\n    )\n    @c\n    def test_b(self):\n        pass\n", "AC-10:2 TestA.test_b"},
		{"docstring", "test_a.py", "def test_b():\n    '''@covers AC-10'''\n    x = '''\n    @covers 1.1'''\n", "AC-10:2 test_b"},
		{"attributes", "tests/a.rs", "/// @covers AC-10\n#[tokio::test(\n  a\n)]\n#[b]\nasync fn c() {}\n", "AC-10:1 c"},
		{"Java", "src/test/java/A.java", "class A {\n  /** @covers AC-10 */\n  @Test\n  @Tag(\"x\")\n  public void b() {\n  }\n}\n", "AC-10:2 A.b"},
		{"JUnit's own", "src/test/java/A.java", "class A {\n  // @Test AC-10\n  @Test void b() { }\n}\n", ""},
		{"another language", "spec/a_spec.rb", "# @covers AC-10\nit 'x' do\nend\n", "AC-10:1"},
		{"two requirements, said which", "a_test.go", "package a\n// @test REQ-001 @covers 1.1\n// @covers AC-1\nfunc TestA(t *testing.T) {\n}\n", "AC-1:3 TestA; 1.1:2 TestA"},
		{"two requirements, unsaid", "a_test.go", "package a\n// @covers AC-1\nfunc TestA(t *testing.T) {\n}\n", "? several requirements have a criterion AC-1: name one of them with @test"},
		{"a requirement for itself", "a_test.go", "package a\n// @test US_3\nfunc TestA(t *testing.T) {\n}\n", "US_3:2 TestA"},
		{"unknown", "a_test.go", "package a\n// @test REQ-002, AC-10\n// @test this well\nfunc TestA(t *testing.T) {\n}\n", "? \"REQ-002\" is no requirement and no criterion of the specification"},
	} {
		m := matrixOf(t, ids)
		m.file(c.path, []byte(c.src), nil, false)
		var got []string
		for _, r := range m.trace.Rows {
			for _, test := range r.Tests {
				got = append(got, strings.Replace(test.String(), c.path, r.name(), 1))
				if r.Covered == test.Skipped {
					t.Errorf("%s: %+v", c.name, r)
				}
			}
		}
		for _, f := range m.trace.Unknown {
			got = append(got, "? "+f.Message)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// TestTraceInsideRust: of a source file only the comments of its tests count.
func TestTraceInsideRust(t *testing.T) {
	m := matrixOf(t, ids)
	m.file("src/a.rs", []byte("// @covers AC-10\nfn a() {}\n#[cfg(test)]\nmod tests {\n  // @covers 1.1\n  #[test]\n  fn b() {}\n}\n"), nil, true)
	var got []string
	for _, r := range m.trace.Rows {
		got = append(got, fmt.Sprint(len(r.Tests)))
	}
	if text := strings.Join(got, ""); text != "0010000" {
		t.Errorf("rows with tests: %s", text)
	}
}

func TestReadBlame(t *testing.T) {
	hash := strings.Repeat("a", 40)
	out := hash + " 3 4 2\nauthor A\nsummary " + hash + " 9 9\nfilename a b\n\tcode\n" + hash + " 4 5\n\t" + hash + " 7 7\n" + strings.Repeat("b", 64) + " 1 9 1\nsummary x\n\t" + strings.Repeat("x", 200_000) + "\n"
	var got []string
	if err := readBlame(strings.NewReader(out), func(commit string, line int) { got = append(got, fmt.Sprint(len(commit), ":", line)) }); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, " "); text != "40:4 40:5 64:9" {
		t.Errorf("%s", text)
	}
	spans := []span{{2, 3, 7}, {9, 1, 12}}
	for line, want := range map[int]string{1: "0 false", 2: "7 true", 4: "7 true", 5: "0 false", 9: "12 true", 10: "0 false"} {
		at, removed := place(spans, line)
		if got := fmt.Sprint(at, " ", removed); got != want {
			t.Errorf("line %d: %s, want %s", line, got, want)
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add("// @covers AC-1, 1.10 and US_3\nfunc TestA(t *testing.T) {}", uint8(0))
	f.Add("'''@test 需求-1'''\n@a(\ndef test_b(): pass", uint8(1))
	names := []string{"a_test.go", "test_a.py", "a.test.tsx", "tests/a.rs", "src/test/java/A.java", "a_spec.rb"}
	f.Fuzz(func(t *testing.T, src string, lang uint8) {
		m := matrixOf(t, ids)
		m.file(names[int(lang)%len(names)], []byte(src), nil, false)
		for _, r := range m.trace.Rows {
			for _, test := range r.Tests {
				if test.Line < 1 || test.Line > strings.Count(src, "\n")+1 {
					t.Errorf("%+v", test)
				}
			}
		}
	})
}
