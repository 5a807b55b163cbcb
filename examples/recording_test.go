// Package examples holds no code: its tests judge every recorded attempt by
// the gate, as the loop does, and watch the demo.
package examples

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/spec"
)

// attempt is one recorded attempt and what must come of it.
type attempt struct {
	req, n string
	fails  string // the layers that refuse it, with their results; "" for none
	says   string // what the gate prints of the reason
	cause  string // the file that holds the cause; without it the attempt passes
	lacks  string // or the file of the next attempt that is lacking
}

// noBuild is what the gate says of a tree that does not compile: no test can
// run, and without tests nothing is known of their coverage.
const noBuild = "L1 fail, L2 fail, L3 error"

// queue is the order in which the loop takes the attempts up. REQ-007 is given
// up after its third, and skipped before REQ-008.
var queue = []attempt{
	{req: "REQ-001", n: "1"},
	{req: "REQ-007", n: "1", fails: "L2 fail", cause: "30-own-test-fails.patch",
		says: `internal/shelf/isbn_test.go:28: TestISBNIsStoredAs13Digits/10_with_X: ISBN: "", isbn: the check digit of "0-8044-2957-X" is wrong`},
	{req: "REQ-007", n: "2", fails: noBuild, cause: "30-does-not-compile.patch",
		says: "internal/shelf/isbn_digits.go:5: check13 redeclared in this block"},
	{req: "REQ-007", n: "3", fails: "L1b fail", cause: "30-drops-own-tests.patch",
		says: "18 of 78 added lines are tests (23.07 %), 40 % wanted"},
	{req: "REQ-005", n: "1", fails: "integrity fail", cause: "30-skips-existing-test.patch",
		says: "internal/web/api_test.go:118: TestRemoveAnswersWithoutABody skips"},
	{req: "REQ-005", n: "2"},
	{req: "REQ-002", n: "1", fails: "L1b fail", lacks: "REQ-002/2/10-tests.patch",
		says: "0 of 85 added lines are tests (0.00 %), 40 % wanted"},
	{req: "REQ-002", n: "2"},
	{req: "REQ-003", n: "1", fails: "L3 fail", cause: "30-lowers-coverage.patch",
		says: "278 of 373 covered (74.53 %), 80 % wanted"},
	{req: "REQ-003", n: "2"},
	{req: "REQ-006", n: "1", fails: "L0 fail", cause: "30-edits-threshold.patch",
		says: "ralph.yaml: the gate's own configuration"},
	{req: "REQ-006", n: "2"},
	{req: "REQ-004", n: "1", fails: noBuild, cause: "30-does-not-compile.patch",
		says: "internal/web/filename.go:7: undefined: strings.ToASCII"},
	{req: "REQ-004", n: "2", fails: "L2 fail", cause: "30-breaks-earlier-requirement.patch",
		says: "internal/web/filter_test.go:56: regression: TestListFilters/author=herbert: "},
	{req: "REQ-004", n: "3"},
	{req: "REQ-008", n: "1"},
	{req: "REQ-009", n: "1"},
}

// strays are causes that are put into the attempt of another requirement that
// would pass. A cause of "" leaves out the file instead.
var strays = []struct{ req, cause, without, fails, says string }{
	{"REQ-001", "REQ-005/1/30-skips-existing-test.patch", "", "integrity fail", "TestRemoveAnswersWithoutABody skips"},
	{"REQ-001", "REQ-003/1/30-lowers-coverage.patch", "", "L3 fail", "80 % wanted"},
	{"REQ-001", "REQ-004/1/30-does-not-compile.patch", "", noBuild, "undefined: strings.ToASCII"},
	{"REQ-001", "REQ-006/1/30-edits-threshold.patch", "", "L0 fail", "ralph.yaml"},
	{"REQ-008", "REQ-004/2/30-breaks-earlier-requirement.patch", "", "L2 fail", "regression: TestListFilters"},
	{"REQ-009", "", "10-tests.patch", "L1b fail", "0 of 27 added lines are tests"},
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
				p.want("without its cause", a, gate.Layers, "", "")
				p.put(before)
			}
			for _, stray := range strays {
				if stray.req != a.req {
					continue
				}
				with := p.copyOf(recorded)
				if stray.cause != "" {
					p.copyFile(filepath.Join(recorded, stray.cause), filepath.Join(with, a.req, a.n))
				} else if err := os.Remove(filepath.Join(with, a.req, a.n, stray.without)); err != nil {
					t.Fatal(err)
				}
				p.replay(with, a)
				p.want("with "+stray.cause+", without "+stray.without, a, upTo(stray.fails), stray.fails, stray.says)
				p.put(before)
			}
			p.replay(recorded, a)
			p.want("as recorded", a, gate.Layers, a.fails, a.says)
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
// for the others must fit then too, and the causes of REQ-007's refusals get
// another's attempt refused.
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
		if a.req == "REQ-005" && a.n == "2" {
			for cause, fails := range map[string]string{"1/30-own-test-fails.patch": "L2 fail", "2/30-does-not-compile.patch": noBuild} {
				before := p.tree()
				with := p.copyOf(mended)
				p.copyFile(filepath.Join("recorded-agent", "REQ-007", cause), filepath.Join(with, a.req, a.n))
				p.replay(with, a)
				p.want("with "+cause, a, upTo(fails), fails, "isbn")
				p.put(before)
			}
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
	judged map[string]verdict // by the requirement, HEAD's tree and the tree
}

