//go:build unix

package notify

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph-loop/internal/config"
)

func shell(line string) config.Command {
	return config.Command{Args: []string{"sh", "-c", line}, Line: line}
}

func place(t *testing.T) (Place, func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	p := Place{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "GIT_DIR=/elsewhere", "GIT_INDEX_FILE=x", "OUT=" + dir}}
	return p, func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

func TestTell(t *testing.T) {
	p, read := place(t)
	e := Event{Version: Version, Kind: Blocked, Text: `a <b> & "c"` + "\n$(touch pwned)", At: time.Date(2026, 5, 8, 1, 2, 3, 0, time.UTC), Run: "r", Req: "书 1.10", Waiting: []string{"B"}}
	problems, err := p.Tell(t.Context(), []config.Command{
		shell(`cat >"$OUT/first"; pwd >"$OUT/pwd"; env >"$OUT/env"`),
		{Args: []string{"sh", "-c", `printf '%s' "$1" >"$OUT/arg"`, "x", "$(touch pwned)"}, Line: "words"},
		shell("true"), // need not read
	}, e)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%q, %v", problems, err)
	}
	const want = `{"version":1,"event":"blocked","text":"a <b> & \"c\"\n$(touch pwned)","at":"2026-05-08T01:02:03Z","run":"r","req":"书 1.10","waiting":["B"]}` + "\n"
	if got := read("first"); got != want {
		t.Errorf("stdin was %s, want %s", got, want)
	}
	if read("arg") != "$(touch pwned)" {
		t.Errorf("a word was read by a shell: %q", read("arg"))
	}
	if real, _ := filepath.EvalSymlinks(p.Dir); strings.TrimSpace(read("pwd")) != real {
		t.Errorf("it ran in %q", read("pwd"))
	}
	if env := read("env"); strings.Contains(env, "GIT_") || !strings.Contains(env, "NO_COLOR=1") || !strings.Contains(env, "RALPH_EVENT=blocked\n") {
		t.Errorf("its environment:\n%s", env)
	}
	if left, _ := filepath.Glob(filepath.Join(p.Dir, "ralph-on-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "pwned")); err == nil {
		t.Error("a text was run")
	}
}

func TestTellProblems(t *testing.T) {
	p, read := place(t)
	problems, err := p.Tell(t.Context(), []config.Command{
		shell("exit 3"), shell("echo out; printf 'one\\ntwo \\033[31mred\\n\\n' >&2; exit 4"), {Args: []string{"no-such"}, Line: "no-such"},
		shell("kill -KILL $$"), shell("yes | head -c 200000 >&2; exit 5"), shell(`echo called >"$OUT/last"`),
	}, Event{Kind: Finished})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`on.finished: "exit 3" ended with exit code 3`, `ended with exit code 4: two red`, `on.finished: "no-such" was not found (exit code 127)`,
		`ended with exit code 137`, `ended with exit code 5: y`,
	} {
		if i >= len(problems) || !strings.HasSuffix(problems[i], want) {
			t.Errorf("problem %d of %q, want %q", i, problems, want)
		}
	}
	if len(problems) != 5 || read("last") != "called\n" {
		t.Errorf("%q", problems)
	}
}

func TestTimeLimit(t *testing.T) {
	p, _ := place(t)
	begun := time.Now()
	_, problem, err := p.call(t.Context(), shell("echo I am slow >&2; sleep 300 & sleep 300"), Event{Kind: Learned}, 300*time.Millisecond)
	if err != nil || !strings.HasSuffix(problem, "was ended after 300ms: I am slow") {
		t.Errorf("%q, %v", problem, err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// What is cut short was not told.
func TestInterrupted(t *testing.T) {
	p, _ := place(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	time.AfterFunc(200*time.Millisecond, func() { cancel(stop) })
	if problems, err := p.Tell(ctx, []config.Command{shell("sleep 300")}, Event{Kind: Learned}); !errors.Is(err, stop) || len(problems) > 0 {
		t.Errorf("%q, %v", problems, err)
	}
}

func TestAsk(t *testing.T) {
	p, _ := place(t)
	for _, c := range []struct{ name, line, findings, problem string }{
		{"nothing", "cat >/dev/null", "", ""},
		{"findings", "echo a; echo b; echo noise >&2", "a\nb", ""},
		{"by exit code 1", "echo a; exit 1", "a", ""},
		{"1 and nothing", "exit 1", "", "ended with exit code 1"},
		{"failed half-way", "echo a; exit 2", "", "ended with exit code 2"},
		{"missing", "no-such-program", "", "was not found (exit code 127)"},
		{"colours and bytes", `printf '\033[1ma\377\000'`, "a\uFFFD", ""},
	} {
		findings, problems, err := p.Ask(t.Context(), []config.Command{shell(c.line)}, Event{Kind: Review}, time.Minute)
		if err != nil || findings != c.findings || !strings.Contains(strings.Join(problems, "\n"), c.problem) || (c.problem == "") != (len(problems) == 0) {
			t.Errorf("%s: findings %q, problems %q, %v", c.name, findings, problems, err)
		}
	}
	findings, _, err := p.Ask(t.Context(), []config.Command{shell("yes 'a finding' | head -c 1000000"), shell("echo second")}, Event{Kind: Review}, time.Minute)
	if err != nil || len(findings) > maxFindings || !strings.HasSuffix(findings, "…") {
		t.Errorf("%d bytes, %v", len(findings), err)
	}
	if _, problems, err := p.Ask(t.Context(), []config.Command{shell("sleep 300")}, Event{Kind: Review}, 200*time.Millisecond); err != nil || len(problems) != 1 {
		t.Errorf("%q, %v", problems, err)
	}
}

// Each list of ralph.yaml belongs to one kind of event, and each kind's object has the keys that docs/events.md names.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	on := config.On{Learned: []config.Command{{Line: Learned}}, ReqDone: []config.Command{{Line: ReqDone}}, Regression: []config.Command{{Line: Regression}},
		Blocked: []config.Command{{Line: Blocked}}, Finished: []config.Command{{Line: Finished}}, Review: []config.Command{{Line: Review}}}
	for _, kind := range []string{Learned, ReqDone, Regression, Blocked, Finished, Review} {
		if got := Commands(on, kind); len(got) != 1 || got[0].Line != kind {
			t.Errorf("commands of %s: %v", kind, got)
		}
		if !strings.Contains(string(page), "`on."+kind+"`") {
			t.Errorf("docs/events.md does not name on.%s", kind)
		}
	}
	if Commands(on, "other") != nil {
		t.Error("an unknown kind has commands")
	}
	whole := Event{Title: "x", Attempt: 1, Run: "x", Req: "x", ID: "x", Classification: "x", Pattern: "x", Evidence: "x", Commit: "x", Gate: "x", Tokens: 1,
		Tests: []string{"x"}, Reason: "x", Waiting: []string{"x"}, Status: "x", Counts: &Counts{}, Base: "x", Tree: "x"}
	data, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(data, &keys); err != nil || len(keys) != 22 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for key := range keys {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/events.md does not name the key %q", key)
		}
	}
}
