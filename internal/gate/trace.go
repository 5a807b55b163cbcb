package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
	"ralph-loop/internal/source"
	"ralph-loop/internal/spec"
	"ralph-loop/internal/testcode"
)

// trace asks which test covers which criterion. Tests say it themselves, in comments: "@test REQ-001" and
// "@covers AC-001-01, AC-001-02".

const traceVersion = 3

// Trace is the matrix of criteria and tests.
type Trace struct {
	Version int        `json:"version"` // of this object's form
	Tree    string     `json:"tree"`
	Rows    []TraceRow `json:"rows"`
	Unknown []Finding  `json:"unknown"` // what tests name and the specification does not hold

	unknownIDs []string // of Unknown; "" where a name is known and ambiguous
}

// TraceRow is a criterion with the tests that cover it; of a requirement without criteria that have ids, the requirement.
type TraceRow struct {
	Requirement string      `json:"requirement"`
	Criterion   string      `json:"criterion,omitempty"`
	Text        string      `json:"text"`
	Held        bool        `json:"held"`    // it must be covered now: the requirement is in progress, or done
	Covered     bool        `json:"covered"` // by a test that is not skipped
	Tests       []TraceTest `json:"tests"`
}

// TraceTest is a test that names a criterion.
type TraceTest struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`           // of the comment
	Name    string `json:"name,omitempty"` // "" where the comment belongs to the whole file
	Skipped bool   `json:"skipped,omitempty"`
}

func (t TraceTest) String() string {
	text := fmt.Sprintf("%s:%d", git.Quote(t.Path), t.Line)
	if t.Name != "" {
		text += " " + t.Name
	}
	if t.Skipped {
		text += " (skipped)"
	}
	return text
}

func (j *judge) traceKey() inputs {
	g := j.Config.Gate
	in := inputs{Layer: "trace", Version: traceVersion, Tree: j.Tree, Settings: []any{g.Trace, j.Config.Spec, g.TestGlobs, g.IgnoreGlobs, j.Config.TestInfra.File}}
	if j.Requirement != nil {
		in.Requirement = []any{j.Requirement.Hash(), j.Base}
		return in
	}
	// Where git does not have the specification the worktree's file is read.
	in.Settings = append(in.Settings, j.Base, j.Head, j.Done != nil, j.Done, linkDigest(j.Repo.Top, j.Config.Spec), j.Others)
	return in
}

func (j *judge) trace(ctx context.Context) (Layer, error) {
	level := j.Config.Gate.Trace
	if level == config.Off {
		return Layer{Result: NotApplicable, Summary: "gate.trace is off"}, nil
	}
	if j.Requirement != nil && j.Requirement.NoTestRequired != "" {
		return Layer{Result: NotApplicable, Summary: "no test is required: " + short(j.Requirement.NoTestRequired, 500)}, nil
	}
	t, err := TraceOf(ctx, &j.Request)
	if err != nil {
		return Layer{}, err
	}
	if t == nil {
		return Layer{Result: NotApplicable, Summary: "there is no specification"}, nil
	}
	held, covered := 0, 0
	var missing []Finding
	for _, r := range t.Rows {
		if !r.Held {
			continue
		}
		held++
		if r.Covered {
			covered++
			continue
		}
		missing = append(missing, r.finding())
	}
	if held == 0 {
		l := Layer{Result: NotApplicable, Summary: "no requirement is done yet"}
		err := j.holdUnknown(ctx, &l, t)
		return l, err
	}
	l := Layer{Result: Pass, Share: &Share{Part: covered, Whole: held}, Summary: fmt.Sprintf("%d of %s covered by tests that say so", covered, criteria(held))}
	l.hold(level, missing)
	if err := j.holdUnknown(ctx, &l, t); err != nil {
		return Layer{}, err
	}
	if len(l.Findings) > 0 {
		l.Result = Fail
		l.Advice = "name the criterion in a comment at the test that shows it: @covers ID; write that test if there is none"
	}
	return l, nil
}

// holdUnknown warns of each comment that the change brings and that names nothing of the specification. Those that were
// there are most often of an earlier specification: they have one line together.
func (j *judge) holdUnknown(ctx context.Context, l *Layer, t *Trace) error {
	if len(t.Unknown) == 0 {
		return nil
	}
	stat, err := j.changed(ctx)
	if err != nil {
		return err
	}
	inTests := map[string]bool{}
	for _, f := range t.Unknown {
		inTests[f.Path] = true
	}
	files := slices.DeleteFunc(slices.Clone(stat.Files), func(f diffstat.File) bool { return !inTests[f.Path] })
	added := map[string][]span{}
	err = diffstat.Added(ctx, j.Repo, files, func(i, first, lines int) {
		added[files[i].Path] = append(added[files[i].Path], span{first: first, lines: lines})
	})
	if err != nil {
		return fmt.Errorf("look for the comments that the change brings: %w", err)
	}
	var old []Finding
	var ids []string
	for i, f := range t.Unknown {
		if t.unknownIDs[i] == "" || slices.ContainsFunc(added[f.Path], func(s span) bool { return s.first <= f.Line && f.Line < s.first+s.lines }) {
			l.hold(config.Warn, []Finding{f})
			continue
		}
		old, ids = append(old, f), append(ids, t.unknownIDs[i])
	}
	if len(old) == 1 {
		l.hold(config.Warn, old)
	} else if len(old) > 1 {
		l.Notes = append(l.Notes, oldUnknown(old, ids))
	}
	return nil
}

func oldUnknown(found []Finding, ids []string) string {
	const most = 5
	files := map[string]bool{}
	for _, f := range found {
		files[f.Path] = true
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	text := strings.Join(ids[:min(most, len(ids))], ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s that the change does not touch name what is not in the specification: %s, in %s", plural(len(found), "comment"), text, plural(len(files), "file"))
}

func criteria(n int) string {
	if n == 1 {
		return "1 criterion"
	}
	return fmt.Sprintf("%d criteria", n)
}

func (r *TraceRow) finding() Finding {
	f := Finding{Rule: "not-covered", Message: fmt.Sprintf("no test says @covers %s (%s: %s)", r.Criterion, r.Requirement, short(r.Text, 100))}
	if r.Criterion == "" {
		f.Message = fmt.Sprintf("no test says @test %s (%s)", r.Requirement, short(r.Text, 100))
	}
	if len(r.Tests) > 0 {
		f.Path, f.Line = r.Tests[0].Path, r.Tests[0].Line
		f.Message = fmt.Sprintf("%s of %s is covered by tests only that are skipped", r.Criterion, r.Requirement)
		if r.Criterion == "" {
			f.Message = r.Requirement + " is covered by tests only that are skipped"
		}
	}
	return f
}

// TraceOf gives the matrix of a tree, or nil where there is no specification. With a requirement it is about that one
// alone; else about all, and those are held that are done: by req.Done, or where that is nil, by the specification
// itself and by the trailers of the base's history.
func TraceOf(ctx context.Context, req *Request) (*Trace, error) {
	s, err := specificationOf(ctx, req)
	if s == nil || err != nil {
		return nil, err
	}
	m := traceMatrix{spec: s, trace: &Trace{Version: 1, Tree: req.Tree, Rows: []TraceRow{}, Unknown: []Finding{}}, rows: map[string][]int{}, reqs: map[string]bool{}}
	done := map[string]bool{}
	if req.Requirement == nil {
		if done, err = doneRequirements(ctx, req, s); err != nil {
			return nil, err
		}
	}
	for _, r := range s.Requirements {
		m.reqs[r.ID] = true
		if req.Requirement == nil || req.Requirement.ID == r.ID {
			m.add(r, req.Requirement != nil || done[r.ID] && r.NoTestRequired == "")
		} else {
			for _, c := range r.Criteria {
				m.elsewhere = append(m.elsewhere, c.ID)
			}
		}
	}
	if err := m.read(ctx, req); err != nil {
		return nil, err
	}
	return m.trace, nil
}

// specificationOf is the specification that a requirement was read from; on a person's commit it is the tree's, or where
// git does not have it the worktree's file.
func specificationOf(ctx context.Context, req *Request) (*spec.Spec, error) {
	if req.Requirement != nil {
		return req.Requirement.Spec(), nil
	}
	name := req.Config.Spec
	data, ok, err := req.Repo.File(ctx, req.Tree, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		data, err = os.ReadFile(filepath.Join(req.Repo.Top, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the specification: %w", err)
		}
	}
	s, _, err := spec.Read(name, data)
	return s, err
}

// doneRequirements are those that a person's commit is held to.
func doneRequirements(ctx context.Context, req *Request, s *spec.Spec) (map[string]bool, error) {
	done := map[string]bool{}
	for _, id := range req.Done {
		done[id] = true
	}
	if req.Done != nil {
		return done, nil
	}
	for _, r := range s.Requirements {
		done[r.ID] = r.Status == spec.Done
	}
	from := req.Head
	if from == "" {
		from = req.Base
	}
	commits, err := requirementCommits(ctx, req.Repo, from)
	for _, c := range commits {
		done[c.req] = true
	}
	return done, err
}

// reqCommit is a commit that a requirement's work was committed with, by its own word.
type reqCommit struct{ hash, req string }

// requirementCommits are the newest commits below rev with the trailer of a requirement, at most maxCommits.
func requirementCommits(ctx context.Context, repo *git.Repo, rev string) ([]reqCommit, error) {
	if commit, err := repo.Commit(ctx, rev); err != nil || commit == "" {
		return nil, err // the empty tree
	}
	out, err := repo.Output(ctx, "log", "-z", "--grep=^Ralph-Req: ", fmt.Sprintf("--max-count=%d", maxCommits),
		"--format=%H%x09%(trailers:key=Ralph-Req,valueonly,unfold,separator=%x09)", "--end-of-options", rev)
	if err != nil {
		return nil, fmt.Errorf("look for the commits of requirements: %w", err)
	}
	var commits []reqCommit
	for record := range strings.SplitSeq(string(out), "\x00") {
		if hash, id, ok := strings.Cut(strings.TrimSpace(record), "\t"); ok {
			id, _, _ = strings.Cut(id, "\t")
			commits = append(commits, reqCommit{hash, strings.TrimSpace(id)})
		}
	}
	return commits, nil
}

const maxCommits = 1000

// traceMatrix fills in a matrix.
type traceMatrix struct {
	spec      *spec.Spec
	trace     *Trace
	rows      map[string][]int // by criterion, and by requirement where that is a row
	reqs      map[string]bool  // ids of all requirements
	elsewhere []string         // criteria of requirements that have no row
}

func (m *traceMatrix) add(r *spec.Requirement, held bool) {
	row := func(criterion, text string) {
		key := criterion
		if key == "" {
			key = r.ID
		}
		m.rows[key] = append(m.rows[key], len(m.trace.Rows))
		m.trace.Rows = append(m.trace.Rows, TraceRow{Requirement: r.ID, Criterion: criterion, Text: text, Held: held, Tests: []TraceTest{}})
	}
	named := false
	for _, c := range r.Criteria {
		if c.ID != "" {
			row(c.ID, c.Text)
			named = true
		}
	}
	if !named {
		row("", r.Title)
	}
}

// read looks through the tree's tests. Those that name nothing are not opened.
func (m *traceMatrix) read(ctx context.Context, req *Request) error {
	class, err := classifierOf(ctx, req.Repo, req.Config, req.Base)
	if err != nil {
		return err
	}
	out, err := req.Repo.Output(ctx, "grep", "--no-color", "-I", "-l", "-z", "--full-name", "-E", "-e", tagged, req.Tree)
	if git.CodeOf(err) == 1 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for tests that name criteria: %w", err)
	}
	named := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name, ok := strings.CutPrefix(name, req.Tree+":"); ok {
			named[name] = true
		}
	}
	entries, err := req.Repo.Entries(ctx, req.Tree)
	if err != nil {
		return err
	}
	var paths, blobs []string
	for _, e := range entries {
		if !named[e.Path] || !isFile(e.Mode) {
			continue
		}
		if byName, _ := class.ByName(e.Path); byName == diffstat.Test || byName == diffstat.Implementation && source.LanguageOf(e.Path) == source.Rust {
			paths, blobs = append(paths, e.Path), append(blobs, e.Hash)
		}
	}
	return req.Repo.Blobs(ctx, blobs, func(i int, data io.Reader, size int64) error {
		if size > maxFile {
			return nil
		}
		src, err := io.ReadAll(data)
		if err == nil {
			byName, _ := class.ByName(paths[i])
			m.file(paths[i], src, class, byName == diffstat.Implementation)
		}
		return err
	})
}

// file takes the tags of one file.
func (m *traceMatrix) file(name string, src []byte, class *diffstat.Classifier, inside bool) {
	f := source.Scan(name, src)
	tests, err := testcode.Read(name, src, class)
	if err != nil || tests == nil {
		tests = &testcode.File{}
	}
	ranges := [][2]int{}
	if inside {
		ranges = f.RustTests(src)
	}
	sites := map[TraceTest]map[string]bool{} // the requirements that each test names
	type cover struct {
		id   string
		test TraceTest
	}
	var covers []cover
	for _, t := range tags(f, src) {
		if inside && !slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] <= t.line && t.line <= r[1] }) {
			continue
		}
		test := testAt(tests, f, t)
		test.Path = name
		site := test
		site.Line = 0
		for _, id := range m.ids(t, name) {
			if m.reqs[id] {
				if sites[site] == nil {
					sites[site] = map[string]bool{}
				}
				sites[site][id] = true
			}
			covers = append(covers, cover{id, test})
		}
	}
	for _, c := range covers {
		site := c.test
		site.Line = 0
		rows := m.rows[c.id]
		if len(rows) > 1 { // several requirements have a criterion of that name: which one is meant, the test says
			rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !sites[site][m.trace.Rows[i].Requirement] })
			if len(rows) == 0 {
				m.unknown(name, c.test.Line, "", fmt.Sprintf("several requirements have a criterion %s: name one of them with @test", c.id))
			}
		}
		for _, i := range rows {
			row := &m.trace.Rows[i]
			if !slices.ContainsFunc(row.Tests, func(t TraceTest) bool {
				return t == c.test || t.Path == c.test.Path && t.Name == c.test.Name && t.Name != ""
			}) {
				row.Tests = append(row.Tests, c.test)
			}
			row.Covered = row.Covered || !c.test.Skipped
		}
	}
}

func (m *traceMatrix) unknown(path string, line int, id, message string) {
	m.trace.unknownIDs = append(m.trace.unknownIDs, id)
	m.trace.Unknown = append(m.trace.Unknown, Finding{Path: path, Line: line, Rule: "unknown-id", Message: message})
}
