package checkpoint

import (
	"context"
	"fmt"
	"time"

	"ralph-loop/internal/agentlog"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/run"
)

// The outcomes of an attempt.
const (
	OutcomeOK       = "ok"
	OutcomeFailed   = "failed"
	OutcomeTimeout  = "timeout"
	OutcomeCrash    = "crash"
	OutcomeLimited  = "rate-limited"
	OutcomeCutOff   = "cut-off" // it did not reach its service
	OutcomeNotFound = "not-found"
)

// couldNotWork reports whether an outcome is that of an agent that could not be asked: such an attempt is made again,
// uncharged.
func couldNotWork(outcome string) bool {
	return outcome == OutcomeLimited || outcome == OutcomeCutOff
}

// What goes wrong with an agent and not with its work is nobody's attempt: it is waited for, or ends the loop.
const (
	looks     = 3                // for a program that is not there: it may be about to be replaced
	soon      = 5 * time.Second  // an agent that fails within it did not begin to work
	mostOnce  = 3                // failures at once, in a row, that may be the requirement's fault
	maxPause  = 30 * time.Second // between failures at once
	mostWaits = 10               // for limits or its service, in a row
	maxWait   = 12 * time.Hour   // for one limit: longer than the usual windows, shorter than a surprise
	firstWait = time.Minute      // where the agent does not say how long
	usualWait = 30 * time.Minute // the longest of those
)

// untilItRan tries to dispatch the agent until it had the chance to work, and records the attempt.
func (c *Checkpoint) untilItRan(ctx context.Context, id string, try func() (*Attempted, error)) (*Attempted, error) {
	for look := 1; ; {
		if err := c.pause(ctx, id); err != nil {
			return nil, err
		}
		a, err := try()
		if err != nil {
			return nil, err
		}
		r := c.p.Find(id)
		infra := r.Status == InfraDispatch
		switch {
		case a.Outcome == OutcomeNotFound && look < looks:
			c.say("%s: %s; looking again in %d s", id, a.cause(), look)
			if err := c.sleepUntil(ctx, c.now().Add(time.Duration(look)*time.Second)); err != nil {
				return nil, err
			}
			look++
			continue
		case a.Outcome == OutcomeNotFound:
			return nil, exit.Fail("install it, or name another one; starting the loop again goes on from here",
				"%s: %s; nothing is charged", id, a.cause())
		case a.atOnce() && (infra || r.Attempts == 0 && c.p.AtOnce >= mostOnce):
			if err := c.recordAttempt(context.WithoutCancel(ctx), id, a, false); err != nil {
				return nil, err
			}
			// The test infrastructure is asked for in the same words at every requirement: it is none's fault.
			if infra && c.p.AtOnce < mostOnce {
				continue
			}
			where, mend := "at more than one requirement, so it is not their fault", "mend it, decide about what is blocked"
			if infra {
				where, mend = "asked for the test infrastructure; nothing is charged", "mend it"
			}
			return nil, &exit.Coded{Code: exit.Blocked, Hint: mend + ", and start the loop again; its log is " + a.Log,
				Err: fmt.Errorf("%s: the agent failed at once %d times in a row, %s (%s)", id, c.p.AtOnce, where, a.cause())}
		}
		if err := c.recordAttempt(context.WithoutCancel(ctx), id, a, true); err != nil {
			return nil, err
		}
		// What was left before the limit came may be whole: the gate says.
		if a.Outcome != OutcomeCutOff && (a.Outcome != OutcomeLimited || a.worked) {
			return a, nil
		}
	}
}

// explain tells an attempt that failed by itself from one whose agent could not work.
func (c *Checkpoint) explain(a *Attempted, ended run.Ended, log agentlog.Log) {
	if a.Outcome == OutcomeOK || a.Outcome == OutcomeNotFound {
		return
	}
	// The exit codes by which a shell says so, where the agent is a script.
	if (ended.Code == 126 || ended.Code == 127) && !a.worked && ended.Duration < soon {
		a.Outcome = OutcomeNotFound
		return
	}
	// Some agents ask again and again until their time is over. One that left work by then was at work.
	if a.Outcome == OutcomeTimeout && a.worked {
		return
	}
	if limited, until := agentlog.Limited(log.LastWords(), c.now()); limited {
		a.Outcome, a.until, a.words = OutcomeLimited, until, plain(log.LastWords())
	} else if !a.worked && agentlog.CutOff(log.LastWords()) {
		// One that left work was not cut off all the time: what it failed on may be the work's own.
		a.Outcome, a.words = OutcomeCutOff, plain(log.LastWords())
	}
}

