package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// show writes a file's tokens: strings as "", regular expressions as //, text between tags as "text", and the comments
// behind the code.
func show(f *File) string {
	var b strings.Builder
	for _, t := range f.Code {
		switch t.Kind {
		case String:
			b.WriteString(`"" `)
		case Regexp:
			b.WriteString("// ")
		case Text:
			b.WriteString("text ")
		default:
			b.WriteString(t.Text + " ")
		}
	}
	for _, t := range f.Comments {
		fmt.Fprintf(&b, "[%s]", t.Text)
	}
	return strings.TrimSpace(b.String())
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ file, src, want string }{
		// JavaScript: a slash.
		{"a.js", `x = a / b / c; y = /a'b"/g.test(z)`, `x = a / b / c ; y = // . test ( z )`},
		{"a.js", `if (x) /it's/.test(y); (x) / y / z`, `if ( x ) // . test ( y ) ; ( x ) / y / z`},
		{"a.js", "function f() {}\n/it's/.test(y)", `function f ( ) { } // . test ( y )`},
		{"a.js", `x = {a: 1} / 2; y[0] / 3 / 4; i++ / 2 / 1`, `x = { a : 1 } / 2 ; y [ 0 ] / 3 / 4 ; i ++ / 2 / 1`},
		{"a.js", `return /[/"]/; a.return / 2 / 3`, `return // ; a . return / 2 / 3`},
		{"a.js", "x = /unfinished\ny = 'z'", "x = / unfinished y = \"\""},
		{"a.ts", "const u = 'http://x'; // mock\n/* it's\n * jest.mock */ f()", "const u = \"\" ; f ( ) [// mock][/* it's\n * jest.mock */]"},
		// Templates.
		{"a.ts", "`a ${b ? `in ${c}` : {d: '}'}} e` + 1", "\"\" b ? \"\" c \"\" : { d : \"\" } \"\" + 1"},
		{"a.ts", "`\\`${'`'}`; jest.mock(`./x`)", "\"\" \"\" \"\" ; jest . mock ( \"\" )"},
		{"a.ts", "`never ends\njest.mock('x')", "\"\""},
		{"a.js", "x = 'unfinished\ny = \"a\\\r\nb\"", "x = \"\" y = \"\""},
		// Tags.
		{"a.jsx", `f(<p className="it's">Don't ` + "`x`" + ` // y</p>); g('z')`, `f ( < p className = "" > text < / p > ) ; g ( "" )`},
		{"a.tsx", `const a = <A b={c > d ? <B/> : '}'} {...e}>{f('x')} it's {/* no */}<></></A> / 2`,
			`const a = < A b = { c > d ? < B / > : "" } { ... e } > { f ( "" ) } text { } < > < / > < / A > / 2 [/* no */]`},
		{"a.tsx", `const f = <T,>(x: T) => x; const g = <T extends U>(x) => 'y'; useState<A>(b < c)`,
			`const f = < T , > ( x : T ) => x ; const g = < T extends U > ( x ) => "" ; useState < A > ( b < c )`},
		{"a.tsx", `type X = {f: <T>(a: T) => void}; it('x')`, `type X = { f : < T > ( a : T ) => void } ; it ( "" )`},
		{"a.ts", `const a = <any>b; it('x', () => { expect(a?.b ?? c?.1:d) })`, `const a = < any > b ; it ( "" , ( ) => { expect ( a ?. b ? ? c ? .1 : d ) } )`},
		{"a.js", "if (a) {\n}\n<div>it's</div>", "if ( a ) { } < div > text < / div >"},
		{"a.js", "#!/usr/bin/env node\nthis.#x = @dec", "this . #x = @dec [#!/usr/bin/env node]"},
		// Python.
		{"a.py", "x = 'it''s' # mock\ny = \"\"\"\n# no\n'\"\"\" + r'\\' + Rb\"x\"", "x = \"\" \"\" y = \"\" + \"\" [# mock]"},
		{"a.py", "f\"{x[\"a\"]} # {y!r:{w}}\" + f'{{' + f'{a}' # c", "\"\" + \"\" + \"\" [# c]"},
		{"a.py", "f'''{a['b']}\n# {\n}''' + 1 if true else u'x'", "\"\" + 1 if true else \"\""},
		{"a.py", "x = 'unfinished\nassert y", "x = \"\" assert y"},
		{"a.py", "'''never\nassert x", "\"\""},
		// Rust.
		{"a.rs", `let s = r#"a " /* "#; let c = '"'; fn f<'a>(x: &'a str) /* a /* b */ c */ {}`, `let s = "" ; let c = "" ; fn f < ' a > ( x : & ' a str ) { } [/* a /* b */ c */]`},
		{"a.rs", `b'\'' br"x" b"y" '\u{1F600}' 'é' r#type "a` + "\n" + `b" 0..1`, `"" "" "" "" "" r # type "" 0 . . 1`},
		{"a.rs", "#![allow(x)] // y", "# ! [ allow ( x ) ] [// y]"},
		// Java.
		{"A.java", "String s = \"\"\"\n  // \"no\" \\\"\"\"\n\"\"\"; char c = '\"'; // yes\nList<List<A>> x = a::b;",
			"String s = \"\" ; char c = \"\" ; List < List < A > > x = a :: b ; [// yes]"},
		// Go.
		{"a.go", "x := `//\n\"` + \"\\\"//\" + string('\"') // y", "x : = \"\" + \"\" + string ( \"\" ) [// y]"},
		{"a.rb", "x = 'y' # z", ""},
		{"a.py", "\ufeffx\r\n\ty", "x y"},
	} {
		if got := show(Scan(c.file, []byte(c.src))); got != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.file, c.src, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	f := Scan("a.py", []byte("if x:\n\tf(a,\n  b)\n    y = 1 + \\\n  z\n\n'''a\nb'''"))
	if f.Lines != 8 {
		t.Errorf("%d lines", f.Lines)
	}
	var got []string
	for _, tok := range f.Code {
		if tok.First {
			got = append(got, fmt.Sprintf("%s:%d-%d+%d", tok.Text, tok.Line, tok.Last, tok.Col))
		}
	}
	if want := "if:1-1+0 f:2-2+8 y:4-4+4 '''a\nb''':7-8+0"; strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
	for src, want := range map[string]int{"": 0, "x": 1, "x\n": 1, "x\n\n": 2, "\n": 1} {
		if got := Scan("a.go", []byte(src)).Lines; got != want {
			t.Errorf("%q has %d lines, want %d", src, got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	f := Scan("a.js", []byte("f({[}) ]"))
	var got []int
	for _, tok := range f.Code {
		got = append(got, tok.Pair)
	}
	if want := []int{-1, 5, 4, -1, 2, 1, -1}; !slices.Equal(got, want) {
		t.Errorf("pairs %v, want %v", got, want)
	}
}

func TestLanguageOf(t *testing.T) {
	for name, want := range map[string]Language{"a/b.test.TSX": JavaScript, "x.py": Python, "x.go": Go, "py": Unknown, "a.kt": Unknown, "A.java": Java, "x.d.mts": JavaScript} {
		if got := LanguageOf(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

// FuzzScan: whatever the bytes, every one belongs to one token or is blank, and pairs agree.
func FuzzScan(f *testing.F) {
	for i, src := range []string{"`a${b}c` / /x/ <A b={c}>d</A>", "f'{a[\"b\"]}' # \\\n'''x", "r#\"x\"# 'a 'b' /* /* */", "\"\"\" \\\"\"\" '\\''", "x := `a`", "<a><b/></", "}`)]>"} {
		f.Add(uint8(i), src)
	}
	names := []string{"a.tsx", "a.py", "a.rs", "A.java", "a.go", "a.ts"}
	f.Fuzz(func(t *testing.T, lang uint8, src string) {
		file := Scan(names[int(lang)%len(names)], []byte(src))
		all := slices.Concat(file.Code, file.Comments)
		slices.SortFunc(all, func(a, b Token) int { return cmp.Compare(a.Start, b.Start) })
		at := 0
		for _, tok := range all {
			if tok.Text == "" || tok.Start < at || src[tok.Start:tok.End()] != tok.Text {
				t.Fatalf("token %+v at %d of %q", tok, at, src)
			}
			if left := strings.Trim(src[at:tok.Start], " \t\r\n\f\v\\\ufeff"); left != "" {
				t.Fatalf("%q lies between the tokens of %q", left, src)
			}
			if line := 1 + strings.Count(src[:tok.Start], "\n"); tok.Line != line || tok.Last != line+strings.Count(tok.Text, "\n") {
				t.Fatalf("token %+v of %q is in line %d", tok, src, line)
			}
			at = tok.End()
		}
		if left := strings.Trim(src[at:], " \t\r\n\f\v\\\ufeff"); left != "" {
			t.Fatalf("%q lies behind the tokens of %q", left, src)
		}
		for i, tok := range file.Code {
			if tok.Pair >= 0 && (file.Code[tok.Pair].Pair != i || tok.Pair == i) {
				t.Fatalf("token %d of %q is paired with %d", i, src, tok.Pair)
			}
		}
	})
}

func TestBuiltByGo(t *testing.T) {
	for name, want := range map[string]bool{"a.go": true, "a_test.go": true, "b/a_plan9.go": false} {
		if BuiltByGo(name, []byte("package a\n")) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
	for constraint, want := range map[string]bool{"ignore": false, "never && linux": false, "cgo": true, "!never": true} {
		if BuiltByGo("a.go", []byte("//go:build "+constraint+"\n\npackage a\n")) != want {
			t.Errorf("%s: want %v", constraint, want)
		}
	}
}
