package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/plain"
)

// agentsFile opens AGENTS.md of the worktree that we are in.
func (l *learnProgram) agentsFile(c *urfave.Context, usage string, most int) (*learnPlace, *agentsmd.File, []string, error) {
	operands, err := l.operands(c, usage, 0, most)
	if err != nil {
		return nil, nil, nil, err
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return nil, nil, nil, err
	}
	file, err := agentsmd.Open(place.repo.Top)
	return place, file, operands, err
}

// refused adds the next step to an error about markers.
func refused(err error) error {
	var ambiguous *agentsmd.AmbiguousError
	if errors.As(err, &ambiguous) {
		return exit.Fail("mend those lines by hand; a section begins and ends with its own comment, each on a line of its own", "%w", err)
	}
	return err
}

func (l *learnProgram) agentsCheck(c *urfave.Context) error {
	place, file, _, err := l.agentsFile(c, "ralph-learn agents check", 0)
	if err != nil {
		return err
	}
	var findings []string
	sections, err := agentsmd.Sections(file.Data)
	var ambiguous *agentsmd.AmbiguousError
	if errors.As(err, &ambiguous) {
		findings = append(findings, ambiguous.Problems...)
	}
	for _, s := range sections {
		if s.Lines > agentsmd.MaxLines {
			findings = append(findings, fmt.Sprintf("line %d: the section of %q has %d lines, more than %d", s.Line, s.ID, s.Lines, agentsmd.MaxLines))
		}
	}
	if lines, most := agentsmd.CountLines(file.Data), place.config.Learn.AgentsMDMaxLines; lines > most {
		findings = append(findings, fmt.Sprintf("%d lines, more than %d: 'ralph-learn agents archive' moves old sections out", lines, most))
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(l.Stdout, "%s: %s\n", agentsmd.Name, plain.Line(f)); err != nil {
			return err
		}
	}
	if len(findings) > 0 {
		return exit.Silent(exit.No)
	}
	return nil
}

func (l *learnProgram) agentsAppend(c *urfave.Context) error {
	const usage = "ralph-learn agents append --req ID [--title T] [--stage] [TEXT]"
	place, _, operands, err := l.agentsFile(c, usage, 1)
	if err != nil {
		return err
	}
	id := c.String("req")
	if id == "" {
		return exit.Misuse("usage: "+usage, "--req is missing")
	}
	r, err := place.requirement(c.Context, id)
	if err != nil {
		return err
	}
	section := agentsmd.Section{ID: id, Title: c.String("title"), Date: l.Now()}
	if section.Title == "" {
		section.Title = r.Title
	}
	if len(operands) == 1 {
		section.Addition = operands[0]
		section.Learnings, err = place.learnedBy(c.Context, id)
	} else {
		section.Addition, section.Learnings, err = place.reportedBy(c.Context, id)
	}
	if err != nil {
		return err
	}
	release, err := place.lockAgentsFile(c.Context)
	if err != nil {
		return err
	}
	defer release()
	// Read again: what another process wrote while we waited must not be lost.
	file, err := agentsmd.Open(place.repo.Top)
	if err != nil {
		return err
	}
	data, err := agentsmd.Append(file.Data, section)
	if err != nil {
		return refused(err)
	}
	if data, err = place.archived(data); err != nil {
		return err
	}
	if string(data) != string(file.Data) {
		if err := file.Write(data); err != nil {
			return err
		}
	}
	if c.Bool("stage") && file.Data != nil {
		return place.stage(c.Context, file)
	}
	return nil
}

// lockAgentsFile holds off every other writer of AGENTS.md.
func (l *learnPlace) lockAgentsFile(ctx context.Context) (release func(), err error) {
	if err := l.refuseAgent(); err != nil {
		return nil, err
	}
	if err := makeSprint(l.repo); err != nil {
		return nil, err
	}
	return learn.Lock(ctx, l.repo.Sprint())
}

// learnedBy are the permanent learnings that a requirement reported.
func (l *learnPlace) learnedBy(ctx context.Context, id string) ([]string, error) {
	w, err := l.windows()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range w.Permanent {
		if slices.Contains(p.Reqs, id) {
			out = append(out, p.Pattern)
		}
	}
	return out, nil
}

