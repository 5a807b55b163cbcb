package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPromptScripts(t *testing.T) { runScripts(t, "prompt") }

// The templates hold the same parts in the same order, and docs/prompt.md says so.
func TestPromptParts(t *testing.T) {
	root := filepath.Join("..", "..")
	parts := func(name, pattern string) []string {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(data), -1) {
			out = append(out, strings.Split(m[1], "`, `")...)
		}
		return out
	}
	documented := parts("docs/prompt.md", "(?m)^\\| `([a-z`, ]+)` \\|")
	for _, lang := range []string{"en", "zh"} {
		if got := parts("scripts/prompt/"+lang+".txt", `(?m)^\{\{([a-z]+)`); !slices.Equal(got, documented) || len(got) < 9 {
			t.Errorf("%s.txt has the parts %q, docs/prompt.md %q", lang, got, documented)
		}
	}
}
