package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/glob"
)

// The layer scope names the lines of earlier requirements that a requirement's work removes or rewrites. Whose a line
// is, tell git blame and the trailer of the commit that brought it.

const earlierVersion = 1

// Touched is what an agent's report says of an earlier requirement.
type Touched struct{ Req, Reason string }

// Bounds on what is asked of git blame.
const (
	maxBlamed = 200 // files
	maxSpans  = 300 // places in one file
)

func (j *judge) earlierKey() inputs {
	g := j.Config.Gate
	in := inputs{Layer: "scope", Version: earlierVersion, Tree: j.Tree, Base: j.baseTree, Settings: []any{g.Scope, g.TestGlobs, g.IgnoreGlobs, j.Config.TestInfra.File}}
	if j.Requirement != nil {
		var touched []string
		for _, t := range j.Touched {
			touched = append(touched, t.Req, t.Reason)
		}
		in.Requirement = []any{j.Requirement.ID, j.Requirement.Allow, j.Base, touched}
	}
	return in
}

// span is a place of the baseline that the change takes away or rewrites.
type span struct{ first, lines, now int }

func (j *judge) earlier(ctx context.Context) (Layer, error) {
	switch {
	case j.Config.Gate.Scope == config.Off:
		return Layer{Result: NotApplicable, Summary: "gate.scope is off"}, nil
	case j.Requirement == nil:
		return Layer{Result: NotApplicable, Summary: "no requirement is in progress"}, nil
	}
	commits, err := requirementCommits(ctx, j.Repo, j.Base)
	if err != nil {
		return Layer{}, err
	}
	by := map[string]string{}
	for _, c := range commits {
		if c.req != j.Requirement.ID {
			by[c.hash] = c.req
		}
	}
	if len(by) == 0 {
		return Layer{Result: NotApplicable, Summary: "no earlier requirement has a commit"}, nil
	}
	stat, err := j.changed(ctx)
	if err != nil {
		return Layer{}, err
	}
	files := slices.DeleteFunc(slices.Clone(stat.Files), func(f diffstat.File) bool { return f.Class == diffstat.Other || f.Removed == 0 })
	spans := map[int][]span{}
	err = diffstat.Removed(ctx, j.Repo, files, func(i, first, lines, now int) { spans[i] = append(spans[i], span{first, lines, now}) })
	if err != nil {
		return Layer{}, fmt.Errorf("look for what is removed: %w", err)
	}
	l := Layer{Result: Pass, Summary: "no line of an earlier requirement is changed"}
	var found []Finding
	total, reqs, looked := 0, map[string]bool{}, 0
	last := ""
	for i, f := range files {
		if f.Path == last || len(spans[i]) == 0 { // a second part of the same file
			continue
		}
		last = f.Path
		if looked++; looked > maxBlamed {
			continue
		}
		counts, err := j.blame(ctx, f, spans[i], commits[len(commits)-1].hash, by)
		if err != nil {
			return Layer{}, err
		}
		for _, c := range counts {
			total += c.lines
			reqs[c.req] = true
			found = append(found, Finding{Path: f.Path, Line: max(1, c.at), Rule: "earlier-requirement",
				Message: fmt.Sprintf("%s of %s (commit %.12s) removed or rewritten%s", plural(c.lines, "line"), c.req, c.commit, j.said(c.req))})
		}
	}
	if looked > maxBlamed {
		l.Notes = append(l.Notes, fmt.Sprintf("%d more changed files were not looked at", looked-maxBlamed))
	}
	for _, t := range j.Touched {
		if !reqs[t.Req] {
			l.Notes = append(l.Notes, fmt.Sprintf("the report says that %s was touched, and no line of it is changed: %s", t.Req, short(t.Reason, 300)))
		}
	}
	if total == 0 {
		return l, nil
	}
	l.Summary = fmt.Sprintf("%s of %s removed or rewritten", plural(total, "line"), plural(len(reqs), "earlier requirement"))
	if j.Config.Gate.Scope == config.Enforce {
		found = slices.DeleteFunc(found, func(f Finding) bool {
			allowed := glob.Any(j.Requirement.Allow, f.Path)
			if allowed {
				l.Notes = append(l.Notes, f.String()+" (allowed by the requirement)")
			}
			return allowed
		})
	}
	if l.hold(j.Config.Gate.Scope, found); len(l.Findings) > 0 {
		l.Result = Fail
		l.Advice = "leave earlier requirements' code alone, except to mend a regression; where the work needs it, its author lists the file under 'allow'"
	}
	return l, nil
}

// said is what the report says of a requirement.
func (j *judge) said(req string) string {
	for _, t := range j.Touched {
		if t.Req == req {
			return "; the report says: " + short(t.Reason, 300)
		}
	}
	return ""
}

// blamed is what one commit lost in one file.
type blamed struct {
	req, commit string
	lines       int
	at          int // a line of the new file
}

// blame asks whose the removed lines of a file are. Nothing older than the first requirement's commit is walked.
func (j *judge) blame(ctx context.Context, f diffstat.File, spans []span, oldest string, by map[string]string) ([]blamed, error) {
	name := f.Path
	if f.From != "" {
		name = f.From
	}
	args := []string{"blame", "--porcelain", "--no-progress", "--ignore-revs-file="} // the user's own passes over nothing here
	whole := len(spans) > maxSpans
	for _, s := range spans {
		if !whole {
			args = append(args, "-L", fmt.Sprintf("%d,+%d", s.first, s.lines))
		}
	}
	revs := j.Base
	if parent, err := j.Repo.Commit(ctx, oldest+"^"); err != nil {
		return nil, err
	} else if parent != "" {
		revs = parent + ".." + j.Base
	}
	counts := map[string]*blamed{}
	err := j.Repo.Stream(ctx, nil, func(out io.Reader) error {
		return readBlame(out, func(commit string, line int) {
			req := by[commit]
			if req == "" {
				return
			}
			at, removed := place(spans, line)
			if !removed {
				return
			}
			if counts[commit] == nil {
				counts[commit] = &blamed{req: req, commit: commit, at: at}
			}
			counts[commit].lines++
		})
	}, append(args, revs, "--", name)...)
	if err != nil {
		return nil, fmt.Errorf("ask whose lines they are in %q: %w", name, err)
	}
	var list []blamed
	for _, c := range counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b blamed) int { return strings.Compare(a.req+a.commit, b.req+b.commit) })
	return list, nil
}

// place finds the line of the new file for a removed line of the old one.
func place(spans []span, line int) (at int, removed bool) {
	i, found := slices.BinarySearchFunc(spans, line, func(s span, line int) int {
		switch {
		case line < s.first:
			return 1
		case line >= s.first+s.lines:
			return -1
		}
		return 0
	})
	if !found {
		return 0, false
	}
	return spans[i].now, true
}

// readBlame reads git's porcelain: of each line the commit and its number in the blamed version.
func readBlame(in io.Reader, each func(commit string, line int)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	header := true
	for {
		text, err := r.ReadSlice('\n')
		start := slices.Clone(text[:min(len(text), 200)])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if len(start) > 0 {
			switch words := strings.Fields(string(start)); {
			case start[0] == '\t': // the line itself: what follows is the next one's
				header = true
			case header && len(words) >= 3 && len(words[0]) >= 40:
				each(words[0], number(words[2]))
				header = false
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
