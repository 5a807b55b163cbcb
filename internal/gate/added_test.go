package gate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph-loop/internal/config"
	"ralph-loop/internal/git"
	"ralph-loop/internal/spec"
)

// TestAddedInAMerge: neither the lines of a merge's side are new, nor those that were made for the requirement, whichever
// way they are asked for.
func TestAddedInAMerge(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name string, lines int) {
		t.Helper()
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, "%s %d\n", name, i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		run("add", name)
	}
	run("init", "-q")
	write("base.py", 1)
	run("commit", "-qm", "base")
	base := run("rev-parse", "HEAD")
	write("side.py", 2)
	run("commit", "-qm", "side")
	other := run("rev-parse", "HEAD")
	run("reset", "-q", "--hard", base)
	write("test_kit.py", 4)
	run("commit", "-qm", "made")
	made := run("rev-parse", "HEAD")
	write("side.py", 2)
	write("own.py", 8)
	write("test_own.py", 16)
	tree := run("write-tree")

	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := config.Read(config.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	req := Request{Repo: repo, Environ: env, Config: conf, Base: base, Others: []string{other}, Tree: tree, Made: made,
		Requirement: &spec.Requirement{ID: "REQ-001"}, Only: []string{"L1b"}, Now: at(0)}
	stat, err := Added(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	sums := stat.Sums()
	if got := fmt.Sprint(sums.Test.Added, sums.Implementation.Added); got != "16 8" {
		t.Errorf("added: %s", got)
	}
	v, err := Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if l := v.Layer("L1b"); l.Share == nil || *l.Share != (Share{16, 24}) {
		t.Errorf("L1b: %+v", l)
	}
}
