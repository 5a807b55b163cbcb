package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/order"
	"ralph-loop/internal/spec"
)

// project is what most verbs work on: the repository we stand in, its configuration and its specification.
type project struct {
	repo  *git.Repo
	cfg   *config.Config
	graph *order.Graph
	spec  string // path of the specification, relative to the worktree's top
}

// progress is the state as this program found it at its start. Who changes the state reads it anew, under its lock.
func (p *Process) progress(repo *git.Repo) (*checkpoint.Progress, error) {
	if p.found == nil || p.found.repo != repo {
		progress, err := checkpoint.NewStore(repo, p.Now).Load()
		p.found = &foundState{repo, progress, err}
	}
	return p.found.progress, p.found.err
}

// foundState is what progress gave.
type foundState struct {
	repo     *git.Repo
	progress *checkpoint.Progress
	err      error
}

// noSpecHint is the way on for who has no specification, or has it elsewhere.
const noSpecHint = "'ralph-loop init' writes a first one; 'spec' in ralph.yaml, or RALPH_SPEC, names another"

// openProject reads configuration and specification of the repository we stand in.
func (p *Process) openProject(ctx context.Context, repo *git.Repo) (*project, error) {
	cfg, err := p.readConfig(ctx, repo)
	if err != nil {
		return nil, err
	}
	pr := &project{repo: repo, cfg: cfg, spec: cfg.Spec}
	if filepath.IsAbs(pr.spec) {
		pr.spec, err = filepath.Rel(repo.Top, pr.spec)
	}
	if err != nil || !filepath.IsLocal(pr.spec) {
		return nil, exit.Fail("put it into the repository", "the specification %q lies outside the repository", cfg.Spec)
	}
	pr.spec = filepath.Clean(pr.spec)
	data, err := os.ReadFile(filepath.Join(repo.Top, pr.spec))
	if err != nil {
		return nil, exit.Fail(noSpecHint, "read the specification: %w", err)
	}
	g, _, err := order.Read(pr.spec, data)
	if err != nil {
		return nil, err
	}
	pr.graph = g
	return pr, nil
}

// readConfig is the configuration that holds in a worktree: ralph.yaml, then what the environment says. While a requirement
// is in work it is the baseline's, whatever an attempt made of the file.
func (p *Process) readConfig(ctx context.Context, repo *git.Repo) (*config.Config, error) {
	cfg, err := p.configFile(ctx, repo)
	if err != nil {
		return nil, err
	}
	if path := p.Getenv("RALPH_SPEC"); path != "" {
		cfg.Spec = path
	}
	return cfg, nil
}

// inWork reports whether a requirement is in work. A damaged state is reported by whoever needs the state.
func (p *Process) inWork(repo *git.Repo) bool {
	progress, err := p.progress(repo)
	return err == nil && progress != nil && progress.Working() != ""
}

func (p *Process) configFile(ctx context.Context, repo *git.Repo) (*config.Config, error) {
	if p.inWork(repo) {
		return gate.ReadConfig(ctx, repo, p.found.progress.Baseline, p.found.progress.Baseline, true)
	}
	data, err := os.ReadFile(filepath.Join(repo.Top, config.File))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return config.Read(config.File, data)
}

func (p *Process) checkpointOptions(pr *project, name string) checkpoint.Options {
	return checkpoint.Options{
		Repo: pr.repo, Config: pr.cfg, Graph: pr.graph, Spec: pr.spec, Environ: p.Environ, Now: p.Now,
		Say: func(format string, args ...any) { say(p.Stderr, name, format, args...) },
	}
}

// say writes a line to stderr in a program's name.
func say(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%s: %s\n", name, fmt.Sprintf(format, args...))
}

// usualSpec is the specification that is meant where no operand names one: RALPH_SPEC, else the one that ralph.yaml
// names at the worktree's top, wherever in the worktree we stand. repo is nil outside a repository: a specification
// needs none.
func (p *Process) usualSpec(ctx context.Context) (path string, repo *git.Repo, err error) {
	named := p.Getenv("RALPH_SPEC")
	repo, err = git.Open(ctx, p.Dir, p.Environ)
	if err != nil {
		return cmp.Or(named, config.Default().Spec), nil, nil
	}
	if named != "" {
		return named, repo, nil
	}
	cfg, err := p.readConfig(ctx, repo)
	if err != nil {
		return "", nil, err
	}
	if filepath.IsAbs(cfg.Spec) {
		return cfg.Spec, repo, nil
	}
	path = filepath.Join(repo.Top, cfg.Spec)
	if rel, err := filepath.Rel(filepath.Join(repo.Top, filepath.FromSlash(repo.Prefix)), path); err == nil {
		return rel, repo, nil
	}
	return path, repo, nil
}

// states is where each requirement stands: by the checkpoint of the repository, else by the specification's own words.
func (p *Process) states(repo *git.Repo, s *spec.Spec) (order.States, error) {
	states := order.FromFile(s)
	if repo == nil {
		return states, nil
	}
	progress, err := p.progress(repo)
	if err != nil || progress == nil {
		return states, err
	}
	for id, state := range progress.States() {
		if s.Lookup(id) != nil {
			states[id] = state
		}
	}
	return states, nil
}

// work is what the checkpoint has in work; all but done is empty where that is nothing.
type work struct {
	base string   // the baseline, which is still below HEAD
	id   string   // of the requirement
	made string   // the commit that holds the test infrastructure which was made for it, if any
	done []string // requirements that the checkpoint calls done; nil: there is no checkpoint
}

func (p *Process) inProgress(ctx context.Context, repo *git.Repo) (work, error) {
	progress, err := p.progress(repo)
	if err != nil || progress == nil {
		return work{}, err
	}
	w := work{done: []string{}}
	for _, r := range progress.Requirements {
		if r.Status == checkpoint.Done {
			w.done = append(w.done, r.ID)
		}
	}
	id := progress.Working()
	if id == "" {
		return w, nil
	}
	below, err := repo.IsAncestor(ctx, progress.Baseline, "HEAD")
	if err != nil || !below {
		return w, err
	}
	w.base, w.id, w.made = progress.Baseline, id, progress.Find(id).Infra.Made
	return w, nil
}
