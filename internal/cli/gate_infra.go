package cli

import (
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/git"
	"ralph-loop/internal/testinfra"
)

// infra prints the contract about the test infrastructure as a prompt tells it, with what the worktree has of it; nothing
// where there is none.
func (g *gateProgram) infra(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" infra", 0, 0); err != nil {
		return err
	}
	repo, err := git.Open(c.Context, g.Dir, g.Environ)
	if err != nil {
		return err
	}
	conf, err := g.readConfig(c.Context, repo)
	if err != nil {
		return err
	}
	work, err := g.inProgress(c.Context, repo)
	if err != nil {
		return err
	}
	worktree := testinfra.InFolder(repo.Top)
	agreed := worktree
	if work.base != "" {
		agreed = testinfra.InGit(c.Context, repo, work.base) // whatever an attempt made of package.json
	}
	contract, err := testinfra.Find(conf.TestInfra, agreed)
	if err != nil || contract == nil {
		return err
	}
	helper, err := contract.Look(worktree)
	if err != nil {
		return err
	}
	place, err := contract.Place(helper, worktree)
	if err != nil {
		return err
	}
	missing := map[string]string{}
	for _, m := range helper.Missing {
		missing[m.Name] = fmt.Sprintf(" (%s)", m)
	}
	fmt.Fprintf(g.Stdout, "%s:\n", git.Quote(place))
	for _, e := range contract.Exports {
		fmt.Fprintf(g.Stdout, "- %s: %s%s\n", e.Name, e.Meaning, missing[e.Name])
	}
	return nil
}
