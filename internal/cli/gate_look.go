package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/coverage"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
)

// askTable is ask for the verbs that print a table; format is one of text, tsv and json.
func (g *gateProgram) askTable(c *urfave.Context, usage string) (q *gateQuestion, format string, err error) {
	if _, err := g.operands(c, usage, 0, 0); err != nil {
		return nil, "", err
	}
	format = c.String("format")
	if err := oneOf("format", format, "text", "tsv", "json"); err != nil {
		return nil, "", err
	}
	q, err = g.ask(c.Context, c, false)
	return q, format, err
}

// diff prints what the tree adds.
func (g *gateProgram) diff(c *urfave.Context) error {
	q, format, err := g.askTable(c, gateName+" [--base REV] [--format F] diff")
	if err != nil {
		return err
	}
	stat, err := gate.Added(c.Context, g.request(q))
	if err != nil {
		return err
	}
	switch format {
	case "json":
		out := json.NewEncoder(g.Stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(stat)
	case "tsv":
		return stat.WriteTSV(g.Stdout)
	}
	return stat.WriteText(g.Stdout)
}

// plan prints what a test file is called here, and the commands that would run.
func (g *gateProgram) plan(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" plan", 0, 0); err != nil {
		return err
	}
	q, err := g.ask(c.Context, c, false)
	if err != nil {
		return err
	}
	outline, err := gate.Plan(c.Context, q.repo, q.config, q.trees.Tree, true)
	if err != nil {
		return err
	}
	for _, gap := range outline.Gaps {
		g.warn(gateName, "%s: %s; %s", gap.Layer, gap.Text, gap.Advice)
	}
	for _, name := range outline.TestNames {
		fmt.Fprintf(g.Stdout, "L1b\ttest files, %s\n", name)
	}
	for _, s := range outline.Steps {
		fmt.Fprintf(g.Stdout, "%s\t%s\n", s.Layer, s)
	}
	if len(outline.TestNames)+len(outline.Steps) == 0 {
		fmt.Fprintln(g.Stdout, "L2\tno language is found yet: a source file tells it, or a build file (go.mod, package.json, ...); gate.test in ralph.yaml names commands")
	}
	return nil
}

// coverage adds up coverage files.
func (g *gateProgram) coverage(c *urfave.Context) error {
	names, err := g.operands(c, gateName+" coverage FILE...", 1, -1)
	if err != nil {
		return err
	}
	var data coverage.Data
	for _, name := range names {
		in := io.NopCloser(g.Stdin)
		if name != "-" {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(g.Dir, path)
			}
			if in, err = os.Open(path); err != nil {
				return fmt.Errorf("open the coverage file: %w", err)
			}
		}
		err := data.Read(in)
		_ = in.Close() // only read
		if err != nil {
			return exit.Fail("Go profiles and LCOV are read", "%q: %w", name, err)
		}
	}
	tests, err := g.testCoverage(c.Context, &data)
	if err != nil {
		return err
	}
	line := func(covered, total int, name string) {
		fmt.Fprintf(g.Stdout, "%7s %%  %d/%d  %s\n", gate.Share{Part: covered, Whole: total}.Percent(), covered, total, name)
	}
	for _, f := range data.Files() {
		line(f.Covered, f.Total, git.Quote(f.Path))
	}
	for _, f := range tests {
		line(f.Covered, f.Total, git.Quote(f.Path)+" (test code: not in the total)")
	}
	covered, total := data.Total()
	if total == 0 && len(tests) > 0 {
		return exit.Fail("let the test command measure the code that the tests run", "only test code is named: nothing tells what the tests cover")
	}
	line(covered, total, "total")
	return nil
}

// testCoverage takes the test code out, as the layer L3 would.
func (g *gateProgram) testCoverage(ctx context.Context, data *coverage.Data) ([]coverage.File, error) {
	repo, err := git.Open(ctx, g.Dir, g.Environ)
	if errors.Is(err, git.ErrOutside) {
		return gate.TestCoverage(ctx, nil, nil, data)
	}
	if err != nil {
		return nil, err
	}
	conf, err := g.readConfig(ctx, repo)
	if err != nil {
		return nil, err
	}
	return gate.TestCoverage(ctx, repo, conf, data)
}
