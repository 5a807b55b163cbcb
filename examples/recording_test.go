// Package examples holds no code: the test beside this comment keeps the
// recorded agent honest. It judges every attempt with git and the go command
// alone, without any part of the toolkit, so that it can also be held against
// what the gate says.
package examples

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// attempt is one recorded attempt and what must come of it.
type attempt struct {
	req, n string
	fails  string // the one check that refuses it, "" for none
	cause  string // the file that holds the cause; without it the attempt passes
	lacks  string // or the file of the next attempt that is lacking
}

// queue is the order in which the loop takes the attempts up. REQ-007 is given
// up after its third, and skipped before REQ-008.
var queue = []attempt{
	{req: "REQ-001", n: "1"},
	{req: "REQ-007", n: "1", fails: "L2", cause: "30-own-test-fails.patch"},
	{req: "REQ-007", n: "2", fails: "L1", cause: "30-does-not-compile.patch"},
	{req: "REQ-007", n: "3", fails: "L1b", cause: "30-drops-own-tests.patch"},
	{req: "REQ-005", n: "1", fails: "integrity", cause: "30-skips-existing-test.patch"},
	{req: "REQ-005", n: "2"},
	{req: "REQ-002", n: "1", fails: "L1b", lacks: "REQ-002/2/10-tests.patch"},
	{req: "REQ-002", n: "2"},
	{req: "REQ-003", n: "1", fails: "L3", cause: "30-lowers-coverage.patch"},
	{req: "REQ-003", n: "2"},
	{req: "REQ-006", n: "1", fails: "L0", cause: "30-edits-threshold.patch"},
	{req: "REQ-006", n: "2"},
	{req: "REQ-004", n: "1", fails: "L1", cause: "30-does-not-compile.patch"},
	{req: "REQ-004", n: "2", fails: "L2", cause: "30-breaks-earlier-requirement.patch"},
	{req: "REQ-004", n: "3"},
	{req: "REQ-008", n: "1"},
	{req: "REQ-009", n: "1"},
}

// strays are causes that are put into the attempt of req that would pass.
var strays = []struct{ req, cause, fails string }{
	{"REQ-001", "REQ-005/1/30-skips-existing-test.patch", "integrity"},
	{"REQ-001", "REQ-003/1/30-lowers-coverage.patch", "L3"},
	{"REQ-001", "REQ-004/1/30-does-not-compile.patch", "L1"},
	{"REQ-001", "REQ-006/1/30-edits-threshold.patch", "L0"},
	{"REQ-006", "REQ-003/1/30-lowers-coverage.patch", "L3"},
	{"REQ-008", "REQ-004/2/30-breaks-earlier-requirement.patch", "L2"},
}

func TestEachAttemptIsRefusedForItsOneCause(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	recorded := "recorded-agent"
	for i, a := range queue {
		t.Run(a.req+"/"+a.n, func(t *testing.T) {
			p := p.in(t)
			before := p.tree()
			if a.fails != "" {
				without := p.copyOf(recorded)
				folder := filepath.Join(without, a.req, a.n)
				if a.lacks != "" {
					p.copyFile(filepath.Join(recorded, a.lacks), folder)
				} else if err := os.Remove(filepath.Join(folder, a.cause)); err != nil {
					t.Fatal(err)
				}
				p.replay(without, a)
				p.want("without its cause", "")
				p.put(before)
			}
			for _, stray := range strays {
				if stray.req == a.req && a.fails == "" {
					with := p.copyOf(recorded)
					p.copyFile(filepath.Join(recorded, stray.cause), filepath.Join(with, a.req, a.n))
					p.replay(with, a)
					p.want("with "+stray.cause, stray.fails)
					p.put(before)
				}
			}
			p.replay(recorded, a)
			p.want("as recorded", a.fails)
			switch {
			case a.fails == "":
				p.git("commit", "-q", "-m", a.req)
			case i+1 < len(queue) && queue[i+1].req != a.req:
				p.put("HEAD") // blocked: its leftovers are removed
			}
		})
	}
}

// A person may mend REQ-007, or a test may take its cause out: what is recorded
// for the others must fit then too.
func TestTheOthersFitWhenREQ007IsDone(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	mended := p.copyOf("recorded-agent")
	if err := os.Remove(filepath.Join(mended, "REQ-007", "1", "30-own-test-fails.patch")); err != nil {
		t.Fatal(err)
	}
	for i, a := range queue {
		if a.req == "REQ-007" && a.n != "1" {
			continue
		}
		p.replay(mended, a)
		if i+1 == len(queue) || queue[i+1].req != a.req || a.req == "REQ-007" {
			p.git("commit", "-q", "-m", a.req)
		}
	}
	if out, err := p.try("go", "test", "-vet=off", "./..."); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// project is the bookshelf in a repository of its own.
type project struct {
	t      *testing.T
	dir    string
	env    []string
	judged map[string]verdict // by HEAD's tree and the tree
}

// verdict names the checks that refuse a tree, and why.
type verdict struct{ failed, why string }

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), judged: map[string]verdict{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, "RALPH_") {
			p.env = append(p.env, v)
		}
	}
	p.env = append(p.env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GOWORK=off", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if err := os.CopyFS(p.dir, os.DirFS("bookshelf")); err != nil {
		t.Fatal(err)
	}
	p.git("init", "-q")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "bookshelf")
	return p
}

// in returns the project as the subtest t sees it.
func (p *project) in(t *testing.T) *project {
	return &project{t: t, dir: p.dir, env: p.env, judged: p.judged}
}

