// Package cli turns argument lists into calls of the toolkit's packages. It is the only package that imports
// urfave/cli, whose defaults are mended in one place, here.
//
// What is printed where: stdout carries the result and nothing else; stderr carries "NAME: lower case message" and,
// where there is a next step, "hint: ..."; success is silent unless something was asked for.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/spec"
)

// Version is the toolkit's version, the same for its four programs.
const Version = "0.1.0"

// Process is the world that a program sees: nothing below main reads it from anywhere else.
type Process struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // KEY=value, the last one of a key wins
	Dir            string   // absolute working directory
	Now            func() time.Time
	Executable     func() (string, error) // this program's own file

	terminal            bool        // stdout is one
	found               *foundState // what progress gave
	operandsAfterDashes int         // how many arguments followed the command line's first "--"; -1 without one
}

// ThisProcess is the process that we run in.
func ThisProcess() *Process {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return &Process{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir, Now: failpoint.Clock(time.Now), Executable: os.Executable}
}

// Getenv is the value of key in the process's environment, or "".
func (p *Process) Getenv(key string) string {
	value := ""
	for _, kv := range p.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value = v
		}
	}
	return value
}

// abs is a path of the user's, seen from the working directory.
func (p *Process) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// run parses args and runs the app's action; its result is the process's exit code. doc is the program's package
// comment as Go source: it is the help text.
func (p *Process) run(app *urfave.App, doc string, args []string) (code int) {
	checkpoint.KeepLockPrivate()
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // we live for milliseconds: to collect garbage every few megabytes costs more than it frees
	}
	out := bufio.NewWriter(p.Stdout)
	// A Go panic would exit with 2, which means "usage" here.
	defer func() {
		if r := recover(); r != nil {
			_ = out.Flush()
			fmt.Fprintf(p.Stderr, "%s: internal error: %v\n%s", app.Name, r, debug.Stack())
			fmt.Fprintf(p.Stderr, "hint: this is a defect of the toolkit; please report it with the lines above\n")
			code = exit.Error
		}
	}()

	ctx, stop := p.signals()
	defer stop()

	inner := *p
	inner.terminal = isTerminal(p.Stdout)
	inner.Stdout = out
	inner.operandsAfterDashes = afterDashes(args)
	*p = inner

	app.Writer, app.ErrWriter = out, p.Stderr
	app.Reader = p.Stdin
	app.Version = Version
	app.HideHelpCommand = true
	app.UseShortOptionHandling = true
	app.DisableSliceFlagSeparator = true
	app.ExitErrHandler = func(*urfave.Context, error) {}
	app.OnUsageError = usageError
	app.Before = refuseEmpty
	app.Description = helpText(doc)
	for _, c := range app.Commands {
		prepare(c)
	}
	// The printers are global in urfave/cli: one program a process, so the last writer is the right one.
	urfave.HelpPrinter = func(w io.Writer, _ string, about any) {
		text := app.Description
		if c, ok := about.(*urfave.Command); ok && c.Name != app.Name {
			var b strings.Builder
			writeVerbHelp(&b, app.Name, text, c)
			text = b.String()
		}
		// gofmt wants a tab where a terminal has room for two spaces.
		fmt.Fprint(w, strings.ReplaceAll(text, "\t", "  "))
	}
	urfave.VersionPrinter = func(c *urfave.Context) { fmt.Fprintf(c.App.Writer, "%s %s\n", c.App.Name, c.App.Version) }
	urfave.VersionFlag = &urfave.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true}

	err := app.RunContext(ctx, append([]string{app.Name}, args...))
	// An action that was cut short by a signal exits as that signal asks, whatever error it came back with.
	var killed *exit.Coded
	if cause := context.Cause(ctx); err != nil && cause != nil && errors.As(cause, &killed) {
		err = killed
	}
	if flushErr := out.Flush(); flushErr != nil && err == nil {
		err = fmt.Errorf("write the result: %w", flushErr)
	}
	p.report(app.Name, err)
	return exit.Code(err)
}

// report writes an error and its hint to stderr.
func (p *Process) report(name string, err error) {
	if err == nil || exit.IsSilent(err) {
		return
	}
	var invalid *spec.InvalidError
	if errors.As(err, &invalid) {
		for _, problem := range invalid.Problems {
			p.printProblem(problem)
		}
		return
	}
	fmt.Fprintf(p.Stderr, "%s: %v\n", name, err)
	if hint := exit.HintOf(err); hint != "" {
		fmt.Fprintf(p.Stderr, "hint: %s\n", hint)
	}
}

// flush writes out what was printed so far, where a result must be seen before the end.
func (p *Process) flush() error {
	if out, ok := p.Stdout.(interface{ Flush() error }); ok {
		return out.Flush()
	}
	return nil
}

