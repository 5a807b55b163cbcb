//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is a project with an environment, for tests that start, kill and restart the driver themselves.
type world struct {
	t       *testing.T
	dir     string // the repository
	home    string
	environ []string
}

// newWorld lays the small project and two requirements, the second behind the first.
func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(root, "repo"), home: filepath.Join(root, "home")}
	w.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "XDG_CACHE_HOME=" + filepath.Join(w.home, ".cache"), "GIT_CONFIG_NOSYSTEM=1",
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), repositoryVariable + "=" + repository, "STUBS=" + filepath.Join(w.home, "stubs.sh")}
	w.write(filepath.Join(w.home, "stubs.sh"), stubs)
	if err := writeUserConfig(w.home); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("testdata", "project"))); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.dir, "specification.yaml"), `requirements:
  - {id: REQ-001, title: One, description: one, acceptance_criteria: ["it works"]}
  - {id: REQ-002, title: Two, description: two, depends_on: [REQ-001], acceptance_criteria: ["it works"]}
`)
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "Begin")
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// loop is the driver, ready to start, in a process group of its own.
func (w *world) loop(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(filepath.Join("..", "..", "scripts", "ralph-loop"), args...)
	path, err := filepath.Abs(cmd.Path)
	if err != nil {
		w.t.Fatal(err)
	}
	out := &bytes.Buffer{}
	cmd.Path, cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = path, w.dir, w.environ, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	return cmd, out
}

func code(err error) int {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode()
	}
	return -1
}

// trees are the subjects and trees of the branch, without what depends on the time.
func (w *world) trees() string { return w.git("log", "--format=%s %T") }

// counted wraps the programs so that the driver is killed after its step number KILL_AT. Only steps that change
// something count.
const counted = `#!/bin/sh
%s "$@"
code=$?
case $(basename "$0") in
ralph-checkpoint) case $1 in begin | start | infra | attempt | pass | fail | cost | tell | finish) ;; *) exit $code ;; esac ;;
ralph-learn) case $1 in ingest | agents) ;; *) exit $code ;; esac ;;
ralph-gate) case $1 in plan) exit $code ;; esac ;;
esac
n=$(($(cat "$HOME/count") + 1))
echo $n >"$HOME/count"
echo "$n $(basename "$0") $1" >>"$HOME/steps"
[ "$n" != "$(cat "$HOME/kill-at")" ] || kill -9 "$(cat "$HOME/driver")"
exit $code
`

// wrap puts the counting wrappers in front of the programs.
func (w *world) wrap(killAt int) {
	w.t.Helper()
	bin := filepath.Join(w.home, "bin")
	for name := range programs {
		real, err := exec.LookPath(name)
		if err != nil {
			w.t.Fatal(err)
		}
		w.write(filepath.Join(bin, name), fmt.Sprintf(counted, real))
	}
	w.environ = append(w.environ, "PATH="+bin+":"+os.Getenv("PATH"))
	w.write(filepath.Join(w.home, "count"), "0\n")
	w.write(filepath.Join(w.home, "kill-at"), strconv.Itoa(killAt)+"\n")
}

// twice is an agent that leaves a wrong file at the first attempt at REQ-001 and works well otherwise.
const twice = `. "$STUBS"; cat >/dev/null; if [ "$RALPH_REQ$RALPH_ATTEMPT" = REQ-0011 ]; then echo "exit 1" >t/REQ-001_test.sh; else write; fi`

// Case D11: the driver is killed after each of its steps, one run for each; the next start neither loses nor repeats
// anything: the history is the one of an undisturbed run.
func TestCaseD11DriverKilledAfterEachStep(t *testing.T) { killAfterEachStep(t, newWorld, twice) }

