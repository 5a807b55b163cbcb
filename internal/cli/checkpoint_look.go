package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// view runs f on the state, for a verb without operands that changes nothing.
func (v *checkpointVerbs) view(c *urfave.Context, usage string, f func(*checkpoint.Checkpoint) error) error {
	if _, err := v.p.operands(c, usage, 0, 0); err != nil {
		return err
	}
	cp, _, err := v.open(c.Context, false, false)
	if err != nil {
		return err
	}
	if cp.Progress() == nil {
		return cp.NoRun(c.Context)
	}
	return f(cp)
}

// viewOf is view for a verb whose operand is a requirement.
func (v *checkpointVerbs) viewOf(c *urfave.Context, usage string, f func(*checkpoint.Checkpoint, string) error) error {
	ops, err := v.p.operands(c, usage, 1, 1)
	if err != nil {
		return err
	}
	cp, _, err := v.openAt(c.Context, ops[0], false)
	if err != nil {
		return err
	}
	return f(cp, ops[0])
}

// failures is asked before each attempt. Where the run knows the requirement, nothing is needed of the specification,
// which is dear to read if it is large.
func (v *checkpointVerbs) failures(c *urfave.Context) error {
	ops, err := v.p.operands(c, "ralph-checkpoint failures REQ", 1, 1)
	if err != nil {
		return err
	}
	repo, err := git.Open(c.Context, v.p.Dir, v.p.Environ)
	if err != nil {
		return err
	}
	cfg, err := v.p.readConfig(c.Context, repo)
	if err != nil {
		return err
	}
	progress, err := v.p.progress(repo)
	if err != nil {
		return err
	}
	if progress == nil || progress.Find(ops[0]) == nil {
		_, _, err := v.openAt(c.Context, ops[0], false)
		return err
	}
	cp := checkpoint.Open(v.p.checkpointOptions(&project{repo: repo, cfg: cfg}, checkpointName), progress)
	digests, err := cp.Failures(ops[0])
	for i, d := range digests {
		if i > 0 {
			fmt.Fprintln(v.p.Stdout)
		}
		fmt.Fprintln(v.p.Stdout, strings.TrimRight(d, "\n"))
	}
	return err
}

func (v *checkpointVerbs) status(c *urfave.Context) error {
	if err := oneOf("format", c.String("format"), "text", "json"); err != nil {
		return err
	}
	if c.Bool("watch") {
		return v.watch(c)
	}
	return v.view(c, "ralph-checkpoint status [--format text|json] [--watch]", func(cp *checkpoint.Checkpoint) error {
		if c.String("format") == "text" {
			return cp.WriteTable(v.p.Stdout)
		}
		s, err := cp.Status()
		if err != nil {
			return err
		}
		data, err := checkpoint.EncodeStatus(s)
		if err != nil {
			return err
		}
		_, err = v.p.Stdout.Write(data)
		return err
	})
}

func (v *checkpointVerbs) summary(c *urfave.Context) error {
	return v.viewOf(c, "ralph-checkpoint summary REQ", func(cp *checkpoint.Checkpoint, id string) error {
		return cp.WriteSummary(v.p.Stdout, id)
	})
}

func (v *checkpointVerbs) report(c *urfave.Context) error {
	return v.view(c, "ralph-checkpoint report", func(cp *checkpoint.Checkpoint) error {
		if err := cp.WriteTable(v.p.Stdout); err != nil {
			return err
		}
		// The driver says how it was called, so that its commands can be copied.
		loop := v.p.Getenv("RALPH_LOOP")
		if loop == "" {
			loop = "ralph-loop"
		}
		return cp.WriteWayOn(v.p.Stdout, loop)
	})
}

func (v *checkpointVerbs) check(c *urfave.Context) error {
	return v.view(c, "ralph-checkpoint check", func(cp *checkpoint.Checkpoint) error {
		wrong, err := cp.Check()
		if err != nil {
			return err
		}
		for _, line := range wrong {
			fmt.Fprintln(v.p.Stdout, line)
		}
		if len(wrong) > 0 {
			return exit.Silent(exit.No)
		}
		return nil
	})
}
