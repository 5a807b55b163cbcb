package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/exit"
)

// view runs f on the state, for a verb that changes nothing.
func (v *checkpointVerbs) view(c *urfave.Context, usage string, operands int, f func(*checkpoint.Checkpoint, []string) error) error {
	ops, err := v.p.operands(c, usage, operands, operands)
	if err != nil {
		return err
	}
	cp, _, err := v.open(c.Context, false, false)
	if err != nil {
		return err
	}
	return f(cp, ops)
}

func (v *checkpointVerbs) failures(c *urfave.Context) error {
	return v.view(c, "ralph-checkpoint failures REQ", 1, func(cp *checkpoint.Checkpoint, ops []string) error {
		digests, err := cp.Failures(ops[0])
		for i, d := range digests {
			if i > 0 {
				fmt.Fprintln(v.p.Stdout)
			}
			fmt.Fprintln(v.p.Stdout, strings.TrimRight(d, "\n"))
		}
		return err
	})
}

func (v *checkpointVerbs) status(c *urfave.Context) error {
	if err := oneOf("format", c.String("format"), "text", "json"); err != nil {
		return err
	}
	if c.Bool("watch") {
		return v.watch(c)
	}
	return v.view(c, "ralph-checkpoint status [--format text|json] [--watch]", 0, func(cp *checkpoint.Checkpoint, _ []string) error {
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
	return v.view(c, "ralph-checkpoint summary REQ", 1, func(cp *checkpoint.Checkpoint, ops []string) error {
		return cp.WriteSummary(v.p.Stdout, ops[0])
	})
}

func (v *checkpointVerbs) report(c *urfave.Context) error {
	return v.view(c, "ralph-checkpoint report", 0, func(cp *checkpoint.Checkpoint, _ []string) error {
		if err := cp.WriteTable(v.p.Stdout); err != nil {
			return err
		}
		// The driver says how it was called, so that its commands can be copied.
		loop := v.p.Getenv("RALPH_LOOP")
		if loop == "" {
			loop = "ralph-loop"
		}
		return cp.WriteDecisions(v.p.Stdout, loop)
	})
}

func (v *checkpointVerbs) check(c *urfave.Context) error {
	return v.view(c, "ralph-checkpoint check", 0, func(cp *checkpoint.Checkpoint, _ []string) error {
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
