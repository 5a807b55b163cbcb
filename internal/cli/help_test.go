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
