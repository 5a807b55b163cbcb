//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// stage are programs for scripts that run another one under conditions, with its streams, its environment and its exit code.
var stage = map[string]func(){
	"interrupted": interrupted,
	"within":      within,
}

// unfit is the exit code of a program of stage that could not do its work; no program of ours ends with it.
const unfit = 97

// interrupted SIGNAL FILE PROGRAM [ARG...] runs a program in the foreground of a process group of its own. When FILE is
// there the whole group is sent the signal, as a terminal does for Ctrl-C, and has ten seconds to end.
func interrupted() {
	if len(os.Args) < 4 {
		giveUp("usage: interrupted SIGNAL FILE PROGRAM [ARG...]")
	}
	signal, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[os.Args[1]]
	if !ok {
		giveUp("no such signal: " + os.Args[1])
	}
	cmd := inherited(os.Args[3:])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		giveUp(err.Error())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(os.Args[2]); err == nil {
			break
		}
		if len(ended) > 0 || time.Since(begun) > 60*time.Second { // the first build may be slow
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			giveUp(os.Args[2] + " never came")
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
		giveUp(err.Error())
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		giveUp("it goes on after " + os.Args[1])
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// within MEGABYTES PROGRAM [ARG...] runs a program that neither itself nor with any process that it starts takes more memory
// than that. The largest one counts, not their sum.
func within() {
	limit, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil || len(os.Args) < 3 {
		giveUp("usage: within MEGABYTES PROGRAM [ARG...]")
	}
	cmd := inherited(os.Args[2:])
	var exited *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exited) {
		giveUp(err.Error())
	}
	most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // in KB, on a Mac in bytes
	if runtime.GOOS == "darwin" {
		most /= 1024
	}
	if most /= 1024; most > limit {
		giveUp(fmt.Sprintf("it took %d MB of memory", most))
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

func inherited(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

func giveUp(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(unfit)
}
