package glob

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*.md", []string{"a.md", "docs/b.md", ".md", "x.md/inside"}, []string{"a.mdx", "md"}},
		{"vendor", []string{"vendor", "vendor/a.go", "x/vendor/a.go"}, []string{"vendored/a.go", "avendor"}},
		{"vendor/", []string{"vendor/a.go", "x/vendor/a/b.go"}, []string{"vendor", "x/vendor"}},
		{"/Makefile", []string{"Makefile"}, []string{"sub/Makefile"}},
		{"docs/*.md", []string{"docs/a.md"}, []string{"docs/x/a.md", "x/docs/a.md"}},
		{"docs/*", []string{"docs/a", "docs/a/b"}, []string{"docs"}},
		{"docs/**", []string{"docs/a", "docs/a/b"}, []string{"docs", "x/docs/a"}},
		{"**/docs/**", []string{"docs/a", "x/docs/a/b"}, []string{"docs", "x/docs"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b/c"}, []string{"ab", "a/xb", "b"}},
		{"**", []string{"a", "a/b"}, nil},
		{"**/", []string{"a/b"}, []string{"a"}},
		{"**/a/**/b/**/c", []string{"a/b/c", "x/a/a/y/b/b/z/c"}, []string{"a/c/b", "x/b/c"}},
		{"a?c", []string{"abc", "aéc", "a\xffc", "x/a世c"}, []string{"ac", "a/c", "abbc"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x", "-x"}},
		{"[!a-c]x", []string{"dx"}, []string{"ax", "x"}},
		{"[^a]x", []string{"bx"}, []string{"ax"}},
		{"[]a]x", []string{"]x", "ax"}, []string{"x"}},
		{"[a-]x", []string{"-x", "ax"}, []string{"bx"}},
		{`[\]]x`, []string{"]x"}, []string{`\x`}},
		{`\*.md`, []string{"*.md"}, []string{"a.md"}},
		{`\!a`, []string{"!a"}, []string{"a"}},
		{"a**b", []string{"ab", "axxb"}, []string{"a/b"}},
		{"\xff*", []string{"\xffa", "d/\xff"}, []string{"\xfea", "ÿ"}},
		{"$(touch x) `id`", []string{"$(touch x) `id`"}, nil},
		{"src/test/**/*.java", []string{"src/test/A.java", "src/test/x/y/A.java"}, []string{"src/main/A.java"}},
		{"日本/*", []string{"日本/語"}, []string{"日/本"}},
	} {
		if err := Check(c.pattern); err != nil {
			t.Errorf("Check(%q): %v", c.pattern, err)
		}
		for _, p := range c.yes {
			if !Match(c.pattern, p) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range c.no {
			if Match(c.pattern, p) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []string{"", "/", "//", "!a", "[", "[a", "[]", "a[b", `a\`, `[\`, "a//b", `a\/`, `b/\`, "../x", "./a"} {
		if Check(bad) == nil {
			t.Errorf("%q was taken", bad)
		}
		if Match(bad, "a") {
			t.Errorf("%q matches", bad)
		}
	}
}

func TestAny(t *testing.T) {
	if !Any([]string{"b", "a*"}, "x/ab") || Any([]string{"b", "c"}, "a") || Any(nil, "a") {
		t.Error("Any does not mean any")
	}
}

func TestTimeIsBounded(t *testing.T) {
	begun := time.Now()
	Match(strings.Repeat("**/a*a*a*a*a*a*b/", 20)+"x", strings.Repeat(strings.Repeat("a", 60)+"/", 60)+"y")
	Match(strings.Repeat("*a", 500)+"b", strings.Repeat("a", 5000))
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestAsGitDoes asks git itself: the rules are gitignore's.
func TestAsGitDoes(t *testing.T) {
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: nothing is ignored
			t.Fatalf("git %s: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	patterns := []string{"*.md", "a", "a/", "/a", "a/*", "a/**", "**/a", "**/a/", "a/**/b", "a*/b?", "[a-b]", "[!a]*", "**", "a/b/", "*/b", "**/b/**", `\a`, "a**b", "[]-]"}
	paths := []string{"a", "b", "ab", "a/a", "a/b", "a/b/b", "b/a", "b/a/b", "x/a/y/b", "a.md", "x/y.md", "a/x.md", "ab/bc", "a/xx/b", "]", "-", "x/-/b"}
	for _, pattern := range patterns {
		if err := os.WriteFile(filepath.Join(dir, ".git", "info", "exclude"), []byte(pattern+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		ignored := map[string]bool{}
		for p := range strings.SplitSeq(git(strings.Join(paths, "\x00"), "check-ignore", "--no-index", "-z", "--stdin"), "\x00") {
			ignored[p] = true
		}
		for _, p := range paths {
			if Match(pattern, p) != ignored[p] {
				t.Errorf("%q on %q: %v, git says %v", pattern, p, !ignored[p], ignored[p])
			}
		}
	}
}

// quoted is the pattern that matches path and what is inside it, and nothing else.
func quoted(path string) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range len(path) {
		if strings.IndexByte(`*?[\`, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

func FuzzMatch(f *testing.F) {
	f.Add("a/**/*.go", "a/b/c.go")
	f.Add("[!a-\xff]?*", "b/\xfe")
	f.Add(`**/\[x]`, "[x]")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if Match(pattern, path) && Check(pattern) != nil {
			t.Errorf("malformed %q matches %q", pattern, path)
		}
		clean := path != "" && !strings.HasPrefix(path, "/") && !strings.HasSuffix(path, "/") && !strings.Contains("/"+path+"/", "//") &&
			!strings.Contains("/"+path+"/", "/./") && !strings.Contains("/"+path+"/", "/../")
		if clean && (!Match(quoted(path), path) || !Match(quoted(path), path+"/inside") || Match(quoted(path), "in/"+path)) {
			t.Errorf("quoted(%q) = %q does not match it", path, quoted(path))
		}
		if clean && !Match("**", path) {
			t.Errorf("** does not match %q", path)
		}
		if clean && Match(pattern, path) && !strings.HasSuffix(pattern, "/") && !Match(pattern, path+"/inside") {
			t.Errorf("%q matches %q and not what is inside", pattern, path)
		}
	})
}
