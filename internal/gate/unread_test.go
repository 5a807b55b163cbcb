package gate

import (
	"testing"

	"ralph-loop/internal/diffstat"
)

func TestUnreadTestFiles(t *testing.T) {
	text := []byte("x = 1\n")
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
		"named by a person": {sourceChange{Path: "checks/a.awk", Before: text}, "test-removed"},
	} {
		got := rules(integrityFindings([]sourceChange{c.change}, &diffstat.Classifier{TestGlobs: []string{"checks/**"}}))
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
