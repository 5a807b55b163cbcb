package learn

import (
	"slices"
	"time"
)

// mostUntold bounds the news that wait to be told.
const mostUntold = 200

// Untold is a learning that is new, or permanent from now on, and that the user's on.learned commands are still to be
// told. It stands beside the learning, so that a crash loses neither.
type Untold struct {
	ID        string    `yaml:"id"`
	Req       string    `yaml:"req,omitempty"` // whose report brought it; "": a person, for no requirement
	Permanent bool      `yaml:"permanent,omitempty"`
	Pattern   string    `yaml:"pattern"`
	Evidence  string    `yaml:"evidence,omitempty"` // the newest
	Run       string    `yaml:"run,omitempty"`
	At        time.Time `yaml:"at"`
}

// Announce notes what is to be told of outcomes: what was known before and stays what it was is no news.
func (w *Windows) Announce(req string, outcomes ...Outcome) {
	for _, o := range outcomes {
		if o.What == Repeated {
			continue
		}
		u := Untold{ID: o.ID, Req: req, Permanent: o.Permanent, Pattern: o.Pattern}
		if all := w.evidence(o.ID); len(all) > 0 {
			newest := all[len(all)-1]
			u.Evidence, u.Run, u.At = newest.Text, newest.Run, newest.At
		}
		w.Untold = append(w.Untold, u)
	}
	if over := len(w.Untold) - mostUntold; over > 0 {
		w.Untold = slices.Delete(w.Untold, 0, over)
	}
}

// evidence is that of the learning in force that has an id.
func (w *Windows) evidence(id string) []Evidence {
	for _, p := range w.Permanent {
		if p.ID == id {
			return p.Evidence
		}
	}
	for _, c := range w.Contextual {
		if c.ID == id {
			return c.Evidence
		}
	}
	return nil
}

// Told takes the news that was told off the list.
func (w *Windows) Told(u Untold) {
	same := func(v Untold) bool { return v.ID == u.ID && v.Permanent == u.Permanent && v.At.Equal(u.At) }
	if i := slices.IndexFunc(w.Untold, same); i >= 0 {
		w.Untold = slices.Delete(w.Untold, i, i+1)
	}
}
