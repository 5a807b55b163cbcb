//go:build bench && unix

package learn

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestBenchContext holds 'ralph-learn context' with 5,000 past learnings against a program that does nothing. The two run
// in turn, so that a busy moment of the machine meets both; the median of the differences counts.
func TestBenchContext(t *testing.T) {
	const rounds, past, inForce = 40, 5000, 100
	dir := t.TempDir()
	build := func(name, target string) string {
		program := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", program, target)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
		return program
	}
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	empty, program := build("empty", source), build("ralph-learn", "./cmd/ralph-learn")

	repo := t.TempDir()
	state := filepath.Join(repo, ".sprint-state", "ralph-loop")
	if err := os.MkdirAll(state, 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spec := "requirements:\n"
	for i := range 15 {
		spec += fmt.Sprintf("  - {id: REQ-%03d, title: Show the shelf %d, acceptance_criteria: [it is shown, it is sorted]}\n", i+1, i)
	}
	if err := os.WriteFile(filepath.Join(repo, "specification.yaml"), []byte(spec), 0o666); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)
	var history []HistoryEntry
	for i := range past {
		pattern := fmt.Sprintf("number %d was slow until the sort was done once", i)
		history = append(history, HistoryEntry{ExpiredAt: now, Reason: InWindow, Contextual: Contextual{ID: fmt.Sprintf("L-%08x", i), Pattern: pattern,
			ExpiresOn: InWindow, Req: "REQ-001", Since: now, Evidence: []Evidence{{Text: "TestSort", Req: "REQ-001", At: now}}}})
	}
	if err := AppendHistory(state, history); err != nil {
		t.Fatal(err)
	}
	err := UpdateStore(context.Background(), state, func(w *Windows) error {
		for i := range inForce {
			entry := Entry{Text: fmt.Sprintf("Data structure: the table number%d has the columns id, added_at and revision", i), Req: "REQ-001", Evidence: "internal/shelf"}
			if _, _, err := w.Add(entry, nil, Limits{Window: 3, PromoteAt: 2}, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	measure := func(name string, args ...string) time.Duration {
		cmd := exec.Command(name, args...)
		cmd.Dir = repo
		begun := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return time.Since(begun)
	}
	var ours, nothing, over []time.Duration
	for range rounds {
		a, b := measure(program, "context", "--req", "REQ-007"), measure(empty)
		ours, nothing, over = append(ours, a), append(nothing, b), append(over, a-b)
	}
	slices.Sort(ours)
	slices.Sort(nothing)
	slices.Sort(over)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	fmt.Printf("\n%s %s/%s: %d past learnings, %d in force; %d rounds in turn: fastest, median\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, past, inForce, rounds)
	fmt.Printf("ralph-learn context --req  %s, %s\nan empty Go program        %s, %s\nbetween them               %s, %s\n",
		ms(ours[0]), ms(ours[rounds/2]), ms(nothing[0]), ms(nothing[rounds/2]), ms(over[0]), ms(over[rounds/2]))
	if over[rounds/2] > 20*time.Millisecond {
		t.Errorf("%s over an empty program, at most 20 ms wanted", ms(over[rounds/2]))
	}
}
