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

// volatile is what differs from run to run: hashes, run ids, durations, temporary paths.
var volatile = []struct{ pattern, becomes string }{
	{`\b[0-9a-f]{40}\b`, "<hash>"},
	{`\b[0-9a-f]{10,12}\b`, "<hash>"},
	{`\b[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}\b`, "<run>"},
	{`\b[0-9a-f]{7}\b `, "<hash> "},
	{`\b[0-9]+\.[0-9]+s\b`, "<time>"},
	{`[ \t]+`, " "},
}

func steady(text string) string {
	for _, v := range volatile {
		text = regexp.MustCompile(v.pattern).ReplaceAllString(text, v.becomes)
	}
	return strings.TrimSpace(text)
}

// Each console block of the README is run, in order, in one repository; what it shows is what the programs print. With
// -update the README gets the present output.
func TestReadme(t *testing.T) {
	const name = "../../README.md"
	readme, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.dir = filepath.Join(filepath.Dir(w.dir), "greet")
	if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("testdata", "readme"))); err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile(filepath.Join("testdata", "readme-agent.sh"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.home, "agent.sh"), string(agent))
	installed := layInstalled(t)
	w.environ = append(w.environ, "PATH="+installed+":"+os.Getenv("PATH"), "GOFLAGS=-buildvcs=false", "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	w.git("init", "-q")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "Begin")

	blocks := regexp.MustCompile("(?ms)^```console\n(.*?)^```\n")
	commands := 0
	updated := blocks.ReplaceAllFunc(readme, func(block []byte) []byte {
		var out bytes.Buffer
		out.WriteString("```console\n")
		body := strings.TrimSuffix(strings.TrimPrefix(string(block), "```console\n"), "```\n")
		for _, part := range strings.Split("\n"+body, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(part, "\n")
			commands++
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = w.dir, w.environ
			printed, err := cmd.CombinedOutput()
			printed = bytes.ReplaceAll(printed, []byte(filepath.Dir(w.dir)), []byte("/home/ann"))
			if err != nil && !strings.Contains(command, "||") {
				t.Errorf("$ %s: %v\n%s", command, err, printed)
			}
			if !*update && steady(shown) != steady(string(printed)) {
				t.Errorf("$ %s\nprints\n%s\nand the README shows\n%s", command, steady(string(printed)), steady(shown))
			}
			out.WriteString("$ " + command + "\n")
			out.Write(printed)
		}
		out.WriteString("```\n")
		return out.Bytes()
	})
	if commands < 5 {
		t.Errorf("only %d commands were found: the test proves little", commands)
	}
	if *update {
		if err := os.WriteFile(name, updated, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// layInstalled lays the scripts as make install does, and gives the folder for PATH.
func layInstalled(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	bin, lib := filepath.Join(top, "bin"), filepath.Join(top, "lib", "ralph")
	for from, to := range map[string]string{"../../scripts": lib, "../../hooks": filepath.Join(lib, "hooks")} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/ralph/ralph-loop", filepath.Join(bin, "ralph-loop")); err != nil {
		t.Fatal(err)
	}
	return bin
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
