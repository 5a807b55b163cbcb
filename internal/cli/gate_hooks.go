package cli

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/githooks"
)

// install puts the hooks into the repository.
func (g *gateProgram) install(c *urfave.Context) error {
	return g.changeHooks(c, githooks.Install)
}

// uninstall takes them out again.
func (g *gateProgram) uninstall(c *urfave.Context) error {
	return g.changeHooks(c, githooks.Uninstall)
}

func (g *gateProgram) changeHooks(c *urfave.Context, change func(context.Context, *git.Repo) ([]githooks.Change, error)) error {
	if _, err := g.operands(c, gateName+" "+c.Command.Name, 0, 0); err != nil {
		return err
	}
	repo, err := git.Open(c.Context, g.Dir, g.Environ)
	if err != nil {
		return err
	}
	done, err := change(c.Context, repo)
	for _, d := range done {
		fmt.Fprintf(g.Stdout, "%s: %s\n", git.Quote(d.Path), d.What)
	}
	return err
}

// doctor tells whether commits and pushes are judged here.
func (g *gateProgram) doctor(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" doctor", 0, 0); err != nil {
		return err
	}
	q, err := g.ask(c.Context, c, false)
	if err != nil {
		return err
	}
	outline, err := gate.Plan(c.Context, q.repo, q.config, q.trees.Tree, false)
	if err != nil {
		return err
	}
	lines, err := githooks.Doctor(c.Context, q.repo, g.Environ, outline.Tools())
	if err != nil {
		return err
	}
	for _, gap := range outline.Gaps {
		lines = append(lines, githooks.Line{Topic: gap.Layer, Text: gap.Text + "; " + gap.Advice, Wrong: true})
	}
	code := exit.OK
	for _, l := range lines {
		sign := " "
		if l.Wrong {
			sign, code = "!", exit.No
		}
		fmt.Fprintf(g.Stdout, "%s %-16s  %s\n", sign, l.Topic, l.Text)
	}
	if code != exit.OK {
		return exit.Silent(code)
	}
	return nil
}
