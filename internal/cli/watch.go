package cli

import (
	"bytes"
	"context"
	"time"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
)

// redrawn is how often a watched status is looked at.
const redrawn = time.Second

// watch draws the status again and again, until the run does not go on by itself any more, or a signal comes.
func (v *checkpointVerbs) watch(c *urfave.Context) error {
	if !v.p.terminal || v.p.Getenv("TERM") == "dumb" {
		return exit.Misuse("ralph-checkpoint status", "--watch draws on a terminal, and stdout is none that can be drawn on")
	}
	if c.String("format") != "text" {
		return exit.Misuse("leave one of them out", "--watch does not go with --format %s", c.String("format"))
	}
	if _, err := v.p.operands(c, "ralph-checkpoint status --watch", 0, 0); err != nil {
		return err
	}
	var last []byte
	for {
		going, screen, err := v.screen(c.Context)
		if err != nil {
			return err
		}
		if !bytes.Equal(screen, last) {
			// Home, draw, clear what is below: without a flicker.
			if _, err := v.p.Stdout.Write(append([]byte("\x1b[H"), append(bytes.ReplaceAll(screen, []byte("\n"), []byte("\x1b[K\n")), "\x1b[J"...)...)); err != nil {
				return err
			}
			if err := v.p.flush(); err != nil {
				return err
			}
			last = screen
		}
		if !going {
			return nil
		}
		select {
		case <-c.Context.Done():
			return context.Cause(c.Context)
		case <-time.After(redrawn):
		}
	}
}

// screen is what is drawn, and whether the run still goes on.
func (v *checkpointVerbs) screen(ctx context.Context) (going bool, text []byte, err error) {
	cp, _, err := v.open(ctx, false, false)
	if err != nil {
		return false, nil, err
	}
	var b bytes.Buffer
	if err := cp.WriteTable(&b); err != nil {
		return false, nil, err
	}
	going, err = cp.WriteNow(&b)
	return going, b.Bytes(), err
}
