//go:build bench && unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBenchLoop prints the table of docs/bench-loop.md: what the loop costs an iteration beside an agent that only
// writes the right files, the tests, and git. With -short every project is measured three times, for at most 30 iterations.
func TestBenchLoop(t *testing.T) {
	b := newBench(t)
	fmt.Printf("\n%s, git %s, %s/%s, %d cores; milliseconds an iteration, the least of the rounds\n\n", runtime.Version(), b.gitVersion(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Println("| requirements | whole: wall, CPU | agent | tests | git: wall, CPU, calls | **ours: wall, CPU** | our programs: calls, as many empty ones: wall, CPU | plain loop: whole, its git | first, last tenth: whole |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	var callers []string
	for _, size := range []struct{ requirements, rounds int }{{10, 5}, {100, 2}, {1000, 1}} {
		n, rounds := size.requirements, size.rounds
		if testing.Short() {
			n, rounds = min(n, 30), 3
		}
		var whole, plain phase
		var parts map[string]phase
		for range rounds { // in turn, so that a busy moment of the machine meets all
			whole = whole.least(b.loop(size.requirements, n, nil))
			metered := map[string]phase{}
			b.loop(size.requirements, n, metered)
			parts = leastOf(parts, metered)
			plain = plain.least(b.plainLoop(size.requirements, n))
		}
		ours := whole
		for _, name := range []string{"git", "agent", "tests"} {
			ours.wall -= parts[name].wall
			ours.cpu -= parts[name].cpu
		}
		empty := b.empties(parts["ralph"].calls)
		per := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1000/float64(n)) }
		both := func(p phase) string { return per(p.wall) + ", " + per(p.cpu) }
		calls := func(p phase) string { return fmt.Sprintf("%.1f", float64(p.calls)/float64(n)) }
		fmt.Printf("| %d | %s | %s | %s | %s, %s | **%s** | %s, %s | %s, %s | %.0f, %.0f |\n", size.requirements, both(whole), per(parts["agent"].wall), per(parts["tests"].wall),
			both(parts["git"]), calls(parts["git"]), both(ours), calls(parts["ralph"]), both(empty), per(plain.wall), per(plain.git), whole.first*1000, whole.last*1000)
		for name, p := range parts {
			if strings.Contains(name, " ") {
				callers = append(callers, fmt.Sprintf("| %s | %d | %s | %s |", name, size.requirements, calls(p), both(p)))
			}
		}
	}
	slices.Sort(callers)
	fmt.Printf("\n| program | requirements | calls | wall, CPU, its children included |\n|---|---|---|---|\n%s\n", strings.Join(callers, "\n"))
}

// phase is what a part of a run took, in sum.
type phase struct {
	wall, cpu   time.Duration
	calls       int
	git         time.Duration // of a plain loop: what its git took
	first, last float64       // of a whole loop: seconds an iteration in its first and its last tenth
}

func (p phase) least(other phase) phase {
	if p.wall == 0 || other.wall < p.wall {
		p.first, p.last = other.first, other.last
	}
	if p.wall == 0 {
		return other
	}
	p.wall, p.cpu, p.git = min(p.wall, other.wall), min(p.cpu, other.cpu), min(p.git, other.git)
	return p
}

func leastOf(a, b map[string]phase) map[string]phase {
	for name, p := range a {
		if other, ok := b[name]; ok {
			b[name] = other.least(p)
		}
	}
	return b
}

// bench is where the programs lie that the runs use.
type bench struct {
	t       *testing.T
	dir     string
	real    string // the four programs, agent, tests and typecheck
	metered string // the same names and git, each measured and then passed on
	stamps  string // a line for each call of the agent: when
}

func newBench(t *testing.T) *bench {
	t.Helper()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := &bench{t: t, dir: dir, real: filepath.Join(dir, "real"), metered: filepath.Join(dir, "metered"), stamps: filepath.Join(dir, "stamps")}
	b.run(repository, nil, "go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-o", b.real+"/", "./cmd/...")
	b.write(filepath.Join(dir, "tool.go"), toolProgram)
	b.write(filepath.Join(dir, "meter.go"), meterProgram)
	b.write(filepath.Join(dir, "empty.go"), "package main\n\nfunc main() {}\n")
	for _, name := range []string{"agent", "tests", "typecheck"} {
		b.run(dir, nil, "go", "build", "-o", filepath.Join(b.real, name), "tool.go")
	}
	b.run(dir, nil, "go", "build", "-o", "meter", "meter.go")
	b.run(dir, nil, "go", "build", "-o", "empty", "empty.go")
	if err := os.Mkdir(b.metered, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"git", "agent", "tests", "typecheck", "ralph-order", "ralph-gate", "ralph-learn", "ralph-checkpoint"} {
		if err := os.Symlink("../meter", filepath.Join(b.metered, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.write(filepath.Join(dir, "home", ".gitconfig"), "[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n")
	b.write(filepath.Join(dir, "loop"), fmt.Sprintf("exec %q \"$@\"\n", filepath.Join(repository, "scripts", "ralph-loop")))
	return b
}

// toolProgram is the agent, which reads its prompt and writes the requirement's two files; the test command, which
// prints TAP and writes coverage for what is there; and the typecheck, which does nothing.
const toolProgram = `package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case "agent":
		if stamps, err := os.OpenFile(os.Getenv("BENCH_STAMPS"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666); err == nil {
			fmt.Fprintln(stamps, time.Now().UnixNano())
			stamps.Close()
		}
		io.Copy(io.Discard, os.Stdin)
		id := os.Getenv("RALPH_REQ")
		os.MkdirAll("lib", 0o777)
		os.MkdirAll("t", 0o777)
		os.WriteFile("lib/"+id+".sh", []byte("echo "+id+"\n"), 0o666)
		os.WriteFile("t/"+id+"_test.sh", []byte("test \"$(sh lib/"+id+".sh)\" = "+id+"\n"), 0o666)
		if report := os.Getenv("RALPH_REPORT"); report != "" {
			os.WriteFile(report, []byte("status: done\nagentmd_addition: \"lib/"+id+".sh prints its id.\"\nlearnings:\n  - {text: \"the file "+id+" has one line\", kind: contextual}\n"), 0o666)
		}
	case "tests":
		out := bufio.NewWriter(os.Stdout)
		tests, _ := filepath.Glob("t/*_test.sh")
		for i, name := range tests {
			fmt.Fprintf(out, "ok %d - %s\n", i+1, name)
		}
		fmt.Fprintf(out, "1..%d\n", len(tests))
		out.Flush()
		var coverage strings.Builder
		files, _ := filepath.Glob("lib/*.sh")
		for _, name := range files {
			fmt.Fprintf(&coverage, "SF:%s\nDA:1,1\nend_of_record\n", name)
		}
		os.WriteFile("cov.info", []byte(coverage.String()), 0o666)
	}
}
`

// meterProgram runs the program of its own name from the folders in BENCH_REAL and appends what that took, from the
// call to the end, to the file BENCH_METER. Its own start lies outside of that.
const meterProgram = `package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	name, path := filepath.Base(os.Args[0]), ""
	for _, dir := range filepath.SplitList(os.Getenv("BENCH_REAL")) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			path = filepath.Join(dir, name)
			break
		}
	}
	verb := name
	for i := 1; i < len(os.Args); i++ {
		if os.Args[i] == "-c" || os.Args[i] == "--req" || os.Args[i] == "--digest" || os.Args[i] == "--verdict" {
			i++
		} else if !strings.HasPrefix(os.Args[i], "-") {
			verb += " " + os.Args[i]
			if os.Args[i] != "agents" {
				break
			}
		}
	}
	start := time.Now()
	pid, err := syscall.ForkExec(path, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		panic(err)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		if _, err := syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	line, _ := json.Marshal([]any{name, verb, start.UnixNano(), time.Since(start).Nanoseconds(), usage.Utime.Nano() + usage.Stime.Nano()})
	if log, err := os.OpenFile(os.Getenv("BENCH_METER"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666); err == nil {
		log.Write(append(line, '\n'))
		log.Close()
	}
	if status.Signaled() {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	os.Exit(status.ExitStatus())
}
`

func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// run runs a command to its good end and gives its wall and CPU time, children included.
func (b *bench) run(dir string, environ []string, args ...string) phase {
	b.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, environ
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if code := code(err); code != 0 && code != 10 {
		b.t.Fatalf("%s: %v\n%s", args, err, out.Bytes())
	}
	return phase{wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

func (b *bench) gitVersion() string {
	out, err := exec.Command("git", "version").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
}

// project is a new project with that many requirements, and an environment. With a log the programs are metered.
func (b *bench) project(requirements, iterations int, log string) (dir string, environ []string) {
	b.t.Helper()
	root, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		b.t.Fatal(err)
	}
	dir = filepath.Join(root, "repo")
	path := b.real + ":" + os.Getenv("PATH")
	if log != "" {
		path = b.metered + ":" + os.Getenv("PATH")
	}
	environ = []string{"PATH=" + path, "HOME=" + filepath.Join(b.dir, "home"), "XDG_CACHE_HOME=" + filepath.Join(root, "cache"), "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
		"BENCH_REAL=" + b.real + ":" + os.Getenv("PATH"), "BENCH_METER=" + log, "BENCH_STAMPS=" + b.stamps}
	var spec bytes.Buffer
	out := bufio.NewWriter(&spec)
	fmt.Fprint(out, "specification:\n  requirements:\n")
	for i := range requirements {
		var deps []string
		for k := 1; k <= 3 && i-k*k >= 0; k++ {
			deps = append(deps, fmt.Sprintf("REQ-%04d", i-k*k))
		}
		fmt.Fprintf(out, "    - id: REQ-%04d\n      title: Requirement number %d\n      description: |\n        lib/REQ-%04d.sh prints its own id and nothing else.\n        It takes no arguments.\n      depends_on: [%s]\n      acceptance_criteria:\n",
			i, i, i, strings.Join(deps, ", "))
		for k := range 2 {
			fmt.Fprintf(out, "        - id: AC-%04d-%02d\n          criteria: what must hold of it\n", i, k+1)
		}
	}
	if err := out.Flush(); err != nil {
		b.t.Fatal(err)
	}
	b.write(filepath.Join(dir, "specification.yaml"), spec.String())
	b.write(filepath.Join(dir, "ralph.yaml"), fmt.Sprintf("max_iterations: %d\ncost: {threshold: 0}\ngate: {typecheck: [typecheck], test: [tests], coverage_files: [cov.info], test_globs: [\"t/**\"]}\n", iterations))
	b.write(filepath.Join(dir, "lib", "ready.sh"), "echo ready\n")
	b.write(filepath.Join(dir, "t", "ready_test.sh"), "test \"$(sh lib/ready.sh)\" = ready\n")
	for _, line := range []string{"init -q", "add -A", "commit -q -m Begin"} {
		b.run(dir, environ, append([]string{"git"}, strings.Fields(line)...)...)
	}
	b.remove(log)
	b.remove(b.stamps)
	return dir, environ
}

func (b *bench) remove(path string) {
	if err := os.RemoveAll(path); err != nil {
		b.t.Fatal(err)
	}
}

// loop is a whole run of the driver. With parts it is metered: parts then holds what each program took, and under git,
// agent, tests and ralph the sums.
func (b *bench) loop(requirements, iterations int, parts map[string]phase) phase {
	b.t.Helper()
	log := ""
	if parts != nil {
		log = filepath.Join(b.dir, "meter.log")
	}
	dir, environ := b.project(requirements, iterations, log)
	p := b.run(dir, environ, "sh", filepath.Join(b.dir, "loop"), "--agent", "command", "--", "agent")
	commits, err := exec.Command("git", "-C", dir, "rev-list", "--count", "HEAD").Output()
	if want := fmt.Sprintf("%d\n", iterations+1); err != nil || string(commits) != want {
		b.t.Fatalf("%s commits were made, %s wanted (%v)", commits, want, err)
	}
	p.first, p.last = b.tenths()
	if parts != nil {
		b.readMeter(log, parts)
	}
	b.remove(filepath.Dir(dir))
	return p
}

// tenths are the seconds an iteration in the first and in the last tenth of the run, from one call of the agent to the
// next.
func (b *bench) tenths() (first, last float64) {
	data, err := os.ReadFile(b.stamps)
	if err != nil {
		b.t.Fatal(err)
	}
	var at []int64
	for line := range strings.Lines(string(data)) {
		var n int64
		if _, err := fmt.Sscan(line, &n); err != nil {
			b.t.Fatal(err)
		}
		at = append(at, n)
	}
	k := max(2, len(at)/10)
	mean := func(at []int64) float64 { return float64(at[len(at)-1]-at[0]) / 1e9 / float64(len(at)-1) }
	return mean(at[:k]), mean(at[len(at)-k:])
}

func (b *bench) readMeter(path string, parts map[string]phase) {
	b.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	type span struct{ from, to int64 }
	spans := map[string][]span{}
	for in := json.NewDecoder(f); ; {
		var name, verb string
		var start, wall, cpu int64
		if err := in.Decode(&[]any{&name, &verb, &start, &wall, &cpu}); err == io.EOF {
			break
		} else if err != nil {
			b.t.Fatal(err)
		}
		group := name
		switch {
		case name == "typecheck":
			group = "tests"
		case strings.HasPrefix(name, "ralph-"):
			group = "ralph"
		}
		for _, key := range slices.Compact([]string{group, verb}) {
			p := parts[key]
			p.calls, p.cpu = p.calls+1, p.cpu+time.Duration(cpu)
			if verb == "git cat-file" { // it lives as long as its program and mostly waits for a question
				p.wall += time.Duration(cpu)
			} else {
				spans[key] = append(spans[key], span{start, start + wall})
			}
			parts[key] = p
		}
	}
	// Calls that overlap took their time once.
	for key, list := range spans {
		slices.SortFunc(list, func(a, b span) int { return int(a.from - b.from) })
		p, end := parts[key], int64(0)
		for _, s := range list {
			if s.to > end {
				p.wall += time.Duration(s.to - max(s.from, end))
				end = s.to
			}
		}
		parts[key] = p
	}
}

// plainLoop is what a loop without state, gate or durability does: agent, typecheck, tests, git add, git commit.
func (b *bench) plainLoop(requirements, iterations int) phase {
	b.t.Helper()
	dir, environ := b.project(requirements, iterations, "")
	var script, gits strings.Builder
	for i := range iterations {
		fmt.Fprintf(&script, "RALPH_REQ=REQ-%04d agent </dev/null; typecheck; tests >/dev/null; git add -A; git commit -q -m 'REQ-%04d'\n", i, i)
		fmt.Fprintf(&gits, "echo %d >>x; git add -A; git commit -q -m 'REQ-%04d'\n", i, i)
	}
	b.write(filepath.Join(dir, "..", "plain.sh"), script.String())
	b.write(filepath.Join(dir, "..", "gits.sh"), gits.String())
	p := b.run(dir, environ, "sh", "../plain.sh")
	p.git = b.run(dir, environ, "sh", "../gits.sh").wall
	b.remove(filepath.Dir(dir))
	return p
}

// empties is what that many starts of an empty program take.
func (b *bench) empties(calls int) phase {
	b.t.Helper()
	const sample = 200
	var usage syscall.Rusage
	var p phase
	path, start := filepath.Join(b.dir, "empty"), time.Now()
	for range sample {
		pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err == nil {
			_, err = syscall.Wait4(pid, nil, 0, &usage)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		p.cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	p.wall = time.Since(start) * time.Duration(calls) / sample
	p.cpu = p.cpu * time.Duration(calls) / sample
	return p
}
