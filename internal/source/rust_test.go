package source

import (
	"fmt"
	"strings"
	"testing"
)

func rustTests(src string) [][2]int { return Scan("a.rs", []byte(src)).RustTests([]byte(src)) }

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
		if got := fmt.Sprint(rustTests(c.src)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func FuzzRustTests(f *testing.F) {
	f.Add("#[cfg(test)]\nmod t { '}' r#\"}\"# /* } */ }\nfn a() {}")
	f.Add("#![cfg(test)]\n\"\\\"")
	f.Add("#[cfg(all(a,test))]use a::{b};'a'")
	f.Fuzz(func(t *testing.T, src string) {
		last, total := 0, strings.Count(src, "\n")+1
		for _, r := range rustTests(src) {
			if r[0] < last || r[1] < r[0] || r[1] > total {
				t.Fatalf("ranges %v in %d lines", rustTests(src), total)
			}
			last = r[1]
		}
	})
}
