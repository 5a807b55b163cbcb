//go:build failpoint && linux

package torture

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// story is what is done in a world from its beginning to its end, however often it is disturbed: the loop is started
// until it waits for a decision, the user skips the requirement that cannot be done or mends it by hand, and the loop is
// started until all is done.
type story struct {
	w      *world
	starts []*start
	found  []finding
	done   map[string]string // requirements that were once seen as committed, and their commits
	before map[string]int    // how often the agent had been called for each when it was seen as committed
	waited bool              // the loop has waited for a decision
}

func newStory(w *world) *story {
	return &story{w: w, done: map[string]string{}, before: map[string]int{}}
}

// mostStarts is how many undisturbed starts are patiently made before the story counts as stuck.
const mostStarts = 6

var ownFailure = regexp.MustCompile(`(?m)^(REQ-\d+) +🚫 blocked +(\d+|-) +.*$`)

// tell tells the story to its end. disturb gives the disturbance of the next start; none lets it run.
func (s *story) tell(disturb func() disturbance) error {
	calm := 0
	for len(s.found) == 0 {
		st, err := s.next(disturb())
		if err != nil {
			s.found = append(s.found, finding{lost, err.Error()})
			return nil
		}
		if st.killed != nobody {
			calm = 0
			continue
		}
		if calm++; calm > mostStarts {
			s.found = append(s.found, finding{lost, fmt.Sprintf("%d undisturbed starts do not come to the end", calm)})
			return nil
		}
		switch st.code {
		case 0:
			return s.end()
		case 11:
			if err := s.decide(st.out, disturb); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide carries out the user's decisions about what is blocked by its own failures: what is to become of the one that
// cannot be done, and to try again where a killed agent cost an attempt.
func (s *story) decide(report string, disturb func() disturbance) error {
	s.waited = true
	for _, m := range ownFailure.FindAllStringSubmatch(report, -1) {
		if strings.Contains(m[0], "behind") || strings.Contains(m[0], "blocked by") {
			continue
		}
		what := "retry"
		if m[1] == hopeless {
			what = "skip"
		}
		if m[1] == hopeless && s.w.byHand {
			what = "manual"
			if err := s.w.mend(); err != nil {
				return err
			}
		}
		for calm := 0; ; {
			st, err := s.next(disturb(), "decide", m[1], what)
			if err != nil {
				return err
			}
			if st.killed == nobody {
				if st.code == 0 {
					break
				}
				if calm++; calm > 2 {
					s.found = append(s.found, finding{lost, fmt.Sprintf("'decide %s %s' is refused", m[1], what)})
					return nil
				}
			}
		}
	}
	return nil
}

// mend is the user's work on the requirement that the agent cannot do.
func (w *world) mend() error {
	script := `printf 'echo %s\n' "$1" >"lib/$1.sh"; printf 'test "$(sh lib/%s.sh)" = %s\n' "$1" "$1" >"t/$1_test.sh"`
	return w.command("sh", "-c", script, "sh", hopeless).Run()
}

// next makes one start and looks at what is there after it.
func (s *story) next(with disturbance, args ...string) (*start, error) {
	w := s.w
	st, err := w.run(with, args...)
	if err != nil {
		return nil, err
	}
	s.starts = append(s.starts, st)
	if st.killed == nobody && slices.Contains([]int{1, 3}, st.code) && strings.Contains(st.out, "another loop works in this worktree") {
		s.found = append(s.found, finding{orphan, fmt.Sprintf("the run lock is held, and these of ours live: %v", w.processes())})
	}
	// Whoever was left to notice has ended in a moment. An agent whose watcher was killed too waits for the next start.
	limit := 10 * time.Second
	if st.killed == ours || st.killed == theProgram {
		limit = 100 * time.Millisecond
	}
	left := w.quiet(limit)
	for _, p := range left {
		if limit > time.Second || strings.HasPrefix(p.name, "ralph-") {
			s.found = append(s.found, finding{orphan, fmt.Sprintf("process %d (%s) lives after the end", p.pid, p.name)})
		}
	}
	return st, s.look(st.killed != nobody)
}

// look compares the commits with those that were there before: none may vanish, and no work that is done be done again.
// After a kill the agent's own commits may still be on the branch.
func (s *story) look(killed bool) error {
	list, err := s.w.commits()
	if err != nil {
		return err
	}
	times, err := s.w.dispatched()
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, c := range list {
		if c.req() == "" && !killed {
			s.found = append(s.found, finding{corrupt, fmt.Sprintf("commit %.10s %q is none of the loop's", c.hash, c.subject)})
		}
		now[c.req()] = c.hash
	}
	for req, hash := range s.done {
		if now[req] != hash {
			s.found = append(s.found, finding{lost, fmt.Sprintf("%s was committed as %.10s and is now %.10q", req, hash, now[req])})
		}
		if times[req] > s.before[req] {
			s.found = append(s.found, finding{repeated, fmt.Sprintf("the agent was called for %s, which was committed", req)})
		}
	}
	for req, hash := range now {
		if _, known := s.done[req]; !known && slices.Contains(s.w.wanted(), req) {
			s.done[req], s.before[req] = hash, times[req]
		}
	}
	return nil
}

// end judges a world whose loop says that all is done.
func (s *story) end() error {
	found, err := s.w.check()
	s.found = append(s.found, found...)
	return err
}

// kills are the starts that were killed.
func (s *story) kills() int {
	n := 0
	for _, st := range s.starts {
		if st.killed != nobody {
			n++
		}
	}
	return n
}

// log is what happened, the last starts in full.
func (s *story) log() string {
	var b strings.Builder
	for i, st := range s.starts {
		if i < len(s.starts)-4 {
			fmt.Fprintf(&b, "start %d: %v killed %q at %q, exit code %d\n", i+1, st.args, st.killed, st.at, st.code)
		} else {
			fmt.Fprintf(&b, "start %d: %s\n", i+1, st)
		}
	}
	return b.String()
}
