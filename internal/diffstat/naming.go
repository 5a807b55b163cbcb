package diffstat

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// mostNamed is how many languages are named, and how many patterns of each.
const mostNamed = 4

// TestNames says how test files go in the languages of the source files among paths, those with the most files first, as
// in "Go: *_test.go". More test files may be found than that; it is what to call a new one.
func (c *Classifier) TestNames(paths []string) []string {
	byExt := map[string]int{}
	for i, l := range languages {
		for _, ext := range strings.Fields(l.sources) {
			byExt[ext] = i
		}
	}
	count := map[int]int{}
	for _, p := range paths {
		if i, ok := byExt[path.Ext(p)]; ok {
			if class, _ := c.ByName(p); class == Implementation || class == Test {
				count[i]++
			}
		}
	}
	var found []int
	for i := range count {
		found = append(found, i)
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	var out []string
	for _, i := range found[:min(len(found), mostNamed)] {
		l := languages[i]
		names := strings.Fields(l.tests)
		text := l.name + ": " + strings.Join(names[:min(len(names), mostNamed)], " ")
		if folders := strings.Fields(l.folders); len(folders) > 0 {
			text += ", or in " + strings.Join(folders[:min(len(folders), 3)], "/ ") + "/"
		} else if l.roots != "" {
			text += ", or in src/test/"
		}
		out = append(out, text)
	}
	if len(c.TestGlobs) > 0 {
		out = append(out, "gate.test_globs: "+strings.Join(c.TestGlobs, " "))
	}
	return out
}

// buildFiles give a source file of the language that they build.
var buildFiles = map[string]string{
	"go.mod": "main.go", "package.json": "index.js", "Cargo.toml": "src/main.rs", "pyproject.toml": "main.py", "setup.py": "main.py",
	"pom.xml": "src/main/java/Main.java", "build.gradle": "src/main/java/Main.java", "build.gradle.kts": "src/main/java/Main.java",
}

// FirstSources are source files that would be the first of their languages beside the build files among paths.
func FirstSources(paths []string) []string {
	c := &Classifier{}
	here := map[*compiled]bool{}
	for _, p := range paths {
		if class, _ := c.ByName(p); class != Other {
			here[byExtension()[path.Ext(p)]] = true
		}
	}
	var first []string
	for _, p := range paths {
		source, ok := buildFiles[path.Base(p)]
		if source = path.Join(path.Dir(p), source); !ok || here[byExtension()[path.Ext(source)]] {
			continue
		}
		if class, _ := c.ByName(source); class == Implementation {
			first = append(first, source)
		}
	}
	return first
}
