package gate

import (
	"testing"

	"ralph-loop/internal/source"
)

func TestSamePackages(t *testing.T) {
	const lock = `{"packages": {"": {"name": "x"}, "lib": {"version": "1"}, "node_modules/lib": {"link": true},
		"node_modules/a": {"version": "1.0.0", "integrity": "sha512-a"}, "node_modules/a/node_modules/b": {"version": "2.0.0"},
		"node_modules/fsevents": {"version": "2.3.3", "optional": true}}}`
	for name, c := range map[string]struct {
		record string
		want   bool
	}{
		"all":               {`{"packages": {"lib": {"version": "1"}, "node_modules/lib": {"link": true}, "node_modules/a": {"version": "1.0.0", "integrity": "sha512-a"}, "node_modules/a/node_modules/b": {"version": "2.0.0"}, "node_modules/fsevents": {"version": "2.3.3", "optional": true}}}`, true},
		"optional missing":  {`{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-a"}, "node_modules/a/node_modules/b": {"version": "2.0.0"}}}`, true},
		"one missing":       {`{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-a"}}}`, false},
		"another version":   {`{"packages": {"node_modules/a": {"version": "1.0.1", "integrity": "sha512-a"}, "node_modules/a/node_modules/b": {"version": "2.0.0"}}}`, false},
		"another content":   {`{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-b"}, "node_modules/a/node_modules/b": {"version": "2.0.0"}}}`, false},
		"one too many":      {`{"packages": {"node_modules/a": {"version": "1.0.0", "integrity": "sha512-a"}, "node_modules/a/node_modules/b": {"version": "2.0.0"}, "node_modules/c": {"version": "1"}}}`, false},
		"no record":         {``, false},
		"a record of yarns": {`# yarn`, false},
	} {
		if got := samePackages([]byte(lock), []byte(c.record)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if samePackages([]byte(`{"lockfileVersion": 1, "dependencies": {}}`), []byte(`{"packages": {}}`)) {
		t.Error("a lock file without packages tells nothing")
	}
}

func TestLeaf(t *testing.T) {
	for _, c := range []struct {
		name string
		lang source.Language
		want string
	}{
		{"sum > adds 1.5 > carries", source.JavaScript, "carries"}, {"returns 1.5", source.JavaScript, "returns 1.5"}, {"a #2", source.JavaScript, "a"},
		{"TestA.test_b", source.Python, "test_b"}, {"tests::a::b", source.Rust, "b"}, {"A.B.c", source.Java, "c"}, {"TestA", source.Go, "TestA"}, {"Suite.TestA", source.Go, "TestA"},
	} {
		if got := leaf(c.name, c.lang); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestMeant: which failures are those of new tests.
func TestMeant(t *testing.T) {
	tests := newTests{files: []string{"tests/test_a.py"}, names: map[string]bool{"test_two": true, "adds": true, "a": true}}
	for name, c := range map[string]struct {
		f    Finding
		want bool
	}{
		"by its name":               {Finding{Rule: "test failed", Message: "FAIL: test_two (tests.test_a.TestApp.test_two)"}, true},
		"JUnit":                     {Finding{Rule: "test failed", Message: "tests.test_a test_two: assert 1 == 2"}, true},
		"TAP":                       {Finding{Rule: "test failed", Message: "not ok 3 adds"}, true},
		"a longer name":             {Finding{Rule: "test failed", Message: "FAIL: test_two_more (x)"}, false},
		"a longer word":             {Finding{Rule: "test failed", Message: "not ok 3 loads more"}, false},
		"a name too short to tell":  {Finding{Rule: "test failed", Message: "not ok 3 a"}, false},
		"only in the text below it": {Finding{Rule: "test failed", Message: "FAIL: test_one\n calls test_two"}, false},
		"by its file":               {Finding{Path: "tests/test_a.py", Rule: "test failed", Message: "x"}, true},
		"a place in any output":     {Finding{Path: "tests/test_a.py", Rule: "tests failed", Message: "x"}, false},
		"named in the output":       {Finding{Rule: "test failed", Message: "not ok 1 - ./tests/test_a.py"}, true},
		"the file of a folder":      {Finding{Rule: "test failed", Message: "not ok 1 - old/tests/test_a.py"}, false},
		"another file":              {Finding{Path: "tests/test_b.py", Rule: "test failed", Message: "x"}, false},
	} {
		if got := tests.meant(failure{Finding: c.f}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
