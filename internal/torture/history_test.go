//go:build failpoint && linux

package torture

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// history are the subjects and trees of the branch.
func (w *world) history() (string, error) { return w.git("log", "--format=%s %T") }

// undisturbed tells the story without a kill.
func undisturbed(t *testing.T, byHand bool) (history string, steps []string) {
	t.Helper()
	w, err := newWorld(t.TempDir(), programs)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.byHand = byHand
	s := newStory(w)
	if err := s.tell(func() disturbance { return disturbance{} }); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.found {
		t.Error(f)
	}
	if t.Failed() || len(s.starts) != 3 {
		t.Fatalf("the undisturbed run, in %d starts:\n%s", len(s.starts), s.log())
	}
	for _, st := range s.starts {
		steps = append(steps, st.steps...)
	}
	slices.Sort(steps)
	if history, err = w.history(); err != nil {
		t.Fatal(err)
	}
	return history, slices.Compact(steps)
}

// ticks is what was killed already, shared by the worlds that share the work.
type ticks struct {
	mu     sync.Mutex
	killed map[string]bool
	turn   int
}

// once kills at a step that nobody killed at yet, each kind of victim in turn; the driver alone more seldom, since its
// program then goes on to its end.
func (k *ticks) once(step string) victims {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed[step] {
		return nobody
	}
	k.killed[step] = true
	k.turn++
	if k.turn%8 == 0 {
		return theDriver
	}
	return []victims{theProgram, ours, everybody}[k.turn%3]
}

func (k *ticks) without(steps []string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return k.killed[s] })
}

// Each step, by its program, its name and its number there, is killed once. The history is that of an undisturbed run.
func TestKilledOnceAtEachStep(t *testing.T) {
	k := &ticks{killed: map[string]bool{}}
	var both sync.WaitGroup
	for _, byHand := range []bool{false, true} {
		want, steps := undisturbed(t, byHand)
		if len(steps) < 200 {
			t.Fatalf("only %d steps: the test would prove little", len(steps))
		}
		both.Go(func() {
			// What a kill makes unnecessary to do again comes in another world, as long as each brings something new.
			for left := len(steps) + 1; left > len(k.without(steps)) && len(k.without(steps)) > 0; {
				left = len(k.without(steps))
				tellKilledOnce(t, want, byHand, k)
			}
			if never := k.without(steps); len(never) > 0 {
				t.Errorf("never killed at:\n%s", strings.Join(never, "\n"))
			}
		})
	}
	both.Wait()
	t.Logf("%d kills", k.turn)
}

func tellKilledOnce(t *testing.T, want string, byHand bool, k *ticks) {
	w, err := newWorld(t.TempDir(), programs)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.close()
	w.byHand = byHand
	s := newStory(w)
	if err := s.tell(func() disturbance { return disturbance{atStep: k.once} }); err != nil {
		t.Error(err)
	}
	got, err := w.history()
	if err != nil {
		t.Error(err)
	}
	for _, f := range s.found {
		t.Error(f)
	}
	if got != want {
		t.Errorf("the history is\n%s\nwant\n%s", got, want)
	}
	if len(s.found) > 0 || got != want {
		t.Log(s.log())
	}
}