// warn writes a warning to stderr; it changes no exit code.
func (p *Process) warn(name, format string, args ...any) {
	fmt.Fprintf(p.Stderr, "%s: warning: %s\n", name, fmt.Sprintf(format, args...))
}

// signals gives a context that SIGINT, SIGTERM and SIGHUP cancel, with the exit code 128+n as its cause.
func (p *Process) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			number := 0
			if sig, ok := s.(syscall.Signal); ok {
				number = int(sig)
			}
			cancel(&exit.Coded{Code: exit.Signal + number, Err: fmt.Errorf("stopped by signal %d (%s)", number, s)})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	}
}

func usageError(c *urfave.Context, err error, _ bool) error {
	name := c.App.Name
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
		name += " " + c.Command.Name
	}
	return exit.Misuse(fmt.Sprintf("see '%s --help'", name), "%w", err)
}

// prepare sets on a command, and on those below it, what the app's own settings do not reach.
func prepare(c *urfave.Command) {
	c.HideHelpCommand = true
	c.UseShortOptionHandling = true
	c.OnUsageError = usageError
	c.Before = inherit
	for _, sub := range c.Subcommands {
		prepare(sub)
	}
}

// inherit gives a verb the options that stand before it: "ralph-order --all list" is "ralph-order list --all". Left to
// itself the parser drops them without a word, since the verb's own option of that name hides them.
func inherit(c *urfave.Context) error {
	for _, outer := range c.Lineage()[1:] {
		for _, name := range outer.LocalFlagNames() {
			known := slices.ContainsFunc(c.Command.Flags, func(f urfave.Flag) bool { return slices.Contains(f.Names(), name) })
			if !known {
				return exit.Misuse(fmt.Sprintf("see '%s --help'", c.App.Name), "%s has no option %s", c.Command.Name, dashed(name))
			}
			if c.IsSet(name) {
				continue
			}
			if err := c.Set(name, fmt.Sprint(outer.Value(name))); err != nil {
				return exit.Misuse(fmt.Sprintf("see '%s --help'", c.App.Name), "%w", err)
			}
		}
	}
	return refuseEmpty(c)
}

// refuseEmpty refuses the name of nothing: it comes from a variable that was not set, and would be taken for "any".
func refuseEmpty(c *urfave.Context) error {
	for _, name := range []string{"agent", "branch", "only", "req", "to"} {
		if slices.Contains(c.LocalFlagNames(), name) && c.String(name) == "" {
			return exit.Misuse("give it a value, or leave it out", "%s is empty", dashed(name))
		}
	}
	return nil
}

func dashed(option string) string {
	if len(option) == 1 {
		return "-" + option
	}
	return "--" + option
}

// helpText is the package comment of a Go source text, without its slashes.
func helpText(doc string) string {
	var b strings.Builder
	for line := range strings.Lines(doc) {
		text, ok := strings.CutPrefix(line, "//")
		if !ok {
			break
		}
		b.WriteString(strings.TrimPrefix(text, " "))
	}
	return b.String()
}

// afterDashes counts the arguments behind the first "--", or -1 where there is none. The flag parser drops a "--"
// that stands before the first operand, so it cannot be asked.
func afterDashes(args []string) int {
	for i, a := range args {
		if a == "--" {
			return len(args) - i - 1
		}
	}
	return -1
}

// operands are the arguments behind the options. An option after an operand is an error; "--" ends the options and
// is left out. The count must lie within [least, most]; most < 0 means any number.
func (p *Process) operands(c *urfave.Context, usage string, least, most int) ([]string, error) {
	args := c.Args().Slice()
	var out []string
	for i, a := range args {
		remaining := len(args) - i
		explicit := p.operandsAfterDashes >= 0 && remaining <= p.operandsAfterDashes
		if !explicit && a == "--" && remaining == p.operandsAfterDashes+1 {
			continue
		}
		if !explicit && len(a) > 1 && a[0] == '-' {
			return nil, exit.Misuse("options stand before operands; put \"--\" before an operand that begins with \"-\"", "option %q after an operand", a)
		}
		out = append(out, a)
	}
	switch {
	case len(out) < least:
		return nil, exit.Misuse("usage: "+usage, "an operand is missing")
	case most >= 0 && len(out) > most:
		return nil, exit.Misuse("usage: "+usage, "unexpected operand %q", out[most])
	}
	return out, nil
}

// oneOf refuses a flag's value that is not among the known ones.
func oneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	known = slices.DeleteFunc(known, func(k string) bool { return k == "" })
	return exit.Misuse("known are "+strings.Join(known, ", "), "--%s %q is unknown", flag, value)
}
