//go:build failpoint && linux

package torture

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	long      = flag.Bool("long", false, "go on until each step was killed at 20 times, and 1,000 kills were made")
	limit     = flag.Duration("limit", 25*time.Second, "how long the random walk goes on; with -long, when it gives up")
	tableFile = flag.String("table", "", "write the table of the random walk into this file")
)

const (
	killsPerStep    = 20
	killsAltogether = 1000
	killsPerWorld   = 40 // then a world's loop is let run to its end
)

// tally is what a walk did, step by step.
type tally struct {
	mu       sync.Mutex
	kills    map[string]int            // at each step, by its name without its number
	seen     map[string]bool           // steps that were passed or killed at
	leads    map[string]map[string]int // by step: those at which the start before it had been killed, how often
	victims  map[victims]int
	moments  int // kills at a random moment
	starts   int
	worlds   int
	commits  int
	findings map[kind]int
}

var numbered = regexp.MustCompile(` #\d+$|-\d+(\.txt)`)

// base is a step's name without its number, and without the attempt's.
func base(step string) string { return numbered.ReplaceAllString(step, "$1") }

// next is the disturbance of a start: most are killed at a step where few were killed yet, or at one that led to such a
// step in the start behind it; the others at a random moment. before is the step at which the last start was killed, or "".
func (y *tally) next(before string) disturbance {
	who := everyKind[rand.IntN(len(everyKind))]
	if rand.IntN(5) == 0 {
		return disturbance{whom: who, after: time.Duration(rand.IntN(1500)) * time.Millisecond}
	}
	return disturbance{atStep: func(step string) victims {
		y.mu.Lock()
		defer y.mu.Unlock()
		name := base(step)
		y.seen[name] = true
		if before != "" {
			if y.leads[name] == nil {
				y.leads[name] = map[string]int{}
			}
			y.leads[name][before]++
		}
		if !y.wanted(name) || rand.IntN(2) == 0 {
			return nobody
		}
		return who
	}}
}

// wanted reports whether a kill at that step is one of which there are too few. Towards the end it is also one
// that has led to such a step most often.
func (y *tally) wanted(name string) bool {
	if y.kills[name] < killsPerStep {
		return true
	}
	const few = 12
	left := 0
	leads := false
	for step := range y.seen {
		if y.kills[step] >= killsPerStep {
			continue
		}
		left++
		most := 0
		for _, n := range y.leads[step] {
			most = max(most, n)
		}
		leads = leads || most > 0 && y.leads[step][name] == most
	}
	return leads && left <= few && y.total() >= killsAltogether
}

// count adds what a story did.
func (y *tally) count(s *story) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.worlds++
	y.commits += len(s.done)
	for _, f := range s.found {
		y.findings[f.kind]++
	}
}

func (y *tally) countStart(st *start) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.starts++
	if st.killed == nobody {
		return
	}
	y.victims[st.killed]++
	if st.at == "" {
		y.moments++
	} else {
		y.kills[base(st.at)]++
	}
}

func (y *tally) total() int {
	n := y.moments
	for _, k := range y.kills {
		n += k
	}
	return n
}

// scarce are the steps that were not killed at often enough.
func (y *tally) scarce() (names []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for name := range y.seen {
		if y.kills[name] < killsPerStep {
			names = append(names, fmt.Sprintf("%s (%d)", name, y.kills[name]))
		}
	}
	slices.Sort(names)
	return names
}

// table is the result in Markdown.
func (y *tally) table() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "| killed at | kills |\n|---|---:|\n")
	names := make([]string, 0, len(y.kills))
	for name := range y.kills {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %d |\n", name, y.kills[name])
	}
	fmt.Fprintf(&b, "| a random moment | %d |\n", y.moments)
	fmt.Fprintf(&b, "\n| | |\n|---|---:|\n| kills | %d |\n", y.total())
	for _, who := range everyKind {
		fmt.Fprintf(&b, "| of them: %s | %d |\n", described[who], y.victims[who])
	}
	fmt.Fprintf(&b, "| restarts | %d |\n| repositories | %d |\n| commits | %d |\n", y.starts-y.worlds, y.worlds, y.commits)
	for _, k := range []kind{lost, repeated, corrupt, orphan} {
		fmt.Fprintf(&b, "| %s | %d |\n", k, y.findings[k])
	}
	return b.Bytes()
}

