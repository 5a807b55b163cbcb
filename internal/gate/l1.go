package gate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/diffstat"
)

// L1 has two parts that are kept apart in the cache: types are checked over the whole tree, whatever the baseline;
// lint looks at the changed files only. Both hold against a tree only what its baseline does not have.

const staticVersion = 1

func (j *judge) staticKey(part, tree, base string) inputs {
	g := j.Config.Gate
	in := inputs{Layer: part, Version: staticVersion, Tree: tree, Base: base, Settings: []any{lines(g.Typecheck), lines(g.Lint), g.TestGlobs, g.IgnoreGlobs, g.Timeout, g.Where, lines(g.Setup)}}
	if base != "" {
		in.Others = j.Others
	}
	programs := [][]string{{"go"}}
	for _, c := range slices.Concat(g.Typecheck, g.Lint) {
		programs = append(programs, c.Args)
	}
	in.Machine = j.machine(programs...)
	return in
}

func (j *judge) static(ctx context.Context) (Layer, error) {
	types, err := j.types(ctx)
	if err != nil {
		return Layer{}, err
	}
	linted, err := j.remembered(ctx, j.staticKey("L1 lint", j.Tree, j.baseTree), j.lint)
	if err != nil {
		return Layer{}, err
	}
	l := both(types, linted)
	if l.Result == Fail || l.Result == Error {
		note, err := j.missingFiles(ctx)
		if err != nil {
			return Layer{}, err
		}
		l.Notes = append(l.Notes, note...)
	}
	return l, nil
}

// types checks the whole tree. A clean answer holds for any baseline; one from which old findings were taken holds
// for this one.
func (j *judge) types(ctx context.Context) (Layer, error) {
	whole, relative := j.staticKey("L1 types", j.Tree, ""), j.staticKey("L1 types", j.Tree, j.baseTree)
	for _, in := range []inputs{whole, relative} {
		if l, ok := j.cache.get(in.key()); ok {
			return l, nil
		}
	}
	p, err := j.plan(ctx, j.Tree)
	if err != nil {
		return Layer{}, err
	}
	steps := p.of(typecheck)
	if len(steps) == 0 {
		l := Layer{Result: NotApplicable, Summary: "the tree holds no implementation"}
		if p.hasSource {
			l.Summary = "no typecheck is configured"
			l.Notes = []string{"gate.typecheck in ralph.yaml names the commands that check the whole"}
		}
		j.cache.put(whole.key(), whole.Layer, j.Tree, &l)
		return l, nil
	}
	found, log, err := j.findingsOn(ctx, j.Tree, steps)
	if tool, ok := errors.AsType[*errTool](err); ok {
		return Layer{Result: Error, Summary: tool.why, Advice: tool.advice, Log: log}, nil
	}
	if err != nil {
		return Layer{}, err
	}
	old := 0
	key := whole
	if slices.ContainsFunc(found, func(f Finding) bool { return f.Path != "" }) && j.baseTree != j.Tree {
		before, err := j.findingsBefore(ctx, "L1 types on the baseline", typecheck)
		if err != nil {
			return Layer{}, err
		}
		found, old = without(found, before)
		key = relative
	}
	l := verdictOn(found, old, names(steps))
	l.Log = log
	j.cache.put(key.key(), key.Layer, j.Tree, &l)
	return l, nil
}

// lint looks at the changed files.
func (j *judge) lint(ctx context.Context) (Layer, error) {
	p, err := j.plan(ctx, j.Tree)
	if err != nil {
		return Layer{}, err
	}
	stat, err := j.changed(ctx)
	if err != nil {
		return Layer{}, err
	}
	isChanged := map[string]bool{}
	for _, f := range stat.Files {
		if f.Status != 'D' {
			isChanged[f.Path] = true
		}
	}
	var found []Finding
	var done []string
	old, elsewhere, log := 0, 0, ""
	if len(isChanged) == 0 {
		return Layer{Result: NotApplicable, Summary: "nothing changed to lint"}, nil
	}
	if len(p.of(goFormat)) > 0 {
		files, err := j.changedContents(ctx, func(f diffstat.File) bool { return strings.HasSuffix(f.Path, ".go") && f.Reason != "vendored" })
		if err != nil {
			return Layer{}, err
		}
		if len(files) > 0 {
			done = append(done, "gofmt")
			now, before := formatFindings(files), formatFindings(beforeOf(files))
			now, old = without(now, before)
			found = append(found, now...)
		}
	}
	if steps := p.of(lint); len(steps) > 0 {
		done = append(done, names(steps)...)
		all, where, err := j.findingsOn(ctx, j.Tree, steps)
		log = where
		if tool, ok := errors.AsType[*errTool](err); ok {
			return Layer{Result: Error, Summary: tool.why, Advice: tool.advice, Log: log}, nil
		}
		if err != nil {
			return Layer{}, err
		}
		mine := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Path != "" && !isChanged[f.Path] })
		elsewhere = len(all) - len(mine)
		if slices.ContainsFunc(mine, func(f Finding) bool { return f.Path != "" }) && j.baseTree != j.Tree {
			before, err := j.findingsBefore(ctx, "L1 lint on the baseline", lint)
			if err != nil {
				return Layer{}, err
			}
			var older int
			mine, older = without(mine, before)
			old += older
		}
		found = append(found, mine...)
	}
	if len(done) == 0 {
		return Layer{Result: NotApplicable, Summary: "no changed file to lint"}, nil
	}
	l := verdictOn(found, old, done)
	l.Log = log
	if elsewhere > 0 {
		l.Notes = append(l.Notes, plural(elsewhere, "finding")+" in files that did not change")
	}
	return l, nil
}

