package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/order"
)

// project is what most verbs work on: the repository we stand in, its configuration and its specification.
type project struct {
	repo  *git.Repo
	cfg   *config.Config
	graph *order.Graph
	spec  string // path of the specification, relative to the worktree's top
}

// openProject reads repository, configuration and specification; warnings about the specification go to stderr.
func (p *Process) openProject(ctx context.Context, name string) (*project, error) {
	repo, err := git.Open(ctx, p.Dir, p.Environ)
	if err != nil {
		return nil, err
	}
	cfg, err := p.readConfig(repo.Top)
	if err != nil {
		return nil, err
	}
	pr := &project{repo: repo, cfg: cfg, spec: cfg.Spec}
	if filepath.IsAbs(pr.spec) {
		if pr.spec, err = filepath.Rel(repo.Top, pr.spec); err != nil || !filepath.IsLocal(pr.spec) {
			return nil, exit.Fail("put it into the repository", "the specification %q lies outside the repository", cfg.Spec)
		}
	}
	data, err := os.ReadFile(filepath.Join(repo.Top, pr.spec))
	if err != nil {
		return nil, exit.Fail("write it, or name another one as 'spec' in ralph.yaml or in RALPH_SPEC", "read the specification: %w", err)
	}
	g, _, err := order.Read(pr.spec, data)
	if err != nil {
		return nil, err
	}
	pr.graph = g
	return pr, nil
}

// readConfig is the configuration that holds for a worktree: ralph.yaml, then what the environment says.
func (p *Process) readConfig(top string) (*config.Config, error) {
	data, err := os.ReadFile(filepath.Join(top, config.File))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	cfg, err := config.Read(config.File, data)
	if err != nil {
		return nil, err
	}
	if path := p.Getenv("RALPH_SPEC"); path != "" {
		cfg.Spec = path
	}
	return cfg, nil
}

// openCheckpoint is the state of the worktree we stand in.
func (p *Process) openCheckpoint(ctx context.Context, name string) (*checkpoint.Checkpoint, *project, error) {
	pr, err := p.openProject(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	c, err := checkpoint.Open(checkpoint.Options{
		Repo: pr.repo, Config: pr.cfg, Graph: pr.graph, Spec: pr.spec, Environ: p.Environ, Now: p.Now,
		Say: func(format string, args ...any) { say(p.Stderr, name, format, args...) },
	})
	return c, pr, err
}

// say writes a line to stderr in a program's name.
func say(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%s: %s\n", name, fmt.Sprintf(format, args...))
}
