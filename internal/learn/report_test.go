package learn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

const wholeReport = `status: done
files_changed: [a.go, ./b/../c.go, 'dir\d.go']
agentmd_addition: |
  One.
  Two.
verification_summary:
  tests: 12 passed
  lint: [clean, fast]
learnings:
  - {text: use bcrypt, kind: security, evidence: TestHash}
  - plain words
touched_earlier:
  - {req: REQ-001, reason: a regression}
`

func TestParseReport(t *testing.T) {
	indented := "  " + strings.ReplaceAll(wholeReport, "\n", "\n  ")
	for name, text := range map[string]string{
		"bare":                 wholeReport,
		"BOM and CRLF":         "\uFEFF" + strings.ReplaceAll(wholeReport, "\n", "\r\n"),
		"a fence":              "```yaml\n" + wholeReport + "```\n",
		"a fence without info": "Here it is:\n\n```\n" + wholeReport + "```\nThat is all.\n",
		"a message":            "I did it.\n```\nlearnings: [wrong]\n```\n```ralph-report\n" + wholeReport + "```\n",
		"tildes":               "~~~ralph-report\n" + wholeReport + "~~~\n",
		"the last of two":      "```ralph-report\nstatus: no\n```\n````ralph-report\n" + wholeReport + "````\nbye",
		"indented":             "- a list\n\n  ```ralph-report\n" + indented + "\n  ```\n",
		"an open fence before": "```ralph-report\n" + wholeReport + "```\n```\nopen",
		"a mark of a document": "---\n" + wholeReport + "...\nTrailing prose: [of the agent\n",
		"sentences behind":     wholeReport + "\nThat is all I did. Thank you: bye.\nReally\n\nAnd [that too.\n",
		"sentences around":     "I have done it\nand \"this\" is the report.\n" + wholeReport + "\n\n\nThat is all\n",
	} {
		r, warnings, err := ParseReport([]byte(text))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", name, warnings, err)
			continue
		}
		if r.Status != "done" || fmt.Sprint(r.Files) != "[a.go c.go dir/d.go]" || strings.TrimSpace(r.Addition) != "One.\nTwo." ||
			r.Summary != "tests: 12 passed; lint: clean; fast" || len(r.Learnings) != 2 || r.Learnings[0] != (Reported{Text: "use bcrypt", Kind: "security", Evidence: "TestHash"}) ||
			r.Learnings[1].Text != "plain words" || len(r.Touched) != 1 || r.Touched[0] != (Touched{"REQ-001", "a regression"}) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Case L4.
func TestUnusableReports(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"prose", "I could not do it: sorry\nbye", "not YAML"},
		{"a word", "sorry", "not a report"},
		{"a list", "- a\n- b\n", "not a report"},
		{"nothing", " \n", "empty"},
		{"only a comment", "# nothing\n", "not YAML: EOF"},
		{"broken", "learnings: [a\n", "not YAML"},
		{"an anchor that is none", "learnings: *x\n", "not YAML"},
		{"bytes", "\x00s\xff", "not YAML"},
		{"broken, and sentences behind", "learnings: [a\n\nThat is all.\n", "not YAML"},
		{"50 MB", strings.Repeat("learnings: [x]\n", 50<<20/15), "larger than 1024 KB"},
	} {
		if r, _, err := ParseReport([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || r != nil {
			t.Errorf("%s: %+v, %v; want %q", c.name, r, err, c.want)
		}
	}
	message := strings.Repeat("talk ", 10<<20/5) + "\n```ralph-report\n" + wholeReport + "```\n"
	if r, _, err := ParseReport([]byte(message)); err != nil || r.Status != "done" {
		t.Errorf("the end of a long message: %+v, %v", r, err)
	}
}

func TestReportWarnings(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a near key", "learning: [x]", `line 1: unknown key "learning": did you mean learnings?`},
		{"a far key", "confidence: high", `line 1: unknown key "confidence"`},
		{"twice", "status: a\nstatus: b", ""}, // yaml.v3's nodes keep both
		{"outside", "files_changed: [../x]", `line 1: "../x" is outside the repository: left out`},
		{"absolute", "files_changed:\n- /etc/passwd", `line 2: "/etc/passwd" is outside the repository: left out`},
		{"hidden climb", "files_changed: [a/../../x]", `line 1: "a/../../x" is outside`},
		{"a drive", `files_changed: ['C:\x']`, `line 1: "C:\\x" is outside`},
		{"home", "files_changed: ['~/x']", `line 1: "~/x" is outside`},
		{"git's own", "files_changed: [.git/hooks/pre-commit]", `is not the project's`},
		{"no list", "learnings: {text: x}", "learnings must be a list: left out"},
		{"no text", "status: [a]", "status must be a text: left out"},
		{"no words", "learnings: ['--']", "a learning without a text is left out"},
		{"a mark", "learnings: ['x !permanent']", "only a person may mark"},
		{"too long", "learnings: [" + strings.Repeat("x ", 400) + "]", "a learning of 799 bytes is cut to 500"},
		{"too many", "learnings: [" + strings.Repeat("x, ", 30) + "]", "more than 20 learnings"},
		{"too many files", "files_changed: [" + strings.Repeat("x, ", 6000) + "]", "more than 5000 files"},
		{"a strange item", "touched_earlier: [x]", "keys and values are expected here, such as req: left out"},
	} {
		_, warnings, err := ParseReport([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" && !strings.Contains(strings.Join(warnings, "\n"), c.want) {
			t.Errorf("%s: warnings %q, want %q", c.name, warnings, c.want)
		}
	}
	_, warnings, err := ParseReport([]byte("files_changed: [" + strings.Repeat("/x, ", 4000) + "]"))
	if err != nil || len(warnings) != 51 {
		t.Errorf("%d warnings, %v", len(warnings), err)
	}
	r, _, err := ParseReport([]byte("learnings:\n- &a {text: one}\n- *a\n- null\nstatus: ~\nfiles_changed: null\nverification_summary: {a: {b: {c: {d: {e: f}}}}}\n"))
	if err != nil || len(r.Learnings) != 2 || r.Learnings[1].Text != "one" || r.Status != "" || !strings.HasSuffix(r.Summary, "…") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReadReport(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "report.yaml")
	if _, err := ReadReport(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(name, []byte(strings.Repeat("x", 3<<20)+"end"), 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := ReadReport(name)
	if err != nil || len(data) != MaxReport+1 || !strings.HasSuffix(string(data), "end") {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{filepath.Join(dir, "link"), dir} {
		if _, err := ReadReport(no); err == nil || !strings.Contains(err.Error(), "is no regular file") {
			t.Errorf("%q: %v", no, err)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(wholeReport))
	f.Add([]byte("x\n```ralph-report\nlearnings:\n- &a {text: '!permanent x', expires_on: REQ-1}\n- *a\n```\n"))
	f.Add([]byte("a: &a [*a]\nlearnings: *a\nfiles_changed: ['../x', \"\\0\"]\nverification_summary: *a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, warnings, err := ParseReport(data)
		if (r == nil) != (err != nil) || len(warnings) > 51 {
			t.Fatalf("%v, %d warnings, %v", r, len(warnings), err)
		}
		if r == nil {
			return
		}
		if len(r.Learnings) > mostLearnings || len(r.Addition) > maxAdditionRead || len(r.Summary) > 2000 {
			t.Errorf("unbounded: %+v", r)
		}
		for _, l := range r.Learnings {
			if len(l.Text) > MaxPattern || strings.ContainsAny(l.Text, "\n\x1b\x00") || !utf8.ValidString(l.Text) {
				t.Errorf("learning %q", l.Text)
			}
		}
		for _, name := range r.Files {
			if filepath.IsAbs(name) || !filepath.IsLocal(name) {
				t.Errorf("file %q", name)
			}
		}
	})
}
