package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/plain"
	"ralph-loop/internal/spec"
)

const learnName = "ralph-learn"

// Learn runs ralph-learn.
func Learn(p *Process, doc string, args []string) int {
	l := &learnProgram{p}
	req := func() urfave.Flag { return &urfave.StringFlag{Name: "req", Usage: "the requirement"} }
	most := func() urfave.Flag { return &urfave.IntFlag{Name: "max-tokens", Usage: "bound on the whole"} }
	return p.run(&urfave.App{
		Name:   learnName,
		Action: noVerb,
		Commands: []*urfave.Command{
			{Name: "add", Usage: "take a learning in", Action: l.add, Flags: []urfave.Flag{req(),
				&urfave.BoolFlag{Name: "permanent", Usage: "every later attempt is told"},
				&urfave.StringFlag{Name: "evidence", Usage: "on what grounds"}}},
			{Name: "ingest", Usage: "take an agent's report in", Action: l.ingest, Flags: []urfave.Flag{req(),
				&urfave.BoolFlag{Name: "unproven", Usage: "its requirement was not done"}}},
			{Name: "list", Usage: "the learnings", Action: l.list, Flags: []urfave.Flag{
				&urfave.BoolFlag{Name: "all", Usage: "the history too"},
				&urfave.StringFlag{Name: "format", Value: "text", Usage: "text or json"}}},
			{Name: "context", Usage: "what the next attempt is told", Action: l.context, Flags: []urfave.Flag{req(), most(),
				&urfave.StringSliceFlag{Name: "beside", Usage: "a file that is within the bound too"},
				&urfave.StringFlag{Name: "agents", Usage: "write what of AGENTS.md is within the bound into this file"},
				&urfave.BoolFlag{Name: "settings", Usage: "what ralph.yaml says of the prompt"}}},
			{Name: "tokens", Usage: "how many tokens files have", Action: l.tokens},
			{Name: "promote", Usage: "make a learning permanent", Action: l.promote},
			{Name: "why", Usage: "why a learning is where it is", Action: l.why},
			{Name: "agents", Usage: "the sections of AGENTS.md", Action: noVerb, Subcommands: []*urfave.Command{
				{Name: "check", Usage: "is the file sound?", Action: l.agentsCheck},
				{Name: "append", Usage: "add a requirement's section", Action: l.agentsAppend, Flags: []urfave.Flag{req(),
					&urfave.StringFlag{Name: "title", Usage: "of the section"},
					&urfave.BoolFlag{Name: "stage", Usage: "put the file into the index"}}},
				{Name: "archive", Usage: "move old sections out", Action: l.agentsArchive},
				{Name: "show", Usage: "the file as a prompt holds it", Action: l.agentsShow, Flags: []urfave.Flag{most()}},
			}},
		},
	}, doc, args)
}

// learnProgram holds the verbs of ralph-learn.
type learnProgram struct{ *Process }

func (l *learnProgram) add(c *urfave.Context) error {
	operands, err := l.operands(c, "ralph-learn add [--req ID] [--permanent] [--evidence T] TEXT", 1, 1)
	if err != nil {
		return err
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return err
	}
	if _, err := place.requirement(c.Context, c.String("req")); err != nil {
		return err
	}
	text := operands[0]
	if text == "-" {
		data, err := l.readInput(c.Context, "-", learn.MaxReport)
		if err != nil {
			return err
		}
		text = string(data)
	}
	text, marked := learn.Marked(text)
	if len(text) > learn.MaxPattern {
		l.warn(learnName, "a learning of %d bytes is cut to %d", len(text), learn.MaxPattern)
	}
	entry := learn.Entry{Text: text, Req: c.String("req"), Evidence: c.String("evidence"), Pinned: marked || c.Bool("permanent")}
	var outcome learn.Outcome
	err = place.change(c.Context, "", func(w *learn.Windows, past []learn.HistoryEntry) (expired []learn.HistoryEntry, err error) {
		if outcome, expired, err = w.Add(entry, past, place.limits(), l.Now()); err == nil {
			place.announce(w, entry.Req, outcome)
		}
		return expired, err
	})
	if errors.Is(err, learn.ErrEmpty) {
		return exit.Misuse("say in a sentence what the next attempt should know", "%w", err)
	}
	if err != nil {
		return err
	}
	if err := l.tell(outcome); err != nil {
		return err
	}
	return place.tellLearned(c.Context)
}

// tell prints what became of a learning: its id, its class, what happened, its text.
func (l *learnProgram) tell(o learn.Outcome) error {
	class := "contextual"
	if o.Permanent {
		class = "permanent"
	}
	_, err := fmt.Fprintf(l.Stdout, "%s  %s  %s  %s\n", o.ID, class, o.What, plain.Line(o.Pattern))
	return err
}