// withContract is a world with a contract about its test infrastructure.
func withContract(t *testing.T) *world {
	w := newWorld(t)
	config := filepath.Join(w.dir, "ralph.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	w.write(config, string(text)+"test_infra: {file: t/kit.sh, exports: {make_app: starts it}}\n")
	w.write(filepath.Join(w.dir, "specification.yaml"), "requirements: [{id: REQ-001, title: One, description: one, acceptance_criteria: [it works]}]\n")
	w.git("commit", "-qam", "Agree")
	return w
}

// makesKit is an agent that needs two dispatches for the test infrastructure, and works well otherwise.
const makesKit = `. "$STUBS"; cat >/dev/null
[ -n "${RALPH_INFRA-}" ] || { write; exit; }
echo "$RALPH_ATTEMPT" >>"$HOME/dispatches"
echo "make_app() { echo $RALPH_ATTEMPT; }" >t/kit.sh
[ "$RALPH_ATTEMPT" != 1 ] || rm t/kit.sh
echo '. t/kit.sh; test "$(make_app)" = 2' >t/kit_test.sh`

// The same while the test infrastructure is made: what was made once is not paid for again.
func TestDriverKilledWhileInfrastructureIsMade(t *testing.T) {
	paid := func(w *world) int {
		data, err := os.ReadFile(filepath.Join(w.home, "dispatches"))
		if err != nil {
			w.t.Fatal(err)
		}
		return strings.Count(string(data), "\n")
	}
	killAfterEachStep(t, withContract, makesKit, func(w *world) {
		if n := paid(w); n > 3 {
			w.t.Errorf("%d dispatches, one more than 2 at most", n)
		}
		if !strings.Contains(w.git("show", "--name-only", "--format=%s", "HEAD"), "REQ-001 - One\n\nlib/REQ-001.sh\nt/REQ-001_test.sh\nt/kit.sh\nt/kit_test.sh\n") {
			w.t.Errorf("it was not committed with its requirement:\n%s", w.git("log", "--stat"))
		}
	})
}

// killAfterEachStep runs a loop undisturbed, and then once for each of its steps with a kill after it and a second start.
func killAfterEachStep(t *testing.T, lay func(*testing.T) *world, agent string, checks ...func(*world)) {
	w := lay(t)
	w.wrap(0)
	w.write(filepath.Join(w.home, "driver"), "0\n")
	cmd, out := w.loop("--agent", "command", "--", "sh", "-c", agent)
	if err := cmd.Run(); err != nil {
		t.Fatalf("undisturbed: %v\n%s", err, out)
	}
	want := w.trees()
	data, err := os.ReadFile(filepath.Join(w.home, "steps"))
	if err != nil {
		t.Fatal(err)
	}
	steps := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(steps) < 12 {
		t.Fatalf("only %d steps: the test would prove little\n%s", len(steps), data)
	}
	for i, step := range steps {
		t.Run(strings.ReplaceAll(step, " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := lay(t)
			w.wrap(i + 1)
			cmd, _ := w.loop("--agent", "command", "--", "sh", "-c", agent)
			// The shell that becomes the driver says its pid first.
			cmd.Args = append([]string{"sh", "-c", `echo $$ >"$HOME/driver"; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
			if err := cmd.Run(); code(err) != -1 {
				t.Fatalf("the driver was not killed: %v\n%s", err, cmd.Stdout)
			}
			w.write(filepath.Join(w.home, "kill-at"), "0\n")
			again, out := w.loop("--agent", "command", "--", "sh", "-c", agent)
			if err := again.Run(); err != nil {
				t.Fatalf("started again: %v\n%s", err, out)
			}
			if got := w.trees(); got != want {
				t.Errorf("the history is\n%s\nwant\n%s\n%s", got, want, out)
			}
			if dirty := w.git("status", "--porcelain"); dirty != "" {
				t.Errorf("the tree is not clean: %s", dirty)
			}
			check := exec.Command("ralph-checkpoint", "check")
			check.Dir, check.Env = w.dir, w.environ
			if text, err := check.CombinedOutput(); err != nil {
				t.Errorf("check: %v\n%s", err, text)
			}
			for _, check := range checks {
				check(w)
			}
		})
	}
}

// pidsFrom waits for a file with pids and reads them.
func pidsFrom(t *testing.T, path string, count int) []int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(path)
		fields := strings.Fields(string(data))
		if len(fields) < count {
			continue
		}
		var pids []int
		for _, f := range fields {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return pids
	}
	t.Fatalf("%s never held %d pids", path, count)
	return nil
}

// mustEnd waits for processes to be gone; one that is dead and unreaped is gone.
func mustEnd(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for deadline := time.Now().Add(8 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
			if err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z") {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("process %d lives", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

const sleeper = `cat >/dev/null; echo "Tokens: 3000 sent, 1 received."; echo $$ >"$HOME/pids"; sleep 300 & echo $! >>"$HOME/pids"; setsid sh -c 'echo $$ >>"$HOME/pids"; exec sleep 300' & echo half >half.txt; sleep 300`

// Case D10: a signal during an attempt whose agent has started processes in its own group and in another session:
// nothing of it lives, the exit code is the signal's, nothing is charged; and the next start goes on.
func TestCaseD10LoopInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		times  int
		group  bool // to the whole group, as a terminal does
		code   int
	}{
		"SIGINT":                {syscall.SIGINT, 1, false, 130},
		"SIGINT from terminal":  {syscall.SIGINT, 1, true, 130},
		"SIGINT twice":          {syscall.SIGINT, 2, true, 130},
		"SIGTERM":               {syscall.SIGTERM, 1, false, 143},
		"SIGHUP":                {syscall.SIGHUP, 1, true, 129},
		"SIGKILL of the driver": {syscall.SIGKILL, 1, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cmd, out := w.loop("--agent", "command", "--", "sh", "-c", sleeper)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pids := pidsFrom(t, filepath.Join(w.home, "pids"), 3)
			target := cmd.Process.Pid
			if c.group {
				target = -target
			}
			for i := range c.times {
				if i > 0 {
					time.Sleep(100 * time.Millisecond)
				}
				if err := syscall.Kill(target, c.signal); err != nil {
					t.Fatal(err)
				}
			}
			err := cmd.Wait()
			if got := code(err); got != c.code {
				t.Errorf("exit code %d (%v), want %d\n%s", got, err, c.code, out)
			}
			mustEnd(t, pids)
			stopped := out.String()

			again, out := w.loop("--agent", "command", "--", "sh", "-c", `. "$STUBS"; cat >/dev/null; write`)
			// The attempt of a killed driver ends a moment later, and holds the lock until then.
			for deadline := time.Now().Add(15 * time.Second); ; {
				err = again.Run()
				if code(err) != 3 || !strings.Contains(out.String(), "another loop works") || time.Now().After(deadline) {
					break
				}
				time.Sleep(100 * time.Millisecond)
				again, out = w.loop(again.Args[1:]...)
			}
			if err != nil {
				t.Fatalf("started again: %v\n%s", err, out)
			}
			if !strings.Contains(stopped, "kept under refs/ralph/") || !regexp.MustCompile(`(?m)^REQ-001 +✅ done +1 `).MatchString(out.String()) {
				t.Errorf("the interrupted work is not named, or the attempt was charged:\n%s\n%s", stopped, out)
			}
			data, err := os.ReadFile(filepath.Join(w.dir, ".sprint-state", "ralph-loop", "progress.log"))
			cost := regexp.MustCompile(`cumulative_tokens: (\d+)`).FindSubmatch(data)
			if err != nil || cost == nil {
				t.Fatalf("read the state: %v\n%s", err, data)
			}
			// The interrupted agent said that it used 3001.
			if n, _ := strconv.Atoi(string(cost[1])); n > 3000 {
				t.Errorf("the interrupted attempt was charged: %d tokens", n)
			}
			if _, err := os.Lstat(filepath.Join(w.dir, "half.txt")); err == nil {
				t.Error("half-done work is in the tree")
			}
		})
	}
}

// Case D12: a second driver in the same worktree is refused with the first one's pid; once the first is killed and its
// attempt has ended the lock is free, though the agent left an orphan.
func TestCaseD12SecondDriver(t *testing.T) {
	w := newWorld(t)
	first, _ := w.loop("--agent", "command", "--", "sh", "-c", sleeper)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	pids := pidsFrom(t, filepath.Join(w.home, "pids"), 3)
	second, out := w.loop("--agent", "command", "--", "true")
	if err := second.Run(); code(err) != 3 || !strings.Contains(out.String(), fmt.Sprintf("another loop works in this worktree: pid %d, since ", first.Process.Pid)) {
		t.Errorf("the second: %v\n%s", err, out)
	}
	// Nor does any verb that changes the state get in between; those that look do.
	for verb, want := range map[string]int{"decide REQ-001 skip": 1, "pass REQ-001": 1, "finish": 1, "status": 0, "failures REQ-001": 0} {
		cmd := exec.Command("ralph-checkpoint", strings.Fields(verb)...)
		cmd.Dir, cmd.Env = w.dir, w.environ
		if text, err := cmd.CombinedOutput(); code(err) != want {
			t.Errorf("%s: %v, want exit code %d\n%s", verb, err, want, text)
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	mustEnd(t, pids)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for {
		cmd, out := w.loop("--agent", "command", "--", "sh", "-c", `. "$STUBS"; cat >/dev/null; write`)
		err := cmd.Run()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the lock is not free: %v\n%s", err, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// The loop is the same under each shell that may be a system's sh.
func TestLoopUnderEachShell(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cmd, out := w.loop("--agent", "command", "--", "sh", "-c", twice)
			path, err := exec.LookPath(shell[0])
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args = append(append(shell, cmd.Path), cmd.Args[1:]...)
			cmd.Path = path
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := w.git("log", "--format=%s"); got != "ralph-loop: REQ-002 - Two\nralph-loop: REQ-001 - One\nBegin\n" {
				t.Errorf("the history is\n%s", got)
			}
		})
	}
}

// A signal to the driver alone, while a program of its own runs in the foreground, is heard before the next step: no agent
// is called. Under each shell.
func TestLoopStoppedBetweenSteps(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			order, err := exec.LookPath("ralph-order")
			if err != nil {
				t.Fatal(err)
			}
			driver, err := filepath.Abs(filepath.Join("..", "..", "scripts", "ralph-loop"))
			if err != nil {
				t.Fatal(err)
			}
			// The prompt asks for the requirement's own lines.
			bin := filepath.Join(w.home, "bin")
			w.write(filepath.Join(bin, "ralph-order"), fmt.Sprintf("#!/bin/sh\n[ $1 != show ] || kill -TERM $(cat \"$HOME/driver\")\nexec %s \"$@\"\n", order))
			for program := range programs {
				if real, err := exec.LookPath(program); err == nil && program != "ralph-order" {
					w.write(filepath.Join(bin, program), "#!/bin/sh\nexec "+real+" \"$@\"\n")
				}
			}
			w.environ = append(w.environ, "PATH="+bin+":"+os.Getenv("PATH"))
			argv := append(append([]string{"-c", `echo $$ >"$HOME/driver"; exec "$@"`, "sh"}, shell...), driver, "--agent", "command", "--", "sh", "-c", `cat >/dev/null; touch "$HOME/called"`)
			cmd, out := exec.Command("sh", argv...), &bytes.Buffer{}
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, w.environ, out, out
			if err := cmd.Run(); code(err) != 143 {
				t.Errorf("%v, want exit code 143\n%s", err, out)
			}
			if _, err := os.Lstat(filepath.Join(w.home, "called")); err == nil {
				t.Errorf("the agent is called:\n%s", out)
			}
		})
	}
}
