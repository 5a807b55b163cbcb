package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the golden files and the scripts' expectations anew")

// programs are the commands that scripts can run: the real programs, started as processes of their own.
var programs = map[string]func(p *Process, doc string, args []string) int{
	"ralph-checkpoint": Checkpoint,
	"ralph-gate":       Gate,
	"ralph-learn":      Learn,
	"ralph-order":      Order,
}

// repositoryVariable tells a program that runs as a process of this test binary where its help text is.
const repositoryVariable = "RALPH_TEST_REPOSITORY"

func TestMain(m *testing.M) {
	commands := make(map[string]func(), len(programs))
	for name, program := range programs {
		commands[name] = func() {
			doc, err := os.ReadFile(filepath.Join(os.Getenv(repositoryVariable), "cmd", name, "doc.go"))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(99)
			}
			os.Exit(program(ThisProcess(), string(doc), os.Args[1:]))
		}
	}
	maps.Copy(commands, stage)
	testscript.Main(measured{m}, commands)
}

// measured lets the programs that scripts start count towards the coverage of this test.
type measured struct{ *testing.M }

func (m measured) Run() int {
	flag.Parse()
	if testing.CoverMode() == "" || flag.Lookup("test.gocoverdir").Value.String() != "" {
		return m.M.Run()
	}
	dir, err := os.MkdirTemp("", "ralph-cover")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = errors.Join(flag.Set("test.gocoverdir", dir), os.Setenv("GOCOVERDIR", dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.M.Run()
}

// runScripts runs testdata/script/PROGRAM_*.txtar, each in its own folder and with an environment of its own.
func runScripts(t *testing.T, program string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", program+"_*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts for %s (%v)", program, err)
	}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	// A script's home is empty. The go command's cache is shared, or each script would build the standard library.
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"exits":     exits,
		"learned":   layLearnings,
		"project":   layProject,
		"validjson": validJSON,
	}
	maps.Copy(commands, faults)
	if !othersReach(os.TempDir()) {
		t.Setenv("GOTMPDIR", "/tmp") // some scripts run a program as another user
	}
	testscript.Run(t, testscript.Params{
		Files:         files,
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv(repositoryVariable, repository)
			env.Setenv("HOME", home)
			env.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, ".gitconfig"))
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "Test")
				env.Setenv("GIT_"+who+"_EMAIL", "test@example.org")
				env.Setenv("GIT_"+who+"_DATE", "2026-01-02T03:04:05Z")
			}
			if err := os.MkdirAll(home, 0o777); err != nil {
				return err
			}
			if err := writeUserConfig(home); err != nil {
				return err
			}
			if err := writePlaces(env); err != nil {
				return err
			}
			return writeStubs(env)
		},
		Cmds: commands,
	})
}

// exits CODE COMMAND [ARG...] runs a command and asserts its very exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// validJSON FILE... asserts that each file is one JSON value.
func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: validjson FILE...")
	}
	for _, name := range args {
		if text := ts.ReadFile(name); !utf8.ValidString(text) || !json.Valid([]byte(text)) {
			ts.Fatalf("%s is not JSON: %q", name, text)
		}
	}
}

// othersReach reports whether every user may enter a folder: the gate's copy, say, lies below a home that is its owner's.
func othersReach(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}