func (l *learnProgram) ingest(c *urfave.Context) error {
	operands, err := l.operands(c, "ralph-learn ingest --req ID [--unproven] [REPORT]", 0, 1)
	if err != nil {
		return err
	}
	if c.String("req") == "" {
		return exit.Misuse("usage: ralph-learn ingest --req ID [REPORT]", "--req is missing")
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return err
	}
	if _, err := place.requirement(c.Context, c.String("req")); err != nil {
		return err
	}
	from, kept, err := place.source(c.String("req"))
	if err != nil {
		return err
	}
	report, data, err := place.report(c.Context, append(operands, kept)[0], place.warn)
	if err != nil {
		if errors.Is(err, errNoReport) && len(operands) == 1 {
			return exit.Fail("name the file that the agent wrote", "%q does not exist", operands[0])
		}
		// The work stands without it: what an agent wrote must not stop the loop. Where none was asked none is missed.
		if from.Run == "" || from.Attempt > 0 {
			l.warn(learnName, "%v: nothing is learned from it", err)
		}
		report, data = &learn.Report{}, nil
	}
	from.Content = data
	var outcomes []learn.Outcome
	err = place.change(c.Context, from.Req, func(w *learn.Windows, past []learn.HistoryEntry) (expired []learn.HistoryEntry, err error) {
		if from.Unproven || c.Bool("unproven") {
			return learn.Unproven(report, from, past, l.Now()), nil
		}
		outcomes, expired, _ = w.Ingest(report, from, past, place.limits(), l.Now())
		place.announce(w, from.Req, outcomes...)
		return expired, nil
	})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if err := l.tell(o); err != nil {
			return err
		}
	}
	return place.tellLearned(c.Context)
}

// learnings is the form in which list --format json prints them.
type learnings struct {
	Version    int                  `json:"version"`
	Permanent  []learn.Permanent    `json:"permanent"`
	Contextual []learn.Contextual   `json:"contextual"`
	History    []learn.HistoryEntry `json:"history,omitempty"`
}

func (l *learnProgram) list(c *urfave.Context) error {
	if err := oneOf("format", c.String("format"), "text", "json"); err != nil {
		return err
	}
	if _, err := l.operands(c, "ralph-learn list [--all] [--format F]", 0, 0); err != nil {
		return err
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return err
	}
	w, err := place.windows()
	if err != nil {
		return err
	}
	all := learnings{Version: 1, Permanent: append([]learn.Permanent{}, w.Permanent...), Contextual: append([]learn.Contextual{}, w.Contextual...)}
	if c.Bool("all") {
		past, err := place.history()
		if err != nil {
			return err
		}
		// What was promoted or came back is in force again and no longer history.
		for _, e := range past {
			if !w.Holds(e.ID) {
				all.History = append(all.History, e)
			}
		}
	}
	if c.String("format") == "json" {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(all); err != nil {
			return err
		}
		_, err := l.Stdout.Write(plain.JSON(buf.Bytes()))
		return err
	}
	return all.write(l.Stdout)
}

// write prints a line a learning: id, class, requirements, text.
func (all learnings) write(out io.Writer) error {
	row := func(id, class, reqs, text string) error {
		if reqs == "" {
			reqs = "-"
		}
		_, err := fmt.Fprintf(out, "%s  %-10s  %s  %s\n", id, class, plain.Line(reqs), plain.Line(text))
		return err
	}
	for _, p := range all.Permanent {
		if err := row(p.ID, "permanent", strings.Join(p.Reqs, ","), p.Pattern); err != nil {
			return err
		}
	}
	for _, c := range all.Contextual {
		if err := row(c.ID, "contextual", c.Req, c.Pattern); err != nil {
			return err
		}
	}
	for _, e := range all.History {
		class := "expired"
		if e.Unproven {
			class = "unproven"
		}
		if err := row(e.ID, class, e.Req, e.Pattern); err != nil {
			return err
		}
	}
	return nil
}

// pageFile holds all permanent learnings for an agent whose prompt could not.
const pageFile = "learnings.md"

// tokens prints the estimate of each file's tokens, a line each.
func (l *learnProgram) tokens(c *urfave.Context) error {
	names, err := l.operands(c, "ralph-learn tokens FILE...", 1, -1)
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := l.readInput(c.Context, name, maxCounted)
		if errors.Is(err, fs.ErrNotExist) {
			return exit.Fail("name a file that is there", "%q does not exist", name)
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(l.Stdout, spec.Tokens(string(data)))
	}
	return nil
}

func (l *learnProgram) promote(c *urfave.Context) error {
	operands, err := l.operands(c, "ralph-learn promote ID", 1, 1)
	if err != nil {
		return err
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return err
	}
	var outcome learn.Outcome
	err = place.change(c.Context, "", func(w *learn.Windows, past []learn.HistoryEntry) ([]learn.HistoryEntry, error) {
		id, ok := w.Resolve(operands[0], past), false
		if outcome, ok = w.Promote(id, past, l.Now()); !ok {
			return nil, unknownLearning(operands[0])
		}
		place.announce(w, "", outcome)
		return nil, nil
	})
	if err != nil {
		return err
	}
	if err := l.tell(outcome); err != nil {
		return err
	}
	return place.tellLearned(c.Context)
}

func (l *learnProgram) why(c *urfave.Context) error {
	operands, err := l.operands(c, "ralph-learn why ID", 1, 1)
	if err != nil {
		return err
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return err
	}
	w, err := place.windows()
	if err != nil {
		return err
	}
	past, err := place.history()
	if err != nil {
		return err
	}
	text, ok := w.Why(w.Resolve(operands[0], past), past, place.limits())
	if !ok {
		return unknownLearning(operands[0])
	}
	_, err = io.WriteString(l.Stdout, plain.Text(text))
	return err
}
