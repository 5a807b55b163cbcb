//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// agentCommands is what each agent's file runs, with the arguments "--model" and "two words" given.
var agentCommands = map[string]string{
	"aider":        "aider|--message-file|/dev/stdin|--yes-always|--no-stream|--no-pretty|--no-check-update|--analytics-disable|--no-auto-commits|--model|two words",
	"amp":          "amp|-x|--stream-json|--dangerously-allow-all|--model|two words",
	"claude":       "claude|-p|--output-format|stream-json|--verbose|--permission-mode|bypassPermissions|--model|two words",
	"codex":        "codex|exec|--json|--color|never|--dangerously-bypass-approvals-and-sandbox|--model|two words|-",
	"copilot":      "copilot|--output-format|json|--allow-all-tools|--no-ask-user|--model|two words",
	"cursor-agent": "cursor-agent|-p|--force|--trust|--output-format|stream-json|--model|two words",
	"gemini":       "gemini|--output-format|stream-json|--yolo|--skip-trust|--model|two words",
	"goose":        "goose|run|-i|-|--no-session|-q|--output-format|json|--model|two words",
	"opencode":     "opencode|run|--format|json|--auto|--title|ralph-loop|--model|two words",
	"pi":           "pi|--print|--mode|json|--no-session|--offline|--no-extensions|--no-skills|--no-prompt-templates|--no-themes|--model|two words",
	"qwen":         "qwen|--output-format|stream-json|--yolo|--model|two words",
}

// Each agent's file hands its program the whole prompt on stdin and the user's own arguments, and passes its exit code
// on, under each shell. Its head says whether it was tried.
func TestAgentFiles(t *testing.T) {
	entries, err := os.ReadDir("../../scripts/agents")
	if err != nil {
		t.Fatal(err)
	}
	prompt := strings.Repeat("Build it. ", 31_000)
	for _, e := range entries {
		name := e.Name()
		if name == "command" || name == "replay" {
			continue
		}
		want, known := agentCommands[name]
		if !known {
			t.Errorf("no test knows what %s runs", name)
			continue
		}
		file := filepath.Join("..", "..", "scripts", "agents", name)
		head, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^# (Tried with [0-9]|Not tried: )`).Match(head) || !bytes.Contains(head, []byte("ralph-loop --agent "+name)) {
			t.Errorf("the head of %s does not say whether it was tried, and how it is called", name)
		}
		bin := t.TempDir()
		program := "#!/bin/sh\nprintf '%s' \"$(basename \"$0\")\"\nprintf '|%s' \"$@\"\necho\ncat\nexit 7\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(program), 0o777); err != nil {
			t.Fatal(err)
		}
		for shell, argv := range shells(t) {
			cmd := exec.Command(argv[0], append(argv[1:], file, "--model", "two words")...)
			cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
			cmd.Stdin = strings.NewReader(prompt)
			out, err := cmd.Output()
			if code(err) != 7 {
				t.Errorf("%s under %s: %v, want exit code 7", name, shell, err)
			}
			line, rest, _ := strings.Cut(string(out), "\n")
			if line != want || rest != prompt {
				t.Errorf("%s under %s runs\n%s\nwant\n%s\nand %d of %d bytes of the prompt arrive", name, shell, line, want, len(rest), len(prompt))
			}
		}
	}
}
