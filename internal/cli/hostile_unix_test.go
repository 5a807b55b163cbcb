//go:build unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileHome: the home that `make test` runs in hurts, keeps what go needs, and stays as it is from run to run.
func TestHostileHome(t *testing.T) {
	script, err := filepath.Abs(filepath.Join("..", "..", "scripts", "hostile-home"))
	if err != nil {
		t.Fatal(err)
	}
	dir, work := filepath.Join(t.TempDir(), "a home"), t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command(script, append([]string{dir}, args...)...)
		cmd.Dir = work
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	want, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run("go", "env", "GOCACHE", "GOMODCACHE", "GOFLAGS"); err != nil || got != strings.TrimSpace(string(want)) {
		t.Errorf("go's places are %q, %v, want %q", got, err, want)
	}
	if got, err := run("sh", "-c", "cd && pwd"); err != nil || got != dir {
		t.Errorf("the home is %q, %v", got, err)
	}
	before, err := os.Stat(filepath.Join(dir, ".gitconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run("git", "init", "-q"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("git", "commit", "--allow-empty", "-m", "x"); err == nil || !strings.Contains(out, "hook ") {
		t.Errorf("a commit: %v\n%s", err, out)
	}
	if out, err := run("git", "-c", "core.hooksPath=/dev/null", "commit", "--allow-empty", "-m", "x"); err == nil || !strings.Contains(out, "sign") {
		t.Errorf("a commit without hooks: %v\n%s", err, out)
	}
	if after, err := os.Stat(filepath.Join(dir, ".gitconfig")); err != nil || !os.SameFile(before, after) {
		t.Errorf("the settings were written anew: %v", err)
	}
	var ended *exec.ExitError
	if _, err := run("sh", "-c", "exit 7"); !errors.As(err, &ended) || ended.ExitCode() != 7 {
		t.Errorf("the exit code is lost: %v", err)
	}
}
