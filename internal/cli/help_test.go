package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every verb and every flag that a program's source defines is named in its help text, which is its package comment.
func TestHelpNamesEveryVerbAndFlag(t *testing.T) {
	for program, pattern := range map[string]string{
		"ralph-order": "order.go", "ralph-gate": "gate*.go", "ralph-learn": "learn*.go", "ralph-checkpoint": "checkpoint.go",
	} {
		doc, err := os.ReadFile(filepath.Join("..", "..", "cmd", program, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		help := helpText(string(doc))
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var source strings.Builder
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(data)
		}
		flags := regexp.MustCompile(`Flag\{Name: "([a-z-]+)"`).FindAllStringSubmatch(source.String(), -1)
		verbs := regexp.MustCompile(`[^g]\{Name: "([a-z-]+)", Usage`).FindAllStringSubmatch(source.String(), -1)
		if len(flags) < 3 || len(verbs) < 4 {
			t.Errorf("%s: only %d flags and %d verbs were found", program, len(flags), len(verbs))
		}
		for _, f := range flags {
			name := "--" + f[1]
			if len(f[1]) == 1 {
				name = "-" + f[1]
			}
			if !regexp.MustCompile(regexp.QuoteMeta(name) + `\b`).MatchString(help) {
				t.Errorf("%s --help does not name %s", program, name)
			}
		}
		for _, v := range verbs {
			if !regexp.MustCompile(`\b` + v[1] + `\b`).MatchString(help) {
				t.Errorf("%s --help does not name the verb %s", program, v[1])
			}
		}
		if !regexp.MustCompile(`(?i)exit (codes|status)`).MatchString(help) {
			t.Errorf("%s --help does not list its exit codes", program)
		}
	}
}

// The help of a verb is its part of the program's: its usage, what it does, and each option that the usage names.
func TestVerbHelp(t *testing.T) {
	for program, run := range map[string]func(*Process, string, []string) int{"ralph-order": Order, "ralph-gate": Gate, "ralph-learn": Learn, "ralph-checkpoint": Checkpoint} {
		doc, err := os.ReadFile(filepath.Join("..", "..", "cmd", program, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		verbs := 0
		for _, line := range listsOf(helpText(string(doc)))["Verbs"] {
			verb, _, _ := strings.Cut(strings.TrimPrefix(line, "\t"), " ")
			if verb == "" {
				continue
			}
			verbs++
			var out, errw strings.Builder
			p := &Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errw, Environ: []string{"GOGC=100"}, Dir: t.TempDir()}
			if code := run(p, string(doc), []string{verb, "--help"}); code != 0 || errw.String() != "" {
				t.Errorf("%s %s --help: exit code %d, %s", program, verb, code, errw.String())
			}
			usage, rest, _ := strings.Cut(out.String(), "\n\n  "+verb+" ")
			if !strings.HasPrefix(usage, "Usage:\n\n  "+program) || rest == "" {
				t.Errorf("%s %s --help:\n%s", program, verb, out.String())
			}
			for _, option := range regexp.MustCompile(`[[ |](--?[a-z][a-z-]*)`).FindAllStringSubmatch(usage, -1) {
				if verb != "agents" && !regexp.MustCompile(`(\n  |, )`+option[1]+`\b`).MatchString(rest) {
					t.Errorf("%s %s --help does not say what %s is:\n%s", program, verb, option[1], out.String())
				}
			}
		}
		if verbs < 4 {
			t.Errorf("%s: only %d verbs were found", program, verbs)
		}
	}
}
