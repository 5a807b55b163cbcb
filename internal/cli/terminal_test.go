//go:build linux || darwin

package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// terminal is a program that runs on a terminal of its own.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	here *os.File
	mu   sync.Mutex
	out  bytes.Buffer
}

func (term *terminal) Write(p []byte) (int, error) {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.out.Write(p)
}

func (term *terminal) shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return strings.ReplaceAll(term.out.String(), "\r", "")
}

// onTerminal starts a program with all its streams on a new terminal, which is the controlling one of its session.
func (w *world) onTerminal(name string, args ...string) *terminal {
	w.t.Helper()
	here, there := openPty(w.t)
	path, err := exec.LookPath(name)
	if err != nil {
		w.t.Fatal(err)
	}
	if path, err = filepath.Abs(path); err != nil {
		w.t.Fatal(err)
	}
	term := &terminal{t: w.t, cmd: exec.Command(path, args...), here: here}
	term.cmd.Dir, term.cmd.Env = w.dir, append(w.environ, "TERM=xterm")
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = there, there, there
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	_ = there.Close()
	go func() { _, _ = io.Copy(term, here) }()
	w.t.Cleanup(func() { _ = here.Close() })
	return term
}

// await waits until the terminal has shown text.
func (term *terminal) await(text string) {
	term.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(term.shown(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = term.cmd.Process.Kill()
			term.t.Fatalf("%q was not shown:\n%s", text, term.shown())
		}
	}
}

func (term *terminal) typed(text string) {
	term.t.Helper()
	if _, err := term.here.WriteString(text); err != nil {
		term.t.Fatal(err)
	}
}

// On a terminal the loop asks about a requirement that is blocked; each answer does what it says.
func TestLoopAsksOnATerminal(t *testing.T) {
	const good = `. "$STUBS"; cat >/dev/null; [ "$RALPH_REQ" = REQ-001 ] && [ ! -e "$HOME/mended" ] || write`
	for name, c := range map[string]struct {
		answer string
		once   bool
		code   int
		shown  []string
	}{
		"retry":           {"r\n", false, 0, []string{"REQ-001 is done", "2 of 2 done"}},
		"skip, once":      {"s\n", true, 10, []string{"1 pending, 0 blocked, 1 skipped"}},
		"continue, once":  {"c\n", true, 11, []string{"2 blocked"}},
		"skip":            {"s\n", false, 0, []string{"1 of 2 done, 0 pending, 0 blocked, 1 skipped; iteration 2 of 15", "the run is completed"}},
		"stop":            {"t\n", false, 10, []string{"the run is partial"}},
		"continue":        {"c\n", false, 11, []string{"0 of 2 done, 0 pending, 2 blocked", "decide REQ-001 retry"}},
		"manual, not yet": {"m\ns\n", false, 0, []string{"the gate does not pass", "1 skipped"}},
		"nonsense":        {"what?\ns\n", false, 0, []string{"1 skipped"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(filepath.Join(w.dir, "ralph.yaml"), string(mustRead(t, filepath.Join(w.dir, "ralph.yaml")))+"\nagent: {attempts: 1}\n")
			w.git("commit", "-qam", "One attempt")
			options := []string{"--agent", "command"}
			if c.once {
				options = append(options, "--once")
			}
			term := w.onTerminal(filepath.Join("..", "..", "scripts", "ralph-loop"), append(options, "--", "sh", "-c", good)...)
			term.await("REQ-001 is blocked. [c]ontinue with the others, [r]etry, [m]anual fix is ready, [s]kip, s[t]op: ")
			w.write(filepath.Join(w.home, "mended"), "")
			term.typed(c.answer)
			if err := term.cmd.Wait(); code(err) != c.code {
				t.Errorf("exit code %d (%v), want %d\n%s", code(err), err, c.code, term.shown())
			}
			for _, text := range c.shown {
				term.await(text)
			}
		})
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Ctrl-C at the question ends the loop, under each shell.
func TestInterruptedQuestion(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(filepath.Join(w.dir, "ralph.yaml"), string(mustRead(t, filepath.Join(w.dir, "ralph.yaml")))+"\nagent: {attempts: 1}\n")
			w.write(filepath.Join(w.dir, "specification.yaml"), `requirements:
  - {id: REQ-001, title: One, description: one, acceptance_criteria: ["it works"]}
  - {id: REQ-002, title: Two, description: two, acceptance_criteria: ["it works"]}
`)
			w.git("commit", "-qam", "One attempt, two that are ready")
			driver, err := filepath.Abs(filepath.Join("..", "..", "scripts", "ralph-loop"))
			if err != nil {
				t.Fatal(err)
			}
			term := w.onTerminal(shell[0], append(shell[1:], driver, "--agent", "command", "--", "cat")...)
			term.await("REQ-001 is blocked. ")
			ended := make(chan error, 1)
			go func() { ended <- term.cmd.Wait() }()
			// A shell loses a signal that comes between the question and its read; a person presses again.
			for range 10 {
				term.typed("\x03")
				select {
				case err := <-ended:
					if code(err) != 130 {
						t.Errorf("%v, want exit code 130\n%s", err, term.shown())
					}
					if state := string(mustRead(t, filepath.Join(w.dir, ".sprint-state", "ralph-loop", "progress.log"))); !strings.Contains(state, "iteration: 1\n") {
						t.Errorf("the next requirement is taken up:\n%s\n%s", term.shown(), state)
					}
					return
				case <-time.After(time.Second):
				}
			}
			_ = term.cmd.Process.Kill()
			t.Errorf("it does not end:\n%s", term.shown())
		})
	}
}

