package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/run"
)

// judge is the verb run.
func (g *gateProgram) judge(c *urfave.Context) error {
	if c.Command.Name != "run" && c.Args().Present() {
		return noVerb(c)
	}
	if _, err := g.operands(c, gateName+" [OPTIONS] run", 0, 0); err != nil {
		return err
	}
	format, color := c.String("format"), c.String("color")
	if err := oneOf("format", format, "text", "json"); err != nil {
		return err
	}
	if err := oneOf("color", color, "auto", "always", "never"); err != nil {
		return err
	}
	if c.IsSet("push") {
		return g.push(c)
	}
	only, hook, err := layerNames(c.String("only"), c.IsSet("only"))
	if err != nil {
		return err
	}
	// A driver that was killed cannot end us: we notice.
	ctx, stop := run.WithParent(c.Context)
	defer stop()
	q, err := g.ask(ctx, c, hook)
	if err == nil && q.id != "" && q.requirement == nil {
		q.requirement, err = g.requirement(ctx, q.repo, q.trees.Base, q.id)
	}
	if err != nil {
		return err
	}
	if hook {
		if only, err = hookLayers(q.config); err != nil {
			return err
		}
	}
	v, err := g.answer(ctx, q, describe(q), gateManner{only: only, stopAtFirst: hook, quiet: c.Bool("quiet"), json: format == "json", colour: format != "json" && g.colour(color)})
	if err != nil {
		return err
	}
	if name := c.String("digest"); name != "" && !v.Passed() {
		if !filepath.IsAbs(name) {
			name = filepath.Join(g.Dir, name)
		}
		if err := atomicfile.Replace(name, []byte(v.Digest())); err != nil {
			return fmt.Errorf("write the digest: %w", err)
		}
	}
	if name := c.String("verdict"); name != "" {
		var object bytes.Buffer
		if err := v.WriteJSON(&object); err != nil {
			return fmt.Errorf("write the verdict: %w", err)
		}
		if err := atomicfile.Replace(g.abs(name), object.Bytes()); err != nil {
			return fmt.Errorf("write the verdict: %w", err)
		}
	}
	if code := v.ExitCode(); code != exit.OK {
		g.refused(v)
		return exit.Silent(code)
	}
	return nil
}

// refused ends what one of our hooks prints, below the layers: git itself does not say who refused, nor why nothing happened.
// How to go around is for a person at a terminal, and never for an agent in the loop.
func (g *gateProgram) refused(v *gate.Verdict) {
	hook := g.Getenv("RALPH_HOOK")
	if hook == "" {
		return
	}
	what := "commit"
	if hook == "pre-push" {
		what = "push"
	}
	why := "could not be judged"
	if v.ExitCode() == exit.No {
		why = "does not pass the gate"
	}
	hint := "mend what is named above, then " + what + " again"
	if g.terminal && g.Getenv("RALPH_ATTEMPT") == "" {
		hint += fmt.Sprintf("; 'RALPH_SKIP=1 git %s' lets one through, and records it", what)
	}
	fmt.Fprintf(g.Stderr, "%s: the %s is refused; the tree %s (the hook %s)\nhint: %s\n", gateName, what, why, hook, hint)
}

// gateManner is how a verdict is found and told.
type gateManner struct {
	only                []string
	stopAtFirst         bool
	quiet, json, colour bool
	titled              bool // say what is judged even if quiet, but only above what does not pass
}

// answer judges and prints, each layer as it ends.
func (g *gateProgram) answer(ctx context.Context, q *gateQuestion, what string, m gateManner) (*gate.Verdict, error) {
	if !m.json && !m.quiet {
		fmt.Fprintf(g.Stdout, "%s\n", what)
	}
	untold := m.titled && m.quiet
	var writeErr error
	ask := g.request(q)
	ask.Only, ask.StopAtFirst = m.only, m.stopAtFirst
	advised := map[string]bool{}
	ask.OnLayer = func(l gate.Layer) {
		if m.json || m.quiet && (l.Result == gate.Pass || l.Result == gate.NotApplicable) {
			return
		}
		if untold {
			fmt.Fprintf(g.Stdout, "%s\n", what)
			untold = false
		}
		if advised[l.Advice] {
			l.Advice = "" // it stands above
		}
		advised[l.Advice] = true
		if err := l.WriteText(g.Stdout, m.colour); err != nil && writeErr == nil {
			writeErr = err
		}
		if out, ok := g.Stdout.(interface{ Flush() error }); ok {
			if err := out.Flush(); err != nil && writeErr == nil {
				writeErr = err
			}
		}
	}
	v, err := gate.Run(ctx, ask)
	if err != nil {
		return nil, err
	}
	if m.json {
		writeErr = v.WriteJSON(g.Stdout)
	}
	if writeErr != nil {
		return nil, fmt.Errorf("write the report: %w", writeErr)
	}
	return v, nil
}

// layerNames reads --only.
func layerNames(value string, given bool) (only []string, hook bool, err error) {
	if !given {
		return nil, false, nil
	}
	if value == "hook" {
		return nil, true, nil
	}
	for name := range strings.SplitSeq(value, ",") {
		only = append(only, strings.TrimSpace(name))
	}
	return only, false, gate.CheckLayers(only)
}

// hookLayers are the layers that the configuration names for the hook.
func hookLayers(c *config.Config) ([]string, error) {
	if len(c.Hook.Layers) == 0 {
		return nil, exit.Fail("name at least one layer", "%s: hook.layers is empty: the hook would check nothing", config.File)
	}
	if err := gate.CheckLayers(c.Hook.Layers); err != nil {
		return nil, exit.Fail(exit.HintOf(err), "%s: hook.layers: %w", config.File, err)
	}
	return c.Hook.Layers, nil
}

// describe says what is judged against what.
func describe(q *gateQuestion) string {
	what := "the index"
	if !q.trees.Staged {
		what = "HEAD (nothing is staged)"
	}
	text := fmt.Sprintf("%s, tree %.12s, against %.12s", what, q.trees.Tree, q.trees.Base)
	for _, other := range q.trees.Others {
		text += fmt.Sprintf(", a merge with %.12s", other)
	}
	if q.requirement != nil {
		text += ", for " + q.requirement.ID
	}
	return text
}

func (g *gateProgram) colour(when string) bool {
	switch when {
	case "always":
		return true
	case "never":
		return false
	}
	return g.terminal && g.Getenv("NO_COLOR") == "" && g.Getenv("TERM") != "dumb"
}