func (p *project) try(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	out, err := p.try("git", args...)
	if err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// tree writes the whole worktree as a tree and returns its name.
func (p *project) tree() string {
	p.t.Helper()
	p.git("add", "-A")
	return strings.TrimSpace(p.git("write-tree"))
}

// put makes the worktree exactly that tree.
func (p *project) put(tree string) {
	p.t.Helper()
	p.git("add", "-A")
	p.git("read-tree", "--reset", "-u", tree)
}

func (p *project) copyOf(dir string) string {
	p.t.Helper()
	to := p.t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		p.t.Fatal(err)
	}
	return to
}

func (p *project) copyFile(from, folder string) {
	p.t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, filepath.Base(from)), data, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// replay runs the recorded agent. As in the loop, an edit of AGENTS.md is
// undone before anything is judged.
func (p *project) replay(recordings string, a attempt) {
	p.t.Helper()
	script, err := filepath.Abs("../scripts/agents/replay")
	if err != nil {
		p.t.Fatal(err)
	}
	if recordings, err = filepath.Abs(recordings); err != nil {
		p.t.Fatal(err)
	}
	report := filepath.Join(p.t.TempDir(), "report.yaml")
	cmd := exec.Command("sh", script, recordings)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader("Build "+a.req+".\n")
	cmd.Env = append(slices.Clip(p.env), "RALPH_REQ="+a.req, "RALPH_ATTEMPT="+a.n, "RALPH_REPORT="+report)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		p.t.Fatalf("replay of %s/%s: %v\n%s", a.req, a.n, err, &stderr)
	}
	if !regexp.MustCompile(`\nTokens: [0-9.]+k? sent, [0-9.]+k? received\.\n$`).MatchString(stdout.String()) {
		p.t.Errorf("%s/%s: the transcript does not end with its tokens:\n%s", a.req, a.n, &stdout)
	}
	if data, err := os.ReadFile(report); err != nil || !bytes.HasPrefix(data, []byte("status: ")) {
		p.t.Errorf("%s/%s: the report: %v\n%s", a.req, a.n, err, data)
	}
	p.git("checkout", "-q", "HEAD", "--", "AGENTS.md")
	p.git("add", "-A")
}

// want compares the checks that refuse the tree, all of them, with those named.
func (p *project) want(when, fails string) {
	p.t.Helper()
	// Without its cause, an attempt is mostly what the next one mends it to.
	key := p.git("rev-parse", "HEAD^{tree}") + p.tree()
	got, known := p.judged[key]
	if !known {
		failed, why := p.check()
		got = verdict{strings.Join(failed, " "), why}
		p.judged[key] = got
	}
	if got.failed != fails {
		p.t.Errorf("%s: refused by %q, want %q\n%s", when, got.failed, fails, got.why)
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// check returns the names of the checks that refuse the index against HEAD.
// L2 needs code that compiles and L3 tests that pass: they are left out where
// they could only repeat the reason.
func (p *project) check() (failed []string, why string) {
	p.t.Helper()
	fail := func(name, reason string) {
		failed = append(failed, name)
		why += name + ": " + reason + "\n"
	}
	if out := p.git("diff", "--cached", "--name-only", "--", "ralph.yaml", "specification.yaml", "AGENTS.md", "go.mod"); out != "" {
		fail("L0", out)
	}
	compiles := true
	if out, err := p.try("go", "vet", "./..."); err != nil {
		compiles = false
		fail("L1", out)
	} else if out, err := p.try("gofmt", "-l", "."); err != nil || out != "" {
		fail("L1", "gofmt: "+out)
	}
	if tests, all := p.added(); tests*100 < 40*all {
		fail("L1b", strconv.Itoa(tests)+" of "+strconv.Itoa(all))
	}
	if reason := p.weakened(); reason != "" {
		fail("integrity", reason)
	}
	if !compiles {
		return failed, why
	}
	profile := filepath.Join(p.t.TempDir(), "cover.out")
	if out, err := p.try("go", "test", "-vet=off", "-coverpkg=./...", "-coverprofile="+profile, "./..."); err != nil {
		fail("L2", out)
		return failed, why
	}
	if covered, total := statements(p.t, profile); covered*100 < 80*total {
		fail("L3", strconv.Itoa(covered)+" of "+strconv.Itoa(total))
	}
	return failed, why
}

// added counts the added lines of tests, and of all Go files.
func (p *project) added() (tests, all int) {
	p.t.Helper()
	for line := range strings.Lines(p.git("diff", "--cached", "--numstat", "--", "*.go")) {
		fields := strings.Fields(line)
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			p.t.Fatalf("numstat: %q", line)
		}
		all += n
		if strings.HasSuffix(fields[2], "_test.go") {
			tests += n
		}
	}
	return tests, all
}

// weakened says which of HEAD's tests are gone, changed or skipped.
func (p *project) weakened() string {
	p.t.Helper()
	for path := range strings.Lines(p.git("ls-tree", "-r", "--name-only", "HEAD")) {
		path = strings.TrimSpace(path)
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		now, err := os.ReadFile(filepath.Join(p.dir, path))
		if err != nil {
			return path + " is gone"
		}
		old := p.git("show", "HEAD:"+path)
		for _, match := range testFunc.FindAllStringSubmatch(old, -1) {
			if !strings.Contains(string(now), match[0]) {
				return match[1] + " is gone"
			}
		}
		if strings.Count(string(now), "t.Skip(") > strings.Count(old, "t.Skip(") {
			return path + " skips a test"
		}
	}
	return ""
}

// statements sums a profile in which each block may stand once a test binary.
func statements(t *testing.T, profile string) (covered, total int) {
	t.Helper()
	file, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	size, hit := map[string]int{}, map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			continue // the mode
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatalf("profile: %q", lines.Text())
		}
		size[fields[0]] = n
		if fields[2] != "0" {
			hit[fields[0]] = true
		}
	}
	for block, n := range size {
		total += n
		if hit[block] {
			covered += n
		}
	}
	return covered, total
}
