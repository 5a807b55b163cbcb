package diffstat

import (
	"strings"
	"testing"
)

func TestTestNames(t *testing.T) {
	for _, c := range []struct {
		paths, globs, want string
	}{
		{"", "", ""},
		{"README.md a.yaml go.mod", "", ""},
		{"a.go a_test.go sub/b.go x.py", "", "Go: *_test.go|Python: test_*.py *_test.py conftest.py tests.py, or in test/ tests/"},
		{"src/main/java/A.java", "", "Java: *Test.java *Tests.java *TestCase.java *IT.java, or in src/test/"},
		{"a.ts b.tsx", "", "JavaScript: *.test.* *.spec.* *.cy.* *.e2e.*, or in test/ tests/ __tests__/"},
		{"lib/a.sh", "checks/**", "shell: *_test.sh *_test.bash *-test.sh test_*.sh, or in test/ tests/|gate.test_globs: checks/**"},
		{"vendor/a.go package-lock.json", "", ""},
		{"a.rs b.rb c.c d.cs e.swift f.php", "", "Rust: *_test.rs *_tests.rs test.rs tests.rs, or in tests/|Ruby: *_spec.rb *_test.rb test_*.rb, or in test/ tests/ spec/|" +
			"C: *_test.* *_tests.* *_unittest.* test_*.*, or in test/ tests/ unittest/|C#: *Test.?s *Tests.?s *Test.vb *Tests.vb, or in test/ tests/ *.Test/"},
	} {
		classifier := &Classifier{TestGlobs: strings.Fields(c.globs)}
		if got := strings.Join(classifier.TestNames(strings.Fields(c.paths)), "|"); got != c.want {
			t.Errorf("%q: %s, want %s", c.paths, got, c.want)
		}
	}
	// What it promises of a new file holds for the one who counts.
	for _, l := range languages {
		name := strings.NewReplacer("*", "x", "?", "c").Replace(strings.TrimSuffix(strings.Fields(l.tests)[0], "*"))
		if strings.HasSuffix(name, ".") {
			name = strings.TrimSuffix(name, ".") + strings.Fields(l.sources)[0]
		}
		if class, why := (&Classifier{}).ByName("sub/" + name); class != Test {
			t.Errorf("%s: %q is %v (%s)", l.name, name, class, why)
		}
	}
}

func TestFirstSources(t *testing.T) {
	for paths, want := range map[string]string{
		"":                                  "",
		"README.md a.yaml":                  "",
		"go.mod sub/go.mod run.sh":          "main.go sub/main.go",
		"go.mod a.go":                       "",
		"go.mod a_test.go":                  "",
		"package.json a.go go.mod":          "index.js",
		"package.json src/a.ts":             "",
		"web/package.json":                  "web/index.js",
		"setup.py":                          "main.py",
		"pyproject.toml test/test_a.py":     "",
		"Cargo.toml":                        "src/main.rs",
		"build.gradle":                      "src/main/java/Main.java",
		"testdata/go.mod vendor/Cargo.toml": "",
	} {
		if got := strings.Join(FirstSources(strings.Fields(paths)), " "); got != want {
			t.Errorf("%q: %q, want %q", paths, got, want)
		}
	}
}
