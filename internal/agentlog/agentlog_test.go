package agentlog

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const report = "The list works.\n\n```ralph-report\nstatus: done\n```"

// What each agent's form says, in a good run, in a refused one, and cut short. The logs are of our own making, in the
// shape of real ones.
func TestEachAgentsForm(t *testing.T) {
	full := Usage{Input: 900, Cached: 100, Output: 40}
	want := map[string]Log{
		"codex_ok":                  {Usage: full, Events: true, Message: report},
		"codex_limit":               {Events: true, Failed: true, Error: "You've hit your usage limit. Try again at 3:05 PM."},
		"gemini_ok":                 {Usage: full, Events: true, Message: report},
		"gemini_limit":              {Events: true, Failed: true, Error: `{"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}}`},
		"gemini_null_error":         {Events: true, Message: "Done."},
		"gemini_stream_ok":          {Usage: full, Events: true, Message: report},
		"gemini_stream_error":       {Events: true, Failed: true, Error: "[API Error: status 401]"},
		"opencode_ok":               {Usage: full, Events: true, Message: report + "\n"},
		"opencode_limit":            {Events: true, Failed: true, Error: "status 429: slow down"},
		"pi_ok":                     {Usage: full, Events: true, Message: report},
		"pi_limit":                  {Events: true, Failed: true, Error: "error: 429 rate limit exceeded, retry after 20s"},
		"claude_ok":                 {Usage: full, Events: true, Message: report},
		"claude_limit":              {Events: true, Failed: true, Error: "Claude AI usage limit reached|1796047200"},
		"claude_killed":             {Usage: Usage{Input: 650, Cached: 100, Output: 30}, Events: true, Message: "Halfway."},
		"qwen_ok":                   {Usage: full, Events: true, Message: report},
		"qwen_error":                {Events: true, Failed: true, Error: "[API Error: 429 slow down]"},
		"qwen_error_called_success": {Events: true, Failed: true, Error: "[API Error: 401 invalid_api_key]"},
		"amp_ok":                    {Usage: full, Events: true, Message: report},
		"cursor_ok":                 {Usage: full, Events: true, Message: report},
		"goose_ok":                  {Usage: full, Events: true, Message: report},
		"copilot_ok":                {Events: true, Message: report},
		"aider_ok":                  {Usage: Usage{Input: 2500, Output: 350}},
		"aider_limit":               {},
		"prints_json":               {},
		"cut_short":                 {},
		"odd_numbers":               {Events: true},
	}
	files, err := filepath.Glob("testdata/logs/*.log")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d logs for %d expectations (%v)", len(files), len(want), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".log")
		got, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plain := got.Plain
		got.Plain = ""
		if got != want[name] {
			t.Errorf("%s:\n%+v\nwant\n%+v", name, got, want[name])
		}
		got.Plain = plain
		limited, _ := Limited(got.LastWords(), time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))
		if refused := strings.HasSuffix(name, "_limit") || name == "qwen_error"; limited != refused {
			t.Errorf("%s: limited %t, want %t: %q", name, limited, refused, got.LastWords())
		}
	}
	if n := full.Charged(); n != 840 {
		t.Errorf("charged %d tokens, want the uncached input and the output: 840", n)
	}
}

func TestNoLog(t *testing.T) {
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) && err == nil {
		t.Errorf("%v", err)
	}
}

// A line that is longer than any event is skipped, and what follows it is read; memory does not grow with it.
func TestLongLines(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`{"type":"message_update","x":"`), io.LimitReader(xs{}, 40<<20),
		strings.NewReader("\"}\n"+`{"type":"item.completed","item":{"type":"agent_message","text":"after"}}`))
	l, err := Read(long)
	if err != nil || l.Message != "after" {
		t.Errorf("%q, %v", l.Message, err)
	}
	open := io.MultiReader(strings.NewReader("{\n"), io.LimitReader(lines{}, 20<<20), strings.NewReader("}\nlast\n"))
	l, err = Read(open)
	if err != nil || !strings.HasSuffix(l.Plain, "last\n") || len(l.Plain) > maxPlain {
		t.Errorf("%d bytes, %v", len(l.Plain), err)
	}
	message := `{"type":"item.completed","item":{"type":"agent_message","text":"` + strings.Repeat("界", maxMessage) + `"}}`
	if l, err = Read(strings.NewReader(message)); err != nil || len(l.Message) > maxMessage+3 || !strings.HasSuffix(l.Message, "界") {
		t.Errorf("a message of %d bytes, %v", len(l.Message), err)
	}
}

type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type lines struct{}

func (lines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "\n-"[i%2]
	}
	return len(p), nil
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/logs/*.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Read(bytes.NewReader(data))
		u := l.Usage
		if err != nil || u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Cached > u.Input || len(l.Plain) > 2*maxPlain {
			t.Errorf("%+v, %v", l, err)
		}
		if l.Failed && !l.Events {
			t.Error("plain text has no errors")
		}
	})
}
