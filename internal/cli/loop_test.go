package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestLoopScripts(t *testing.T) { runScripts(t, "loop") }

func TestCheckpointScripts(t *testing.T) { runScripts(t, "checkpoint") }

// layProject is the script command "project": it lays a small project whose gate takes milliseconds into the folder repo
// and commits it. What the script brought along as files of the same name wins.
func layProject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: project")
	}
	here := ts.Getenv(repositoryVariable)
	dir := ts.MkAbs("repo")
	from := filepath.Join(here, "internal", "cli", "testdata", "project")
	ts.Check(filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o666)
	}))
	for _, line := range []string{"init -q -b main", "add -A", "commit -q -m Begin"} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, strings.Fields(line)...)...))
	}
}

// stubs are agents in a few lines of shell, as the script command "loop" finds them by name.
const stubs = `
write() { # the work of a good agent
	mkdir -p lib t
	printf 'echo %s\n' "$RALPH_REQ" >"lib/$RALPH_REQ.sh"
	printf 'test "$(sh lib/%s.sh)" = %s\n' "$RALPH_REQ" "$RALPH_REQ" >"t/${RALPH_REQ}_test.sh"
}
`

// writeStubs puts the shell functions that stub agents share where they can be sourced: . "$STUBS".
func writeStubs(env *testscript.Env) error {
	path := filepath.Join(env.WorkDir, ".home", "stubs.sh")
	env.Setenv("STUBS", path)
	env.Setenv("LOOP", filepath.Join(env.Getenv(repositoryVariable), "scripts", "ralph-loop"))
	return os.WriteFile(path, []byte(stubs), 0o666)
}

// shells are those that must be able to drive the loop.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{"dash": {"dash"}, "bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}}
	for name, argv := range found {
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Fatalf("%s is not installed: %v", name, err)
		}
	}
	return found
}
