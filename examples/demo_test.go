package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// newDemo builds the programs and runs the demo with them, as a user who has
// told git nothing. The project is the repository that it leaves.
func newDemo(t *testing.T) (p *project, output string) {
	t.Helper()
	p = &project{t: t}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, "RALPH_") && !strings.HasPrefix(v, "PATH=") {
			p.env = append(p.env, v)
		}
	}
	bin, err := filepath.Abs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CACHE_HOME="+t.TempDir(), goCache(t),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GOWORK=off", "LC_ALL=C")
	if out, err := exec.Command("go", "build", "-o", bin, "../cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	work := t.TempDir()
	demo := exec.Command(filepath.Join(scripts, "demo"), work)
	demo.Env = p.env
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.dir = filepath.Join(work, "bookshelf")
	return p, string(out)
}

// run runs a command in the repository that must succeed.
func (p *project) run(name string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if path, err := exec.LookPath(filepath.Join(p.bin(), name)); err == nil {
		cmd.Path, cmd.Err = path, nil
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// bin is the folder of the programs that were built.
func (p *project) bin() string {
	for _, v := range p.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			return filepath.SplitList(path)[0]
		}
	}
	return ""
}

func TestDemo(t *testing.T) {
	t.Parallel()
	p, output := newDemo(t)
	for _, c := range []struct {
		name  string
		check func(p *project, output string)
	}{
		{"what it prints", checkOutput},
		{"the reason of each refusal", checkRefusals},
		{"one commit a finished requirement", checkCommits},
		{"the status for other programs", checkStatus},
		{"the state is sound", checkState},
		{"AGENTS.md", checkAgentsFile},
		{"each commit passes on its own", checkEachCommit},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := *p
			q.t = t
			c.check(&q, output)
		})
	}
}

// finished are the requirements that end in a commit, in their order.
var finished = []string{"REQ-001", "REQ-005", "REQ-002", "REQ-003", "REQ-006", "REQ-004", "REQ-008", "REQ-009"}

func checkOutput(p *project, output string) {
	queued, _, _ := strings.Cut(output, "=== The loop")
	if n := len(regexp.MustCompile(`(?m)^REQ-\d+ `).FindAllString(queued, -1)); n != 9 {
		p.t.Errorf("%d requirements in the queue:\n%s", n, queued)
	}
	for _, want := range []string{
		"AGENTS.md was changed and is put back",
		"REQ-007, attempt 1 failed; the next one is told why",
		"REQ-007 is blocked after attempt 3",
		"blocked by REQ-008 ← REQ-007",
		"REQ-009 is blocked: REQ-009 ← REQ-008 ← REQ-007, blocked: failed 3 times, last: L1b: 18 of 78 added lines are tests (23.07 %), 40 % wanted.\n",
		"REQ-007 is blocked: failed 3 times, last: L1b: 18 of 78 added lines are tests (23.07 %), 40 % wanted; waiting behind it: REQ-008, REQ-009\n",
		"\n  ralph-loop decide REQ-007 retry ",
		"6 of 9 done, 0 pending, 3 blocked, 0 skipped; iteration 7 of 15",
		"The loop ended with exit code 11: ",
		"Ralph-Gate: L1 pass; L1b 98/164; L2 53 passed; L3 186/200",
		"$ ralph-loop decide REQ-007 skip\n",
		"8 of 9 done, 0 pending, 0 blocked, 1 skipped; iteration 9 of 15",
		"The loop ended with exit code 0. The repository is kept: " + p.dir + "\n",
	} {
		if !strings.Contains(output, want) {
			p.t.Errorf("it does not say %q", want)
		}
	}
	if p.t.Failed() {
		p.t.Log(output)
	}
}