// beforeOf is the baseline's side of the files, in the place of the new one.
func beforeOf(files []sourceChange) []sourceChange {
	var out []sourceChange
	for _, f := range files {
		out = append(out, sourceChange{Path: f.Path, After: f.Before})
	}
	return out
}

// findingsOn runs steps on a tree. A step that ends badly without naming a place gives one finding without a path.
func (j *judge) findingsOn(ctx context.Context, tree string, steps []Step) (found []Finding, logName string, err error) {
	if err := j.checkout(ctx, tree); err != nil {
		return nil, "", err
	}
	log, err := j.logFile("L1", tree)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if closeErr := log.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write the log: %w", closeErr)
		}
	}()
	for _, s := range steps {
		fmt.Fprintf(log, "$ %s\n", s)
		out, err := j.exec(ctx, s)
		for _, name := range []string{out.stdout, out.stderr} {
			_ = appendFile(log, name) // a tool that was not found has none
		}
		if err != nil {
			return nil, log.Name(), err
		}
		if out.code == 0 {
			continue
		}
		places, rest, err := j.diagnostics(s, out.stdout, out.stderr)
		if err != nil {
			return nil, log.Name(), err
		}
		if len(places) == 0 {
			places = []Finding{{Rule: ruleOf(s), Message: fmt.Sprintf("%s: exit code %d\n%s", s, out.code, rest)}}
		}
		found = append(found, places...)
	}
	return distinct(found), log.Name(), nil
}

// findingsBefore are what the same kind of step says of the baseline, and of the other parents of a merge.
func (j *judge) findingsBefore(ctx context.Context, name string, k kind) ([]Finding, error) {
	all, err := j.baselineFindings(ctx, name, k, j.baseTree)
	for _, other := range j.Others {
		if err != nil {
			break
		}
		var tree string
		if tree, err = j.Repo.Tree(ctx, other); err != nil {
			break
		}
		var more []Finding
		more, err = j.baselineFindings(ctx, name, k, tree)
		// What both have is there once.
		fresh, _ := without(more, all)
		all = append(slices.Clip(all), fresh...)
	}
	return all, err
}

// baselineFindings are what the same kind of step says of a tree that was there before. One on which the tools give no
// answer has no findings that could excuse new ones.
func (j *judge) baselineFindings(ctx context.Context, name string, k kind, tree string) ([]Finding, error) {
	key := j.staticKey(name, tree, "").key()
	if e, ok := j.cache.read(key); ok {
		return e.Old, nil
	}
	p, err := j.plan(ctx, tree)
	if err != nil {
		return nil, err
	}
	found, _, err := j.findingsOn(ctx, tree, p.of(k))
	if _, ok := errors.AsType[*errTool](err); ok {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// That it cannot be kept costs time later and nothing else.
	_ = j.cache.write(CacheEntry{Key: key, Name: name, Tree: tree, Old: found})
	return found, nil
}

// without takes from the findings those that the baseline has too: the same text by the same rule in the same file,
// whatever the line. Each old one excuses one new one. A finding without a place is never excused: the tool may have
// looked at nothing.
func without(found, before []Finding) (left []Finding, old int) {
	count := map[Finding]int{}
	for _, f := range before {
		f.Line = 0
		count[f]++
	}
	for _, f := range found {
		same := f
		same.Line = 0
		if f.Path != "" && count[same] > 0 {
			count[same]--
			old++
			continue
		}
		left = append(left, f)
	}
	return left, old
}

// distinct drops repeated findings: vet reports a package once for itself and once for its tests, and the second time
// without the lines below the first.
func distinct(found []Finding) []Finding {
	seen := map[Finding]bool{}
	return slices.DeleteFunc(found, func(f Finding) bool {
		f.Message, _, _ = strings.Cut(f.Message, "\n")
		if seen[f] {
			return true
		}
		seen[f] = true
		return false
	})
}

func verdictOn(found []Finding, old int, by []string) Layer {
	l := Layer{Result: Pass, Findings: found, Summary: strings.Join(by, ", ") + ": no finding"}
	if len(found) > 0 {
		l.Result, l.Summary = Fail, strings.Join(by, ", ")+": "+plural(len(found), "finding")
	}
	if old > 0 {
		l.Summary += fmt.Sprintf(" beside %d that the baseline has too", old)
	}
	return l
}

// names are the commands of steps, each once.
func names(steps []Step) []string {
	var out []string
	for _, s := range steps {
		if !slices.Contains(out, s.Line) {
			out = append(out, s.Line)
		}
	}
	return out
}

// both joins the layer's two parts.
func both(a, b Layer) Layer {
	l := Layer{Result: Pass, Findings: slices.Concat(a.Findings, b.Findings), Notes: slices.Concat(a.Notes, b.Notes),
		Cached: a.Cached && b.Cached, Advice: a.Advice, Log: a.Log}
	if l.Advice == "" {
		l.Advice = b.Advice
	}
	if l.Log == "" {
		l.Log = b.Log
	}
	// A syntax error is found by both.
	l.Findings = slices.DeleteFunc(l.Findings, func(f Finding) bool {
		return f.Rule == "syntax" && slices.ContainsFunc(a.Findings, func(g Finding) bool { return path.Clean(g.Path) == f.Path })
	})
	results := []Result{a.Result, b.Result}
	switch {
	case slices.Contains(results, Fail):
		l.Result = Fail
	case slices.Contains(results, Error):
		l.Result = Error
	case !slices.Contains(results, Pass):
		l.Result = NotApplicable
	}
	var parts []string
	for _, part := range []Layer{a, b} {
		if part.Result != NotApplicable || l.Result == NotApplicable && !slices.Contains(parts, part.Summary) {
			parts = append(parts, part.Summary)
		}
	}
	l.Summary = strings.Join(parts, "; ")
	return l
}
