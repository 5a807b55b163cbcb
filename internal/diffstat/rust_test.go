package diffstat

import (
	"strings"
	"testing"
)

// TestRustSplit counts a change that touches both halves of a file.
func TestRustSplit(t *testing.T) {
	w := newWork(t, "")
	w.write("a.rs", "fn a() {\n  1\n}\n\n#[cfg(test)]\nmod tests {\n  fn t() {\n    1\n  }\n}\n")
	w.write("b.rs", "fn b() {}\n")
	base := w.tree()
	w.write("a.rs", "fn a() {\n  2\n}\nfn b() {}\n\n#[cfg(test)]\nmod tests {\n  fn t() {\n    2\n    3\n    4\n  }\n}\n")
	w.write("b.rs", "fn b() {}\nfn c() {}\n")
	w.write("c.rs", "#[cfg(test)]\nmod t {\n}\n")
	w.write("tests/d.rs", "#[cfg(test)]\nmod t {\n}\n")
	s := w.measure(base, w.tree(), nil)
	if f := w.file(s, "a.rs", Implementation); f.Added != 2 || f.Removed != 1 {
		t.Errorf("implementation: %+v", f)
	}
	if f := w.file(s, "a.rs", Test); f.Added != 3 || f.Removed != 1 || f.Reason == "" {
		t.Errorf("test: %+v", f)
	}
	if f := w.file(s, "b.rs", Implementation); f.Added != 1 {
		t.Errorf("b.rs: %+v", f)
	}
	if f := w.file(s, "c.rs", Test); f.Added != 3 {
		t.Errorf("c.rs: %+v", f)
	}
	if f := w.file(s, "tests/d.rs", Test); f.Added != 3 || f.Reason != "" {
		t.Errorf("tests/d.rs: %+v", f)
	}
	if len(s.Files) != 5 {
		t.Errorf("%d entries, want 5", len(s.Files))
	}
}

func FuzzReadPatch(f *testing.F) {
	f.Add("diff --git a/1 b/1\n@@ -0,0 +1,2 @@\n+a\n+@@ -1 +1 @@\n@@ -9 +10 @@ x\n")
	f.Fuzz(func(t *testing.T, patch string) {
		_ = readPatch(strings.NewReader(patch), func(i int, _ hunk) {
			if i < 0 && !strings.Contains(patch, "a/-") {
				t.Fatal("a hunk without a file")
			}
		})
	})
}

func FuzzParse(f *testing.F) {
	f.Add(":100644 100644 1 2 M\x00a\x00")
	f.Add(":100644 100644 1 2 R050\x00a\x00b\x00")
	f.Fuzz(func(t *testing.T, out string) { _, _ = parse([]byte(out)) })
}
