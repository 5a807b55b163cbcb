//go:build bench && unix

package order

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rounds is how often each program runs; the fastest run counts, the others are the machine's noise.
const rounds = 5

// An empty program, and the floor that the parser sets: the same file decoded into nodes.
const (
	emptyProgram = "package main\n\nfunc main() {}\n"
	floorProgram = `package main

import (
	"os"

	"gopkg.in/yaml.v3"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		panic(err)
	}
}
`
	pythonProgram = `
import sys, graphlib, yaml
with open(sys.argv[1], "rb") as f:
    spec = yaml.load(f, Loader=yaml.CSafeLoader)
graph = {r["id"]: r["depends_on"] for r in spec["specification"]["requirements"]}
print("\n".join(graphlib.TopologicalSorter(graph).static_order()))
`
)

// TestBenchOrder prints the table of docs/bench-order.md.
func TestBenchOrder(t *testing.T) {
	dir := t.TempDir()
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	build := func(name, source string) string {
		target := source
		if strings.HasPrefix(source, "package") {
			target = filepath.Join(dir, name+".go")
			if err := os.WriteFile(target, []byte(source), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		program := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", program, target)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		return program
	}
	empty, floor, order := build("empty", emptyProgram), build("floor", floorProgram), build("ralph-order", "./cmd/ralph-order")
	python := exec.Command("python3", "-c", "import graphlib, yaml; yaml.CSafeLoader").Run() == nil

	fmt.Printf("\n%s %s/%s, %d cores; the fastest of %d runs: wall time, CPU time, peak memory\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), rounds)
	fmt.Println("| requirements | file | ralph-order list | yaml.v3 into nodes | ratio (wall, CPU) | tsort on ready edges | Python: PyYAML (C), graphlib | empty program |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, n := range []int{15, 1_000, 10_000, 100_000} {
		file, edges := filepath.Join(dir, "specification.yaml"), filepath.Join(dir, "edges")
		size := generate(t, n, file, edges)
		ours, theirs := cost{}, cost{}
		for range rounds { // in turn, so that a busy moment of the machine meets both
			ours = ours.best(measure(t, order, "list", file))
			theirs = theirs.best(measure(t, floor, file))
		}
		sorted, other, nothing := cost{}, "not here", cost{}
		for range rounds {
			sorted, nothing = sorted.best(measure(t, "tsort", edges)), nothing.best(measure(t, empty))
		}
		if python {
			other = measure(t, "python3", "-c", pythonProgram, file).String()
		}
		fmt.Printf("| %d | %.1f MB | %s | %s | %.2f, %.2f | %s | %s | %s |\n", n, float64(size)/1e6, ours, theirs,
			ours.wall.Seconds()/theirs.wall.Seconds(), ours.cpu.Seconds()/theirs.cpu.Seconds(), sorted, other, nothing)
	}
}

// generate writes n requirements with three dependencies and two criteria each, about 320 bytes, and their edges in
// tsort's form. It returns the size of the specification.
func generate(t *testing.T, n int, file, edges string) int64 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var spec, pairs bytes.Buffer
	out := bufio.NewWriter(&spec)
	fmt.Fprint(out, "specification:\n  requirements:\n")
	for i := range n {
		var deps []string
		for k := range 3 {
			j := i - 1 - 10*k - random.IntN(10)
			if j < 0 {
				break
			}
			deps = append(deps, fmt.Sprintf("REQ-%06d", j))
			fmt.Fprintf(&pairs, "REQ-%06d REQ-%06d\n", j, i)
		}
		fmt.Fprintf(out, "    - id: REQ-%06d\n      title: \"Requirement number %d\"\n      depends_on: [%s]\n      acceptance_criteria:\n", i, i, strings.Join(deps, ", "))
		for k := range 2 {
			fmt.Fprintf(out, "        - id: AC-%06d-%02d\n          criteria: \"what must hold\"\n", i, k+1)
		}
		fmt.Fprintf(out, "      priority: %d\n      status: pending\n", i%5)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{file: spec.Bytes(), edges: pairs.Bytes()} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return int64(spec.Len())
}

// cost is what a whole process took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // bytes, the peak
}

func (c cost) String() string {
	return fmt.Sprintf("%.3f s, %.3f s, %.0f MB", c.wall.Seconds(), c.cpu.Seconds(), float64(c.memory)/1e6)
}

// best is the smaller of each figure.
func (c cost) best(other cost) cost {
	if c.wall == 0 {
		return other
	}
	return cost{min(c.wall, other.wall), min(c.cpu, other.cpu), min(c.memory, other.memory)}
}

func measure(t *testing.T, program string, args ...string) cost {
	t.Helper()
	cmd := exec.Command(program, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, problems.String())
	}
	wall := time.Since(start)
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	memory := int64(usage.Maxrss)
	if runtime.GOOS == "linux" {
		memory *= 1024
	}
	return cost{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), memory}
}
