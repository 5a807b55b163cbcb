package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/config"
	"ralph-loop/internal/coverage"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/run"
	"ralph-loop/internal/spec"
)

const gateName = "ralph-gate"

// Gate runs ralph-gate.
func Gate(p *Process, doc string, args []string) int {
	g := &gateProgram{Process: p, terminal: isTerminal(p.Stdout)}
	// Options may stand before the verb or behind it; option() looks in both places.
	flags := func() []urfave.Flag {
		return []urfave.Flag{
			&urfave.StringFlag{Name: "base"}, &urfave.StringFlag{Name: "req"}, &urfave.StringFlag{Name: "only"},
			&urfave.StringFlag{Name: "format"}, &urfave.StringFlag{Name: "digest"}, &urfave.StringFlag{Name: "verdict"}, &urfave.StringFlag{Name: "color"},
			&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
		}
	}
	return p.run(&urfave.App{
		Name:   gateName,
		Flags:  flags(),
		Action: g.judge,
		Commands: []*urfave.Command{
			{Name: "run", Usage: "judge the tree that would be committed", Flags: flags(), Action: g.judge},
			{Name: "diff", Usage: "what that tree adds, by class", Flags: flags(), Action: g.diff},
			{Name: "plan", Usage: "the commands that would run", Flags: flags(), Action: g.plan},
			{Name: "coverage", Usage: "add up coverage files", Action: g.coverage},
			{Name: "cache", Usage: "the kept answers", Action: g.cache, Subcommands: []*urfave.Command{
				{Name: "list", Usage: "print them, the newest first", Action: g.cacheList},
				{Name: "clear", Usage: "forget them", Action: g.cacheClear},
			}},
		},
	}, doc, args)
}

// gateProgram holds the verbs of ralph-gate.
type gateProgram struct {
	*Process
	terminal bool // stdout is one
}

// option is a flag's value, given before the verb or behind it.
func option(c *urfave.Context, name string) string {
	for _, at := range c.Lineage() {
		if at.IsSet(name) {
			return at.String(name)
		}
	}
	return ""
}

func isSet(c *urfave.Context, name string) bool {
	for _, at := range c.Lineage() {
		if at.IsSet(name) {
			return true
		}
	}
	return false
}

// refuseOptions refuses those that mean nothing to a verb.
func refuseOptions(c *urfave.Context, names ...string) error {
	for _, name := range names {
		if isSet(c, name) {
			return exit.Misuse(fmt.Sprintf("see '%s --help'", gateName), "--%s means nothing to %q", name, c.Command.Name)
		}
	}
	return nil
}

// gateQuestion is what is to be judged.
type gateQuestion struct {
	repo        *git.Repo
	trees       gate.Trees
	requirement *spec.Requirement
	config      *config.Config
}

// ask finds the trees, the requirement and the configuration in force.
func (g *gateProgram) ask(ctx context.Context, c *urfave.Context, hook bool) (*gateQuestion, error) {
	repo, err := git.Open(ctx, g.Dir, g.Environ)
	if err != nil {
		return nil, err
	}
	q := &gateQuestion{repo: repo}
	base, working, err := g.inProgress(ctx, repo)
	if err != nil {
		return nil, err
	}
	if rev := g.Getenv("RALPH_BASE"); rev != "" {
		base = rev
	}
	if isSet(c, "base") {
		if base = option(c, "base"); base == "" {
			return nil, exit.Misuse("give a commit, a branch or a tag", "--base is empty")
		}
	}
	if q.trees, err = gate.FindTrees(ctx, repo, base, hook || option(c, "req") != ""); err != nil {
		return nil, err
	}
	id := option(c, "req")
	if id == "" {
		id = working
	}
	if id != "" {
		if q.requirement, err = g.requirement(ctx, repo, q.trees.Base, id); err != nil {
			return nil, err
		}
	}
	from := q.trees.Tree
	if q.requirement != nil {
		from = q.trees.Base // trusted: the work under judgement cannot have changed it
	}
	q.config, err = gate.ReadConfig(ctx, repo, from, q.trees.Tree)
	return q, err
}

// requirement reads one from the specification: the baseline's, or the worktree's file where git does not have it.
func (g *gateProgram) requirement(ctx context.Context, repo *git.Repo, base, id string) (*spec.Requirement, error) {
	conf, err := gate.ReadConfig(ctx, repo, base, base)
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
			return nil, exit.Fail("write it, or let 'spec' in ralph.yaml name it", "there is no specification %q", conf.Spec)
		}
		if err != nil {
			return nil, fmt.Errorf("read the specification: %w", err)
		}
	}
	s, _, err := spec.Read(conf.Spec, data)
	if err != nil {
		return nil, err
	}
	r := s.Lookup(id)
	if r == nil {
		return nil, exit.Fail("ralph-order list --all prints the ids", "the specification %q holds no requirement %q", conf.Spec, id)
	}
	return r, nil
}

