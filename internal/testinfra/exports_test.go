package testinfra

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"ralph-loop/internal/config"
)

// files are a tree in memory.
type files map[string]string

func (f files) Present(paths []string) ([]string, error) {
	return only(paths, func(p string) bool {
		for name := range f {
			if name == p || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}), nil
}

func (f files) Read(path string) ([]byte, error) { return []byte(f[path]), nil }

func (f files) List(dir string) ([]string, error) {
	return only(slices.Sorted(maps.Keys(f)), func(p string) bool { return path.Dir(p) == dir }), nil
}

// lacks says of a helper at the first path which of the two names it does not export.
func lacks(t *testing.T, file string, tree files, names ...string) string {
	t.Helper()
	c := Contract{Places: []string{file}}
	for _, n := range names {
		c.Exports = append(c.Exports, config.Export{Name: n})
	}
	h, err := c.Look(tree)
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, m := range h.Missing {
		missing = append(missing, m.Name)
	}
	return strings.Join(missing, " ")
}

// lackEach holds each source, as that file alone, to the names that it does not export.
func lackEach(t *testing.T, file string, names []string, cases map[string]string) {
	t.Helper()
	for src, want := range cases {
		if got := lacks(t, file, files{file: src}, names...); got != want {
			t.Errorf("%q lacks %q, want %q", src, got, want)
		}
	}
}

// exportCases are modules, with the names of a and b that they do not export.
var exportCases = map[string]string{
	// Declarations.
	"export function a() {}\nexport async function* b() {}": "",
	"export class a {}\nexport abstract class b {}":         "",
	"export const a = 1, b = (x) => { return x }":           "",
	"export const a = 1\nexport let b = 2":                  "",
	"export const { a, c: b = 2, ...d } = make()":           "",
	"export const [a, { b }] = make()":                      "",
	"export const { a: { b }, ...a } = make()":              "",
	"export const { a: c, b: [d] } = make()":                "a b",
	"export const a: Map<string, b> = new Map()":            "b",
	"export enum a {}\nexport const enum b {}":              "",
	"export default function a() {}\nexport { a as b }":     "a",
	"function a() {}\nconst b = () => 1\nexport { a, b }":   "",
	"export { a, b }\nfunction a() {}\nvar b = 1":           "",
	"function a() {}\nexport { a as 'b' }":                  "a",
	"export { a, b }":                                       "a b",
	"function a() {}\nfunction b() {}":                      "a b",
	"const x = { a: 1, b: 2 }\nexport default x":            "a b",

	// Comments, strings, templates, regular expressions and JSX text are no code.
	"// export function a() {}\n/* export const b = 1 */":                     "a b",
	"/*\nexport const a = 1\n*/\nexport const b = 'export const a'":           "a",
	"`\nexport const a = 1\n`\nexport const b = /export const a = 1/":         "a",
	"const x = <p>\nexport const a = 1;\n</p>\nexport const b = 2":            "a",
	"const x = `${() => {\nexport const a = 1 }}`; export function b() {}":    "a",
	"if (x) {\n  exports.a = 1\n}\nfunction f() { exports.b = 2 }":            "a b",
	"export function b() {} // export function a() {}":                        "a",
	"const s = \"\\\"; export function a() {} //\"\nexport function b() {}\n": "a",

	// Types are no values.
	"export type a = string\nexport interface b {}":                          "a b",
	"type a = {}\ninterface b {}\nexport { a, b }":                           "a b",
	"export type { a, b } from './other'":                                    "a b",
	"export { type a, b } from './other'":                                    "a",
	"export { type, b } from './other'\nexport { type as a } from './other'": "a",
	"import type { a } from './other'\nexport { a }\nexport const b = 1":     "a",
	"import { type a, b } from './other'\nexport { a, b }":                   "a",
	"export declare function a(): void\nexport function b() {}":              "a",
	"declare const a: number, c: string\nexport { a }\nexport class b {}":    "a",
	"declare module 'x' {\n export function a(): void\n}\nexport let b = 1":  "a",
	"export type * from './other'\n":                                         "a b",
	"export type F<T> = { a: T; b(): void }":                                 "a b",
	"export { a, b } from './types'":                                         "a b",
	"import { a, b } from './types'\nexport { a, b }":                        "a b",

	// Re-exports.
	"export { a, b } from './other'":                                           "",
	"export { x as a, default as b } from './other'":                           "a",
	"export * from './other'":                                                  "",
	"export * from './other.js'":                                               "",
	"export * from './folder'":                                                 "b",
	"export * from './nowhere'":                                                "a b",
	"export * from './loop'":                                                   "b",
	"export * from 'some-package'":                                             "a b",
	"export { a, b } from '@acme/test-kit'":                                    "",
	"import { a, b as c } from './other'\nexport { a, c as b }":                "",
	"import b, { a } from './other'\nexport { a, b }":                          "",
	"import * as a from './other'\nexport { a }\nexport * as b from './other'": "",
	"export { a } from './types'; export { b } from './other'":                 "a",

	// CommonJS.
	"module.exports = { a, b: 1 }\nfunction a() {}":                                    "",
	"module.exports = { a() {}, async b() {} }":                                        "",
	"module.exports = { 'a': 1, get b() { return 1 } }":                                "",
	"module.exports = { a: undefined, ...c }":                                          "a b",
	"module.exports = { ...require('./other'), c: 1 }":                                 "",
	"module.exports = require('./other')":                                              "",
	"exports.a = () => 1\nmodule.exports.b = 2":                                        "",
	"exports.a = exports.b = void 0;":                                                  "a b",
	"exports.a = exports.b = 1;":                                                       "",
	"x.exports.a = 1; exports.b = 1":                                                   "a",
	"function a() {}\nvar b = 1\nconst api = { a, b }\nmodule.exports = api":           "",
	"Object.defineProperty(exports, 'a', { get: f })\nexports.b = 1":                   "",
	"// module.exports = { a }\nmodule.exports = {\n  // a,\n  b,\n}; function b() {}": "a",
	"const a = 1, b = 2\nexport = { a, b }":                                            "",
	"const { a } = require('./other')\nmodule.exports = { a, b: a }":                   "",
}

// cutShort are modules that no compiler takes, and that export nothing.
var cutShort = []string{"", "export", "export {", "export const {a, b", "module.exports = {a,"}

// exportTree is what such a module lies in.
func exportTree(main, src string) files {
	return files{
		main:                   src,
		"test/other.ts":        "export const a = 1\nexport default function b() {}\nexport { b }",
		"test/types.ts":        "export type a = 1\ninterface b {}\nexport type { b }",
		"test/loop.ts":         "export * from './h'\nexport * from './loop'\nexport const a = 1",
		"test/folder/index.ts": "export * from '../loop'",
	}
}

func TestJavaScriptExports(t *testing.T) {
	for src, want := range exportCases {
		if got := lacks(t, "test/h.tsx", exportTree("test/h.tsx", src), "a", "b"); got != want {
			t.Errorf("%q lacks %q, want %q", src, got, want)
		}
	}
	for _, src := range cutShort {
		if got := lacks(t, "h.js", files{"h.js": src}, "a", "b"); got != "a b" {
			t.Errorf("%q lacks %q", src, got)
		}
	}
}

func TestGoExports(t *testing.T) {
	lackEach(t, "x/h.go", []string{"A", "B"}, map[string]string{
		"package p\nfunc A(t T) {}\nvar B = func() {}":             "",
		"package p\n// func A() {}\nfunc (x X) B() {}":             "A B",
		"package p\ntype A struct{}\nconst B = 1":                  "A B",
		"package p\nfunc A[T any]() {}\nvar (\n\tC, B = 1, 2)":     "",
		"//go:build ignore\n\npackage p\nfunc A() {}\nfunc B() {}": "A B",
		"package p\nfunc A(":                                       "A B",
		"":                                                         "A B",
	})
	c := Contract{Places: []string{"h.go"}, Exports: []config.Export{{Name: "withDb"}, {Name: "T"}}}
	h, err := c.Look(files{"h.go": "package p\nfunc withDb() {}\ntype T int"})
	if err != nil || len(h.Missing) != 2 || h.Missing[0].Why != "Go exports no name that begins with a small letter" || h.Missing[1].Why != "it is a type" || h.ByName {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestPythonExports(t *testing.T) {
	lackEach(t, "h.py", []string{"a", "b"}, map[string]string{
		"def a():\n    pass\nasync def b(x): ...":                     "",
		"class a:\n    def b(self): ...":                              "b",
		"a = 1\nb: int = 2":                                           "",
		"b: int\nx, a = 1, 2":                                         "b",
		"from .x import a, c as b":                                    "",
		"from .x import (\n    a,  # one\n    b,\n)":                  "",
		"from a import b":                                             "a",
		"import a.b\nimport x as b":                                   "a",
		"from a.b import c":                                           "a b",
		"# def a(): ...\n'''\ndef b():\n    pass\n'''":                "a b",
		"if TYPE_CHECKING:\n    from x import a\nb = '''\na = 1\n'''": "a",
		"@fixture\ndef a(\n    b=1,\n):\n    b = 2":                   "b",
		"print(a)\nb.c = 1\nx = a":                                    "a b",
		"a()":                                                         "a b",
	})
}

// A language without a reader here is looked through for declarations, and the helper says so.
func TestExportsByName(t *testing.T) {
	lackEach(t, "spec/h.kt", []string{"make_app"}, map[string]string{
		"def make_app\nend":                   "",
		"# def make_app":                      "make_app",
		"x = make_app()":                      "make_app",
		"  public static App make_app() {":    "",
		"pub fn make_app() -> App {":          "",
		"#[cfg(test)] pub fn make_app() {}":   "",
		"def make_app_twice\n# make_app\nend": "make_app",
		"make_app() {\n}":                     "",
		"App *make_app(void) {":               "",
		"if make_app() { x }":                 "make_app",
		"x = [make_app(y) { |z| z }]":         "make_app",
		"make_app":                            "make_app",
		"val x = other.make_app":              "make_app",
	})
	if got := lacks(t, "h.php", files{"h.php": "function $a() {}"}, "$a", "a"); got != "a" {
		t.Errorf("a name with a dollar sign: lacks %q", got)
	}
	c := Contract{Places: []string{"h.rb"}, Exports: []config.Export{{Name: "x"}}}
	if h, err := c.Look(files{"h.rb": "def x"}); err != nil || !h.ByName || !h.Complete() {
		t.Errorf("%+v, %v", h, err)
	}
}

func FuzzReadModule(f *testing.F) {
	for _, src := range []string{"export const {a: [b], ...c} = d, e = 1", "export { a as b, type c } from './x'", "module.exports = {a, b() {}, ...require('c')}", "import a, {b} from 'c'; export =", "declare module 'x' { export function a(): void }", "exports.a = exports.b = void 0"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for name := range readModule("a.tsx", []byte(src)).values {
			if name != "default" && !strings.Contains(src, strings.Trim(name, `'"`)) {
				t.Errorf("%q exports %q, which is not in it", src, name)
			}
		}
	})
}