// reportedBy is the addition of the report in its usual place, and those of its learnings that would be permanent if
// the requirement were done now.
func (l *learnPlace) reportedBy(ctx context.Context, id string) (addition string, learned []string, err error) {
	progress, err := l.p.progress(l.repo)
	if err != nil {
		return "", nil, err
	}
	warn := l.warn
	if progress != nil && progress.Working() == id {
		warn = func(string, ...any) {} // ingest says it when the requirement is done: once is enough
	}
	report, data, err := l.report(ctx, "", warn)
	if err != nil {
		if l.config.Agent.RequireReport {
			return "", nil, exit.Refuse("agent.require_report asks for one", "%w", err)
		}
		warn("%v: %s gets no section", err, id)
		return "", nil, nil
	}
	w, err := l.windows()
	if err != nil {
		return "", nil, err
	}
	past, err := l.history()
	if err != nil {
		return "", nil, err
	}
	w.Reports = nil
	outcomes, _, _ := w.Ingest(report, learn.Source{Req: id, Content: data}, past, l.limits(), l.p.Now())
	for _, o := range outcomes {
		if o.Permanent {
			learned = append(learned, o.Pattern)
		}
	}
	return report.Addition, learned, nil
}

// archived moves sections out of a file that is too long, into the archive.
func (l *learnPlace) archived(data []byte) ([]byte, error) {
	out, moved, err := agentsmd.Archive(data, l.config.Learn.AgentsMDMaxLines, int(l.config.Learn.AgentsMDKeep), l.p.Now())
	if err != nil {
		return nil, refused(err)
	}
	if len(moved) == 0 {
		return data, nil
	}
	dir := filepath.Join(l.repo.Sprint(), "agents-archive")
	if err := agentsmd.SaveArchive(dir, moved); err != nil {
		return nil, err
	}
	for _, s := range moved {
		fmt.Fprintf(l.p.Stderr, "%s: moved the section of %s to .sprint-state/ralph-loop/agents-archive/%s\n", learnName, plain.Line(s.ID), s.ArchiveName())
	}
	return out, nil
}

// stage puts AGENTS.md, and only it, into the index.
func (l *learnPlace) stage(ctx context.Context, file *agentsmd.File) error {
	staged, err := l.repo.Stage(ctx, file.Rel, file.Data)
	if err == nil && !staged {
		l.p.warn(learnName, "%s is ignored by git: it is not staged", file.Rel)
	}
	return err
}

func (l *learnProgram) agentsArchive(c *urfave.Context) error {
	place, _, _, err := l.agentsFile(c, "ralph-learn agents archive", 0)
	if err != nil {
		return err
	}
	release, err := place.lockAgentsFile(c.Context)
	if err != nil {
		return err
	}
	defer release()
	file, err := agentsmd.Open(place.repo.Top)
	if err != nil {
		return err
	}
	data, err := place.archived(file.Data)
	if err != nil || string(data) == string(file.Data) {
		return err
	}
	return file.Write(data)
}

func (l *learnProgram) agentsShow(c *urfave.Context) error {
	place, file, _, err := l.agentsFile(c, "ralph-learn agents show [--max-tokens N]", 0)
	if err != nil {
		return err
	}
	if c.IsSet("max-tokens") && c.Int("max-tokens") <= 0 {
		return nil
	}
	w, err := place.windows()
	if err != nil {
		return err
	}
	text, err := shownAgents(file, w, c.Int("max-tokens"))
	if err == nil {
		_, err = io.WriteString(l.Stdout, text)
	}
	return err
}

// shownAgents is the file as a prompt holds it, within most tokens; 0 is no bound. What the permanent learnings say already
// is left out.
func shownAgents(file *agentsmd.File, w *learn.Windows, most int) (string, error) {
	var told []string
	for _, p := range w.Permanent {
		told = append(told, p.Pattern)
	}
	text, err := agentsmd.Show(file.Data, most, told)
	if err != nil {
		return "", refused(err)
	}
	return plain.Text(text), nil
}