// An agent that fails at once is asked again when the person says so: the requirement is the same one.
func TestRetryAfterFailuresAtOnce(t *testing.T) {
	w := newWorld(t)
	term := w.onTerminal(filepath.Join("..", "..", "scripts", "ralph-loop"), "--agent", "command", "--", "sh", "-c",
		`. "$STUBS"; cat >/dev/null; echo x >>"$HOME/calls"; [ "$(wc -l <"$HOME/calls")" -gt 4 ] || exit 1; write`)
	term.await("REQ-001 is blocked. ")
	term.typed("r\n")
	if err := term.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, term.shown())
	}
	term.await("2 of 2 done")
}

// A watched status is drawn again as the run goes on, and ends with it; Ctrl-C ends it too.
func TestStatusIsWatched(t *testing.T) {
	w := newWorld(t)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("ralph-checkpoint", args...)
		cmd.Dir, cmd.Env = w.dir, w.environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("begin")
	term := w.onTerminal("ralph-checkpoint", "status", "--watch")
	term.await("0 of 2 done, 2 pending")
	term.await("no loop is at work here: 'ralph-loop' goes on")
	driver := exec.Command("sh", "-c", "exec 9<>.git/ralph/driver; ralph-checkpoint begin && ralph-checkpoint start REQ-001 && read -r end")
	driver.Dir, driver.Env = w.dir, w.environ
	end, err := driver.StdinPipe()
	if err == nil {
		err = driver.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	term.await("REQ-001, attempt 1, since ")
	again := w.onTerminal("ralph-checkpoint", "status", "--watch")
	again.await("REQ-001, attempt 1")
	again.typed("\x03")
	if err := again.cmd.Wait(); code(err) != 130 {
		t.Errorf("Ctrl-C: %v, want exit code 130\n%s", err, again.shown())
	}
	_ = end.Close()
	_ = driver.Wait()
	run("decide", "REQ-001", "stop")
	term.await("the run is partial")
	if err := term.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, term.shown())
	}
	// Drawn over, not scrolled.
	if shown := term.shown(); strings.Count(shown, "\x1b[H") < 3 || strings.Contains(shown, "\x1b[2J") {
		t.Errorf("drawn as %q", shown)
	}
	for _, env := range []string{"TERM=dumb", ""} {
		cmd := exec.Command("ralph-checkpoint", "status", "--watch")
		cmd.Dir, cmd.Env = w.dir, append(w.environ, env)
		out, err := cmd.CombinedOutput()
		if code(err) != 2 || !strings.Contains(string(out), "--watch draws on a terminal") {
			t.Errorf("off a terminal: %v\n%s", err, out)
		}
	}
}

// A person at a terminal is told how to go around a hook that refuses; an agent of the loop, whatever its terminal, is not.
func TestRefusedAtATerminal(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command("ralph-gate", "install")
	cmd.Dir, cmd.Env = w.dir, w.environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.write(filepath.Join(w.dir, "untested.go"), "package p\n\n// A is.\nfunc A() {}\n")
	w.git("add", "untested.go")
	for _, inLoop := range []bool{false, true} {
		if inLoop {
			w.environ = append(w.environ, "RALPH_ATTEMPT=1")
		}
		term := w.onTerminal("git", "commit", "-m", "no")
		term.await("ralph-gate: the commit is refused; ")
		term.await("then commit again")
		if err := term.cmd.Wait(); code(err) != 1 {
			t.Errorf("%v", err)
		}
		if told := strings.Contains(term.shown(), "; 'RALPH_SKIP=1 git commit' lets one through, and records it"); told == inLoop {
			t.Errorf("in the loop %v, told %v:\n%s", inLoop, told, term.shown())
		}
	}
}

// A question that nobody can see is not asked: stderr leads into a file.
func TestLoopDoesNotAskIntoAFile(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.dir, "ralph.yaml"), string(mustRead(t, filepath.Join(w.dir, "ralph.yaml")))+"\nagent: {attempts: 1}\n")
	w.git("commit", "-qam", "One attempt")
	driver, err := filepath.Abs(filepath.Join("..", "..", "scripts", "ralph-loop"))
	if err != nil {
		t.Fatal(err)
	}
	term := w.onTerminal("sh", "-c", `"$0" --agent command -- cat 2>"$HOME/log"`, driver)
	term.await("the run is blocked")
	if err := term.cmd.Wait(); code(err) != 11 {
		t.Errorf("%v, want exit code 11\n%s", err, term.shown())
	}
}
