package gate

import (
	"fmt"
	"strings"
	"testing"
)

// body is a test file with one function.
func body(lines string) string { return "func TestA(t *testing.T) {\n" + lines + "\n}\n" }

const (
	strong = "if got := f(); got != 1 {\nt.Errorf(\"got %d\", got)\n}\nif g() {\nt.Fatal(\"g\")\n}"
	weak   = "if got := f(); got != 1 {\nt.Errorf(\"got %d\", got)\n}"
)

// TestOneFile leads each pair of sources of a_test.go through the judge; "" is a file that does not exist.
func TestOneFile(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"same":               {body(strong), body(strong), ""},
		"stronger":           {body(weak), body(strong), ""},
		"comment":            {body(strong), "// TestA t.Skip()\n" + body(strong+"\n// t.Skip()"), ""},
		"new":                {"", body(weak), ""},
		"another one is new": {body(weak), body(weak) + strings.ReplaceAll(body(weak), "TestA", "TestB"), ""},

		"file deleted":     {body(weak), "", "test-removed"},
		"test deleted":     {body(weak), "var x int\n", "test-removed"},
		"renamed":          {body(weak), strings.ReplaceAll(body(weak), "TestA", "TestB"), ""},
		"renamed, changed": {body(strong), strings.ReplaceAll(body(weak), "TestA", "TestB"), "test-removed"},
		"no test by name":  {body(weak), strings.ReplaceAll(body(weak), "TestA", "Testa"), "test-removed"},
		"other parameters": {body(weak), strings.ReplaceAll(body(weak), "t *testing.T", "t *testing.T, x int"), "test-not-run"},
		"disabled name":    {body(weak), strings.ReplaceAll(body(weak), "TestA", "xTestA"), "test-removed"},
		"commented out":    {body(weak), "/*\n" + body(weak) + "*/\n", "test-removed"},
		"build ignore":     {body(weak), "//go:build ignore\n" + body(weak), "test-not-run"},
		"build tag":        {body(weak), "//go:build integration\n" + body(weak), "test-not-run"},
		"build tag kept":   {"//go:build integration\n" + body(weak), "//go:build integration\n" + body(weak), ""},
		"build any":        {body(weak), "//go:build unix || windows\n" + body(weak), ""},

		"skip":                 {body(strong), body("t.Skip()\n" + strong), "test-disabled test-skipped"},
		"skip with reason":     {body(strong), body("t.Skip(\"flaky\")\n" + strong), "test-disabled test-skipped"},
		"skip now":             {body(strong), body("t.SkipNow()\n" + strong), "test-disabled test-skipped"},
		"skip on condition":    {body(strong), body("if testing.Short() {\nt.Skipf(\"%d\", 1)\n}\n" + strong), "test-skipped"},
		"skip in subtest":      {body("t.Run(\"x\", func(t *testing.T) {\n" + strong + "\n})"), body("t.Run(\"x\", func(t *testing.T) {\nt.Skip()\n" + strong + "\n})"), "test-disabled test-skipped"},
		"skip stays":           {body("t.Skip()\n" + strong), body("t.Skip()\n" + strong), ""},
		"skip goes":            {body("t.Skip()\n" + strong), body(strong), ""},
		"skip of another type": {body(strong), body("reader.Skip(3)\n" + strong), ""},
		"new and skipped":      {"", body("t.Skip(\"later\")\n" + strong), "test-skipped"},
		"new, may skip":        {"", body("if !docker() {\nt.Skip(\"no docker\")\n}\n" + strong), ""},

		"early return":       {body(strong), body("return\n" + strong), "test-disabled"},
		"if true return":     {body(strong), body("if true {\nreturn\n}\n" + strong), "test-disabled"},
		"return in a block":  {body(strong), body("{\nreturn\n}\n" + strong), "test-disabled"},
		"if false":           {body(strong), body("if false {\n" + strong + "\n}"), "test-disabled"},
		"if !true":           {body(strong), body("if !(true) {\n" + strong + "\n}"), "test-disabled"},
		"if true else":       {body(strong), body("if true {\n} else {\n" + strong + "\n}"), "test-disabled"},
		"if 1 == 2":          {body(strong), body("if 1 == 2 && x {\n" + strong + "\n}"), "test-disabled"},
		"for false":          {body(strong), body("for false {\n" + strong + "\n}"), "test-disabled"},
		"return at the end":  {body(strong), body(strong + "\nreturn"), ""},
		"return on an error": {body(strong), body("if err != nil {\nt.Fatal(err)\nreturn\n}\n" + strong), ""},
		"os.Exit":            {body(strong), body("os.Exit(0)\n" + strong), "test-disabled"},
		"panic":              {body(strong), body("panic(1)\n" + strong), "test-disabled"},

		"emptied":               {body(strong), body(""), "assertions-removed"},
		"one of two removed":    {body(strong), body(weak), "assertions-removed"},
		"only logs":             {body(weak), body("if got := f(); got != 1 {\nt.Logf(\"got %d\", got)\n}"), "assertions-removed"},
		"became a table":        {body(strong), body("for _, c := range cases {\n" + weak + "\n}"), ""},
		"a table lost one":      {body("for range 3 {\n" + strong + "\n}"), body("for range 3 {\n" + weak + "\n}"), "assertions-removed"},
		"moved into a helper":   {body(strong), body("checkAll(t)"), "assertions-removed"},
		"moved into a new one":  {body(strong), body("run(t, f)\nrun(t, g)"), ""},
		"a constant":            {body("require.Equal(t, 1, f())"), body("require.Equal(t, 1, 1)"), "assertions-removed"},
		"true":                  {body("assert.True(t, f())"), body("assert.True(t, true)"), "assertions-removed"},
		"testify to plain":      {body("assert.Equal(t, 1, f())"), body(weak), ""},
		"subtest removed":       {body("t.Run(\"a\", func(t *testing.T) {\n" + weak + "\n})\nt.Run(\"b\", func(t *testing.T) {\n" + weak + "\n})"), body("t.Run(\"a\", func(t *testing.T) {\n" + weak + "\n})"), "assertions-removed test-removed"},
		"subtest renamed":       {body("t.Run(\"a\", func(t *testing.T) {\n" + weak + "\n})"), body("t.Run(\"b\", func(t *testing.T) {\n" + weak + "\n})"), ""},
		"gomega":                {body("Expect(f()).To(Equal(1))"), body("_ = f()"), "assertions-removed"},
		"helper emptied":        {"func check(t *testing.T) {\n" + strong + "\n}\n" + body("check(t)"), "func check(t *testing.T) {\n}\n" + body("check(t)"), "assertions-removed"},
		"helper skips":          {"func check(t testing.TB) {\n" + weak + "\n}\n" + body("check(t)"), "func check(t testing.TB) {\nt.Skip()\n}\n" + body("check(t)"), "assertions-removed test-skipped"},
		"new, none":             {"", body("f()"), "test-without-assertion"},
		"new, empty":            {"", body(""), "test-without-assertion"},
		"new, constant":         {"", body("assert.True(t, true)\nassert.Equal(t, \"a\", \"a\")"), "test-without-assertion"},
		"new, unreachable":      {"", body("return\n" + weak), "test-disabled"},
		"new, helper":           {"", body("run(t)"), ""},
		"new, by panic":         {"", body("if f() != 1 {\npanic(1)\n}"), ""},
		"new, subtests by name": {"", body("t.Run(\"a\", testA)"), ""},
		"new fuzz":              {"", "func FuzzA(f *testing.F) {\nf.Fuzz(func(t *testing.T, s string) { parse(s) })\n}\n", ""},
		"fuzz weakened":         {"func FuzzA(f *testing.F) {\nf.Fuzz(func(t *testing.T, s string) {\nif parse(s) {\nt.Error(s)\n}\n})\n}\n", "func FuzzA(f *testing.F) {\nf.Fuzz(func(t *testing.T, s string) { parse(s) })\n}\n", "assertions-removed"},
		"example":               {"func ExampleA() {\nfmt.Println(1)\n// Output: 1\n}\n", "func ExampleA() {\nfmt.Println(1)\n// Output: 1\n}\n", ""},
		"example not run":       {"func ExampleA() {\nfmt.Println(1)\n// Output: 1\n}\n", "func ExampleA() {\nfmt.Println(1)\n}\n", "test-not-run"},
		"suite":                 {"func (s *S) TestA() {\ns.Equal(1, f())\ns.Require().NoError(g())\n}\n", "func (s *S) TestA() {\n}\n", "assertions-removed"},
		"suite removed":         {"func (s *S) TestA() {\ns.Equal(1, f())\n}\n", "type S struct{}\n", "test-removed"},
		"suite skipped":         {"func (s *S) TestA() {\ns.Equal(1, f())\n}\n", "func (s *S) TestA() {\ns.T().Skip()\ns.Equal(1, f())\n}\n", "test-disabled test-skipped"},

		"main":              {"", "func TestMain(m *testing.M) { os.Exit(m.Run()) }\n", ""},
		"main, modern":      {"", "func TestMain(m *testing.M) { m.Run() }\n", ""},
		"main, handed on":   {"", "func TestMain(m *testing.M) { testscript.Main(m, nil) }\n", ""},
		"main runs nothing": {"", "func TestMain(m *testing.M) { os.Exit(0) }\n", "tests-not-run"},
		"main is always 0":  {"", "func TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n", "tests-not-run"},

		"nolint":              {"", "//nolint:errcheck\nvar x int\n", "suppression"},
		"nolint stays":        {"//nolint:errcheck\nvar x int\n", "//nolint:errcheck\nvar x, y int\n", ""},
		"nolint twice":        {"//nolint\nvar x int\n", "//nolint\nvar x int\n//nolint\nvar y int\n", "suppression"},
		"gosec":               {"", "var x = 1 // #nosec G104\n", "suppression"},
		"staticcheck":         {"", "//lint:ignore SA1000 why\nvar x int\n", "suppression"},
		"not a suppression":   {"", "// nolinting is a word, see lint:ignored\nvar x = \"//nolint #nosec\"\n", ""},
		"does not parse":      {body(weak), "func TestA(t *testing.T) {\n", "does-not-parse"},
		"did not parse":       {"func TestA(t *testing.T) {\n", body(weak), ""},
		"no assertion before": {body("f()"), body("f()"), ""},
	} {
		change := sourceChange{Path: "p/a_test.go"}
		if c.before != "" {
			change.Before = goSource(c.before)
		}
		if c.after != "" {
			change.After = goSource(c.after)
		}
		if got := rules(integrityFindings([]sourceChange{change}, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// goSource puts the package clause behind the build constraint.
func goSource(text string) []byte {
	if strings.HasPrefix(text, "//go:build") {
		constraint, rest, _ := strings.Cut(text, "\n")
		return []byte(constraint + "\n\npackage a\n\n" + rest)
	}
	return []byte("package a\n\n" + text)
}

func rules(findings []Finding) string {
	var names []string
	for _, f := range findings {
		if f.Message == "" || f.Path == "" {
			return fmt.Sprintf("incomplete: %+v", f)
		}
		names = append(names, f.Rule)
	}
	// A skip stands before the lines that it cuts off, in the order of lines: sorted by name here.
	for i := range names {
		for k := i; k > 0 && names[k] < names[k-1]; k-- {
			names[k], names[k-1] = names[k-1], names[k]
		}
	}
	return strings.Join(names, " ")
}

// TestMoves leads changes of several files through the judge.
func TestMoves(t *testing.T) {
	a, b := goSource(body(strong)), goSource(strings.ReplaceAll(body(strong), "TestA", "TestB"))
	both := goSource(body(strong) + strings.ReplaceAll(body(strong), "TestA", "TestB"))
	none := goSource("var x int\n")
	for name, c := range map[string]struct {
		changes []sourceChange
		want    string
	}{
		"to another file of the package":   {[]sourceChange{{Path: "p/a_test.go", Before: both, After: b}, {Path: "p/c_test.go", After: a}}, ""},
		"merged into one":                  {[]sourceChange{{Path: "p/a_test.go", Before: a}, {Path: "p/b_test.go", Before: b, After: both}}, ""},
		"file renamed":                     {[]sourceChange{{Path: "p/b_test.go", OldPath: "p/a_test.go", Before: a, After: a}}, ""},
		"package moved":                    {[]sourceChange{{Path: "q/a_test.go", OldPath: "p/a_test.go", Before: a, After: a}}, ""},
		"to another package, same body":    {[]sourceChange{{Path: "p/a_test.go", Before: a}, {Path: "q/b_test.go", After: a}}, ""},
		"to another package, another body": {[]sourceChange{{Path: "p/a_test.go", Before: a}, {Path: "q/b_test.go", After: goSource(body(weak))}}, "test-removed"},
		"moved and weakened":               {[]sourceChange{{Path: "p/a_test.go", Before: a}, {Path: "p/b_test.go", After: goSource(body(weak))}}, "assertions-removed"},
		"one moved, one gone":              {[]sourceChange{{Path: "p/a_test.go", Before: both}, {Path: "p/b_test.go", After: a}}, "test-removed"},
		"no test file any more":            {[]sourceChange{{Path: "p/a.go", OldPath: "p/a_test.go", Before: a, After: a}}, "test-not-run"},
		"not Go any more":                  {[]sourceChange{{Path: "p/a_test.go.bak", OldPath: "p/a_test.go", Before: a, After: a}}, "test-removed"},
		"into testdata":                    {[]sourceChange{{Path: "p/testdata/a_test.go", OldPath: "p/a_test.go", Before: a, After: a}}, "test-not-run"},
		"into _old":                        {[]sourceChange{{Path: "p/_old/a_test.go", OldPath: "p/a_test.go", Before: a, After: a}}, "test-not-run"},
		"another system's file":            {[]sourceChange{{Path: "p/a_plan9_test.go", OldPath: "p/a_test.go", Before: a, After: a}}, "test-not-run"},
		"a suppression moves":              {[]sourceChange{{Path: "p/a.go", Before: goSource("//nolint:x // y\nvar x int\n"), After: none}, {Path: "p/b.go", Before: none, After: goSource("//nolint:x  // y\nvar x int\n")}}, ""},
		"two packages, same test":          {[]sourceChange{{Path: "p/a_test.go", Before: a, After: none}, {Path: "q/a_test.go", Before: a, After: a}}, "test-removed"},
		"other languages are not read":     {[]sourceChange{{Path: "lib/a.rb", Before: []byte("it('x')")}, {Path: "README.md", After: []byte("# x")}}, ""},
		"nothing":                          {nil, ""},
	} {
		if got := rules(integrityFindings(c.changes, nil)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFindingsTellWhere(t *testing.T) {
	got := integrityFindings([]sourceChange{{Path: "p/a_test.go", Before: goSource(body(strong)), After: goSource("var x int\n\n" + body(weak))}, {Path: "a/gone_test.go", Before: goSource(body(weak))}}, nil)
	want := []Finding{
		{Path: "a/gone_test.go", Rule: "test-removed", Message: "TestA is gone (it was in a/gone_test.go, line 3)"},
		{Path: "p/a_test.go", Line: 5, Rule: "assertions-removed", Message: "TestA has 1 assertion, it had 2"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestJustified(t *testing.T) {
	const reason = "// @test-change-justified: the endpoint was removed on purpose\n"
	gone := sourceChange{Path: "p/gone_test.go", Before: goSource(body(strong))}
	for name, c := range map[string]struct {
		changes []sourceChange
		want    string
	}{
		"no reason":              {[]sourceChange{{Path: "p/a_test.go", Before: goSource(body(strong)), After: goSource(body(weak))}}, "assertions-removed"},
		"a reason":               {[]sourceChange{{Path: "p/a_test.go", Before: goSource(body(strong)), After: goSource(reason + body(weak))}}, ""},
		"an old reason":          {[]sourceChange{{Path: "p/a_test.go", Before: goSource(reason + body(strong)), After: goSource(reason + body(weak))}}, "assertions-removed"},
		"too short":              {[]sourceChange{{Path: "p/a_test.go", Before: goSource(body(strong)), After: goSource("// @test-change-justified: 123456789\n" + body(weak))}}, "assertions-removed"},
		"in a string":            {[]sourceChange{{Path: "p/a_test.go", Before: goSource(body(strong)), After: goSource("var x = `" + reason + "`\n" + body(weak))}}, "assertions-removed"},
		"in another file":        {[]sourceChange{{Path: "p/a_test.go", Before: goSource(body(strong)), After: goSource(body(weak))}, {Path: "p/b.go", After: goSource(reason)}}, "assertions-removed"},
		"gone":                   {[]sourceChange{gone}, "test-removed"},
		"gone, reason beside it": {[]sourceChange{gone, {Path: "p/b_test.go", After: goSource(reason)}}, ""},
		"gone, reason elsewhere": {[]sourceChange{gone, {Path: "q/b_test.go", After: goSource(reason)}}, "test-removed"},
		"not Go":                 {[]sourceChange{{Path: "p/a_test.go", After: []byte("package\n")}, {Path: "p/b_test.go", After: goSource(reason)}}, "does-not-parse"},
		"a suppression":          {[]sourceChange{{Path: "p/a.go", After: goSource(reason + "//nolint\nvar x int\n")}}, ""},
	} {
		if got := rules(withoutJustified(integrityFindings(c.changes, nil), c.changes)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzIntegrity(f *testing.F) {
	f.Add(goSource(body(strong)), goSource(body("t.Skip()\nreturn")))
	f.Add(goSource("func (S[T]) TestX() { a[b](c)(d).e() }\nfunc TestMain(m *testing.M) {}"), []byte("package a\nfunc Example() {\n// Output:\n}"))
	f.Add(goSource("func TestA(*testing.T) { for ; ; { select {} }; switch { case x: } }"), []byte("//go:build (\npackage a"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		changes := []sourceChange{{Path: "a_test.go", Before: before, After: after}}
		withoutJustified(integrityFindings(changes, nil), changes)
		same := []sourceChange{{Path: "a_test.go", Before: after, After: after}}
		for _, f := range integrityFindings(same, nil) {
			if f.Rule != "does-not-parse" && f.Rule != "tests-not-run" {
				t.Errorf("no change, and yet %v", f)
			}
		}
	})
}

// TestWhatToMend: the advice fits the findings, once a kind.
func TestWhatToMend(t *testing.T) {
	for rules, want := range map[string]string{
		"test-removed assertions-removed":          "restore these tests and make them pass",
		"test-skipped":                             "take out the new skips and make those tests pass",
		"suppression test-skipped test-removed":    "restore these tests and make them pass; take out the new skips and make those tests pass; mend what the checker finds instead of silencing it",
		"test-focused":                             "take out what keeps tests or assertions from running",
		"tests-not-run test-not-run test-disabled": "take out what keeps tests or assertions from running",
		"test-without-assertion does-not-parse":    "give each new test an assertion that can fail; mend the syntax",
	} {
		var findings []Finding
		for rule := range strings.FieldsSeq(rules) {
			findings = append(findings, Finding{Rule: rule})
		}
		if got := whatToMend(findings); got != want {
			t.Errorf("%s: %q, want %q", rules, got, want)
		}
	}
}
