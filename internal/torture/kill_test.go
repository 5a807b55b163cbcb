//go:build failpoint && linux

package torture

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// victims are who is killed; nobody is "".
type victims string

const (
	nobody     victims = ""
	theProgram victims = "program" // the program of ours that is at the step, or at random any process but the driver
	theDriver  victims = "driver"  // the shell that drives; its programs are left to notice
	ours       victims = "ours"    // driver and programs, but neither git nor the agent
	everybody  victims = "all"
)

var everyKind = []victims{theProgram, theDriver, ours, everybody}

// start is one start of the loop, or of a decision, and how it ended.
type start struct {
	args   []string
	steps  []string // that were passed, in their order
	killed victims
	at     string // the step at which it was killed; "" at a random moment
	code   int    // -1 where the driver itself was killed
	out    string
}

func (s *start) String() string {
	at := "undisturbed"
	if s.killed != nobody {
		at = fmt.Sprintf("%s killed at %q", s.killed, s.at)
	}
	return fmt.Sprintf("--- %s %s: exit code %d\n%s", strings.Join(s.args, " "), at, s.code, s.out)
}

// disturbance says when a start is killed. Both fields may be empty.
type disturbance struct {
	atStep func(name string) victims // asked at each step
	after  time.Duration             // at a moment: kill whom after this time
	whom   victims
}

// run starts the loop, or with args a decision, disturbs it and waits for its end.
func (w *world) run(with disturbance, args ...string) (*start, error) {
	agent, err := filepath.Abs(filepath.Join("testdata", "agent.sh"))
	if err != nil {
		return nil, err
	}
	s := &start{args: args}
	if len(args) == 0 {
		args = []string{"--agent", "command", "--on-block", "continue", "--", "sh", agent}
	}
	// What an earlier start left alive must not speak to this one.
	socket := filepath.Join(w.points, "socket")
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	defer listener.Close()

	var out bytes.Buffer
	cmd := w.command(filepath.Join(scripts, "ralph-loop"), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = 2 * time.Second // an orphan may hold the pipe
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended, listening := make(chan struct{}), make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	go func() {
		defer close(listening)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			w.atStep(s, cmd, c, with.atStep)
		}
	}()
	var moment <-chan time.Time
	if with.whom != nobody {
		moment = time.After(with.after)
	}
	limit := time.After(stalled)
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-moment:
			s.killed = with.whom
			w.kill(cmd, s.killed, 0)
		case <-limit:
			w.kill(cmd, everybody, 0)
			<-ended
			return nil, fmt.Errorf("the loop did not end within %s:\n%s", stalled, out.String())
		}
	}
	// Programs that outlive their driver still pass steps; they must not wait for an answer.
	_ = w.quiet(200 * time.Millisecond)
	_ = listener.Close()
	<-listening
	s.code, s.out = cmd.ProcessState.ExitCode(), out.String()
	return s, nil
}

// atStep hears of one step, and lets it pass or kills.
func (w *world) atStep(s *start, driver *exec.Cmd, c net.Conn, ask func(string) victims) {
	defer c.Close()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return
	}
	number, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	name = plain(name)
	s.steps = append(s.steps, name)
	if ask != nil && s.killed == nobody {
		if who := ask(name); who != nobody {
			s.killed, s.at = who, name
			w.kill(driver, who, pid)
		}
	}
	_, _ = c.Write([]byte{'\n'})
}

// plain is a step's name without the requirement's: a step belongs to the program.
func plain(name string) string {
	for _, req := range append([]string{hopeless}, doable...) {
		name = strings.ReplaceAll(name, req, "REQ")
	}
	return name
}

// kill kills; at is the process that is at the step, or 0.
func (w *world) kill(driver *exec.Cmd, who victims, at int) {
	kill := func(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
	switch who {
	case theProgram:
		if at == 0 {
			at = w.someChild(driver)
		}
		if at != 0 {
			kill(at)
		}
	case theDriver:
		kill(driver.Process.Pid)
	case ours, everybody:
		// The driver first, or it would see its program's end and act on it.
		kill(driver.Process.Pid)
		for range 20 {
			live := w.processes()
			for _, p := range live {
				if who == everybody || strings.HasPrefix(p.name, "ralph-") {
					kill(p.pid)
				}
			}
			if who == ours || len(live) == 0 {
				break
			}
		}
	}
}

// someChild is a random process of the world's that is not the driver, or 0.
func (w *world) someChild(driver *exec.Cmd) int {
	var children []int
	for _, p := range w.processes() {
		if p.pid != driver.Process.Pid {
			children = append(children, p.pid)
		}
	}
	if len(children) == 0 {
		return 0
	}
	return children[rand.IntN(len(children))]
}
