package gate

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"ralph-loop/internal/config"
	"ralph-loop/internal/coverage"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
	"ralph-loop/internal/source"
	"ralph-loop/internal/testinfra"
)

// Many runners tell of the test files too, whose lines nearly all run: the more tests, the less a gap in the code would
// show. So what L1b calls test code counts in no coverage.

// TestCoverage takes the test code out of coverage data as L3 does, and gives it, sorted by path. The worktree's files tell
// what is test code; where repo is nil, the names alone.
func TestCoverage(ctx context.Context, repo *git.Repo, c *config.Config, data *coverage.Data) ([]coverage.File, error) {
	if repo == nil {
		return withoutTests(data, &diffstat.Classifier{}, sourceNames{})
	}
	contract, err := testinfra.Find(c.TestInfra, testinfra.InFolder(repo.Top))
	if err != nil {
		return nil, err
	}
	tree, err := repo.IndexTree(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := treePaths(ctx, repo, tree)
	if err != nil {
		return nil, err
	}
	return withoutTests(data, classifier(c, contract), newSourceNames(repo.Top, goModules(paths)))
}

// withoutTests takes test files out of coverage data, and of Rust's sources the tests inside.
func withoutTests(data *coverage.Data, class *diffstat.Classifier, names sourceNames) ([]coverage.File, error) {
	var left []coverage.File
	for _, f := range data.Files() {
		name, known := names.path(f.Path)
		if !known {
			name = filepath.ToSlash(f.Path)
			if path.IsAbs(name) || filepath.IsAbs(f.Path) {
				name = path.Base(name) // the folders above are not the project's
			}
		}
		switch byName, _ := class.ByName(name); {
		case byName == diffstat.Test:
			left = append(left, data.Drop(f.Path))
		case known && byName == diffstat.Implementation && source.LanguageOf(name) == source.Rust:
			spans, err := rustTestSpans(filepath.Join(names.top, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			if len(spans) == 0 {
				continue
			}
			if inside := data.Drop(f.Path, spans...); inside.Total > 0 {
				left = append(left, inside)
			}
		}
	}
	return left, nil
}

func rustTestSpans(file string) ([]coverage.Span, error) {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxFile {
		return nil, err
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var spans []coverage.Span
	for _, lines := range source.Scan(file, src).RustTests(src) {
		spans = append(spans, coverage.Span{From: lines[0], To: lines[1]})
	}
	return spans, nil
}

// leftOutOfCoverage is a note on the test code that does not count, "" where there is none.
func leftOutOfCoverage(left []coverage.File) string {
	if len(left) == 0 {
		return ""
	}
	var sum Share
	for _, f := range left {
		sum.Part, sum.Whole = sum.Part+f.Covered, sum.Whole+f.Total
	}
	return fmt.Sprintf("left out, as test code: %d of %d covered in %s", sum.Part, sum.Whole, plural(len(left), "file"))
}

// sourceNames finds the files of a tree that coverage data name: by a path, or a Go profile by its package's.
type sourceNames struct {
	top     string // the folder that holds the tree
	modules []module
	own     []string // import paths of the modules
}

func newSourceNames(top string, modules []module) sourceNames {
	n := sourceNames{top: top, modules: modules}
	for _, m := range modules {
		n.own = append(n.own, m.importPath(top))
	}
	return n
}

// path turns a name in coverage data into a path of the tree. Only a file that is there is one.
func (n sourceNames) path(name string) (string, bool) {
	if n.top == "" {
		return "", false
	}
	for i, m := range n.modules {
		if folder, ok := m.folder(n.own[i], path.Dir(name)); ok {
			if file, ok := pathBelow(n.top, "", path.Join(folder, path.Base(name))); ok {
				return file, true
			}
		}
	}
	return pathBelow(n.top, "", name)
}