// checkRefusals holds what is printed of each attempt against what was recorded.
func checkRefusals(p *project, output string) {
	header := regexp.MustCompile(`(?m)^(REQ-\d+), attempt (\d) \(replay\).*\n`)
	layer := regexp.MustCompile(`(?m)^(L0|L1b|mocks|integrity|L1|L2|L3) +(pass|fail|n/a|error) +\S.* (?:\d+\.\d\ds|cached)$`)
	found := header.FindAllStringSubmatchIndex(output, -1)
	if len(found) != len(queue) {
		p.t.Fatalf("%d attempts, want %d", len(found), len(queue))
	}
	for i, at := range found {
		a, end := queue[i], len(output)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		said := output[at[0]:end]
		if id, n := output[at[2]:at[3]], output[at[4]:at[5]]; id != a.req || n != a.n {
			p.t.Fatalf("attempt %s of %s came where %s of %s was due", n, id, a.n, a.req)
		}
		var failed []string
		layers := layer.FindAllStringSubmatch(said, -1)
		for _, l := range layers {
			if l[2] == "fail" || l[2] == "error" {
				failed = append(failed, l[1]+" "+l[2])
			}
		}
		if len(layers) != 7 || strings.Join(failed, ", ") != a.fails || !strings.Contains(said, a.says) {
			p.t.Errorf("%s, attempt %s: refused by %q, want %q with %q in\n%s", a.req, a.n, failed, a.fails, a.says, said)
		}
		done := regexp.MustCompile(`(?m)^` + a.req + ` is done: commit [0-9a-f]{10}$`).MatchString(said)
		if done != (a.fails == "") {
			p.t.Errorf("%s, attempt %s: done is %v\n%s", a.req, a.n, done, said)
		}
	}
}

func checkCommits(p *project, _ string) {
	const format = "%H%x01%T%x01%s%x01%(trailers:key=Ralph-Tree,valueonly,separator=)%x01%B"
	records := strings.Split(strings.TrimSuffix(p.run("git", "log", "-z", "--reverse", "--first-parent", "--format="+format), "\x00"), "\x00")
	if len(records) != 1+len(finished) {
		p.t.Fatalf("%d commits, want the first one and %d", len(records), len(finished))
	}
	if n := strings.TrimSpace(p.run("git", "rev-list", "--count", "--branches", "--tags")); n != fmt.Sprint(1+len(finished)) {
		p.t.Errorf("%s commits on the branches", n)
	}
	for i, id := range finished {
		f := strings.Split(records[i+1], "\x01")
		if len(f) != 5 {
			p.t.Fatalf("%q", records[i+1])
		}
		if !strings.HasPrefix(f[2], "ralph-loop: "+id+" - ") {
			p.t.Errorf("subject %q, want that of %s", f[2], id)
		}
		if f[1] != f[3] {
			p.t.Errorf("%s: the trailer says tree %s, it is %s", id, f[3], f[1])
		}
		for _, want := range []string{
			"\n\nRalph-Req: " + id + "\n", "\nRalph-Tree: " + f[1] + "\n", `\nRalph-Spec-Hash: [0-9a-f]{64}\n`,
			`\nRalph-Gate: L1 pass; L1b \d+/\d+; L2 \d+ passed; L3 \d+/\d+\n`, `\nRalph-Run: \d{8}T\d{6}Z-[0-9a-f]{4}\n$`,
		} {
			if !regexp.MustCompile(want).MatchString(f[4]) {
				p.t.Errorf("%s: %q is not in its message\n%s", id, want, f[4])
			}
		}
	}
}

// statusKeys are those that other programs read, in their order.
var statusKeys = []string{"skill_name", "version", "specification_source", "topology_order", "requirements", "current_requirement",
	"learnings", "status", "checkpoint_at", "iteration", "max_iterations"}

func checkStatus(p *project, _ string) {
	text := p.run("ralph-checkpoint", "status", "--format", "json")
	dec := json.NewDecoder(strings.NewReader(text))
	var keys []string
	if _, err := dec.Token(); err != nil {
		p.t.Fatal(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			p.t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			p.t.Fatal(err)
		}
	}
	if !slices.Equal(keys, statusKeys) {
		p.t.Errorf("keys %q, want %q", keys, statusKeys)
	}
	var status struct {
		Order        []string       `json:"topology_order"`
		Requirements map[string]int `json:"requirements"`
		Status       string         `json:"status"`
		Learnings    struct{ Permanent, Contextual []string }
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		p.t.Fatal(err)
	}
	n := status.Requirements
	if n["done"]+n["pending"]+n["blocked"]+n["skipped"] != n["total"] || n["total"] != len(status.Order) || n["done"] != len(finished) || n["skipped"] != 1 {
		p.t.Errorf("the sums: %v", n)
	}
	if status.Status != "completed" || len(status.Learnings.Permanent) == 0 || len(status.Learnings.Contextual) > 3 {
		p.t.Errorf("%s", text)
	}
}

