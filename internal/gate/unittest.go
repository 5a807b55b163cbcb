package gate

import (
	"io"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

var (
	unittestRan     = lazyregexp.New(`^Ran (\d+) tests? in [0-9.]+s$`)
	unittestVerdict = lazyregexp.New(`^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$`)
	unittestFailed  = lazyregexp.New(`^(?:FAIL|ERROR): \S.*$`)
)

// tallyUnittest recognises what Python's unittest prints on stderr: for each failure a heading between two rules, and
// at the end how many tests ran and what became of them. It has no report that a program could read.
func tallyUnittest(in io.Reader) (*tally, error) {
	t := &tally{unit: "test"}
	doubleRule, rule := strings.Repeat("=", 70), strings.Repeat("-", 70)
	before, ran := "", -1
	var below *traceback // of the last heading, from the rule on
	heading := -1
	end := func() {
		if below != nil && heading >= 0 {
			t.failed[heading].reasons = below.reasons()
		}
		below, heading = nil, -1
	}
	err := eachLineOf(in, func(line string) {
		switch {
		case line == doubleRule || line == rule && below != nil:
			end()
		case line == rule && heading >= 0:
			below = &traceback{}
		case below != nil:
			below.add(line)
		}
		switch {
		case line == "": // between the count and the verdict
			return
		case before == doubleRule && unittestFailed.MatchString(line):
			if t.fail(Finding{Rule: "test failed", Message: line}) {
				heading = len(t.failed) - 1
			}
		case before == rule && unittestRan.MatchString(line):
			ran = number(unittestRan.FindStringSubmatch(line)[1])
		case ran >= 0 && unittestRan.MatchString(before) && unittestVerdict.MatchString(line):
			t.form = "unittest"
			failed, skipped := 0, 0
			for _, part := range strings.Split(unittestVerdict.FindStringSubmatch(line)[1], ", ") {
				switch what, count, _ := strings.Cut(part, "="); what {
				case "failures", "errors", "unexpected successes":
					failed += number(count)
				case "skipped":
					skipped = number(count)
				}
			}
			t.counts.Failed += failed
			t.counts.Skipped += skipped
			t.counts.Passed += max(0, ran-failed-skipped) // each subtest that fails counts as a failure, and not as a test
			ran = -1
		}
		before = line
	})
	end()
	t.failed = t.failed[:min(len(t.failed), t.counts.Failed)]
	return t, err
}
