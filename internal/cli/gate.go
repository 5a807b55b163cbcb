package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/spec"
)

const gateName = "ralph-gate"

// Gate runs ralph-gate.
func Gate(p *Process, doc string, args []string) int {
	g := &gateProgram{p}
	base := func() urfave.Flag { return &urfave.StringFlag{Name: "base"} }
	req := func() urfave.Flag { return &urfave.StringFlag{Name: "req"} }
	format := func() urfave.Flag { return &urfave.StringFlag{Name: "format", Value: "text"} }
	flags := func() []urfave.Flag {
		return []urfave.Flag{
			base(), req(), format(), &urfave.StringFlag{Name: "only"}, &urfave.StringFlag{Name: "push"},
			&urfave.StringFlag{Name: "digest"}, &urfave.StringFlag{Name: "verdict"}, &urfave.StringFlag{Name: "color", Value: "auto"},
			&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
		}
	}
	return p.run(&urfave.App{
		Name:   gateName,
		Flags:  flags(),
		Action: g.judge,
		Commands: []*urfave.Command{
			{Name: "run", Usage: "judge the tree that would be committed", Flags: flags(), Action: g.judge},
			{Name: "diff", Usage: "what that tree adds, by class", Flags: []urfave.Flag{base(), req(), format()}, Action: g.diff},
			{Name: "plan", Usage: "the commands that would run", Flags: []urfave.Flag{base(), req()}, Action: g.plan},
			{Name: "trace", Usage: "which test covers which criterion", Flags: []urfave.Flag{base(), req(), format()}, Action: g.trace},
			{Name: "infra", Usage: "the contract about the test infrastructure", Action: g.infra},
			{Name: "install", Usage: "put the hooks into this repository", Action: g.install},
			{Name: "uninstall", Usage: "take them out again", Action: g.uninstall},
			{Name: "doctor", Usage: "are commits and pushes judged here?", Action: g.doctor},
			{Name: "coverage", Usage: "add up coverage files", Action: g.coverage},
			{Name: "cache", Usage: "the kept answers", Action: noVerb, Subcommands: []*urfave.Command{
				{Name: "list", Usage: "print them, the newest first", Action: g.cacheList},
				{Name: "clear", Usage: "forget them", Action: g.cacheClear},
			}},
		},
	}, doc, args)
}

// gateProgram holds the verbs of ralph-gate.
type gateProgram struct {
	*Process
}

// gateQuestion is what is to be judged.
type gateQuestion struct {
	repo        *git.Repo
	trees       gate.Trees
	id          string            // of the requirement that is named, or in work
	requirement *spec.Requirement // the one that is named; the one in work only for the verb that judges
	config      *config.Config
	made        string         // the test infrastructure that was made for the one in work: a commit, or empty
	done        []string       // requirements that the checkpoint calls done; nil: there is none
	touched     []gate.Touched // earlier requirements that the report of the work in progress names
}

// request is the question as the gate is asked it.
func (g *gateProgram) request(q *gateQuestion) gate.Request {
	return gate.Request{Repo: q.repo, Environ: g.Environ, Config: q.config, Base: q.trees.Base, BaseTree: q.trees.BaseTree, Others: q.trees.Others, Tree: q.trees.Tree,
		Requirement: q.requirement, Made: q.made, Head: q.trees.Head, Done: q.done, Touched: q.touched, Alone: true, Now: g.Now}
}

// ask finds the trees, the requirement and the configuration in force.
func (g *gateProgram) ask(ctx context.Context, c *urfave.Context, hook bool) (*gateQuestion, error) {
	repo, err := git.Open(ctx, g.Dir, g.Environ)
	if err != nil {
		return nil, err
	}
	q := &gateQuestion{repo: repo}
	work, err := g.inProgress(ctx, repo)
	if err != nil {
		return nil, err
	}
	base := work.base
	if rev := g.Getenv("RALPH_BASE"); rev != "" {
		base = rev
	}
	if c.IsSet("base") {
		if base = c.String("base"); base == "" {
			return nil, exit.Misuse("give a commit, a branch or a tag", "--base is empty")
		}
	}
	q.done = work.done
	named := c.String("req")
	if q.id = named; named == "" {
		q.id = work.id
	}
	usual := base == "" && q.id == "" && !g.inWork(repo)
	if usual {
		var ok bool
		if q.trees, q.config, ok = gate.Recall(repo, hook); ok {
			return q, nil
		}
	}
	if q.trees, err = gate.FindTrees(ctx, repo, base, hook || named != ""); err != nil {
		return nil, err
	}
	if q.id != "" {
		q.touched = touchedEarlier(repo)
	}
	if named != "" {
		if q.requirement, err = g.requirement(ctx, repo, q.trees.Base, named); err != nil {
			return nil, err
		}
	}
	from := q.trees.Tree
	if q.id != "" {
		from = q.trees.Base // trusted: the work under judgement cannot have changed it
		q.trees.Others = nil
	}
	if q.id == work.id && base == work.base {
		q.made = work.made
	}
	if q.config, err = gate.ReadConfig(ctx, repo, from, q.trees.Tree, g.inWork(repo)); err == nil && usual {
		gate.Remember(ctx, repo, q.trees, g.Now)
	}
	return q, err
}

// requirement reads one from the specification: the baseline's, or the worktree's file where git does not have it.
func (g *gateProgram) requirement(ctx context.Context, repo *git.Repo, base, id string) (*spec.Requirement, error) {
	conf, err := gate.ReadConfig(ctx, repo, base, base, g.inWork(repo))
	if err != nil {
		return nil, err
	}
	data, ok, err := repo.File(ctx, base, conf.Spec)
	if err != nil {
		return nil, err
	}
	if !ok {
		data, err = os.ReadFile(filepath.Join(repo.Top, filepath.FromSlash(conf.Spec)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, exit.Fail(noSpecHint, "there is no specification %q", conf.Spec)
		}
		if err != nil {
			return nil, fmt.Errorf("read the specification: %w", err)
		}
	}
	s, _, err := spec.Read(conf.Spec, data)
	if err != nil {
		return nil, err
	}
	return s.Require(id)
}