// judge is the verb run.
func (g *gateProgram) judge(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" [OPTIONS] [run]", 0, 0); err != nil {
		return err
	}
	format, color := option(c, "format"), option(c, "color")
	if err := oneOf("format", format, "", "text", "json"); err != nil {
		return err
	}
	if err := oneOf("color", color, "", "auto", "always", "never"); err != nil {
		return err
	}
	only, hook, err := layerNames(option(c, "only"), isSet(c, "only"))
	if err != nil {
		return err
	}
	// A driver that was killed cannot end us: we notice.
	ctx, stop := run.WithParent(c.Context)
	defer stop()
	q, err := g.ask(ctx, c, hook)
	if err != nil {
		return err
	}
	if hook {
		if only, err = hookLayers(q.config); err != nil {
			return err
		}
	}
	text := format != "json"
	quiet := isSet(c, "quiet")
	colour := text && g.colour(color)
	if text && !quiet {
		fmt.Fprintf(g.Stdout, "%s\n", describe(q))
	}
	var writeErr error
	v, err := gate.Run(ctx, gate.Request{
		Repo: q.repo, Environ: g.Environ, Config: q.config, Base: q.trees.Base, Tree: q.trees.Tree, Requirement: q.requirement,
		Only: only, StopAtFirst: hook, Now: g.Now,
		OnLayer: func(l gate.Layer) {
			if !text || quiet && (l.Result == gate.Pass || l.Result == gate.NotApplicable) {
				return
			}
			if err := l.WriteText(g.Stdout, colour); err != nil && writeErr == nil {
				writeErr = err
			}
			if out, ok := g.Stdout.(interface{ Flush() error }); ok {
				if err := out.Flush(); err != nil && writeErr == nil {
					writeErr = err
				}
			}
		},
	})
	if err != nil {
		return err
	}
	if !text {
		writeErr = v.WriteJSON(g.Stdout)
	}
	if name := option(c, "digest"); name != "" && !v.Passed() {
		if !filepath.IsAbs(name) {
			name = filepath.Join(g.Dir, name)
		}
		if err := atomicfile.Write(name, []byte(v.Digest())); err != nil {
			return fmt.Errorf("write the digest: %w", err)
		}
	}
	if name := option(c, "verdict"); name != "" {
		var object bytes.Buffer
		if err := v.WriteJSON(&object); err != nil {
			return fmt.Errorf("write the verdict: %w", err)
		}
		if err := atomicfile.Write(g.abs(name), object.Bytes()); err != nil {
			return fmt.Errorf("write the verdict: %w", err)
		}
	}
	if writeErr != nil {
		return fmt.Errorf("write the report: %w", writeErr)
	}
	if code := v.ExitCode(); code != exit.OK {
		return exit.Silent(code)
	}
	return nil
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

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// diff prints what the tree adds.
func (g *gateProgram) diff(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" [--base REV] [--format F] diff", 0, 0); err != nil {
		return err
	}
	format := option(c, "format")
	if err := oneOf("format", format, "", "text", "tsv", "json"); err != nil {
		return err
	}
	if err := refuseOptions(c, "only", "digest", "verdict", "color", "quiet"); err != nil {
		return err
	}
	q, err := g.ask(c.Context, c, false)
	if err != nil {
		return err
	}
	stat, err := diffstat.Measure(c.Context, q.repo, q.trees.Base, q.trees.Tree,
		&diffstat.Classifier{TestGlobs: q.config.Gate.TestGlobs, IgnoreGlobs: q.config.Gate.IgnoreGlobs})
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

// plan prints the commands that would run.
func (g *gateProgram) plan(c *urfave.Context) error {
	if _, err := g.operands(c, gateName+" plan", 0, 0); err != nil {
		return err
	}
	if err := refuseOptions(c, "only", "digest", "verdict", "color", "quiet", "format"); err != nil {
		return err
	}
	q, err := g.ask(c.Context, c, false)
	if err != nil {
		return err
	}
	steps, err := gate.Plan(c.Context, q.repo, q.config, q.trees.Tree)
	if err != nil {
		return err
	}
	for _, s := range steps {
		fmt.Fprintf(g.Stdout, "%s\t%s\n", s.Layer, s)
	}
	return nil
}

// coverage adds up coverage files.
func (g *gateProgram) coverage(c *urfave.Context) error {
	names, err := g.operands(c, gateName+" coverage FILE...", 1, -1)
	if err != nil {
		return err
	}
	if err := refuseOptions(c, "base", "req", "only", "digest", "verdict", "color", "quiet", "format"); err != nil {
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
	line := func(covered, total int, name string) {
		fmt.Fprintf(g.Stdout, "%7s %%  %d/%d  %s\n", gate.Share{Part: covered, Whole: total}.Percent(), covered, total, name)
	}
	for _, f := range data.Files() {
		line(f.Covered, f.Total, git.Quote(f.Path))
	}
	covered, total := data.Total()
	line(covered, total, "total")
	return nil
}

// cache without a verb of its own is misuse.
func (g *gateProgram) cache(c *urfave.Context) error {
	if c.Args().Present() {
		return exit.Misuse("known are list, clear", "cache has no verb %q", c.Args().First())
	}
	return exit.Misuse("usage: "+gateName+" cache list|clear", "an operand is missing")
}

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
