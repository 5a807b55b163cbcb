package gate

import (
	"bytes"
	"go/format"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

// module is a Go module of the tree.
type module struct {
	dir string // below the top; "" is the top
}

// goModules finds the modules that hold Go files, at any depth, in the order of their paths. The go command itself
// leaves out the folders that count as no part of a module.
func goModules(paths []string) []module {
	var dirs []string
	for _, p := range paths {
		if path.Base(p) == "go.mod" && isGoFolder(path.Dir(p)) {
			dirs = append(dirs, strings.TrimPrefix(path.Dir(p), "."))
		}
	}
	used := map[string]bool{}
	for _, p := range paths {
		if strings.HasSuffix(p, ".go") && isGoFolder(path.Dir(p)) && !strings.HasPrefix(path.Base(p), "_") && !strings.HasPrefix(path.Base(p), ".") {
			if dir, ok := moduleOf(dirs, p); ok {
				used[dir] = true
			}
		}
	}
	slices.Sort(dirs)
	var out []module
	for _, d := range dirs {
		if used[d] {
			out = append(out, module{dir: d})
		}
	}
	return out
}

// moduleOf is the innermost of the folders that holds p.
func moduleOf(dirs []string, p string) (string, bool) {
	best, found := "", false
	for _, d := range dirs {
		if (d == "" || strings.HasPrefix(p, d+"/")) && (!found || len(d) > len(best)) {
			best, found = d, true
		}
	}
	return best, found
}

// isGoFolder reports whether "./..." could reach a folder.
func isGoFolder(dir string) bool {
	if dir == "." {
		return true
	}
	for name := range strings.SplitSeq(dir, "/") {
		if name == "vendor" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			return false
		}
	}
	return true
}

var moduleLine = lazyregexp.New(`(?m)^\s*module\s+["` + "`" + `]?([^\s"` + "`" + `]+)`)

// importPath is the module's own path, from its go.mod in the copy, or "".
func (m module) importPath(top string) string {
	data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(m.dir), "go.mod"))
	if err != nil {
		return ""
	}
	found := moduleLine.FindSubmatch(data)
	if found == nil {
		return ""
	}
	return string(found[1])
}

// folder turns an import path of the module into a path of the tree.
func (m module) folder(importPath, pkg string) (string, bool) {
	if pkg == importPath {
		return m.dir, true
	}
	rest, ok := strings.CutPrefix(pkg, importPath+"/")
	return path.Join(m.dir, rest), ok && importPath != ""
}

// formatFindings holds changed Go files to gofmt's form.
func formatFindings(files []sourceChange) []Finding {
	var found []Finding
	for _, f := range files {
		if f.After == nil || !isGoFolder(path.Dir(f.Path)) {
			continue
		}
		out, err := format.Source(f.After)
		switch {
		case err != nil:
			line, text := syntaxError(err)
			found = append(found, Finding{Path: f.Path, Line: line, Rule: "syntax", Message: text})
		case !bytes.Equal(out, f.After):
			found = append(found, Finding{Path: f.Path, Line: firstDifference(f.After, out), Rule: "gofmt", Message: "not formatted as gofmt would: run gofmt -w on it"})
		}
	}
	return found
}

var position = lazyregexp.New(`^(\d+):(\d+): (.*)`)

func syntaxError(err error) (int, string) {
	if m := position.FindStringSubmatch(err.Error()); m != nil {
		return number(m[1]), m[3]
	}
	return 0, err.Error()
}

// firstDifference is the first line in which the texts differ.
func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + bytes.Count(a[:n], []byte("\n"))
}
