package gate

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestGoModules(t *testing.T) {
	paths := []string{"go.mod", "a/a.go", "b/c/go.mod", "b/c/x.go", "b/c/d/go.mod", "b/c/d/y_test.go", "empty/go.mod", "only/_x.go", "only/go.mod",
		"vendor/v/go.mod", "vendor/v/v.go", "a/testdata/go.mod", "a/testdata/t.go", "node_modules/n/go.mod", "node_modules/n/n.go", "_u/go.mod", "_u/u.go", ".h/go.mod", ".h/h.go"}
	got := fmt.Sprint(goModules(paths))
	if want := "[{} {b/c} {b/c/d}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := goModules([]string{"a/a.go"}); len(got) != 0 {
		t.Errorf("a module without go.mod: %v", got)
	}
}

func TestFolderOfPackage(t *testing.T) {
	m := module{dir: "svc"}
	for _, c := range []struct {
		pkg, want string
		ok        bool
	}{{"example.org/x", "svc", true}, {"example.org/x/a/b", "svc/a/b", true}, {"example.org/xy", "", false}, {"other", "", false}} {
		got, ok := m.folder("example.org/x", c.pkg)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %q, %v", c.pkg, got, ok)
		}
	}
}

func TestReadGoTest(t *testing.T) {
	events := `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestA"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"m/a","Test":"TestA/x","Output":"    a_test.go:9: got 1\n"}
{"Action":"fail","Package":"m/a","Test":"TestA/x","Elapsed":0}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"m/a","Test":"TestA"}
{"Action":"pass","Package":"m/a","Test":"TestB"}
{"Action":"skip","Package":"m/a","Test":"TestC"}
{"Action":"fail","Package":"m/a"}
{"ImportPath":"m/b","Action":"build-output","Output":"# m/b\n"}
{"ImportPath":"m/b","Action":"build-output","Output":"b/b.go:3:7: undefined: x\n"}
{"ImportPath":"m/b","Action":"build-fail"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b [build failed]\n"}
{"Action":"fail","Package":"m/b","FailedBuild":"m/b"}
{"Action":"skip","Package":"m/none"}
{"Action":"output","Package":"m/idle","Output":"ok  \tm/idle\t0.01s\n"}
{"Action":"pass","Package":"m/idle"}
{"Action":"output","Package":"m/nothing","Output":"\tm/nothing\t\tcoverage: 0.0% of statements\n"}
{"Action":"pass","Package":"m/nothing"}
{"Action":"output","Package":"m/helpers","Output":"ok  \tm/helpers\t0.01s [no tests to run]\n"}
{"Action":"pass","Package":"m/helpers"}
{"Action":"pass","Package":"m/c","Test":"TestC"}
{"Action":"output","Package":"m/c","Output":"panic: too late\n"}
{"Action":"fail","Package":"m/c"}
{"Action":"start","Package":"m/cut"}
{"Action":"output","Package":"m/cut","Output":"something\n"}
`
	var plain bytes.Buffer
	r, err := readGoTest(iotest.HalfReader(strings.NewReader(events)), &plain)
	if err != nil {
		t.Fatal(err)
	}
	if r.counts != (Counts{Passed: 2, Failed: 2, Skipped: 1}) {
		t.Errorf("counts %+v", r.counts)
	}
	if len(r.failed) != 1 || r.failed[0].name != "TestA/x" {
		t.Errorf("a parent is no failure of its own: %+v", r.failed)
	}
	if fmt.Sprint(r.passed) != "[m/a TestB m/c TestC]" || fmt.Sprint(r.idle) != "[m/idle]" {
		t.Errorf("passed %v, idle %v", r.passed, r.idle)
	}
	var broken []string
	for _, b := range r.broken {
		broken = append(broken, fmt.Sprint(b.pkg, " ", b.build))
	}
	if got := strings.Join(broken, ", "); got != "m/b true, m/c false, m/cut false" {
		t.Errorf("broken: %s", got)
	}
	if len(r.builds) != 1 || !strings.Contains(r.builds[0], "undefined: x") {
		t.Errorf("builds: %q", r.builds)
	}
	if !strings.Contains(plain.String(), "a_test.go:9: got 1\n") {
		t.Errorf("log: %s", plain.String())
	}
}