func checkState(p *project, _ string) {
	if out := p.run("ralph-checkpoint", "check"); out != "" {
		p.t.Errorf("check: %s", out)
	}
	if out := p.run("git", "status", "--porcelain", "--ignored=no"); out != "" {
		p.t.Errorf("git status: %s", out)
	}
	// Two requirements reported it in nearly the same words: it was promoted.
	if out := p.run("ralph-learn", "list"); !strings.Contains(out, "permanent   REQ-001,REQ-002 ") {
		p.t.Errorf("learnings:\n%s", out)
	}
}

// checkAgentsFile looks at what the loop added, and that it touched nothing that a person wrote.
func checkAgentsFile(p *project, _ string) {
	before, err := os.ReadFile(filepath.Join("bookshelf", "AGENTS.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(p.dir, "AGENTS.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	added, ok := bytes.CutPrefix(after, before)
	if !ok {
		p.t.Fatalf("the hand-written part changed:\n%s", after)
	}
	section := regexp.MustCompile(`(?s)<!-- ralph-loop:begin (REQ-\d+) .*?<!-- ralph-loop:end REQ-\d+ -->\n`)
	var ids []string
	said := sentences(string(before))
	for _, s := range section.FindAllStringSubmatch(string(added), -1) {
		id := s[1]
		ids = append(ids, id)
		if n := strings.Count(s[0], "\n"); n > 12 {
			p.t.Errorf("the section of %s has %d lines, its two comments included", id, n)
		}
		for sentence := range sentences(s[0]) {
			if by := said[sentence]; by != "" {
				p.t.Errorf("%s says what %s has said: %q", id, by, sentence)
			}
			said[sentence] = id
		}
		// Every path that it names is there, and it names one.
		paths := regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)+)`").FindAllStringSubmatch(s[0], -1)
		for _, name := range paths {
			if _, err := os.Stat(filepath.Join(p.dir, name[1])); err != nil {
				p.t.Errorf("%s names %q: %v", id, name[1], err)
			}
		}
		if len(paths) == 0 {
			p.t.Errorf("the section of %s names no path:\n%s", id, s[0])
		}
	}
	if !slices.Equal(ids, finished) {
		p.t.Errorf("sections of %v, want of %v", ids, finished)
	}
	if rest := strings.TrimSpace(section.ReplaceAllString(string(added), "")); rest != "" {
		p.t.Errorf("outside the sections: %q", rest)
	}
}

// sentences are what a text says, in lower case and without list marks, comments and headings, each with the name "a
// person".
func sentences(text string) map[string]string {
	said := map[string]string{}
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\n- ", "\n\n"), "\n") {
		if strings.HasPrefix(paragraph, "<!--") || strings.HasPrefix(paragraph, "#") {
			continue
		}
		for _, s := range regexp.MustCompile(`[.;。；](?:\s+|$)`).Split(strings.TrimPrefix(paragraph, "Learned: "), -1) {
			if s = strings.Trim(strings.ToLower(s), " .;-"); s != "" {
				said[s] = "a person"
			}
		}
	}
	return said
}

// checkEachCommit takes each commit by itself, in one place, so that what did not change is not tested again.
func checkEachCommit(p *project, _ string) {
	commits := strings.Fields(p.run("git", "rev-list", "--reverse", "main"))
	clone := *p
	clone.dir = p.t.TempDir()
	p.run("git", "clone", "-q", p.dir, clone.dir)
	for _, commit := range commits {
		clone.run("git", "checkout", "-q", commit)
		clone.run("go", "test", "./...")
	}
}
