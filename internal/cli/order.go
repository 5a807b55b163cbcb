package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/order"
	"ralph-loop/internal/plain"
	"ralph-loop/internal/spec"
)

const orderName = "ralph-order"

// Order runs ralph-order.
func Order(p *Process, doc string, args []string) int {
	// The heap grows until the answer is printed and is then given up: to collect it half as often costs a tenth more
	// memory and saves a fifth of the time.
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	o := &orderProgram{p}
	format := func(values string) *urfave.StringFlag {
		return &urfave.StringFlag{Name: "format", Value: "text", Usage: values}
	}
	ids := &urfave.BoolFlag{Name: "z", Usage: "print ids, each followed by a NUL byte"}
	list := []urfave.Flag{&urfave.BoolFlag{Name: "all", Usage: "also what is done or skipped"}, format("text, tsv, json, dot or mermaid"), ids}
	return p.run(&urfave.App{
		Name:   orderName,
		Flags:  list,
		Action: o.list,
		Commands: []*urfave.Command{
			{Name: "list", Usage: "the requirements in order", Flags: list, Action: o.list},
			{Name: "next", Usage: "the requirement to work on now", Flags: []urfave.Flag{format("text, tsv or json"), ids}, Action: o.next},
			{Name: "ready", Usage: "all that could be worked on now", Flags: []urfave.Flag{format("text, tsv or json"), ids}, Action: o.ready},
			{Name: "layers", Usage: "all requirements by layer", Flags: []urfave.Flag{format("text, tsv or json")}, Action: o.layers},
			{Name: "check", Usage: "is the specification sound?", Action: o.check},
			{Name: "why", Usage: "why a requirement is where it is", Action: o.why},
			{Name: "show", Usage: "one requirement", Flags: []urfave.Flag{format("text, yaml or json")}, Action: o.show},
		},
	}, doc, args)
}

// orderProgram holds the verbs of ralph-order.
type orderProgram struct{ *Process }

// question is what every verb works on.
type question struct {
	graph    *order.Graph
	states   order.States
	warnings []spec.Problem
}

// ask reads the specification that the operand names, "-" for standard input, with its own statuses; or, without one, the
// repository's with the checkpoint's.
func (o *orderProgram) ask(c *urfave.Context, operand string) (*question, error) {
	path, repo := operand, (*git.Repo)(nil)
	if operand == "" {
		var err error
		if path, repo, err = o.usualSpec(c.Context); err != nil {
			return nil, err
		}
	}
	data, err := o.readInput(c.Context, path, spec.MaxSize)
	if err != nil {
		return nil, err
	}
	g, warnings, err := order.Read(path, data)
	if err != nil {
		return nil, err
	}
	states, err := o.states(repo, g.Spec())
	if err != nil {
		return nil, err
	}
	return &question{g, states, warnings}, nil
}

// askSpec is ask for the verbs whose one operand is SPEC; formats are the known ones.
func (o *orderProgram) askSpec(c *urfave.Context, usage string, formats ...string) (*question, error) {
	if err := oneOf("format", c.String("format"), formats...); err != nil {
		return nil, err
	}
	if c.Bool("z") && c.String("format") != "text" {
		return nil, exit.Misuse("leave one of them out", "-z prints ids and cannot be combined with --format %s", c.String("format"))
	}
	operands, err := o.operands(c, usage, 0, 1)
	if err != nil {
		return nil, err
	}
	operand := ""
	if len(operands) == 1 {
		operand = operands[0]
	}
	return o.ask(c, operand)
}

func (o *orderProgram) list(c *urfave.Context) error {
	word := c.Args().First()
	if c.Command.Name != "list" && word != "" && !strings.ContainsAny(word, "-./\\") {
		if _, err := os.Stat(o.abs(word)); errors.Is(err, fs.ErrNotExist) {
			return exit.Misuse(verbsFor(c, word), "%q is neither a verb nor a file that is there", word)
		}
	}
	q, err := o.askSpec(c, "ralph-order [--all] [--format F] [-z] [list] [SPEC]", "text", "tsv", "json", "dot", "mermaid")
	if err != nil {
		return err
	}
	rows := q.graph.Rows(q.states)
	switch c.String("format") {
	case "dot":
		return order.WriteDot(o.Stdout, rows)
	case "mermaid":
		return order.WriteMermaid(o.Stdout, rows)
	}
	if !c.Bool("all") {
		rows = order.Unfinished(rows)
	}
	return o.write(c, q.graph, rows)
}

// write prints rows as --format and -z ask.
func (o *orderProgram) write(c *urfave.Context, g *order.Graph, rows []order.Row) error {
	switch format := c.String("format"); {
	case c.Bool("z"):
		for _, row := range rows {
			if _, err := fmt.Fprintf(o.Stdout, "%s\x00", row.ID); err != nil {
				return err
			}
		}
		return nil
	case format == "tsv":
		return order.WriteTSV(o.Stdout, rows)
	case format == "json":
		return g.WriteJSON(o.Stdout, rows)
	}
	return order.WriteTable(o.Stdout, rows)
}

func (o *orderProgram) next(c *urfave.Context) error {
	q, err := o.askSpec(c, "ralph-order next [--format F] [-z] [SPEC]", "text", "tsv", "json")
	if err != nil {
		return err
	}
	outlook, reason := q.graph.Outlook(q.states)
	if outlook != order.SomeReady {
		if c.String("format") == "json" {
			if err := q.graph.WriteNextJSON(o.Stdout, nil, outlook, reason); err != nil {
				return err
			}
		}
		return nothingReady(outlook, reason)
	}
	rows := order.Select(q.graph.Rows(q.states), q.graph.Ready(q.states)[:1])
	switch {
	case c.String("format") == "json":
		return q.graph.WriteNextJSON(o.Stdout, &rows[0], outlook, reason)
	case c.String("format") == "text" && !c.Bool("z"):
		_, err = fmt.Fprintln(o.Stdout, rows[0].ID)
		return err
	}
	return o.write(c, q.graph, rows)
}