// atOnce reports whether the agent ended with an error before it can have begun to work.
func (a *Attempted) atOnce() bool {
	return (a.Outcome == OutcomeFailed || a.Outcome == OutcomeCrash) && !a.worked && a.Seconds < soon.Seconds()
}

// cause is how the agent ended, with its own word for it where it had one.
func (a *Attempted) cause() string {
	if a.words == "" {
		return a.how
	}
	return a.how + ": " + firstLine([]byte(a.words))
}

// noteTrouble keeps count of what went wrong with the agent itself; an attempt that had its chance forgets it.
func (c *Checkpoint) noteTrouble(p *Progress, a *Attempted) {
	if a.atOnce() {
		p.AtOnce++
	} else {
		p.AtOnce = 0
	}
	if !couldNotWork(a.Outcome) {
		p.Limit = nil
		return
	}
	times, worked := 1, a.worked
	if p.Limit != nil {
		times, worked = times+p.Limit.Times, worked || p.Limit.Worked
	}
	p.Limit = &Limit{Times: times, Until: c.stamp().Add(untilNext(times, a.until, c.now())), Said: firstLine([]byte(a.words)), CutOff: a.Outcome == OutcomeCutOff, Worked: worked}
}

// untilNext is how long to wait for a limit: as long as the agent says, and where it says nothing, or said the same
// twice in vain, a minute, then twice as long each time.
func untilNext(times int, said, now time.Time) time.Duration {
	doubled := min(firstWait<<min(times-1, 10), usualWait)
	switch {
	case said.IsZero():
		return doubled
	case times > 2:
		return max(doubled, said.Sub(now)+time.Second)
	}
	return max(0, said.Sub(now)) + time.Second // the stamps are whole seconds
}

// pause waits where the last attempts could not work: for a limit, or a little before an agent is asked again that
// failed at once.
func (c *Checkpoint) pause(ctx context.Context, id string) error {
	l := c.p.Limit
	if l == nil {
		if c.p.AtOnce == 0 {
			return nil
		}
		return c.sleepUntil(ctx, c.now().Add(min(time.Second<<min(c.p.AtOnce-1, 10), maxPause)))
	}
	wait := l.Until.Sub(c.now())
	at := c.clock(l.Until)
	if l.CutOff && l.Times > mostWaits {
		return exit.Fail("start the loop again when it does: it goes on from here",
			"%s: the agent does not reach its service, %d times in a row: %q; nothing is charged", id, l.Times, l.Said)
	}
	if l.CutOff {
		c.say("%s: the agent does not reach its service: %q; it is asked again at %s, and nothing is charged", id, l.Said, at)
		return c.sleepUntil(ctx, l.Until)
	}
	if c.cfg.Agent.RateLimit == "stop" || wait > maxWait || l.Times > mostWaits {
		return &exit.Coded{Code: exit.RateLimit, Hint: "start the loop again after that: it goes on from here",
			Err: fmt.Errorf("%s: the agent is over a limit, probably until %s: %q; nothing is charged", id, at, l.Said)}
	}
	c.say("%s: the agent is over a limit: %q; waiting until %s, and nothing is charged", id, l.Said, at)
	return c.sleepUntil(ctx, l.Until)
}

// sleepUntil waits for a time of the wall clock: a machine that slept meanwhile does not wait any longer for it.
func (c *Checkpoint) sleepUntil(ctx context.Context, until time.Time) error {
	until = until.Round(0)
	for left := until.Sub(c.now().Round(0)); left > 0; left = until.Sub(c.now().Round(0)) {
		t := time.NewTimer(min(left, 5*time.Second))
		select {
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
		}
	}
	return nil
}
