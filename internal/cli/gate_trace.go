package cli

import (
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/learn"
)

// trace prints which test covers which criterion.
func (g *gateProgram) trace(c *urfave.Context) error {
	q, format, err := g.askTable(c, gateName+" [--req ID] [--format F] trace")
	if err != nil {
		return err
	}
	req := gate.Request{Repo: q.repo, Config: q.config, Base: q.trees.Base, Tree: q.trees.Tree, Head: q.trees.Head, Done: q.done}
	if c.String("req") != "" {
		req.Requirement = q.requirement
	}
	t, err := gate.TraceOf(c.Context, &req)
	if err != nil {
		return err
	}
	if t == nil {
		return exit.Fail(noSpecHint, "there is no specification %q", q.config.Spec)
	}
	switch format {
	case "json":
		return t.WriteJSON(g.Stdout)
	case "tsv":
		return t.WriteTSV(g.Stdout)
	}
	return t.WriteText(g.Stdout)
}

// touchedEarlier is what the report of the attempt at work says of earlier requirements. It serves to be shown, so that
// a report that is not there, or cannot be read, says nothing.
func touchedEarlier(repo *git.Repo) []gate.Touched {
	data, err := learn.ReadReport(filepath.Join(repo.Sprint(), "report.yaml"))
	if err != nil {
		return nil
	}
	report, _, err := learn.ParseReport(data)
	if err != nil {
		return nil
	}
	var touched []gate.Touched
	for _, t := range report.Touched {
		touched = append(touched, gate.Touched{Req: t.Req, Reason: t.Reason})
	}
	return touched
}