var described = map[victims]string{
	theProgram: "one program, or one process that it had started",
	theDriver:  "the driver alone",
	ours:       "the driver and the programs, not what they had started",
	everybody:  "every process",
}

// TestRandomWalk kills the loop at random, starts it again until it ends, and looks for what must never be: in as many
// repositories as the time allows.
func TestRandomWalk(t *testing.T) {
	y := &tally{kills: map[string]int{}, seen: map[string]bool{}, leads: map[string]map[string]int{}, victims: map[victims]int{}, findings: map[kind]int{}}
	until := time.Now().Add(*limit)
	enough := func() bool {
		y.mu.Lock()
		total := y.total()
		y.mu.Unlock()
		return time.Now().After(until) || t.Failed() || *long && total >= killsAltogether && len(y.scarce()) == 0
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for !enough() {
				walk(t, y, enough)
			}
		})
	}
	both.Wait()
	t.Logf("\n%s", y.table())
	scarce := y.scarce()
	if *long && (y.total() < killsAltogether || len(scarce) > 0) {
		t.Errorf("%d kills in %s, and fewer than %d at\n%s", y.total(), *limit, killsPerStep, strings.Join(scarce, "\n"))
	}
	if *tableFile != "" && !t.Failed() {
		if err := writeTable(*tableFile, y.table()); err != nil {
			t.Error(err)
		}
	}
}

// walk is one repository from its beginning to its end.
func walk(t *testing.T, y *tally, enough func() bool) {
	dir, err := os.MkdirTemp("", "torture-")
	if err != nil {
		t.Error(err)
		return
	}
	w, err := newWorld(dir, programs)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.close()
	w.byHand = rand.IntN(2) == 0
	s := newStory(w)
	late := rand.IntN(3) == 0 // nothing happens before the user's decision: its own steps are as many as any program's
	counted := 0
	err = s.tell(func() disturbance {
		for ; counted < len(s.starts); counted++ {
			y.countStart(s.starts[counted])
		}
		if err := w.jump(); err != nil {
			t.Error(err)
		}
		if rand.IntN(4) == 0 {
			w.forget()
		}
		if s.kills() >= killsPerWorld || enough() || late && !s.waited {
			return disturbance{}
		}
		before := ""
		if n := len(s.starts); n > 0 && s.starts[n-1].killed != nobody {
			before = base(s.starts[n-1].at)
		}
		with := y.next(before)
		if ask := with.atStep; ask != nil {
			with.atStep = func(step string) victims {
				if rand.IntN(20) == 0 {
					_ = w.jump()
				}
				// Between the gate and the commit: the second then judges for itself.
				if step == "ralph-gate: write ralph-loop/verdict.json" && rand.IntN(8) == 0 {
					w.forget()
				}
				return ask(step)
			}
		}
		return with
	})
	for ; counted < len(s.starts); counted++ {
		y.countStart(s.starts[counted])
	}
	if err != nil {
		t.Error(err)
	}
	y.count(s)
	for _, f := range s.found {
		t.Error(f)
	}
	if len(s.found) > 0 {
		t.Log(s.log())
	}
}

// jump lets the programs' clock jump now and then: a year ahead, or a year back.
func (w *world) jump() error {
	off := []string{"0s", "0s", "0s", "8760h", "-8760h"}[rand.IntN(5)]
	return os.WriteFile(filepath.Join(w.points, "clock"), []byte(off), 0o666)
}

// forget removes the gate's kept answers, as anybody may at any time.
func (w *world) forget() { _ = os.RemoveAll(filepath.Join(w.repo, ".git", "ralph", "cache")) }

// writeTable puts the table into the page, behind its mark.
func writeTable(path string, table []byte) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	const mark = "<!-- what follows is written by the command above -->\n"
	before, _, ok := bytes.Cut(page, []byte(mark))
	if !ok {
		return fmt.Errorf("%s has no line %q", path, mark)
	}
	return os.WriteFile(path, slices.Concat(before, []byte(mark+"\n"), table), 0o644)
}