func (o *orderProgram) ready(c *urfave.Context) error {
	q, err := o.askSpec(c, "ralph-order ready [--format F] [-z] [SPEC]", "text", "tsv", "json")
	if err != nil {
		return err
	}
	rows := order.Select(q.graph.Rows(q.states), q.graph.Ready(q.states))
	if len(rows) > 0 || c.String("format") == "json" {
		if err := o.write(c, q.graph, rows); err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nothingReady(q.graph.Outlook(q.states))
	}
	return nil
}

// nothingReady is the answer no, with where the whole stands.
func nothingReady(outlook order.Outlook, reason string) error {
	hint := ""
	if outlook == order.Stuck {
		hint = "ask 'ralph-order why REQ' about one of them"
	}
	return exit.Refuse(hint, "nothing is ready: %s", plain.Line(reason))
}

func (o *orderProgram) layers(c *urfave.Context) error {
	q, err := o.askSpec(c, "ralph-order layers [--format F] [SPEC]", "text", "tsv", "json")
	if err != nil {
		return err
	}
	rows := q.graph.Rows(q.states)
	switch c.String("format") {
	case "tsv":
		return order.WriteLayersTSV(o.Stdout, rows)
	case "json":
		return q.graph.WriteLayersJSON(o.Stdout)
	}
	return order.WriteLayersTable(o.Stdout, rows)
}

func (o *orderProgram) check(c *urfave.Context) error {
	operands, err := o.operands(c, "ralph-order check [SPEC]", 0, 1)
	if err != nil {
		return err
	}
	q, err := o.ask(c, append(operands, "")[0])
	if err != nil {
		return err
	}
	maxTokens, err := o.maxPromptTokens(c.Context)
	if err != nil {
		return err
	}
	for _, w := range append(q.warnings, q.graph.Spec().Large(maxTokens)...) {
		w.Message = "warning: " + w.Message
		o.printProblem(w)
	}
	return nil
}

// maxPromptTokens is prompt.max_tokens of the worktree that we stand in, its default outside of one.
func (o *orderProgram) maxPromptTokens(ctx context.Context) (int, error) {
	repo, err := git.Open(ctx, o.Dir, o.Environ)
	if err != nil {
		return config.Default().Prompt.MaxTokens, nil
	}
	cfg, err := o.readConfig(ctx, repo)
	if err != nil {
		return 0, err
	}
	return cfg.Prompt.MaxTokens, nil
}

func (o *orderProgram) why(c *urfave.Context) error {
	q, r, err := o.askRequirement(c, "ralph-order why REQ [SPEC]")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.Stdout, plain.Text(q.graph.Why(r.ID, q.states)))
	return err
}

func (o *orderProgram) show(c *urfave.Context) error {
	if err := oneOf("format", c.String("format"), "text", "yaml", "json"); err != nil {
		return err
	}
	q, r, err := o.askRequirement(c, "ralph-order show [--format F] REQ [SPEC]")
	if err != nil {
		return err
	}
	switch c.String("format") {
	case "yaml":
		_, err = io.WriteString(o.Stdout, strings.TrimSuffix(r.Source, "\n")+"\n")
		return err
	case "json":
		return q.graph.ShowJSON(o.Stdout, r, q.states)
	}
	return q.graph.ShowText(o.Stdout, r, q.states)
}

// askRequirement is ask for the verbs whose operands are REQ [SPEC].
func (o *orderProgram) askRequirement(c *urfave.Context, usage string) (*question, *spec.Requirement, error) {
	operands, err := o.operands(c, usage, 1, 2)
	if err != nil {
		return nil, nil, err
	}
	q, err := o.ask(c, append(operands, "")[1])
	if err != nil {
		return nil, nil, err
	}
	r, err := q.graph.Spec().Require(operands[0])
	return q, r, err
}

// readInput reads a file, or standard input for "-", up to one byte more than limit. It returns when the context ends,
// which a read from a terminal would not.
func (p *Process) readInput(ctx context.Context, path string, limit int64) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		in := p.Stdin
		if path != "-" {
			name := path
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			f, err := os.Open(name)
			if err != nil {
				done <- result{err: err}
				return
			}
			defer func() { _ = f.Close() }() // only read
			in = f
		}
		var buf bytes.Buffer
		if f, ok := in.(*os.File); ok {
			if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
				buf.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
			}
		}
		_, err := buf.ReadFrom(io.LimitReader(in, limit+1))
		done <- result{buf.Bytes(), err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-done:
		switch {
		case errors.Is(r.err, fs.ErrNotExist):
			return nil, exit.Fail(noSpecHint, "read %q: %w", path, fs.ErrNotExist)
		case r.err != nil:
			return nil, exit.Fail("", "read %q: %w", path, r.err)
		}
		return r.data, nil
	}
}

// printProblem writes a problem to stderr in the form that editors know, and its hint.
func (p *Process) printProblem(problem spec.Problem) {
	fmt.Fprintln(p.Stderr, plain.Line(problem.String()))
	if problem.Hint != "" {
		fmt.Fprintln(p.Stderr, "hint: "+plain.Line(problem.Hint))
	}
}
