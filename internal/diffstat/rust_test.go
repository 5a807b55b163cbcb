package diffstat

import (
	"fmt"
	"strings"
	"testing"
)

func TestRustTests(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want string
	}{
		"module":         {"fn a() {}\n#[cfg(test)]\nmod tests {\n  use super::*;\n  #[test]\n  fn b() { assert!(true); }\n}\nfn c() {}\n", "[[2 7]]"},
		"one line":       {"#[cfg(test)] mod tests { fn x() {} }\nfn c() {}\n", "[[1 1]]"},
		"declaration":    {"#[cfg(test)]\nmod tests;\nfn c() {}\n", "[[1 2]]"},
		"use":            {"#[cfg(test)]\nuse a::{\n b,\n};\nfn c() {}\n", "[[1 4]]"},
		"attributes":     {"#[cfg(test)]\n#[allow(dead_code)]\n// why\nmod tests {\n}\nfn c() {}\n", "[[1 5]]"},
		"all":            {"#[cfg(all(test, feature = \"x\"))]\nmod t {}\n#[cfg(all(feature = \"x\", test))]\nmod u {}\n", "[[1 2] [3 4]]"},
		"not":            {"#[cfg(not(test))]\nmod t {}\n#[cfg(any(test, unix))]\nmod u {}\n#[cfg(testing)]\nmod v {}\n#[cfg_attr(test, derive(Debug))]\nstruct S;\n", "[]"},
		"lone test":      {"#[test]\nfn a() {\n}\n#[tokio::test(flavor = \"x\")]\nasync fn b() {\n}\nfn c() {}\n", "[[1 3] [4 6]]"},
		"strings":        {"#[cfg(test)]\nmod t {\n const A: &str = \"}\\\"}\";\n const B: &str = r#\"}\"}\"#;\n const C: char = '}';\n const D: u8 = b'}';\n const E: &[u8] = br\"}\";\n}\nfn c() {}\n", "[[1 8]]"},
		"lifetimes":      {"#[cfg(test)]\nmod t {\n fn a<'a>(x: &'a str) -> &'a str { x }\n const Q: char = '\\'';\n const R: char = '\\u{7d}';\n const S: char = '世';\n}\nfn c() {}\n", "[[1 7]]"},
		"comments":       {"// #[cfg(test)]\n/* #[cfg(test)] /* nested */ */\nfn a() { \"#[cfg(test)]\"; }\n#[cfg(test)]\nmod t {\n // }\n /* } /* } */ } */\n}\nfn c() {}\n", "[[4 8]]"},
		"whole file":     {"//! tests\n#![cfg(test)]\nfn a() {}\n", "[[2 4]]"},
		"function":       {"impl A {\n #[cfg(test)]\n fn b(x: [u8; 3]) -> u8 { x[0] }\n fn c() {}\n}\n", "[[2 3]]"},
		"field":          {"struct S {\n a: u8,\n #[cfg(test)]\n b: u8\n}\nfn c() {}\n", "[[3 5]]"},
		"unclosed":       {"#[cfg(test)]\nmod t {\n", "[[1 3]]"},
		"unclosed quote": {"#[cfg(test)]\nmod t { \"\n", "[[1 3]]"},
		"odd ends":       {"#", "[]"}, "odd ends 2": {"#[", "[]"}, "odd ends 3": {"'", "[]"}, "odd ends 4": {"\"\\", "[]"}, "odd ends 5": {"r#\"", "[]"}, "odd ends 6": {"/*", "[]"},
	} {
		if got := fmt.Sprint(rustTests([]byte(c.src))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

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

func FuzzRustTests(f *testing.F) {
	f.Add("#[cfg(test)]\nmod t { '}' r#\"}\"# /* } */ }\nfn a() {}")
	f.Add("#![cfg(test)]\n\"\\\"")
	f.Add("#[cfg(all(a,test))]use a::{b};'a'")
	f.Fuzz(func(t *testing.T, src string) {
		last, total := 0, strings.Count(src, "\n")+1
		for _, r := range rustTests([]byte(src)) {
			if r[0] < last || r[1] < r[0] || r[1] > total {
				t.Fatalf("ranges %v in %d lines", rustTests([]byte(src)), total)
			}
			last = r[1]
		}
	})
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
