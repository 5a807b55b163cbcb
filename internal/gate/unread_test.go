package gate

import (
	"testing"

	"ralph-loop/internal/diffstat"
)

func TestUnreadTestFiles(t *testing.T) {
	text, long := []byte("x = 1\n"), []byte("one\ntwo\nthree\n")
	for name, c := range map[string]struct {
		change sourceChange
		want   string
	}{
		"gone":              {sourceChange{Path: "spec/a_spec.rb", Before: text}, "test-removed"},
		"emptied":           {sourceChange{Path: "test/a.bats", Before: text, After: []byte{}}, "test-removed"},
		"only comments":     {sourceChange{Path: "tests/a.php", Before: text, After: []byte("// x\n\n  # y\n/* z\n * z */")}, "test-removed"},
		"only code":         {sourceChange{Path: "tests/a.php", Before: text, After: []byte("// x\ny")}, ""},
		"was empty":         {sourceChange{Path: "test/a.bats", Before: []byte("\n# later\n")}, ""},
		"new":               {sourceChange{Path: "test/a.bats", After: text}, ""},
		"renamed":           {sourceChange{Path: "test/b.bats", OldPath: "test/a.bats", Before: text, After: text}, ""},
		"moved out":         {sourceChange{Path: "lib/a.exs", OldPath: "test/a.exs", Before: text, After: text}, "test-removed"},
		"moved in":          {sourceChange{Path: "test/a.exs", OldPath: "lib/a.exs", Before: text, After: text}, ""},
		"another language":  {sourceChange{Path: "tools/a.py", OldPath: "test/a.sh", Before: text, After: text}, "test-removed"},
		"still a test":      {sourceChange{Path: "test/test_a.py", OldPath: "test/a.sh", Before: text, After: []byte("def test_a():\n    assert f()\n")}, ""},
		"cut":               {sourceChange{Path: "test/a.bats", Before: long, After: []byte("one\n\n# two\n")}, "test-removed"},
		"cut to the half":   {sourceChange{Path: "test/a.bats", Before: []byte("one\ntwo\n"), After: []byte("one\n")}, ""},
		"written anew":      {sourceChange{Path: "test/a.bats", Before: long, After: []byte("a\nb\nc\n")}, ""},
		"comments cut":      {sourceChange{Path: "test/a.bats", Before: []byte("one\n# 1\n# 2\n# 3\n"), After: []byte("one\n")}, ""},
		"data cut":          {sourceChange{Path: "checks/a.json", Before: long, After: text}, ""},
		"a script cut":      {sourceChange{Path: "checks/a", Before: long, After: text}, "test-removed"},
		"another kind cut":  {sourceChange{Path: "checks/a.feature", Before: long, After: text}, "test-removed"},
		"ported":            {sourceChange{Path: "test/test_a.py", OldPath: "test/a.bats", Before: long, After: []byte("def test_a(): assert f()\n")}, ""},
		"bats skips":        {sourceChange{Path: "test/a.bats", Before: text, After: []byte("x = 1\n\tskip 'later'\n")}, "test-skipped"},
		"bats skipped":      {sourceChange{Path: "test/a.bats", Before: []byte("skip\n"), After: []byte("  skip now\n")}, ""},
		"a longer word":     {sourceChange{Path: "test/a.bats", Before: text, After: []byte("x = 1\nskip_all=1\n# skip\n")}, ""},
		"new and skips":     {sourceChange{Path: "test/a.bats", After: []byte("skip\n")}, ""},
		"rspec x":           {sourceChange{Path: "spec/a_spec.rb", Before: text, After: []byte("x = 1\n  xdescribe 'a' do\n")}, "test-skipped"},
		"rspec pending":     {sourceChange{Path: "spec/a_spec.rb", Before: text, After: []byte("x = 1\n  pending 'later'\n")}, "test-skipped"},
		"rspec skip":        {sourceChange{Path: "spec/a_spec.rb", Before: text, After: []byte("x = 1\n  skip(\"later\")\n")}, "test-skipped"},
		"a variable":        {sourceChange{Path: "spec/a_spec.rb", Before: text, After: []byte("x = 1\n  pending = orders.pending\n  xit_at(2)\n  skip_all\n")}, ""},
		"a word elsewhere":  {sourceChange{Path: "test/a.exs", Before: text, After: []byte("x = 1\n  skip\n")}, ""},
		"named by a person": {sourceChange{Path: "checks/a.awk", Before: text}, "test-removed"},
	} {
		got := rules(integrityFindings([]sourceChange{c.change}, &diffstat.Classifier{TestGlobs: []string{"checks/**"}}))
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
