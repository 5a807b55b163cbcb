package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph-loop/internal/exit"
)

func TestOrderScripts(t *testing.T) { runScripts(t, "order") }

// Every format of every verb, over a specification that has each status, a diamond and a blocked branch.
func TestOrderFormats(t *testing.T) {
	commands := []string{
		"list", "list --format tsv", "list --format json", "list --format dot", "list --format mermaid", "list -z",
		"list --all", "list --all --format tsv", "list --all --format json",
		"next", "next --format tsv", "next --format json", "next -z",
		"ready", "ready --format tsv", "ready --format json", "ready -z",
		"layers", "layers --format tsv", "layers --format json",
		"show REQ-005", "show --format yaml REQ-005", "show --format json REQ-005",
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			var out, errw bytes.Buffer
			p := &Process{
				Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errw, Now: time.Now,
				Dir: filepath.Join("testdata", "order"), Environ: []string{"RALPH_SPEC=specification.yaml"},
			}
			if code := Order(p, "", strings.Fields(command)); code != exit.OK || errw.Len() > 0 {
				t.Fatalf("exit code %d, stderr %s", code, errw.String())
			}
			name := strings.ReplaceAll(strings.ReplaceAll(command, "--", ""), " ", "_") + ".golden"
			golden := filepath.Join("testdata", "order", name)
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", out.String(), want)
			}
		})
	}
}