func TestFailedTestIsPlaced(t *testing.T) {
	inTree := func(name string) (string, bool) {
		rel, ok := strings.CutPrefix(name, "/copy/")
		return rel, ok
	}
	cases := []struct{ output, want string }{
		{"=== RUN   TestX\n    x_test.go:12: got 1\n        want 2\n--- FAIL: TestX (0.00s)\n", "a/x_test.go:12: TestX: got 1\n        want 2"},
		{"    /copy/a/b/helper_test.go:3: no\n", "a/b/helper_test.go:3: TestX: no"},
		{"panic: runtime error: index out of range [recovered]\n\tpanic: again\n\ngoroutine 7 [running]:\ntesting.tRunner.func1()\n\t/usr/go/src/testing/testing.go:1 +0x1\nm/a.f(...)\n\t/copy/a/x.go:5 +0x2\n",
			"a/x.go:5: TestX: panic: runtime error: index out of range [recovered]"},
		{"panic: alone", "a: TestX: panic: alone"},
		{"wrong\n", "a: TestX:\nwrong"},
		{"", "a: TestX"},
	}
	for _, c := range cases {
		if got := (failedTest{"m/a", "TestX", c.output}).finding("a", inTree).String(); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.output, got, c.want)
		}
	}
}

func TestClipKeepsBothEnds(t *testing.T) {
	var c clip
	for i := range 5000 {
		c.add(fmt.Sprintf("line %d\n", i))
	}
	s := c.String()
	if !strings.HasPrefix(s, "line 0\n") || !strings.HasSuffix(s, "line 4999\n") || !strings.Contains(s, "(cut)") || len(s) > 3*clipSize {
		t.Errorf("%d bytes: %.40q ... %.40q", len(s), s, s[len(s)-40:])
	}
	if (*clip)(nil).String() != "" {
		t.Error("no clip is no text")
	}
}

