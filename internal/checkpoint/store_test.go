package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// environ is the environment of a user who has no settings.
func environ(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com"}
}

// runGit runs git in dir and gives what it prints.
func runGit(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func newStore(t *testing.T) (*Store, *git.Repo) {
	t.Helper()
	dir, env := t.TempDir(), environ(t)
	runGit(t, dir, env, "init", "-q", "-b", "main")
	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	return NewStore(repo, func() time.Time { return time.Date(2026, 5, 8, 10, 30, 0, 0, time.UTC) }), repo
}

func put(t *testing.T, s *Store, p *Progress) {
	t.Helper()
	if err := s.Update(t.Context(), func(*Progress) (*Progress, error) { return p, nil }); err != nil {
		t.Fatal(err)
	}
}

func sample() *Progress {
	return &Progress{Schema: SchemaVersion, Run: "r1", Order: []string{"1.10", "yes"}, Req: ReqProgress{Status: Running}, Requirements: []*Requirement{
		{ID: "1.10", Status: Done, Reason: "a: b\n---\n# sha256: 00"}, {ID: "yes", Status: Pending},
	}}
}

func TestStoreRoundTrip(t *testing.T) {
	s, repo := newStore(t)
	if p, err := s.Load(); p != nil || err != nil {
		t.Fatalf("an empty worktree has the state %+v, %v", p, err)
	}
	put(t, s, sample())
	p, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	if p.Serial != 1 || p.Find("1.10") == nil || p.Find("yes").Status != Pending || p.Find("1.10").Reason != "a: b\n---\n# sha256: 00" || p.Req.Completed != 1 || p.Req.Total != 2 {
		t.Errorf("read back %+v", p)
	}
	if out := runGit(t, repo.Top, environ(t), "status", "--porcelain"); out != "" {
		t.Errorf("git sees the state: %s", out)
	}
}

// Case C4: git clean -fdx in the middle of a run.
func TestCaseC4StoreSurvivesGitClean(t *testing.T) {
	s, repo := newStore(t)
	put(t, s, sample())
	runGit(t, repo.Top, environ(t), "clean", "-fdx", "-q")
	if _, err := os.Stat(filepath.Join(repo.Top, ".sprint-state")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("git clean left the folder: the test proves nothing")
	}
	p, err := s.Load()
	if err != nil || p == nil || p.Run != "r1" {
		t.Fatalf("after git clean: %+v, %v", p, err)
	}
	put(t, s, p)
	if again, err := s.Load(); err != nil || again.Serial != 2 {
		t.Errorf("then: %+v, %v", again, err)
	}
}

// Case C2: a file that was cut, even where it still parses, and an empty one are damaged and never "fresh".
func TestCaseC2StoreRefusesEveryCut(t *testing.T) {
	data, err := encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(data); err != nil {
		t.Fatal(err)
	}
	for n := range len(data) - 1 {
		if _, err := decode(data[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes it is believed:\n%s", n, len(data), data[:n])
		}
	}
	for i := range data[:len(data)-1] {
		spoiled := bytes.Clone(data)
		spoiled[i] ^= 0x01
		if _, err := decode(spoiled); err == nil {
			t.Fatalf("with byte %d spoiled it is believed", i)
		}
	}
	s, _ := newStore(t)
	put(t, s, sample())
	for _, damaged := range [][]byte{nil, data[:len(data)/2]} {
		if err := os.WriteFile(s.path(), damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := s.Load()
		if exit.Code(err) != exit.Error || !strings.Contains(exit.HintOf(err), "recover") {
			t.Errorf("%d bytes: %v, hint %q", len(damaged), err, exit.HintOf(err))
		}
		err = s.Update(t.Context(), func(*Progress) (*Progress, error) { t.Error("a damaged state was changed"); return nil, nil })
		if err == nil {
			t.Error("an update of a damaged state went through")
		}
	}
}

func TestStoreRefusesANewerFile(t *testing.T) {
	p := sample()
	p.Schema = SchemaVersion + 1
	data, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(data); err == nil || !strings.Contains(err.Error(), "newer toolkit") {
		t.Errorf("got %v", err)
	}
}

// A newer toolkit's keys are not taken for damage: the version says why they are unknown, and an unknown key of the
// present version is one.
func TestUnknownKeysAreExplainedByTheVersion(t *testing.T) {
	for version, want := range map[int]string{SchemaVersion + 1: "newer toolkit", SchemaVersion: "does not fit the schema", 0: "does not fit the schema"} {
		p := sample()
		p.Schema = version
		data, err := encode(p)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndex(data, []byte(sumPrefix))
		body := append(bytes.Clone(data[:at]), "from_the_future: yes\n"...)
		sum := sha256.Sum256(body)
		_, err = decode(append(body, sumPrefix+hex.EncodeToString(sum[:])+"\n"...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %d: %v, want %q", version, err, want)
		}
	}
}

// A copy of the same size and another content is read for itself.
func TestStoreComparesTheCopyByItsContent(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, sample())
	copied, err := os.ReadFile(s.copy())
	if err != nil {
		t.Fatal(err)
	}
	next := sample()
	next.Serial, next.Run = 1, "r2"
	put(t, s, next)
	newer, err := os.ReadFile(s.copy())
	if err != nil || len(newer) != len(copied) {
		t.Fatalf("%d and %d bytes, %v: the test proves nothing", len(newer), len(copied), err)
	}
	if err := os.WriteFile(s.path(), copied, 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Load(); err != nil || p.Run != "r2" {
		t.Errorf("got %+v, %v", p, err)
	}
}

// A crash between the two writes leaves the copy one step ahead: the copy counts.
func TestStoreTakesTheNewerCopy(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, sample())
	old, err := os.ReadFile(s.path())
	if err != nil {
		t.Fatal(err)
	}
	next := sample()
	next.Serial, next.Iteration = 1, 7
	put(t, s, next)
	if err := os.WriteFile(s.path(), old, 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Load(); err != nil || p.Iteration != 7 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestStoreFailedChangeChangesNothing(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, sample())
	before, _ := os.ReadFile(s.path())
	want := errors.New("no")
	if err := s.Update(t.Context(), func(p *Progress) (*Progress, error) { p.Run = "other"; return nil, want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(s.path()); !bytes.Equal(before, after) {
		t.Error("the file changed")
	}
}

func TestConcurrentUpdatesAreAllKept(t *testing.T) {
	s, repo := newStore(t)
	put(t, s, sample())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := s.Update(context.Background(), func(p *Progress) (*Progress, error) { p.Iteration++; return p, nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p, err := s.Load()
	if err != nil || p.Iteration != 20 {
		t.Errorf("got %d of 20, %v", p.Iteration, err)
	}
	for _, dir := range []string{repo.Sprint(), repo.StateDir()} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp-") {
				t.Errorf("litter: %s", e.Name())
			}
		}
	}
}

// Case C1: a child that writes without end is killed, again and again, until 1,000 writes were made; the state is always
// whole and never older.
func TestCaseC1KilledWriterNeverMixesStates(t *testing.T) {
	if dir := os.Getenv("CHECKPOINT_WRITE_IN"); dir != "" {
		repo, err := git.Open(t.Context(), dir, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		s := NewStore(repo, time.Now)
		fmt.Println("writing")
		for {
			if err := s.Update(t.Context(), func(p *Progress) (*Progress, error) { p.Iteration++; return p, nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, repo := newStore(t)
	put(t, s, sample())
	last := 0
	for last < 1000 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCaseC1KilledWriterNeverMixesStates$")
		cmd.Env = append(environ(t), "CHECKPOINT_WRITE_IN="+repo.Top)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		// Killed after two writes at least, at some moment of a later one.
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			p, err := s.Load()
			if err != nil {
				t.Fatal(err)
			}
			if p.Iteration >= last+2 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the child does not write")
			}
		}
		time.Sleep(time.Duration(last%97) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		p, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if p.Iteration < last || len(p.Requirements) != 2 {
			t.Fatalf("after a kill: iteration %d, before %d", p.Iteration, last)
		}
		last = p.Iteration
	}
}

// Where the clock was set back between two programs, the steps keep their order; where it was set ahead, they follow.
func TestStepsKeepTheirOrder(t *testing.T) {
	noon := time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)
	var s Steps
	s.Load = s.after(noon)
	s.Isolate = s.after(noon.AddDate(-1, 0, 0))
	s.Dispatch = s.after(noon.AddDate(1, 0, 0))
	s.Regression = s.after(noon.Add(time.Second))
	want := Steps{Load: noon, Isolate: noon, Dispatch: noon.AddDate(1, 0, 0), Regression: noon.AddDate(1, 0, 0)}
	if s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

// The logs of the newest runs stay, by the time in their names; those of the present run whatever its name says.
func TestPruneRunsKeepsThePresentOne(t *testing.T) {
	s, repo := newStore(t)
	c := &Checkpoint{repo: repo, store: s, p: &Progress{Run: "20200101T000000Z-0000"}}
	runs := filepath.Join(repo.Sprint(), "runs")
	for _, name := range []string{c.p.Run, "20260101T000000Z-0000", "20260102T000000Z-0000", "20260103T000000Z-0000", "20260104T000000Z-0000", "20260105T000000Z-0000",
		"20260106T000000Z-0000", "20260107T000000Z-0000", "20260108T000000Z-0000", "20260109T000000Z-0000", "20260110T000000Z-0000"} {
		if err := os.MkdirAll(filepath.Join(runs, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.pruneRuns(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(runs)
	if err != nil || len(entries) != keptRuns || entries[0].Name() != c.p.Run || entries[1].Name() != "20260102T000000Z-0000" {
		t.Errorf("kept are %v, %v", entries, err)
	}
}

// Of the present run the oldest logs go where all are more than 200 MB, and nothing else does. What was moved out of an
// attempt's way is in no run's logs.
func TestPruneRunsLogs(t *testing.T) {
	s, repo := newStore(t)
	c := &Checkpoint{repo: repo, store: s, p: &Progress{Run: "20260201T000000Z-0000"}}
	runs := filepath.Join(repo.Sprint(), "runs")
	put := func(size int64, age time.Duration, path ...string) {
		t.Helper()
		full := filepath.Join(append([]string{runs}, path...)...)
		written := time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o777), os.WriteFile(full, nil, 0o666), os.Truncate(full, size), os.Chtimes(full, written, written)); err != nil {
			t.Fatal(err)
		}
	}
	const mb = 1 << 20
	put(120*mb, 3*time.Hour, c.p.Run, "REQ-002", "1", logFile)
	put(90*mb, 2*time.Hour, c.p.Run, "REQ-001", "1", logFile)
	put(100*mb, time.Hour, c.p.Run, "REQ-001", "2", logFile)
	put(1, 4*time.Hour, c.p.Run, "REQ-002", "1", promptFile)
	put(300*mb, 4*time.Hour, c.p.Run, "REQ-002", "repository-1", "inner", "work")
	put(20*mb, 9*time.Hour, "20260101T000000Z-0000", "REQ-001", "1", logFile)
	put(1, 9*time.Hour, "20260101T000000Z-0000", "REQ-001", "repository-1", "inner", "work")
	put(1, 9*time.Hour, "20260101T000000Z-0000", "REQ-002", "1", promptFile)
	if err := c.pruneRuns(); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, f := range []string{"*/*/*/agent.log", "*/*/*/prompt.txt", "*/*/repository-1/inner/work", "*/*"} {
		matches, err := filepath.Glob(filepath.Join(runs, filepath.FromSlash(f)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range matches {
			rel, err := filepath.Rel(runs, path)
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, filepath.ToSlash(rel))
		}
	}
	want := `20260201T000000Z-0000/REQ-001/1/agent.log
20260201T000000Z-0000/REQ-001/2/agent.log
20260201T000000Z-0000/REQ-002/1/prompt.txt
20260101T000000Z-0000/REQ-001/repository-1/inner/work
20260201T000000Z-0000/REQ-002/repository-1/inner/work
20260101T000000Z-0000/REQ-001
20260201T000000Z-0000/REQ-001
20260201T000000Z-0000/REQ-002`
	if got := strings.Join(left, "\n"); got != want {
		t.Errorf("left are\n%s", got)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(nil))
	f.Add([]byte("a: b\n" + sumPrefix + "00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(data)
		if err == nil && p == nil {
			t.Error("neither a state nor an error")
		}
	})
}

// TestStateIsPlain: a thousand requirements that are done are read without yaml.v3, which would take tens of times as
// long at each start of each program.
func TestStateIsPlain(t *testing.T) {
	at := time.Date(2026, 5, 8, 10, 30, 0, 0, time.UTC)
	p := sample()
	for i := range 1000 {
		id := fmt.Sprintf("REQ-%04d", i)
		p.Order = append(p.Order, id)
		p.Learnings.Reports = append(p.Learnings.Reports, "20261130T144906Z-4123/"+id+"/1")
		p.Requirements = append(p.Requirements, &Requirement{ID: id, Status: Done, Attempts: 1, SpecHash: strings.Repeat("0123456789abcdef", 4), Commit: strings.Repeat("1a", 20),
			Tokens: 12, Seconds: 0.034, Gate: "L1 pass; L1b 57/103; L2 212 passed; L3 8123/9410", Steps: Steps{at, at, at, at, at, at, at}, Number: i + 1, Since: at})
	}
	data, err := encode(p)
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(3, func() {
		if _, err := decode(data); err != nil {
			t.Error(err)
		}
	})
	if allocs > 40_000 { // yaml.v3 makes some 250,000
		t.Errorf("reading the state took %.0f allocations", allocs)
	}
	if allocs := testing.AllocsPerRun(3, func() { _, _ = encode(p) }); allocs > 10_000 { // yaml.v3: 140,000
		t.Errorf("writing the state took %.0f allocations", allocs)
	}
}
