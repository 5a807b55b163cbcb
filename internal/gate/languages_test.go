package gate

import (
	"strings"
	"testing"
)

type weakening struct{ name, before, after, want string }

func checkWeakenings(t *testing.T, path string, wrap func(string) string, cases []weakening) {
	t.Helper()
	for _, c := range cases {
		change := sourceChange{Path: path}
		if c.before != "" {
			change.Before = []byte(wrap(c.before))
		}
		if c.after != "" {
			change.After = []byte(wrap(c.after))
		}
		if got := rules(integrityFindings([]sourceChange{change}, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if change.After != nil {
			same := sourceChange{Path: path, Before: change.After, After: change.After}
			if got := integrityFindings([]sourceChange{same}, nil); len(got) > 0 {
				t.Errorf("%s: no change, and yet %v", c.name, got)
			}
		}
	}
}

func TestJavaScriptTests(t *testing.T) {
	const two = "it('adds', () => {\n  expect(sum(1, 2)).toBe(3);\n  expect(sum(2, 2)).toBe(4);\n});\n"
	const one = "it('adds', () => {\n  expect(sum(1, 2)).toBe(3);\n});\n"
	in := func(lines string) string { return "it('adds', async (t) => {\n" + lines + "\n});\n" }
	checkWeakenings(t, "src/sum.test.tsx", func(s string) string { return "import { sum } from './sum';\n" + s }, []weakening{
		{"same", two, two, ""},
		{"stronger", one, two, ""},
		{"weaker", two, one, "assertions-removed"},
		{"gone", two, "const x = 1;\n", "test-removed"},
		{"file gone", two, "", "test-removed"},
		{"commented out", two, "/* " + two + " */", "test-removed"},
		{"another title, same body", two, strings.Replace(two, "adds", "adds numbers", 1), ""},
		{"another title, weaker", two, strings.Replace(one, "adds", "adds numbers", 1), "test-removed"},
		{"into a group", two, "describe('sum', () => {\n" + two + "});\n", ""},
		{"one of two in a group", "describe('sum', function () {\n" + two + one + "});", "describe('sum', function () {\n" + two + "});", "test-removed"},
		{"a table", two, "it.each([[1, 2, 3], [2, 2, 4]])('adds', (a, b, c) => {\n  expect(sum(a, b)).toBe(c);\n});\n", ""},
		{"a table by template", two, "it.each`a | b\n${1} | ${2}\n`('adds', ({a, b}) => {\n  expect(sum(a)).toBe(b);\n});\n", ""},
		{"a loop", two, in("for (const [a, b] of cases) {\n  expect(sum(a)).toBe(b);\n}"), ""},
		{"forEach", two, in("[1, 2].forEach((a) => {\n  expect(sum(a)).toBe(b);\n});"), ""},

		{"skip", two, strings.Replace(two, "it(", "it.skip(", 1), "test-skipped"},
		{"xit", two, "x" + two, "test-skipped"},
		{"skip of a group", "describe('s', () => {\n" + two + "});", "describe.skip('s', () => {\n" + two + "});", "test-skipped"},
		{"xdescribe", "describe('s', () => {\n" + two + "});", "xdescribe('s', () => {\n" + two + "});", "test-skipped"},
		{"two tests, one skipped group", "describe('s', () => {\n" + two + strings.Replace(one, "adds", "b", 1) + "});", "describe.skip('s', () => {\n" + two + strings.Replace(one, "adds", "b", 1) + "});", "test-skipped"},
		{"todo", two, "it.todo('adds');\n", "assertions-removed test-skipped"},
		{"new todo", one, one + "it.todo('divides');\n", "test-skipped"},
		{"pending", one, one + "it('divides');\n", "test-skipped"},
		{"failing", two, strings.Replace(two, "it(", "test.failing(", 1), "test-skipped"},
		{"fixme", two, strings.Replace(two, "it(", "test.fixme(", 1), "test-skipped"},
		{"skipIf", two, strings.Replace(two, "it(", "it.skipIf(process.env.CI)(", 1), "test-skipped"},
		{"new skipIf", one, one + strings.Replace(two, "it('adds'", "it.skipIf(win)('other'", 1), ""},
		{"this.skip", in("expect(a()).toBe(1);"), in("this.skip();\nexpect(a()).toBe(1);"), "test-skipped"},
		{"t.skip", in("t.is(a(), 1);"), in("t.skip('later');\nt.is(a(), 1);"), "test-skipped"},
		{"skip stays", strings.Replace(two, "it(", "it.skip(", 1), strings.Replace(two, "it(", "it.skip(", 1), ""},
		{"stream.skip", two, strings.Replace(two, "expect(sum(1", "stream.skip(1);\n  expect(sum(1", 1), ""},
		{"only", two, strings.Replace(two, "it(", "it.only(", 1), "test-focused"},
		{"fit", two, "f" + two, "test-focused"},
		{"describe.only", "describe('s', () => {\n" + two + "});", "describe.only('s', () => {\n" + two + "});", "test-focused"},

		{"emptied", two, "it('adds', () => {});\n", "assertions-removed"},
		{"a constant", one, in("expect(true).toBe(true);"), "assertions-removed"},
		{"no matcher", one, in("expect(sum(1, 2));"), "assertions-removed"},
		{"no call", one, in("expect(sum(1, 2)).toBe;"), "assertions-removed"},
		{"return first", two, in("return;\nexpect(sum(1, 2)).toBe(3);\nexpect(sum(2, 2)).toBe(4);"), "test-disabled"},
		{"returned", one, in("return expect(sum(1, 2)).resolves.toBe(3);"), ""},
		{"guard", one, in("if (!x) { return; }\nexpect(sum(1, 2)).toBe(3);"), ""},
		{"guard without braces", one, in("if (!x) return;\nexpect(sum(1, 2)).toBe(3);"), ""},
		{"if false", two, in("if (false) {\nexpect(sum(1, 2)).toBe(3);\nexpect(sum(2, 2)).toBe(4);\n}"), "test-disabled"},
		{"in callbacks", two, in("await waitFor(() => {\nexpect(sum(1, 2)).toBe(3);\n});\nawait act(async () => expect(sum(2, 2)).toBe(4));"), ""},
		{"a helper", "function check(x) {\n  expect(x).toBe(1);\n  expect(x).toBeDefined();\n}\n" + in("check(sum());"), "function check(x) {\n  expect(x).toBe(1);\n}\n" + in("check(sum());"), "assertions-removed"},
		{"an arrow helper emptied", "const ok = async (x) => {\n  expect(x).toBe(1);\n};\n" + in("await ok(sum());"), "const ok = async (x) => {\n};\n" + in("await ok(sum());"), "assertions-removed assertions-removed"},

		{"new, none", one, one + "it('runs', () => { sum(1, 2); });\n", "test-without-assertion"},
		{"new, comment and string", one, one + "it('runs', () => { log('expect(1).toBe(2)'); /* expect(x).toBe(1) */ });\n", "test-without-assertion"},
		{"new, imported body", one, one + "it('runs', runs);\n", ""},
		{"new, supertest", one, one + "it('runs', () => request(app).get('/').expect(200, done));\n", ""},
		{"new, a helper elsewhere", one, one + "it('runs', () => { expectRedirect('/a'); });\n", ""},
		{"new, node:assert", one, one + "it('runs', () => { assert.equal(sum(1, 2), 3); });\n", ""},
		{"new, assert of constants", one, one + "it('runs', () => { assert.equal(1, 1); assert(true); });\n", "test-without-assertion"},
		{"new, chai", one, one + "it('runs', () => { sum(1).should.equal(3); expect(x).to.be.true; });\n", ""},
		{"new, ava", one, one + "test('runs', t => t.deepEqual(sum(1), 3));\n", ""},
		{"new, ava that passes", one, one + "test('runs', t => { t.pass(); });\n", "test-without-assertion"},
		{"new, testing library", one, one + "it('runs', async () => { render(<p>Don't</p>); await screen.findByText('x'); });\n", ""},
		{"new, throws", one, one + "it('runs', () => { if (sum() !== 1) { throw new Error('x'); } });\n", ""},
		{"new, expect.assertions", one, one + "it('runs', () => { expect.assertions(1); sum(1); });\n", "test-without-assertion"},
		{"new, subtests", one, one + "test('runs', async (t) => { await t.test('a', () => { assert.ok(sum()); }); });\n", ""},
		{"subtest gone", in("await t.test('a', () => { assert.ok(sum()); });\nassert.ok(x());"), in("assert.ok(x());"), "assertions-removed test-removed"},
		{"regexp.test", one, one + "it('runs', () => { expect(/a'/.test('b')).toBe(x); });\n", ""},
		{"playwright", one, one + "test.describe('p', () => {\n  test.beforeEach(() => {});\n  test('q', async ({ page }) => { await expect(page).toHaveTitle(/x/); });\n});\n", ""},
		{"a name that is code", one, one + "cases.forEach((c) => {\n  it(`does ${c.name}`, () => { expect(c.run()).toBe(c.want); });\n});\n", ""},
		{"ends the process", one, one + "process.exit(0);\n", "tests-not-run"},

		{"@ts-ignore", one, "// @ts-ignore\n" + one, "suppression"},
		{"@ts-expect-error", one, "// @ts-expect-error: later\n" + one, "suppression"},
		{"@ts-nocheck", one, "// @ts-nocheck\n" + one, "suppression"},
		{"eslint", one, "/* eslint-disable no-console */\n" + one, "suppression"},
		{"eslint line", one, "run(); // eslint-disable-line\n" + one, "suppression"},
		{"istanbul", one, "/* istanbul ignore next */\n" + one, "suppression"},
		{"c8", one, "/* c8 ignore start */\n" + one, "suppression"},
		{"v8", one, "/* v8 ignore next 3 */\n" + one, "suppression"},
		{"biome", one, "// biome-ignore lint: x\n" + one, "suppression"},
		{"in JSX", one, "const a = <A>{/* eslint-disable-next-line */}</A>;\n" + one, "suppression"},
		{"words", one, "// we do not use @ts-ignore here\nconst s = '// @ts-ignore';\n" + one, ""},
		{"moved suppression", "// @ts-ignore\n" + one + two, one + "//  @ts-ignore\n" + two, ""},
	})
}

func TestPythonTests(t *testing.T) {
	const two = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n"
	const one = "def test_a():\n    assert f(1) == 2\n"
	const unit = "class TestX(unittest.TestCase):\n    def setUp(self):\n        self.x = 1\n\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n        self.assertTrue(g())\n"
	checkWeakenings(t, "tests/test_x.py", func(s string) string { return "import pytest\n\n" + s }, []weakening{
		{"same", two, two, ""},
		{"stronger", one, two, ""},
		{"weaker", two, one, "assertions-removed"},
		{"gone", two, "X = 1\n", "test-removed"},
		{"file gone", two, "", "test-removed"},
		{"commented out", two, "# " + strings.ReplaceAll(two, "\n", "\n# "), "test-removed"},
		{"in a string", two, "\"\"\"\n" + two + "\"\"\"\n", "test-removed"},
		{"another name, same body", two, strings.Replace(two, "test_a", "test_b", 1), ""},
		{"no test by name", two, strings.Replace(two, "test_a", "a_test", 1), "test-removed"},
		{"into a class", two, "class TestX:\n    " + strings.ReplaceAll(strings.ReplaceAll(two, "()", "(self)"), "\n", "\n    "), ""},
		{"async", "async " + two, "async " + one, "assertions-removed"},
		{"table", two, "@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\ndef test_a(a, b):\n    assert f(a) == b\n", ""},
		{"loop", two, "def test_a():\n    for a, b in cases:\n        assert f(a) == b\n", ""},
		{"unittest weaker", unit, strings.Replace(unit, "        self.assertTrue(g())\n", "", 1), "assertions-removed"},
		{"unittest gone", unit, "class TestX(unittest.TestCase):\n    pass\n", "test-removed"},
		{"subTest", unit, strings.Replace(unit, "        self.assertTrue(g())\n", "        for x in y:\n            with self.subTest(x):\n                self.assertTrue(g(x))\n", 1), ""},

		{"skip", two, "@pytest.mark.skip\n" + two, "test-skipped"},
		{"skip with a reason", two, "@pytest.mark.skip(reason='flaky')\n" + two, "test-skipped"},
		{"skipif", two, "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n" + two, "test-skipped"},
		{"xfail", two, "@pytest.mark.xfail\n" + two, "test-skipped"},
		{"xfail strict", two, "@pytest.mark.xfail(strict=True)\n" + two, "test-skipped"},
		{"unittest.skip", unit, strings.Replace(unit, "    def test_a", "    @unittest.skip('x')\n    def test_a", 1), "test-skipped"},
		{"expectedFailure", unit, strings.Replace(unit, "    def test_a", "    @unittest.expectedFailure\n    def test_a", 1), "test-skipped"},
		{"skip of the class", unit, "@unittest.skip('x')\n" + unit, "test-skipped"},
		{"skip of the module", two, "pytestmark = pytest.mark.skip\n" + two, "test-skipped"},
		{"skip of the module, at once", two, "pytest.skip('x', allow_module_level=True)\n" + two, "test-skipped"},
		{"pytest.skip inside", two, strings.Replace(two, "():\n", "():\n    pytest.skip('later')\n", 1), "test-skipped"},
		{"skipTest", unit, strings.Replace(unit, "        self.assertEqual", "        self.skipTest('x')\n        self.assertEqual", 1), "test-skipped"},
		{"SkipTest", two, strings.Replace(two, "():\n", "():\n    raise unittest.SkipTest('x')\n", 1), "test-skipped"},
		{"other decorators", two, "@pytest.mark.slow\n@pytest.fixture(autouse=skip)\n" + two, ""},
		{"new, may skip", one, one + "@pytest.mark.skipif(win, reason='x')\ndef test_b():\n    assert g()\n", ""},
		{"new and skipped", one, one + "@pytest.mark.skip\ndef test_b():\n    assert g()\n", "test-skipped"},
		{"a marker with another name", one, "pytestmark = pytest.mark.django_db\n" + one, ""},
		{"__test__", unit, strings.Replace(unit, "    def setUp", "    __test__ = False\n    def setUp", 1), "tests-not-run"},

		{"emptied", two, "def test_a():\n    pass\n", "assertions-removed"},
		{"a constant", one, "def test_a():\n    assert True\n", "assertions-removed"},
		{"a pair", one, "def test_a():\n    assert (f(1) == 2, 'two')\n", "assertions-removed"},
		{"a long condition", one, "def test_a():\n    assert (f(1)\n            == 2), 'two'\n", ""},
		{"return first", two, "def test_a():\n    return\n    assert f(1) == 2\n    assert f(2) == 3\n", "test-disabled"},
		{"if False", two, "def test_a():\n    if False:\n        assert f(1) == 2\n        assert f(2) == 3\n", "test-disabled"},
		{"a guard", one, "def test_a():\n    if x:\n        return\n    assert f(1) == 2\n", ""},
		{"a helper", "def check(x):\n    assert x\n    assert x.y\n\ndef test_a():\n    check(f())\n", "def check(x):\n    assert x\n\ndef test_a():\n    check(f())\n", "assertions-removed"},
		{"a helper with any name", "def same(x):\n    assert x\n\ndef test_a():\n    same(f())\n", "def same(x):\n    pass\n\ndef test_a():\n    same(f())\n", "assertions-removed assertions-removed"},

		{"new, none", one, one + "def test_b():\n    f(1)\n    # assert f(1)\n    'assert f(1)'\n", "test-without-assertion"},
		{"new, raises", one, one + "def test_b():\n    with pytest.raises(ValueError):\n        f(1)\n", ""},
		{"new, numpy", one, one + "def test_b():\n    np.testing.assert_allclose(f(1), 1)\n", ""},
		{"new, mock", one, one + "def test_b(m):\n    f(m)\n    m.assert_called_once_with(1)\n", ""},
		{"new, raise", one, one + "def test_b():\n    if f(1) != 2:\n        raise AssertionError('x')\n", ""},
		{"new, a helper elsewhere", one, one + "class T(Base):\n    def test_b(self):\n        self.assertRedirects('/a', '/b')\n", ""},
		{"new, another test", one, one + "class T(Base):\n    def test_b(self):\n        self.test_c('x')\n", ""},
		{"new, short name", one, one + "class T(unittest.TestCase):\n    def test_b(self):\n        eq = self.assertEqual\n        eq(f(1), 2)\n", ""},
		{"new, one line", one, one + "def test_b(): assert f(1)\n", ""},
		{"new, constants", one, one + "def test_b():\n    assert 1 == 1, 'x'\n    self.assertTrue(True)\n", "test-without-assertion"},
		{"a fixture is no test", one, one + "@pytest.fixture\ndef data():\n    return 1\n", ""},
		{"ends the process", one, one + "def test_b():\n    assert f(1)\n    os._exit(0)\n", "tests-not-run"},

		{"noqa", one, "import os  # noqa: F401\n" + one, "suppression"},
		{"type: ignore", one, "x: int = f()  # type: ignore[assignment]\n" + one, "suppression"},
		{"no cover", one, "def g():  # pragma: no cover\n    pass\n" + one, "suppression"},
		{"pylint", one, "# pylint: disable=all\n" + one, "suppression"},
		{"mypy", one, "# mypy: ignore-errors\n" + one, "suppression"},
		{"nosec", one, "x = eval(y)  # nosec\n" + one, "suppression"},
		{"pyright", one, "x = y  # pyright: ignore\n" + one, "suppression"},
		{"no_type_check", one, "@typing.no_type_check\ndef g():\n    pass\n" + one, "suppression"},
		{"words", one, "# noqas are not used; see type hints\nx = '# noqa'\n" + one, ""},
	})
}

func TestRustFileTests(t *testing.T) {
	const two = "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n    assert!(g());\n}\n"
	const one = "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n}\n"
	checkWeakenings(t, "src/lib.rs", func(s string) string {
		return "pub fn f(x: u8) -> u8 { x + 1 }\n#[cfg(test)]\nmod tests {\n    use super::*;\n" + s + "}\n"
	}, []weakening{
		{"same", two, two, ""},
		{"stronger", one, two, ""},
		{"weaker", two, one, "assertions-removed"},
		{"gone", two, "fn x() {}\n", "test-removed"},
		{"file gone", two, "", "test-removed"},
		{"commented out", two, "/* " + two + " */", "test-removed"},
		{"another name, same body", two, strings.Replace(two, "fn a", "fn b", 1), ""},
		{"attribute gone", two, strings.Replace(two, "#[test]", "", 1), "test-not-run"},
		{"attribute commented out", two, strings.Replace(two, "#[test]", "// #[test]", 1), "test-not-run"},
		{"tokio", strings.Replace(two, "#[test]\nfn", "#[tokio::test(flavor = \"x\")]\nasync fn", 1), strings.Replace(one, "#[test]\nfn", "#[tokio::test]\nasync fn", 1), "assertions-removed"},
		{"a module deeper", "mod m {\n" + two + "}\n", "mod m {\n" + one + "}\n", "assertions-removed"},
		{"table", two, "#[test]\nfn a() {\n    for (x, y) in [(1, 2)] {\n        assert_eq!(f(x), y);\n    }\n}\n", ""},
		{"ignore", two, strings.Replace(two, "fn a", "#[ignore]\nfn a", 1), "test-skipped"},
		{"ignore with a reason", two, strings.Replace(two, "fn a", "#[ignore = \"slow\"]\nfn a", 1), "test-skipped"},
		{"ignore first", two, "#[ignore]\n" + two, "test-skipped"},
		{"ignore sometimes", two, strings.Replace(two, "fn a", "#[cfg_attr(windows, ignore)]\nfn a", 1), "test-skipped"},
		{"compiled out", two, strings.Replace(two, "fn a", "#[cfg(any())]\nfn a", 1), "test-skipped"},
		{"emptied", two, "#[test]\nfn a() {\n}\n", "assertions-removed"},
		{"a constant", one, "#[test]\nfn a() {\n    assert!(true);\n    assert_eq!(1, 1);\n}\n", "assertions-removed"},
		{"return first", two, strings.Replace(two, "{\n", "{\n    return;\n", 1), "test-disabled"},
		{"if false", two, "#[test]\nfn a() {\n    if false {\n        assert_eq!(f(1), 2);\n        assert!(g());\n    }\n}\n", "test-disabled"},
		{"should_panic", "#[test]\n#[should_panic(expected = \"x\")]\nfn a() {\n    f(300);\n}\n", "#[test]\nfn a() {\n    f(300);\n}\n", "assertions-removed"},
		{"a helper", "fn same(x: u8) {\n    assert_eq!(x, 1);\n}\n#[test]\nfn a() {\n    same(f(1));\n}\n", "fn same(x: u8) {\n}\n#[test]\nfn a() {\n    same(f(1));\n}\n", "assertions-removed assertions-removed"},
		{"new, none", one, one + "#[test]\nfn b() {\n    f(1);\n    let s = \"assert!(x)\"; // assert!(x)\n}\n", "test-without-assertion"},
		{"new, unwrap", one, one + "#[test]\nfn b() {\n    f(1).unwrap();\n}\n", ""},
		{"new, question mark", one, one + "#[test]\nfn b() -> Result<(), E> {\n    f(1)?;\n    Ok(())\n}\n", ""},
		{"new, snapshot", one, one + "#[test]\nfn b() {\n    insta::assert_snapshot!(f(1), @\"2\");\n}\n", ""},
		{"new, proptest", one, one + "proptest! {\n    #[test]\n    fn b(x in 0..9u8) { prop_assert!(f(x) > x); }\n}\n", ""},
		{"ends the process", one, one + "#[test]\nfn b() {\n    assert!(g());\n    std::process::exit(0);\n}\n", "tests-not-run"},
		{"allow", one, "#[allow(dead_code)]\nfn x() {}\n" + one, "suppression"},
		{"inner allow", one, "#![allow(clippy::all)]\n" + one, "suppression"},
		{"expect", one, "#[expect(unused)]\nfn x() {}\n" + one, "suppression"},
		{"coverage", one, "#[cfg_attr(coverage_nightly, coverage(off))]\nfn x() {}\n" + one, "suppression"},
		{"tarpaulin", one, "#[cfg(not(tarpaulin_include))]\nfn x() {}\n" + one, "suppression"},
		{"derive", one, "#[derive(Debug)]\n// #[allow(x)]\nstruct X;\nconst S: &str = \"#[allow(x)]\";\n" + one, ""},
	})
}

func TestJavaTests(t *testing.T) {
	const two = "  @Test\n  void adds() throws Exception {\n    assertEquals(3, sum(1, 2));\n    assertThat(sum(2, 2)).isEqualTo(4);\n  }\n"
	const one = "  @Test\n  void adds() throws Exception {\n    assertEquals(3, sum(1, 2));\n  }\n"
	in := func(lines string) string { return "  @Test\n  void adds() {\n" + lines + "\n  }\n" }
	checkWeakenings(t, "src/test/java/org/x/SumTest.java", func(s string) string {
		if strings.HasPrefix(s, "class") || strings.HasPrefix(s, "@") {
			return "package org.x;\n" + s
		}
		return "package org.x;\nclass SumTest {\n  private final int n = 1;\n" + s + "}\n"
	}, []weakening{
		{"same", two, two, ""},
		{"weaker", two, one, "assertions-removed"},
		{"gone", two, "  int x;\n", "test-removed"},
		{"file gone", two, "", "test-removed"},
		{"commented out", two, "/*" + two + "*/", "test-removed"},
		{"another name, same body", two, strings.Replace(two, "adds", "sums", 1), ""},
		{"annotation gone", two, strings.Replace(two, "@Test", "", 1), "test-not-run"},
		{"annotation commented out", two, strings.Replace(two, "@Test", "// @Test", 1), "test-not-run"},
		{"nested", "  @Nested class Inner {\n" + two + "  }\n", "  @Nested class Inner {\n" + one + "  }\n", "assertions-removed"},
		{"a table", two, "  @ParameterizedTest\n  @CsvSource({\"1,2\"})\n  void adds(int a, int b) {\n    assertEquals(b, sum(a));\n  }\n", ""},
		{"a loop", two, in("for (int[] c : cases) { assertEquals(c[1], sum(c[0])); }"), ""},
		{"disabled", two, "  @Disabled(\"flaky\")\n" + two, "test-skipped"},
		{"ignored", two, strings.Replace(two, "@Test", "@Test @Ignore", 1), "test-skipped"},
		{"disabled on", two, "  @DisabledOnOs(OS.WINDOWS)\n" + two, "test-skipped"},
		{"not enabled", two, strings.Replace(two, "@Test", "@Test(enabled = false)", 1), "test-skipped"},
		{"class disabled", "class SumTest {\n" + two + "}\n", "@Disabled\nclass SumTest {\n" + two + "}\n", "test-skipped"},
		{"assumption", two, strings.Replace(two, "{\n", "{\n    assumeTrue(x());\n", 1), "test-skipped"},
		{"emptied", two, in(""), "assertions-removed"},
		{"a constant", one, in("assertTrue(true);\nassertEquals(1, 1);\nassertThat(true).isTrue();"), "assertions-removed"},
		{"assertThat alone", one, in("assertThat(sum(1, 2));"), "assertions-removed"},
		{"return first", two, in("return;\nassertEquals(3, sum(1, 2));\nassertThat(sum(2, 2)).isEqualTo(4);"), "test-disabled"},
		{"if false", two, in("if (false) {\nassertEquals(3, sum(1, 2));\nassertThat(sum(2, 2)).isEqualTo(4);\n}"), "test-disabled"},
		{"assertAll", two, in("assertAll(\n  () -> assertEquals(3, sum(1, 2)),\n  () -> assertEquals(4, sum(2, 2)));"), ""},
		{"assertThrows", one, in("assertThrows(E.class, () -> sum(null));"), ""},
		{"expected", one, strings.Replace(in("sum(null);"), "@Test", "@Test(expected = E.class)", 1), ""},
		{"a helper", "  void same(int x) { assertEquals(1, x); }\n" + in("same(sum());"), "  void same(int x) { }\n" + in("same(sum());"), "assertions-removed assertions-removed"},
		{"JUnit 3", "class A extends TestCase {\n  public void testA() { assertEquals(1, f()); }\n}\n", "class A extends TestCase {\n  public void testA() { f(); }\n}\n", "assertions-removed"},
		{"new, none", one, one + "  @Test void b() { sum(1); String s = \"assertTrue(x)\"; /* assertTrue(x) */ }\n", "test-without-assertion"},
		{"new, verify", one, one + "  @Test void b() { run(m); verify(m).save(1); }\n", ""},
		{"new, MockMvc", one, one + "  @Test void b() { mvc.perform(get(\"/\")).andExpect(status().isOk()); }\n", ""},
		{"new, fail", one, one + "  @Test void b() { try { f(); fail(\"x\"); } catch (E e) { } }\n", ""},
		{"new, full name", one, one + "  @org.junit.jupiter.api.Test void b() { sum(1); }\n", "test-without-assertion"},
		{"ends the process", one, one + "  @AfterAll static void z() { System.exit(0); }\n", "tests-not-run"},
		{"SuppressWarnings", one, "  @SuppressWarnings(\"unchecked\") int y;\n" + one, "suppression"},
		{"Generated", one, "  @Generated int y;\n" + one, "suppression"},
		{"NOSONAR", one, "  int y; // NOSONAR\n" + one, "suppression"},
		{"words", one, "  // SuppressWarnings and NOSONAR are words\n  String s = \"@SuppressWarnings\";\n" + one, ""},
	})
}

// TestMovesOfOtherLanguages leads tests from file to file.
func TestMovesOfOtherLanguages(t *testing.T) {
	js := "it('adds', () => {\n  expect(sum(1)).toBe(3);\n});\n"
	py := "def test_a():\n    assert f(1) == 2\n"
	rs := "#[test]\nfn a() { assert!(f()); }\n"
	java := "class ATest { @Test void a() { assertTrue(f()); } }\n"
	for name, c := range map[string]struct {
		changes []sourceChange
		want    string
	}{
		"JavaScript, to another file":    {[]sourceChange{{Path: "a.test.js", Before: []byte(js)}, {Path: "deep/b.spec.ts", After: []byte("describe('x', () => {\n" + js + "});\n")}}, ""},
		"JavaScript, no test file":       {[]sourceChange{{Path: "src/a.js", OldPath: "src/a.test.js", Before: []byte(js), After: []byte(js)}}, "test-not-run"},
		"Python, to another file":        {[]sourceChange{{Path: "tests/test_a.py", Before: []byte(py)}, {Path: "tests/unit/test_b.py", After: []byte(py)}}, ""},
		"Python, not collected":          {[]sourceChange{{Path: "tests/a.py", OldPath: "tests/test_a.py", Before: []byte(py), After: []byte(py)}}, "test-not-run"},
		"Python, weaker there":           {[]sourceChange{{Path: "tests/test_a.py", Before: []byte(py + "    assert g()\n")}, {Path: "tests/test_b.py", After: []byte(py)}}, "assertions-removed"},
		"Rust, from source to tests":     {[]sourceChange{{Path: "src/a.rs", Before: []byte("#[cfg(test)]\nmod tests {\n" + rs + "}\n"), After: []byte("fn f() {}\n")}, {Path: "tests/a.rs", After: []byte(rs)}}, ""},
		"Java, to another class":         {[]sourceChange{{Path: "src/test/java/ATest.java", Before: []byte(java)}, {Path: "src/test/java/x/BTest.java", After: []byte(strings.Replace(java, "ATest", "BTest", 1))}}, ""},
		"Java, out of the tests":         {[]sourceChange{{Path: "src/main/java/A.java", OldPath: "src/test/java/ATest.java", Before: []byte(java), After: []byte(java)}}, "test-not-run"},
		"from one language into another": {[]sourceChange{{Path: "a.test.js", Before: []byte(js)}, {Path: "test_a.py", After: []byte(py)}}, "test-removed"},
	} {
		if got := rules(integrityFindings(c.changes, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzIntegrityOfOtherLanguages(f *testing.F) {
	for i, src := range []string{"it.each`a`('b', () => { return; expect(a).toBe(b) })", "@pytest.mark.skip\nclass A:\n  def test_a(self):\n    if False:\n      assert (a, b)\n    for x in y: z", "#[test]\n#[ignore]\nfn a() { assert!(b?) }", "@Disabled class A { @Test void b() throws C { assertThat(d) } }", "describe('", "def test_", "fn", "class A {@"} {
		f.Add(uint8(i), src, src)
	}
	names := []string{"a.test.tsx", "test_a.py", "tests/a.rs", "ATest.java"}
	f.Fuzz(func(t *testing.T, lang uint8, before, after string) {
		path := names[int(lang)%len(names)]
		integrityFindings([]sourceChange{{Path: path, Before: []byte(before), After: []byte(after)}}, nil)
		if got := integrityFindings([]sourceChange{{Path: path, Before: []byte(after), After: []byte(after)}}, nil); len(got) > 0 {
			t.Errorf("no change, and yet %v", got)
		}
	})
}
