package gate

import (
	"fmt"
	"strings"
	"testing"
)

func TestReasonsOfTAP(t *testing.T) {
	for name, c := range map[string]struct{ out, want string }{
		"none": {"1..1\nnot ok 1 a\n", "not ok 1 a []"},
		"node": {"# Subtest: a\nnot ok 1 - a\n  ---\n  location: '/c/a.test.js:8:1'\n  failureType: 'testCodeFailure'\n  error: \"'x' == 'it''s'\"\n  stack: |-\n" +
			"    TestContext.<anonymous> (/c d/a.test.js:9:10)\n    async f (node:x:1:2)\n    at g (file:///c/b.js:3:4)\n  ...\nok 2 - b\n  ---\n  duration_ms: 1\n  ...\n1..2\n# tests 2\n",
			"not ok 1 a [{ 'x' == 'it''s' [{/c d/a.test.js 9} {node:x 1} {/c/b.js 3} {/c/a.test.js 8}]}]"},
		"a text over lines": {"not ok 1 a\n  ---\n  error: |-\n    one\n      two\n    \n    ok 5 no test\n  code: 'X'\n  ...\n1..1\n", "not ok 1 a [{ one\n  two\n\nok 5 no test []}]"},
		"subtests": {"    # Subtest: in\n    ok 1 - fine\n    not ok 2 - in\n      ---\n      error: 'no'\n      ...\n    not ok 3 - deep\n      ---\n      failureType: 'subtestsFailed'\n      error: '2 subtests failed'\n      ...\n" +
			"    1..3\nnot ok 1 - out\n  ---\n  failureType: 'subtestsFailed'\n  error: '1 subtest failed'\n  ...\n1..1\n", "not ok 1 out [{in no []}]"},
		"a subtest of a test that passed": {"    not ok 1 - in # TO" + "DO\n    not ok 2 - flaky\nok 1 - out\nnot ok 2 - x\n1..2\n", "not ok 2 x []"},
		"bats":                            {"1..2\nnot ok 1 it adds\n# (in test file t/a.bats, line 3)\n#   `[ 1 = 2 ]' failed\nok 2 b\n# not this\n", "not ok 1 it adds [{ (in test file t/a.bats, line 3)\n  `[ 1 = 2 ]' failed [{t/a.bats 3}]}]"},
		"perl":                            {"not ok 1 - a\n#   Failed test 'a'\n#   at t/a.t line 5.\n#          got: '1'\n1..1\n", "not ok 1 a [{   Failed test 'a'\n  at t/a.t line 5.\n         got: '1' [{t/a.t 5}]}]"},
		"tap's own":                       {"not ok 1 - a\n  ---\n  at:\n    fileName: t/a.js\n    lineNumber: 7\n  ...\n1..1\n", "not ok 1 a [{  [{t/a.js 7}]}]"},
		"tape":                            {"not ok 1 a\n  ---\n    operator: equal\n    expected: 2\n    actual:   1\n    at: Test.<anonymous> (/c/a.js:4:5)\n  ...\n1..1\n", "not ok 1 a [{ 2 was wanted, not 1 [{/c/a.js 4}]}]"},
		"cut short":                       {"1..1\nnot ok 1 a\n  ---\n  error: 'no'\n", "not ok 1 a [{ no []}]"},
		"unended":                         {"1..2\nnot ok 1 a\n  ---\n  error: 'no'\nnot ok 2 b\n", "not ok 1 a [{ no []}]; not ok 2 b []"},
	} {
		got, err := tallyOutput(strings.NewReader(c.out))
		if err != nil {
			t.Fatal(err)
		}
		if text := reasonsOf(got); text != c.want || len(got.failed) != got.counts.Failed {
			t.Errorf("%s: %d failed\n%s\nwant\n%s", name, got.counts.Failed, text, c.want)
		}
	}
}

func TestReasonsOfUnittest(t *testing.T) {
	rule, heading := strings.Repeat("-", 70)+"\n", strings.Repeat("=", 70)+"\n"
	out := heading + "FAIL: test_a (m.T.test_a)\nA line of documentation.\n" + rule + "Traceback (most recent call last):\n  File \"/c/t.py\", line 3, in test_a\n    self.fail()\n    ^^^^\nKeyError: 1\n\n" +
		"During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/c/t.py\", line 5, in test_a\n    f()\n  File \"/c/m.py\", line 9, in f\n    x\n" +
		"AssertionError: Lists differ: [1] != [2]\n\nFirst differing element 0:\n\n" +
		heading + "ERROR: test_b (m.T.test_b)\n" + rule + "ImportError: no\n\n" + rule + "Ran 2 tests in 0.1s\n\nFAILED (failures=1, errors=1)\n"
	got, err := tallyUnittest(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	want := "FAIL: test_a (m.T.test_a) [{ AssertionError: Lists differ: [1] != [2]\n\nFirst differing element 0: [{/c/m.py 9} {/c/t.py 5}]}]; ERROR: test_b (m.T.test_b) [{ ImportError: no []}]"
	if text := reasonsOf(got); text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
}

func reasonsOf(t *tally) string {
	var all []string
	for _, f := range t.failed {
		all = append(all, f.Message+" "+fmt.Sprint(f.reasons))
	}
	return strings.Join(all, "; ")
}