// verdict names the layers that refuse a tree, with their results, and what
// the gate prints.
type verdict struct{ failed, why string }

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir(), judged: map[string]verdict{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, "RALPH_") {
			p.env = append(p.env, v)
		}
	}
	p.env = append(p.env, "XDG_CACHE_HOME="+t.TempDir(), goCache(t), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GOWORK=off", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if err := os.CopyFS(p.dir, os.DirFS("bookshelf")); err != nil {
		t.Fatal(err)
	}
	p.git("init", "-q")
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "bookshelf")
	return p
}

// goCache is the user's own cache, where the standard library is compiled
// already, as a variable.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return "GOCACHE=" + strings.TrimSpace(string(out))
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

// want compares the layers that refuse the tree, all of them, with those that
// should, and looks for the reason in what the gate prints.
func (p *project) want(when string, a attempt, layers []string, fails, says string) {
	p.t.Helper()
	// Without its cause, an attempt is mostly what the next one mends it to.
	tree := p.tree()
	key := a.req + p.git("rev-parse", "HEAD^{tree}") + tree
	got, known := p.judged[key]
	if !known {
		got = p.judge(a.req, tree, layers)
		p.judged[key] = got
	}
	if got.failed != fails || !strings.Contains(got.why, says) {
		p.t.Errorf("%s: refused by %q, want %q with %q in\n%s", when, got.failed, fails, says, got.why)
	}
}

// upTo are the layers up to the last one that should refuse: a cause that the
// diff alone shows needs no test run.
func upTo(fails string) []string {
	last := 0
	for i, name := range gate.Layers {
		if strings.Contains(fails, name+" ") {
			last = i
		}
	}
	return gate.Layers[:last+1]
}

// judge asks the gate about a tree as the loop does: against HEAD, for the
// requirement, by the configuration that HEAD has.
func (p *project) judge(id, tree string, layers []string) verdict {
	p.t.Helper()
	ctx := context.Background()
	repo, err := git.Open(ctx, p.dir, p.env)
	if err != nil {
		p.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("bookshelf", "specification.yaml"))
	if err != nil {
		p.t.Fatal(err)
	}
	specification, _, err := spec.Read("specification.yaml", data)
	if err != nil {
		p.t.Fatal(err)
	}
	base := strings.TrimSpace(p.git("rev-parse", "HEAD"))
	config, err := gate.ReadConfig(ctx, repo, base, tree, false)
	if err != nil {
		p.t.Fatal(err)
	}
	v, err := gate.Run(ctx, gate.Request{
		Repo: repo, Environ: p.env, Config: config, Base: base, Tree: tree, Requirement: specification.Lookup(id), Only: layers, Now: time.Now,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if len(v.Layers) != len(layers) {
		p.t.Fatalf("not every layer was asked: %+v", v.Layers)
	}
	var failed []string
	var why strings.Builder
	for _, l := range v.Layers {
		if l.Result == gate.Fail || l.Result == gate.Error {
			failed = append(failed, l.Name+" "+string(l.Result))
		}
		if err := l.WriteText(&why, false); err != nil {
			p.t.Fatal(err)
		}
	}
	return verdict{strings.Join(failed, ", "), why.String()}
}
