package gate

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"path"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/source"
	"ralph-loop/internal/testcode"
)

// mocks holds each changed test file to a share of lines that mock.

const mocksVersion = 2

func (j *judge) mocksKey() inputs {
	g := j.Config.Gate
	return inputs{Layer: "mocks", Version: mocksVersion, Tree: j.Tree, Base: j.baseTree, Settings: []any{g.MockDensity, g.MockBoundary, g.TestGlobs, g.IgnoreGlobs, j.Config.TestInfra.File}}
}

func (j *judge) mocks(ctx context.Context) (Layer, error) {
	files, err := j.changedContents(ctx, func(f diffstat.File) bool {
		return isFile(f.NewMode) && f.Class == diffstat.Test && source.LanguageOf(f.Path) != source.Unknown
	})
	if err != nil {
		return Layer{}, err
	}
	if len(files) == 0 {
		return Layer{Result: NotApplicable, Summary: "no test file that can be read for mocks is added or changed"}, nil
	}
	l := Layer{Result: Pass, Summary: fmt.Sprintf("%s, none mocks more than %d %% of its lines without a reason", plural(len(files), "test file"), j.Config.Gate.MockDensity)}
	over := 0
	for _, f := range files {
		t := mockedIn(f.Path, f.After, j.isInside(f.Path))
		dense := t.density(j.Config.Gate.MockDensity)
		if len(dense) > 0 {
			over++
		}
		l.Findings = append(l.Findings, dense...)
		if j.Config.Gate.MockBoundary != config.Off {
			if source.LanguageOf(f.Path) == source.Python {
				if err := j.ownPackages(ctx, &t); err != nil {
					return Layer{}, err
				}
			}
			l.hold(j.Config.Gate.MockBoundary, t.boundary())
		}
	}
	if len(l.Findings) > 0 {
		l.Result = Fail
		l.Summary = fmt.Sprintf("%d of %s mock too much, or cannot be read", over, plural(len(files), "test file"))
		if over == 0 {
			l.Summary = "mocks of what a test should run for real: " + plural(len(l.Findings), "finding")
		}
		l.Advice = "test the real thing: a real test database, in-process requests, real inputs"
	}
	return l, nil
}

// hold takes findings of a check that has a level of its own.
func (l *Layer) hold(level config.Level, found []Finding) {
	switch level {
	case config.Warn:
		l.Warnings = append(l.Warnings, found...)
	case config.Enforce:
		l.Findings = append(l.Findings, found...)
	}
}

// ownPackages asks the tree whether the dotted names that a Python test mocks begin with a package of the project's:
// beside the test, above it, or below a folder src there.
func (j *judge) ownPackages(ctx context.Context, t *mockedFile) error {
	var roots []string
	for dir := path.Dir(t.path); ; dir = path.Dir(dir) {
		roots = append(roots, dir, path.Join(dir, "src"))
		if dir == "." || dir == "/" {
			break
		}
	}
	for i := range t.Targets {
		m := &t.Targets[i]
		first, _, _ := strings.Cut(m.Name, ".")
		if !m.Own || first == "" { // .x is beside the test
			continue
		}
		args := []string{"ls-tree", "-z", "--name-only", "--full-tree", j.Tree, "--"}
		for _, root := range roots {
			args = append(args, path.Join(root, first), path.Join(root, first+".py"))
		}
		out, err := j.Repo.Output(ctx, args...)
		if err != nil {
			return fmt.Errorf("look for the package %q: %w", first, err)
		}
		m.Own = len(out) > 0
	}
	return nil
}

// isInside reports whether a file's tests lie inside a source file (Rust), so that only those lines count.
func (j *judge) isInside(name string) bool {
	class, _ := classifier(j.Config, j.agreed).ByName(name) // changed has looked for the contract
	return class == diffstat.Implementation
}

// mockedFile is a test file, read for its mocks.
type mockedFile struct {
	testcode.Mocks
	path      string
	justified bool
	err       error // it does not parse
}

func mockedIn(name string, src []byte, inside bool) mockedFile {
	t := mockedFile{path: name, justified: len(justifications(source.Scan(name, src), mockJustified)) > 0}
	t.Mocks, t.err = testcode.ReadMocks(name, src, inside)
	return t
}

// density holds the file to the share: more than that needs a reason in a comment of the file.
func (t *mockedFile) density(most int) []Finding {
	if t.err != nil {
		return []Finding{unparsed(t.path, t.err)}
	}
	share := Share{len(t.Lines), t.Total}
	if share.Part*100 <= most*share.Whole || t.justified {
		return nil
	}
	first := 0
	for line := range t.Lines {
		if first == 0 || line < first {
			first = line
		}
	}
	sign := "//"
	if source.LanguageOf(t.path) == source.Python {
		sign = "#"
	}
	return []Finding{{Path: t.path, Line: first, Rule: "mock-density", Message: fmt.Sprintf(
		"%d of %d lines mock (%s %%, at most %d %%): test the real thing, or say in a comment of this file why no integration test can serve: %s %s <at least %d characters>",
		share.Part, share.Whole, share.Percent(), most, sign, mockJustified, minJustification)}}
}

// boundary finds mocks of what has no business to be mocked: modules of the project's own, databases, routers,
// template engines. The reason that lets a file mock much serves here too.
func (t *mockedFile) boundary() []Finding {
	if t.justified {
		return nil
	}
	var found []Finding
	for _, c := range t.Crossings() {
		found = append(found, Finding{Path: t.path, Line: c.Line, Rule: "mock-boundary", Message: fmt.Sprintf("mocks %q, %s: run the real one", path.Clean(c.Name), c.What)})
	}
	return found
}

// unparsed is the finding for a Go file that cannot be judged: it must not pass unseen.
func unparsed(name string, err error) Finding {
	f := Finding{Path: name, Rule: "does-not-parse", Message: "this is not Go: " + err.Error()}
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		f.Line, f.Message = list[0].Pos.Line, "this is not Go: "+list[0].Msg
	}
	return f
}
