package coverage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/cover"
)

func TestTotal(t *testing.T) {
	cases := []struct {
		name           string
		texts          []string
		covered, total int
	}{
		{"Go profile", []string{"mode: set\nm/a.go:1.2,3.4 3 1\nm/a.go:5.2,6.4 1 0\n"}, 3, 4},
		{"case G23: each block once a test binary", []string{
			"mode: set\nm/a.go:1.2,3.4 4 1\nm/b.go:1.2,3.4 1 0\n" + "m/a.go:1.2,3.4 4 0\nm/b.go:1.2,3.4 1 0\n"}, 4, 5},
		{"the second binary covers it", []string{"mode: count\nm/a.go:1.2,3.4 4 0\nm/a.go:1.2,3.4 4 17\n"}, 4, 4},
		{"profiles joined", []string{"mode: set\nm/a.go:1.2,3.4 1 1\nmode: set\nm/b.go:1.2,3.4 1 0\n"}, 1, 2},
		{"two modules", []string{"mode: set\nm/a.go:1.2,3.4 1 1\n", "mode: set\nn/a.go:1.2,3.4 1 0\n"}, 1, 2},
		{"a name with spaces and colons", []string{"mode: set\nC:/a b:c.go:1.2,3.4 2 1\n"}, 2, 2},
		{"a count beyond 64 bits", []string{"mode: count\nm/a.go:1.2,3.4 2 99999999999999999999\n"}, 2, 2},
		{"LCOV", []string{"TN:\nSF:src/a.js\nFN:1,f\nDA:1,1\nDA:2,0\nLF:2\nLH:1\nend_of_record\n"}, 1, 2},
		{"LCOV, CRLF and a checksum", []string{"SF:a.js\r\nDA:1,3,abc==\r\nend_of_record\r\n"}, 1, 1},
		{"LCOV, the same line from two suites", []string{"SF:a.js\nDA:1,0\nDA:2,0\nend_of_record\nSF:a.js\nDA:1,5\nend_of_record\n"}, 1, 2},
		{"LCOV, a negative count is none", []string{"SF:a.js\nDA:1,-4\nend_of_record\n"}, 0, 1},
		{"both formats", []string{"mode: set\nm/a.go:1.2,3.4 3 1\n", "SF:a.js\nDA:1,0\nend_of_record\n"}, 3, 4},
	}
	for _, c := range cases {
		var d Data
		for _, text := range c.texts {
			if err := d.Read(strings.NewReader(text)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if covered, total := d.Total(); covered != c.covered || total != c.total {
			t.Errorf("%s: %d of %d, want %d of %d", c.name, covered, total, c.covered, c.total)
		}
	}
}

func TestRefused(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"case G23: an empty file", "", ErrNoData.Error()},
		{"case G23: only the mode line", "mode: set\n", ErrNoData.Error()},
		{"LCOV without a line", "SF:a.js\nend_of_record\n", ErrNoData.Error()},
		{"another format", "<coverage/>\n", "line 1"},
		{"a cut line", "mode: set\nm/a.go:1.2,3.4 3 1\nm/a.go:5.2,6", "line 3"},
		{"a negative number of statements", "mode: set\nm/a.go:1.2,3.4 -3 1\n", "line 2"},
		{"a record outside a file", "SF:a.js\nend_of_record\nDA:1,1\n", "line 3"},
		{"two versions of a file", "mode: set\nm/a.go:1.2,3.4 3 1\nm/a.go:1.2,3.4 4 1\n", "two versions"},
		{"a line without end", "mode: set\n" + strings.Repeat("x", 1<<20), "longer than"},
	}
	for _, c := range cases {
		var d Data
		err := d.Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestFilesAreSorted(t *testing.T) {
	var d Data
	if err := d.Read(strings.NewReader("mode: set\nm/b.go:1.2,3.4 3 1\nm/a.go:5.2,6.4 1 0\n")); err != nil {
		t.Fatal(err)
	}
	want := []File{{"m/a.go", 0, 1}, {"m/b.go", 3, 3}}
	if got := d.Files(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMissed(t *testing.T) {
	var d Data
	for _, text := range []string{
		"mode: set\nm/a.go:10.2,12.4 3 0\nm/a.go:1.2,2.4 1 0\nm/a.go:12.4,14.2 1 0\nm/a.go:3.1,3.9 1 1\nm/a.go:5.1,5.9 0 0\n",
		"SF:a.js\nDA:7,0\nDA:8,0\nDA:9,1\nDA:11,0\nend_of_record\n"} {
		if err := d.Read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"m/a.go": "[{1 2} {10 14}]", "a.js": "[{7 8} {11 11}]", "none": "[]"} {
		if got := fmt.Sprint(d.Missed(path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestAgainstGoTool compares with what the go command says of a real module.
func TestAgainstGoTool(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module m\n\ngo 1.22\n",
		"a/a.go":        "package a\n\nfunc A(n int) int {\n\tif n > 1 {\n\t\treturn 1\n\t}\n\tn++\n\treturn n\n}\n",
		"a/a_test.go":   "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { A(0) }\n",
		"b/b.go":        "package b\n\nimport \"m/a\"\n\nfunc B() int {\n\tx := a.A(5)\n\treturn x\n}\n\nfunc C() {\n\tprintln()\n}\n",
		"b/b_test.go":   "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { B() }\n",
		"none/none.go":  "package none\n\nfunc N() {\n\tprintln()\n}\n",
		"cmd/x/main.go": "package main\n\nfunc main() {\n\tprintln()\n}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	profile := filepath.Join(dir, "c.out")
	test := exec.Command("go", "test", "-coverpkg=./...", "-coverprofile="+profile, "./...")
	test.Dir = dir
	if out, err := test.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tool := exec.Command("go", "tool", "cover", "-func="+profile)
	tool.Dir = dir
	out, err := tool.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	var d Data
	if err := d.Read(strings.NewReader(string(data))); err != nil {
		t.Fatal(err)
	}
	if covered, total := d.Total(); covered != 6 || total != 9 {
		t.Errorf("%d of %d, want 6 of 9\n%s", covered, total, data)
	}
	if !strings.Contains(string(out), "66.7%") {
		t.Errorf("the go command says otherwise:\n%s", out)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("mode: set\nm/a.go:1.2,3.4 3 1\nm/a.go:5.2,6.4 1 0\n"))
	f.Add([]byte("mode: count\nC:/a b:c.go:1.2,3.4 2 99999999999999999999\n"))
	f.Add([]byte("TN:\nSF:src/a.js\nDA:1,1\nDA:2,0\nend_of_record\n"))
	f.Add([]byte("mode: set\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Data
		err := d.Read(strings.NewReader(string(data)))
		covered, total := d.Total()
		if covered < 0 || covered > total {
			t.Fatalf("%d of %d", covered, total)
		}
		if err == nil && len(d.Files()) == 0 {
			t.Fatal("no error and no data")
		}
		if errors.Is(err, ErrNoData) && total != 0 {
			t.Fatal("data, and the error that there is none")
		}
		// Where both readers take a profile, they agree.
		theirs, theirErr := cover.ParseProfilesFromReader(strings.NewReader(string(data)))
		if err != nil || theirErr != nil {
			return
		}
		var wantCovered, wantTotal int
		for _, p := range theirs {
			for _, b := range p.Blocks {
				if b.NumStmt > maxWeight {
					return
				}
				wantTotal += b.NumStmt
				if b.Count > 0 {
					wantCovered += b.NumStmt
				}
			}
		}
		if wantCovered != covered || wantTotal != total {
			t.Fatalf("%d of %d; golang.org/x/tools/cover reads %d of %d", covered, total, wantCovered, wantTotal)
		}
	})
}
