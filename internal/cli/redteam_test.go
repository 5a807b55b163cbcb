package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestRedteamScripts(t *testing.T) { runScripts(t, "redteam") }

// Every row of the red-team page names at least one test that proves it, and every such test exists. Every red-team script
// is named.
func TestRedteamPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "red-team.md"))
	if err != nil {
		t.Fatal(err)
	}
	proof := regexp.MustCompile("`([a-z]+)_([A-Za-z0-9_]+)`|`(Test[A-Za-z0-9]+)` in `([a-z/]+)`")
	tricks := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.TrimSpace(cells[0]) == "the trick" {
			continue
		}
		tricks++
		found := proof.FindAllStringSubmatch(cells[2], -1)
		if len(found) == 0 {
			t.Errorf("%q is proved by nothing", cells[0])
		}
		for _, p := range found {
			if p[4] != "" {
				if !hasTest(t, p[4], p[3]) {
					t.Errorf("%q: there is no %s in %s", cells[0], p[3], p[4])
				}
				continue
			}
			script := filepath.Join("testdata", "script", p[1]+"_"+p[2]+".txtar")
			if _, err := os.Stat(script); err != nil {
				t.Errorf("%q: %v", cells[0], err)
			}
		}
	}
	if tricks < 25 {
		t.Errorf("only %d tricks were found", tricks)
	}
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "redteam_*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, s := range scripts {
		if name := strings.TrimSuffix(filepath.Base(s), ".txtar"); !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// hasTest looks for a test function in a package of this repository.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
