// Package run starts the project's tools and agents: each in a session of its own, with limits, its output in a
// file, and nothing of it left when it is over. It is the only package that starts processes other than git.
package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Marker is the environment variable that every process of one command inherits. An agent's own tools may leave its
// process group and its session; what carries the marker is ended all the same (Linux).
const Marker = "RALPH_ATTEMPT_ID"

// MaxOutput is how much a command may write before it is ended, in bytes: a runaway must not fill the disk.
const MaxOutput = 256 << 20

// grace is how long a command has between SIGTERM and SIGKILL.
const grace = 2 * time.Second

// Command is one program to run.
type Command struct {
	Args    []string      // the program and its arguments, never parsed by a shell
	Dir     string        // working directory
	Env     []string      // the whole environment
	Stdin   *os.File      // nil: the null device
	Stdout  *os.File      // a file, not a pipe: a grandchild that keeps it open holds nothing up
	Stderr  *os.File      // nil: the same as Stdout
	Timeout time.Duration // wall clock, 0: none
	Idle    time.Duration // longest silence on Stdout and Stderr, 0: none
	ID      string        // the marker's value; empty: no marker
	Alone   bool          // nothing else is started meanwhile: all that comes from here is the command's (Linux)
}

// Why a command ended.
const (
	Exited   = "exited"    // by itself, with Code
	Signaled = "signaled"  // by a signal that we did not send
	TimedOut = "timeout"   // by us, at Timeout
	IdledOut = "idle"      // by us, at Idle
	Flooded  = "flooded"   // by us, at MaxOutput
	Canceled = "canceled"  // by us, since the context ended
	NotFound = "not-found" // never started: no such program, or not executable
)

// Ended tells how a command ended.
type Ended struct {
	Why      string
	Code     int // as a shell gives it: 128+n after signal n, 127 and 126 when it did not start
	Duration time.Duration
}

// Run runs the command to its end and ends whatever it left behind. The error is nil unless the command could not be
// tried at all; that it failed, was not found or was ended is in Ended.
func (c *Command) Run(ctx context.Context) (Ended, error) {
	if len(c.Args) == 0 || c.Args[0] == "" {
		return Ended{}, errors.New("run: an empty command")
	}
	stderr := c.Stderr
	if stderr == nil {
		stderr = c.Stdout
	}
	// Looked up in the command's own PATH, and a relative name in its own directory.
	path, err := lookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		code := 127
		if errors.Is(err, fs.ErrPermission) {
			code = 126
		}
		return Ended{Why: NotFound, Code: code}, nil
	}
	cmd := &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Env: c.Env, Stdout: c.Stdout, Stderr: stderr}
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if c.ID != "" {
		cmd.Env = append(slices.Clone(c.Env), Marker+"="+c.ID)
	}
	OwnSession(cmd)
	adopted := c.Alone && adopt()
	if adopted {
		defer release()
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return Ended{Why: NotFound, Code: 126}, nil
		}
		return Ended{}, fmt.Errorf("start %q: %w", c.Args[0], err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	pid, orphans := cmd.Process.Pid, func() {}
	if adopted {
		orphans = func() { reap(pid) }
	}
	why, err := c.watch(ctx, exited, []*os.File{c.Stdout, stderr}, orphans)
	left := exited
	if why == Exited {
		left = nil
	}
	if adopted {
		endDescendants(pid, grace, left)
	} else {
		endTree(pid, c.ID, grace, left)
	}
	ended := Ended{Why: why, Code: shellCode(cmd.ProcessState), Duration: time.Since(begun)}
	if why == Exited && cmd.ProcessState.ExitCode() < 0 {
		ended.Why = Signaled
	}
	return ended, err
}

// EndMarked ends what is left of a command whose starter was killed: the processes that carry the marker (Linux; elsewhere
// they cannot be told).
func EndMarked(id string) { endTree(-1, id, grace, nil) }

// watch waits for the end of the command or of its patience, and calls often several times a second.
func (c *Command) watch(ctx context.Context, exited <-chan error, outputs []*os.File, often func()) (string, error) {
	var timeout <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	written, since := size(outputs), time.Now()
	start := written
	for {
		select {
		case err := <-exited:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return Exited, fmt.Errorf("wait for %q: %w", c.Args[0], err)
			}
			return Exited, nil
		case <-ctx.Done():
			return Canceled, nil
		case <-timeout:
			return TimedOut, nil
		case <-tick.C:
			often()
			if n := size(outputs); n != written {
				written, since = n, time.Now()
			}
			if c.Idle > 0 && time.Since(since) >= c.Idle {
				return IdledOut, nil
			}
			if written-start > MaxOutput {
				return Flooded, nil
			}
		}
	}
}

// LookPath finds the program that a command of that name would run in dir with that environment.
func LookPath(name, dir string, env []string) (string, error) { return lookPath(name, dir, env) }

func size(files []*os.File) int64 {
	var n int64
	for _, f := range files {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}

// Environment is what a tool or an agent may see of environ: no variable by which git hooks leak the repository
// that they run for (GIT_DIR, GIT_INDEX_FILE, GIT_AUTHOR_*, ...), none of the wish for colours.
func Environment(environ []string, extra ...string) []string {
	var out []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(key, "GIT_") && !keepGit(key) {
			continue
		}
		if key == "CLICOLOR_FORCE" || key == "FORCE_COLOR" || key == Marker {
			continue
		}
		out = append(out, kv)
	}
	return append(append(out, "NO_COLOR=1"), extra...)
}

func keepGit(key string) bool {
	return strings.HasPrefix(key, "GIT_SSH") || strings.HasPrefix(key, "GIT_SSL") ||
		key == "GIT_CONFIG_GLOBAL" || key == "GIT_CONFIG_SYSTEM" || key == "GIT_CONFIG_NOSYSTEM"
}

// WithParent gives a context that ends when this process's parent is gone: a driver that was killed can no longer end
// what it started, so its children notice by themselves.
func WithParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if os.Getppid() != parent {
					cancel(ErrParentGone)
					return
				}
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ErrParentGone is the cause of a context that WithParent ended.
var ErrParentGone = errors.New("the process that started this one is gone")

// Longer gives a context that ends, with the same cause, that much later than ctx: for what must be finished, but not at any
// price.
func Longer(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(more)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}
