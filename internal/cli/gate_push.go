package cli

import (
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/run"
)

// push judges what git push would send, as git tells its hook pre-push on stdin.
func (g *gateProgram) push(c *urfave.Context) error {
	for _, name := range []string{"base", "req", "only", "digest", "verdict"} {
		if c.IsSet(name) {
			return exit.Misuse("leave one of them out", "--push names all that is judged: --%s does not go with it", name)
		}
	}
	if c.String("format") == "json" {
		return exit.Misuse("a push may be several verdicts; ralph-gate --base REV --format json gives one", "--push prints text only")
	}
	ctx, stop := run.WithParent(c.Context)
	defer stop()
	repo, err := git.Open(ctx, g.Dir, g.Environ)
	if err != nil {
		return err
	}
	pushes, err := gate.ReadPushes(g.Stdin)
	if err != nil {
		return err
	}
	quiet := c.Bool("quiet")
	type asked struct{ base, tree string }
	judged := map[asked]bool{}
	code := exit.OK
	var refused *gate.Verdict
	for _, p := range pushes {
		trees, skip, err := p.Trees(ctx, repo, c.String("push"))
		if err != nil {
			return err
		}
		if skip != "" {
			if !quiet {
				fmt.Fprintf(g.Stdout, "%s %s: not judged\n", git.Quote(p.RemoteRef), skip)
			}
			continue
		}
		if rev := g.Getenv("RALPH_BASE"); rev != "" {
			trees.Others = nil
			if trees.Base, err = gate.NamedBase(ctx, repo, rev); err != nil {
				return err
			}
		}
		if at := (asked{trees.Base, trees.Tree}); judged[at] {
			continue
		} else {
			judged[at] = true
		}
		q := &gateQuestion{repo: repo, trees: trees}
		if q.config, err = gate.ReadConfig(ctx, repo, trees.Tree, trees.Tree, g.inWork(repo)); err != nil {
			return err
		}
		only, err := hookLayers(q.config)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%s, tree %.12s, against %.12s", git.Quote(p.LocalRef), trees.Tree, trees.Base)
		v, err := g.answer(ctx, q, what, gateManner{only: only, stopAtFirst: true, quiet: quiet, titled: true, colour: g.colour(c.String("color"))})
		if err != nil {
			return err
		}
		if got := v.ExitCode(); got == exit.No || code == exit.OK {
			code, refused = got, v
		}
	}
	if code != exit.OK {
		g.refused(refused)
		return exit.Silent(code)
	}
	return nil
}
