//go:build failpoint && unix

// Package failpoint, as the torture builds it. At each step a program says so to whoever listens, and waits for a byte in
// answer: the listener can kill it, its driver or all of them as they are at that moment.
package failpoint

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Variable is the environment variable that names the folder with
//
//	socket  where a line is sent at each step: PID PROGRAM VERB: WHAT, and "#2" and so on behind it where the process
//	        passes a step of that name again
//	clock   how far the programs' clock is off, as time.ParseDuration reads it
//
// Without it, or where nobody listens, nothing happens.
const Variable = "RALPH_FAILPOINTS"

var (
	mu     sync.Mutex
	passed = map[string]int{}
)

// Step is passed right after a change of a file or a ref, which what names.
func Step(what string) {
	dir := os.Getenv(Variable)
	if dir == "" {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	passed[what]++
	name := program() + ": " + what
	if n := passed[what]; n > 1 {
		name = fmt.Sprintf("%s #%d", name, n)
	}
	c, err := net.Dial("unix", filepath.Join(dir, "socket"))
	if err != nil {
		return
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%d %s\n", os.Getpid(), name); err == nil {
		_, _ = c.Read(make([]byte, 1))
	}
}

// program is the name of this program, and its verb where that comes first.
func program() string {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		name += " " + os.Args[1]
	}
	return name
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
