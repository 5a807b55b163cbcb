package cli

import (
	"context"
	"fmt"

	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/notify"
	"ralph-loop/internal/plain"
	"ralph-loop/internal/run"
)

// announce notes, beside the learnings, what on.learned is to be told of outcomes.
func (l *learnPlace) announce(w *learn.Windows, req string, outcomes ...learn.Outcome) {
	if len(l.config.On.Learned) > 0 {
		w.Announce(req, outcomes...)
	}
}

// tellLearned runs the on.learned commands for every learning that is noted as new, also one that a crash left. A learning
// is taken off the list when its commands have ended, however they ended.
func (l *learnPlace) tellLearned(ctx context.Context) error {
	commands := l.config.On.Learned
	if l.p.Getenv(notify.Variable) == notify.Learned {
		return nil // such a command called us; who called it tells next what it added
	}
	w, err := l.stored()
	if err != nil || len(commands) == 0 || len(w.Untold) == 0 {
		return err
	}
	ctx, stop := run.WithParent(ctx)
	defer stop()
	release, err := learn.LockTelling(ctx, l.repo.Sprint())
	if err != nil {
		return err
	}
	defer release()
	place := notify.Place{Dir: l.repo.Top, Environ: l.p.Environ}
	for {
		if w, err = l.stored(); err != nil || len(w.Untold) == 0 {
			return err
		}
		u := w.Untold[0]
		problems, err := place.Tell(ctx, commands, learnedEvent(u))
		if err != nil {
			return err
		}
		last := ""
		for _, problem := range problems {
			l.p.warn(learnName, "%s", plain.Line(problem))
			last = problem
		}
		if err := checkpoint.NewStore(l.repo, l.p.Now).RecordTold(ctx, u.Req, last); err != nil {
			return err
		}
		if err := l.updateWindows(ctx, "", func(w *learn.Windows) error {
			w.Told(u)
			return nil
		}); err != nil {
			return err
		}
	}
}

// stored is windows as they are on the disk now: we and others have written since the program began.
func (l *learnPlace) stored() (*learn.Windows, error) {
	return l.windowsOf(checkpoint.NewStore(l.repo, l.p.Now).Load())
}

// learnedEvent is a learning as on.learned reads it.
func learnedEvent(u learn.Untold) notify.Event {
	class := "contextual"
	if u.Permanent {
		class = "permanent"
	}
	return notify.Event{Version: notify.Version, Kind: notify.Learned, At: u.At, Run: u.Run, Req: u.Req, ID: u.ID,
		Classification: class, Pattern: u.Pattern, Evidence: u.Evidence, Text: fmt.Sprintf("learned (%s): %s", class, u.Pattern)}
}
