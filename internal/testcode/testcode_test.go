package testcode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfTests: what a test is called, and where it stands.
func TestNamesOfTests(t *testing.T) {
	for _, c := range []struct{ path, src, want string }{
		{"a.test.js", "describe('a  b', () => {\n  it.each([1])('c', () => {});\n  it(name, f);\n});\nit('c', () => {\n});\nit('c', f);\n", "a b > c:2-2 a b > name:3-3 c:5-6 c #2:7-7"},
		{"test_a.py", "class TestA:\n    class TestB:\n        @x\n        def test_c(self):\n            pass\n\n    def test_d(self): pass\n\n\ndef test_e(\n    a\n):\n    pass\n", "TestA.TestB.test_c:4-5 TestA.test_d:7-7 test_e:10-13"},
		{"tests/a.rs", "mod a {\n  mod b {\n    #[test]\n    fn c() {\n    }\n  }\n  #[test]\n  fn d() {}\n}\n", "a::b::c:4-5 a::d:8-8"},
		{"ATest.java", "class A {\n  @Nested class B {\n    @Test\n    void c() {\n    }\n  }\n  @Test void d() { }\n}\n", "A.B.c:4-5 A.d:7-7"},
	} {
		f, err := Read(c.path, []byte(c.src), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(f.Tests)) {
			got = append(got, fmt.Sprintf("%s:%d-%d", name, f.Tests[name].Line, f.Tests[name].End))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %v", c.path, got, c.want)
		}
	}
}
