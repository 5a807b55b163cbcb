package gate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/glob"
	"ralph-loop/internal/source"
)

// The integrity layer reads changed files. Its rules are in integrity.go.

const integrityVersion = 6

func (j *judge) integrityKey() inputs {
	g := j.Config.Gate
	in := inputs{Layer: "integrity", Version: integrityVersion, Tree: j.Tree, Base: j.baseTree, Settings: []any{g.TestGlobs, g.IgnoreGlobs, j.Config.TestInfra.File}}
	if len(j.Others) > 0 { // where the sides parted, their histories tell
		in.Settings = append(in.Settings, j.Base)
	}
	if j.Requirement != nil {
		in.Requirement = []any{j.Requirement.Allow}
	}
	return in
}

func (j *judge) integrity(ctx context.Context) (Layer, error) {
	contract, err := j.contract(ctx)
	if err != nil {
		return Layer{}, err
	}
	class := classifier(j.Config, contract)
	pick := func(f diffstat.File) bool {
		return source.LanguageOf(f.Path) != source.Unknown && !lifeless(f) || source.LanguageOf(f.From) != source.Unknown ||
			f.Class == diffstat.Test || isTestFile(class, f.From) || isTestFile(class, f.Path)
	}
	if len(j.Others) > 0 {
		return j.mergeIntegrity(ctx, pick)
	}
	files, err := j.changedContents(ctx, pick)
	if err != nil {
		return Layer{}, err
	}
	read, unread := 0, 0
	for _, f := range files {
		switch {
		case !f.unread():
			read++
		case f.Before != nil:
			unread++
		}
	}
	l := Layer{Result: Pass, Summary: "no test is weaker than before"}
	switch {
	case read+unread == 0:
		return Layer{Result: NotApplicable, Summary: "no source file that can be read for tests is changed"}, nil
	case read == 0:
		l.Summary = "no test file is gone, emptied or cut to less than half; what is in them cannot be read"
	}
	found := integrityFindings(files, class)
	if read > 0 && unread > 0 {
		l.Notes = append(l.Notes, plural(unread, "changed test file")+" in a language without a reader: looked only whether it is gone, emptied, cut to less than half, or skips")
	}
	if j.Requirement == nil {
		left := withoutJustified(found, files)
		if n := len(found) - len(left); n > 0 {
			l.Notes = append(l.Notes, plural(n, "finding")+" justified by @test-change-justified")
		}
		l.Findings = left
	} else {
		for _, f := range found {
			if glob.Any(j.Requirement.Allow, f.Path) {
				l.Notes = append(l.Notes, f.String()+" (allowed by the requirement)")
			} else {
				l.Findings = append(l.Findings, f)
			}
		}
	}
	j.judgeIntegrity(&l, "tests are weaker than before")
	return l, nil
}

func (j *judge) judgeIntegrity(l *Layer, what string) {
	if len(l.Findings) == 0 {
		return
	}
	l.Result, l.Summary = Fail, plural(len(l.Findings), "finding")+": "+what
	l.Advice = whatToMend(l.Findings) + "; if a test is wrong, the requirement's author lists its file under 'allow'"
	if j.Requirement == nil {
		l.Advice = whatToMend(l.Findings) + ", or say why in a comment of the file, or of another in its folder where it is gone: @test-change-justified: ..."
	}
}

// whatToMend says for each kind of finding once what to do, the ways in which tests are lost first.
func whatToMend(findings []Finding) string {
	var todo []string
	for _, kind := range []struct {
		rules []string
		todo  string
	}{
		{[]string{"test-removed", "assertions-removed"}, "restore these tests and make them pass"},
		{[]string{"test-skipped"}, "take out the new skips and make those tests pass"},
		{[]string{"test-focused", "test-not-run", "tests-not-run", "test-disabled"}, "take out what keeps tests or assertions from running"},
		{[]string{"test-without-assertion"}, "give each new test an assertion that can fail"},
		{[]string{"suppression"}, "mend what the checker finds instead of silencing it"},
		{[]string{"does-not-parse"}, "mend the syntax"},
	} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return slices.Contains(kind.rules, f.Rule) }) {
			todo = append(todo, kind.todo)
		}
	}
	return strings.Join(todo, "; ")
}

// mergeIntegrity judges a merge of a person's.
func (j *judge) mergeIntegrity(ctx context.Context, pick func(diffstat.File) bool) (Layer, error) {
	found, justified, examined, err := j.weakerThanASide(ctx, pick)
	if err != nil {
		return Layer{}, err
	}
	if !examined {
		return Layer{Result: NotApplicable, Summary: "a merge: each file is one of its sides'"}, nil
	}
	l := Layer{Result: Pass, Summary: "a merge: no test is weaker than on one of its sides", Findings: found}
	if justified > 0 {
		l.Notes = append(l.Notes, plural(justified, "finding")+" justified by @test-change-justified")
	}
	j.judgeIntegrity(&l, "tests are weaker than on one of the merge's sides")
	return l, nil
}

// lifeless reports whether a file lies where nothing is compiled: test data, vendored code.
func lifeless(f diffstat.File) bool { return f.Reason == "vendored" || f.Reason == "test data" }

// changedContents are the changed files that pick accepts, with both sides. What became a link, or was moved to where
// nothing is compiled, has no after side: it is gone. A file of more than maxFile bytes is left out: L0 names it.
func (j *judge) changedContents(ctx context.Context, pick func(diffstat.File) bool) ([]sourceChange, error) {
	stat, err := j.changed(ctx)
	if err != nil {
		return nil, err
	}
	return j.contentsOf(ctx, stat, pick)
}

func (j *judge) contentsOf(ctx context.Context, stat *diffstat.Stat, pick func(diffstat.File) bool) ([]sourceChange, error) {
	var files []sourceChange
	var blobs []string
	var into []func([]byte)
	var of []int // the file of each blob
	tooLarge := map[string]bool{}
	last := ""
	for _, f := range stat.Files {
		gone := f.NewMode == modeGitlink || f.NewMode == modeSymlink || f.From != "" && lifeless(f)
		if f.Path == last || !pick(f) || gone && !isFile(f.OldMode) {
			continue
		}
		last = f.Path
		i := len(files)
		change := sourceChange{Path: f.Path, OldPath: f.From}
		if gone && f.From != "" {
			change = sourceChange{Path: f.From}
		}
		files = append(files, change)
		if f.OldBlob != "" && isFile(f.OldMode) {
			blobs, of, into = append(blobs, f.OldBlob), append(of, i), append(into, func(data []byte) { files[i].Before = data })
		}
		if f.NewBlob != "" && !gone {
			blobs, of, into = append(blobs, f.NewBlob), append(of, i), append(into, func(data []byte) { files[i].After = data })
		}
	}
	err := j.Repo.Blobs(ctx, blobs, func(i int, r io.Reader, size int64) error {
		if size > maxFile {
			tooLarge[files[of[i]].Path] = true
			return nil
		}
		data, err := io.ReadAll(r)
		if data == nil {
			data = []byte{}
		}
		into[i](data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the changed files: %w", err)
	}
	return slices.DeleteFunc(files, func(f sourceChange) bool { return tooLarge[f.Path] }), nil
}
