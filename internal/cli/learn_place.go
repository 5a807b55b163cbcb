package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/run"
	"ralph-loop/internal/spec"
)

// windows reads the learnings that are in force: the run's, or those of the file that serves until there is one.
func (l *learnPlace) windows() (*learn.Windows, error) { return l.windowsOf(l.p.progress(l.repo)) }

func (l *learnPlace) windowsOf(progress *checkpoint.Progress, err error) (*learn.Windows, error) {
	if err != nil {
		return nil, err
	}
	if progress != nil {
		return &progress.Learnings, nil
	}
	return learn.LoadStore(l.repo.Sprint())
}

// updateWindows lets change work on the learnings that are in force, and keeps what it makes of them. ingested is the
// requirement whose report is taken in, or "".
func (l *learnPlace) updateWindows(ctx context.Context, ingested string, change func(*learn.Windows) error) error {
	if err := makeSprint(l.repo); err != nil {
		return err
	}
	ran, err := checkpoint.NewStore(l.repo, l.p.Now).UpdateLearnings(ctx, ingested, change)
	if ran || err != nil {
		return err
	}
	return learn.UpdateStore(ctx, l.repo.Sprint(), change)
}

// source says whose report is taken in: in a run, the attempt that the requirement was done with, or blocked after. kept is
// where that attempt's report is kept if it wrote one, since a later attempt writes another in its usual place.
func (l *learnPlace) source(id string) (from learn.Source, kept string, err error) {
	from = learn.Source{Req: id}
	progress, err := l.p.progress(l.repo)
	if err != nil || progress == nil {
		return from, "", err
	}
	attempt, kept, ok := progress.LastReport(l.repo, id)
	if ok {
		from.Run, from.Attempt, from.Unproven = progress.Run, attempt, progress.Find(id).Status != checkpoint.Done
	}
	return from, kept, nil
}

// makeSprint makes the folder of the toolkit's own files, which hides itself from git.
func makeSprint(repo *git.Repo) error {
	if err := os.MkdirAll(repo.Sprint(), 0o777); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	ignore := filepath.Join(filepath.Dir(repo.Sprint()), ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return atomicfile.Write(ignore, []byte("*\n"))
}

// learnPlace is where ralph-learn works.
type learnPlace struct {
	p      *Process
	repo   *git.Repo
	config *config.Config
}

func (p *Process) learnPlace(ctx context.Context) (*learnPlace, error) {
	repo, err := git.Open(ctx, p.Dir, p.Environ)
	if err != nil {
		return nil, err
	}
	cfg, err := p.readConfig(ctx, repo)
	if err != nil {
		return nil, err
	}
	return &learnPlace{p: p, repo: repo, config: cfg}, nil
}

func (l *learnPlace) limits() learn.Limits {
	return learn.Limits{Window: l.config.Learn.Window, PromoteAt: l.config.Learn.PromoteAt}
}

func (l *learnPlace) specPath() string {
	if filepath.IsAbs(l.config.Spec) {
		return l.config.Spec
	}
	return filepath.Join(l.repo.Top, l.config.Spec)
}

// specification reads the specification that the configuration names.
func (l *learnPlace) specification(ctx context.Context) (*spec.Spec, error) {
	name := l.specPath()
	data, err := l.p.readInput(ctx, name, spec.MaxSize)
	if err != nil {
		return nil, err
	}
	shown := name
	if rel, err := filepath.Rel(l.repo.Top, name); err == nil && !strings.HasPrefix(rel, "..") {
		shown = rel
	}
	s, _, err := spec.Read(shown, data)
	return s, err
}

// requirement finds a requirement of the specification; "" is none.
func (l *learnPlace) requirement(ctx context.Context, id string) (*spec.Requirement, error) {
	if id == "" {
		return nil, nil
	}
	s, err := l.specification(ctx)
	if err != nil {
		return nil, err
	}
	return s.Require(id)
}

// refuseAgent refuses what changes learnings or AGENTS.md to the agent at work in this worktree: what it has to say goes
// into its report, and counts when its requirement is done.
func (l *learnPlace) refuseAgent() error {
	attempt := l.p.Getenv(run.Marker)
	if attempt == "" {
		return nil
	}
	progress, err := l.p.progress(l.repo)
	if err != nil {
		return err
	}
	if progress != nil && strings.HasPrefix(attempt, progress.Run+".") {
		return exit.Refuse("put it into the report: learnings, or agentmd_addition", "an agent may not change this while it works on a requirement")
	}
	return nil
}

// history reads the expired learnings, and says when some of them could not be read.
func (l *learnPlace) history() ([]learn.HistoryEntry, error) {
	past, spoiled, err := learn.ReadHistory(l.repo.Sprint())
	if spoiled > 0 {
		l.p.warn(learnName, "%d lines of %s are damaged and left out", spoiled, learn.HistoryFile)
	}
	return past, err
}

// change lets do work on the windows and the history. What do returns is appended to the history. ingested is the
// requirement whose report is taken in, or "".
func (l *learnPlace) change(ctx context.Context, ingested string, do func(w *learn.Windows, past []learn.HistoryEntry) ([]learn.HistoryEntry, error)) error {
	if err := l.refuseAgent(); err != nil {
		return err
	}
	return l.updateWindows(ctx, ingested, func(w *learn.Windows) error {
		past, err := l.history()
		if err != nil {
			return err
		}
		expired, err := do(w, past)
		if err != nil {
			return err
		}
		return learn.AppendHistory(l.repo.Sprint(), expired)
	})
}

// errNoReport means that the agent wrote no report.
var errNoReport = errors.New("there is no report")

// report reads an agent's report: the named one, "-" for standard input, or "" for the usual place. Whatever is wrong
// with it is an error that a caller may turn into a warning: it is an agent's text. What is merely odd goes to warn.
func (l *learnPlace) report(ctx context.Context, name string, warn func(format string, args ...any)) (report *learn.Report, data []byte, err error) {
	switch {
	case name == "-":
		data, err = l.p.readInput(ctx, name, learn.MaxReport)
	default:
		if name == "" {
			name = l.p.Getenv("RALPH_REPORT")
		}
		if name == "" {
			name = filepath.Join(l.repo.Sprint(), "report.yaml")
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(l.p.Dir, name)
		}
		data, err = learn.ReadReport(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errNoReport
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the report cannot be read: %w", err)
	}
	report, warnings, err := learn.ParseReport(data)
	for _, w := range warnings {
		warn("report: %s", w)
	}
	if err != nil {
		return nil, data, fmt.Errorf("the report cannot be used: %w", err)
	}
	return report, data, nil
}

// warn writes a warning to stderr.
func (l *learnPlace) warn(format string, args ...any) { l.p.warn(learnName, format, args...) }

// unknownLearning is the answer to an id that no learning has.
func unknownLearning(id string) error {
	return exit.Fail("'ralph-learn list --all' prints the known ids", "no learning has the id %q", id)
}