// TestMentions: a name stands alone, and the first place is not the only one.
func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"test_two": true, "FAIL: test_two (x)": true, "test_two_more": false, "test_two_more, test_two": true, "atest_two": false, "": false, "test_tw": false,
	} {
		if got := mentions(text, "test_two", wordByte); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"b_t.sh": true, "not ok 1 b_t.sh": true, "./b_t.sh:3: no": true, "(b_t.sh)": true, "see b_t.sh.": true, "see b_t.sh. It fails": true,
		"t/b_t.sh": false, "/t/b_t.sh": false, "ab_t.sh": false, "b_t.sh.bak": false, "b_t.sh/x": false, "a-b_t.sh": false, "x/./b_t.sh": false, "éb_t.sh": false,
		"t/b_t.sh, b_t.sh": true,
	} {
		if got := mentionsFile(text, "b_t.sh"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestHeadTail(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	for _, most := range []int{0, 5, 20, 50, 1999, 2000} {
		got := headTail(long, most)
		if len(got) > most || strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("%d: %d bytes", most, len(got))
		}
	}
	if headTail("short", 10) != "short" {
		t.Error("a short text is changed")
	}
}

func TestTally(t *testing.T) {
	cases := []struct {
		name, out, form, wrong string
		counts                 Counts
	}{
		{"TAP", "TAP version 13\n1..4\nok 1 a\nnot ok 2 - b\nok 3 # skip later\nnot ok 4 # todo some day\n", "TAP", "", Counts{2, 1, 1, 0}},
		{"TAP with the plan at the end", "ok 1\nok\n1..2\n", "TAP", "", Counts{2, 0, 0, 0}},
		{"TAP without any test", "1..0 # skipped\n", "TAP", "", Counts{}},
		{"TAP, nested", "1..1\n    1..2\n    ok 1\n    not ok 2\nok 1 - parent\n", "TAP", "", Counts{1, 0, 0, 0}},
		{"TAP, cut short", "1..2\nok 1\n", "TAP", "cut short", Counts{1, 0, 0, 0}},
		{"TAP, given up", "1..2\nok 1\nBail out! no database\n", "TAP", "no database", Counts{1, 0, 0, 0}},
		{"prose is no test", "ok then\nok, all is well\nnot ok at all\n", "", "", Counts{}},
		{"go test -v", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- SKIP: TestA/x (0.00s)\n--- FAIL: TestB (0.01s)\n", "go test", "", Counts{1, 1, 1, 0}},
		{"packages", "ok  \tm/a\t0.1s\nok  \tm/b\t(cached)\tcoverage: 80% of statements\nok  \tm/c\t0.1s [no tests to run]\n", "go test", "", Counts{2, 0, 0, 0}},
		{"nothing", "", "", "", Counts{}},
	}
	for _, c := range cases {
		got, err := tallyOutput(strings.NewReader(c.out))
		if err != nil {
			t.Fatal(err)
		}
		if got.form != c.form || got.counts != c.counts || (got.wrong == "") != (c.wrong == "") || !strings.Contains(got.wrong, c.wrong) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestUnittest(t *testing.T) {
	rule := strings.Repeat("-", 70) + "\n"
	heading := strings.Repeat("=", 70) + "\n"
	cases := []struct {
		name, out, form string
		counts          Counts
		failed          string
	}{
		{"all is well", "...\n" + rule + "Ran 3 tests in 0.000s\n\nOK\n", "unittest", Counts{Passed: 3}, ""},
		{"one", ".\n" + rule + "Ran 1 test in 0.000s\n\nOK\n", "unittest", Counts{Passed: 1}, ""},
		{"of all kinds", "EFsux\n" + heading + "ERROR: test_e (m.T.test_e)\n" + rule + "Traceback\n\n" + heading + "FAIL: test_f (m.T.test_f)\n" + rule + "Traceback\n\n" +
			rule + "Ran 6 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1, expected failures=1, unexpected successes=1)\n",
			"unittest", Counts{Passed: 2, Failed: 3, Skipped: 1}, "ERROR: test_e (m.T.test_e); FAIL: test_f (m.T.test_f)"},
		{"two runs", rule + "Ran 1 test in 0.1s\n\nOK\n" + rule + "Ran 2 tests in 0.1s\n\nOK (skipped=1)\n", "unittest", Counts{Passed: 2, Skipped: 1}, ""},
		{"failed before the first test", heading + "ERROR: setUpClass (m.T)\n" + rule + rule + "Ran 0 tests in 0.1s\n\nFAILED (errors=1)\n", "unittest", Counts{Failed: 1}, "ERROR: setUpClass (m.T)"},
		{"none", rule + "Ran 0 tests in 0.0s\n\nNO TESTS RAN\n", "unittest", Counts{}, ""},
		{"cut short", rule + "Ran 3 tests in 0.1s\n", "", Counts{}, ""},
		{"prose", "Ran 3 tests in 0.1s\n\nOK\n", "", Counts{}, ""},
		{"nothing", "", "", Counts{}, ""},
	}
	for _, c := range cases {
		got, err := tallyUnittest(strings.NewReader(c.out))
		if err != nil {
			t.Fatal(err)
		}
		var failed []string
		for _, f := range got.failed {
			failed = append(failed, f.Message)
		}
		if got.form != c.form || got.counts != c.counts || strings.Join(failed, "; ") != c.failed {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestJUnit(t *testing.T) {
	cases := []struct {
		name, text, wrong string
		counts            Counts
	}{
		{"a bare suite", `<testsuite><testcase name="a"/></testsuite>`, "", Counts{Passed: 1}},
		{"nested suites, entities, a foreign charset", `<?xml version="1.0" encoding="ISO-8859-1"?><testsuites><testsuite><testsuite><testcase name="a&quot;"><system-out><![CDATA[<failure>]]></system-out></testcase></testsuite><testcase name="b"><failure/></testcase></testsuite></testsuites>`, "", Counts{1, 1, 0, 0}},
		{"failed after it was skipped", `<testsuite><testcase name="a"><skipped/><error message="x"/></testcase></testsuite>`, "", Counts{Failed: 1}},
		{"no report", `<html></html>`, "no testsuite", Counts{}},
		{"cut", `<testsuite><testcase name="a"/><testcase`, "EOF", Counts{Passed: 1}},
		{"empty", ``, "no testsuite", Counts{}},
	}
	for _, c := range cases {
		var got tally
		err := got.junit(strings.NewReader(c.text))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) || got.counts != c.counts {
			t.Errorf("%s: %v, %+v", c.name, err, got.counts)
		}
	}
}

func TestPlacesInOutput(t *testing.T) {
	for line, want := range map[string][]string{
		"vet: ./a.go:3:2: undefined: x": {"./a.go", "3", "undefined: x"},
		"a/b c.go:12: message":          {"a/b c.go", "12", "message"},
		"src/a.ts:1:2: error: no":       {"src/a.ts", "1", "error: no"},
	} {
		m := placeColon.FindStringSubmatch(line)
		if m == nil || !reflect.DeepEqual([]string{m[1], m[2], m[4]}, want) {
			t.Errorf("%q: %q", line, m)
		}
	}
	if m := placeParen.FindStringSubmatch("src/a b.ts(3,5): error TS1: x"); m == nil || m[1] != "src/a b.ts" || m[2] != "3" || m[4] != "error TS1: x" {
		t.Errorf("%q", m)
	}
	for _, line := range []string{"# m/a", "  indented.go:1: x", "http://x:80: y"} {
		if m := placeColon.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "http") {
			t.Errorf("%q is taken for a place: %q", line, m)
		}
	}
}

func TestWithoutOldFindings(t *testing.T) {
	f := func(path string, line int, message string) Finding { return Finding{path, line, "vet", message} }
	left, old := without(
		[]Finding{f("a.go", 9, "x"), f("a.go", 12, "x"), f("b.go", 1, "x"), f("", 0, "no place")},
		[]Finding{f("a.go", 1, "x"), f("", 0, "no place")})
	if old != 1 || fmt.Sprint(left) != "[a.go:12: x b.go:1: x no place]" {
		t.Errorf("%d old, left %v", old, left)
	}
}

func TestEachLineBoundsALine(t *testing.T) {
	var lengths []int
	in := io.MultiReader(strings.NewReader(strings.Repeat("x", 3*maxLine)), strings.NewReader("\nshort\r\n\nend"))
	if err := eachLineOf(in, func(line string) { lengths = append(lengths, len(line)) }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(lengths) != fmt.Sprint([]int{maxLine, 5, 0, 3}) {
		t.Errorf("%v", lengths)
	}
}

func TestPrivateKey(t *testing.T) {
	body := strings.Repeat("MIIEpAIBAAKCAQEA", 4)
	cases := []struct {
		text string
		line int
	}{
		{"-----BEGIN RSA PRIVATE KEY-----\n" + body + "\n", 1},
		{"x\n-----BEGIN OPENSSH PRIVATE KEY-----\r\n" + body + "\r\n", 2},
		{"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", 1},
		{"-----BEGIN PRIVATE KEY-----\nnot a key at all\n", 0},
		{"-----BEGIN PUBLIC KEY-----\n" + body + "\n", 0},
		{"  -----BEGIN PRIVATE KEY-----\n" + body + "\n", 0},
		{strings.Repeat("long", 5000) + "\n-----BEGIN PRIVATE KEY-----\n" + body, 2},
	}
	for _, c := range cases {
		got, err := privateKey(iotest.OneByteReader(strings.NewReader(c.text)))
		if err != nil || got != c.line {
			t.Errorf("%.60q: line %d, %v; want %d", c.text, got, err, c.line)
		}
	}
}

func FuzzReadGoTest(f *testing.F) {
	f.Add([]byte(`{"Action":"output","Package":"m","Test":"TestA","Output":"x_test.go:1: y\n"}` + "\n" + `{"Action":"fail","Package":"m","Test":"TestA"}` + "\n"))
	f.Add([]byte("not json\n{\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readGoTest(bytes.NewReader(data), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range r.failed {
			_ = x.finding("a", func(string) (string, bool) { return "", false }).String()
		}
		if len(r.failed) > r.counts.Failed {
			t.Fatalf("%d failures of %d", len(r.failed), r.counts.Failed)
		}
	})
}

func FuzzReports(f *testing.F) {
	f.Add([]byte("1..2\nok 1\nnot ok 2 # todo\n"))
	f.Add([]byte(`<testsuite><testcase name="a"><failure>x</failure></testcase></testsuite>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := tallyOutput(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.failed) > got.counts.Failed {
			t.Fatal("more failures than failed tests")
		}
		python, err := tallyUnittest(bytes.NewReader(data))
		if err != nil || len(python.failed) > python.counts.Failed || (python.form == "" && python.counts != Counts{}) {
			t.Fatalf("unittest: %+v, %v", python, err)
		}
		var j tally
		if err := j.junit(bytes.NewReader(data)); err == nil && j.form != "JUnit" {
			t.Fatal("no error and no report")
		}
	})
}

func TestDistinct(t *testing.T) {
	f := func(line int, message string) Finding {
		return Finding{Path: "a.go", Line: line, Rule: "vet", Message: message}
	}
	got := distinct([]Finding{f(1, "x redeclared\n\tother declaration"), f(1, "x redeclared"), f(2, "x redeclared"), f(1, "y")})
	if len(got) != 3 || got[0].Message != "x redeclared\n\tother declaration" {
		t.Errorf("%+v", got)
	}
}
