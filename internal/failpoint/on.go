//go:build failpoint && unix

// Package failpoint, as the torture builds it. The folder that Variable names holds
//
//	steps    a line for each step that was passed: "PROGRAM VERB: WHAT", in the order of their numbers
//	stop-at  the number of the step to stop at, from 1, or the name of a step and how many of that name to let pass
//	stopped  written at that step: the process and the name
//	clock    how far the programs' clock is off, as time.ParseDuration reads it
//
// At the step the process stops itself (SIGSTOP), so that whoever waits for it can kill it, its driver or all of them as
// they are at that moment.
package failpoint

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Variable is the environment variable that names the folder; without it nothing is stopped.
const Variable = "RALPH_FAILPOINTS"

// Step is passed right after a change of a file or a ref, which what names.
func Step(what string) {
	dir := os.Getenv(Variable)
	if dir == "" {
		return
	}
	name := program() + ": " + what
	number, sameName := record(filepath.Join(dir, "steps"), name)
	target, _ := os.ReadFile(filepath.Join(dir, "stop-at"))
	number0, name0, _ := strings.Cut(strings.TrimSpace(string(target)), " ")
	n, err := strconv.Atoi(number0)
	if err != nil || name0 == "" && n != number || name0 != "" && (name0 != name || n != sameName) {
		return
	}
	text := fmt.Sprintf("%d %s\n", os.Getpid(), name)
	if os.WriteFile(filepath.Join(dir, "stopped.new"), []byte(text), 0o666) == nil &&
		os.Rename(filepath.Join(dir, "stopped.new"), filepath.Join(dir, "stopped")) == nil {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

// program is the name of this program and its verb.
func program() string {
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-") {
			return filepath.Base(os.Args[0]) + " " + arg
		}
	}
	return filepath.Base(os.Args[0])
}

// record appends a step and gives its number, and its number among those of its name.
func record(path, name string) (number, sameName int) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
	if _, err := f.WriteString(name + "\n"); err != nil {
		panic(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	for line := range bytes.Lines(data) {
		number++
		if string(line) == name+"\n" {
			sameName++
		}
	}
	return number, sameName
}

// Clock is the clock of a program: now, moved by what the file says.
func Clock(now func() time.Time) func() time.Time {
	dir := os.Getenv(Variable)
	return func() time.Time {
		data, _ := os.ReadFile(filepath.Join(dir, "clock"))
		off, _ := time.ParseDuration(strings.TrimSpace(string(data)))
		return now().Add(off)
	}
}
