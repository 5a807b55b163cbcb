package cli

import (
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
)

func (g *gateProgram) cacheList(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" cache list", 0, 0); err != nil {
		return err
	}
	repo, err := git.Open(c.Context, g.Dir, g.Environ)
	if err != nil {
		return err
	}
	entries, err := gate.ListCache(repo)
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Fprintf(g.Stdout, "%s\t%.12s\t%s\t%s\t%s\n", e.At.Format("2006-01-02T15:04:05Z"), e.Tree, e.Name, e.Layer.Result, e.Layer.Summary)
	}
	return nil
}

func (g *gateProgram) cacheClear(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" cache clear", 0, 0); err != nil {
		return err
	}
	repo, err := git.Open(c.Context, g.Dir, g.Environ)
	if err != nil {
		return err
	}
	return gate.ClearCache(repo)
}
