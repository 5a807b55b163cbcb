//go:build failpoint && linux

// Package torture kills the loop at every step it makes, and at any other moment, starts it again until it ends, and
// then looks whether anything was lost, done twice, spoiled or left running. `make torture-short` is what CI runs,
// `make torture` the long form, whose table is docs/torture.md.
package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ralph-loop/internal/failpoint"
)

// world is one repository with its user and its recorded agent.
type world struct {
	dir     string // of everything
	repo    string
	home    string
	points  string // the failpoints' folder
	mark    string // the value of markVariable in every process of this world
	environ []string
	user    map[string]string // what is the user's, as it was: see belongings
	base    string            // the commit that everything began with
	byHand  bool              // the user mends the requirement that the agent cannot do, and does not skip it
}

// markVariable is set in every process that a world starts, wherever that process goes.
const markVariable = "RALPH_TORTURE"

// worlds numbers them.
var worlds atomic.Int64

// stalled is how long a start of the loop may take, and anything that is waited for.
const stalled = 60 * time.Second

// newWorld lays the project, commits it, and adds what a user has besides: untracked and ignored files, a stash, hooks,
// settings, another branch.
func newWorld(dir, bin string) (*world, error) {
	w := &world{dir: dir, repo: filepath.Join(dir, "repo"), home: filepath.Join(dir, "home"), points: filepath.Join(dir, "points"), mark: fmt.Sprintf("%d-%d", os.Getpid(), worlds.Add(1))}
	w.environ = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + w.home, "XDG_CACHE_HOME=" + filepath.Join(w.home, ".cache"), "TMPDIR=" + filepath.Join(dir, "tmp"),
		"GIT_CONFIG_NOSYSTEM=1", markVariable + "=" + w.mark, failpoint.Variable + "=" + w.points,
	}
	for _, d := range []string{w.home, w.points, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return nil, err
		}
	}
	if err := os.CopyFS(w.repo, os.DirFS(filepath.Join("testdata", "project"))); err != nil {
		return nil, err
	}
	// The tests run as in the project of the programs' own scripts.
	runner, err := os.ReadFile(filepath.Join("..", "cli", "testdata", "project", "run-tests.sh"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(w.repo, "run-tests.sh"), runner, 0o666); err != nil {
		return nil, err
	}
	script := `set -e
git config --global user.name Ann; git config --global user.email ann@example.org
git init -q -b main; git add -A; git commit -q -m Begin; git branch other
echo stashed >>lib/ready.sh; git stash push -q -m 'the user'\''s'
git config core.abbrev 12; git config alias.st status
echo 'private/*' >>.git/info/exclude; mkdir private; echo secret >private/key
printf 'no newline, \r\nnot committed' >untracked.txt; chmod 755 untracked.txt
mkdir 'untracked folder'; echo notes >'untracked folder/notes.md'; ln -s ../untracked.txt 'untracked folder/link'
echo TOKEN=1 >.env
cp "$1"/* .git/hooks/; chmod +x .git/hooks/*`
	hooks, err := filepath.Abs(filepath.Join("testdata", "hooks"))
	if err != nil {
		return nil, err
	}
	if out, err := w.command("sh", "-c", script, "sh", hooks).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("lay the world: %w\n%s", err, out)
	}
	if w.base, err = w.git("rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	w.user, err = w.belongings()
	return w, err
}

// command is a program in the repository.
func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = w.repo, w.environ
	// The name is looked up in the world's own PATH.
	for _, dir := range filepath.SplitList(strings.TrimPrefix(w.environ[0], "PATH=")) {
		if path := filepath.Join(dir, name); !strings.Contains(name, "/") {
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				cmd.Path, cmd.Err = path, nil
				break
			}
		}
	}
	return cmd
}

func (w *world) git(args ...string) (string, error) {
	var out, stderr bytes.Buffer
	cmd := w.command("git", args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// process is one that carries the world's mark.
type process struct {
	pid, parent int
	name        string
}

// processes are the live ones of this world.
func (w *world) processes() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	mark := []byte(markVariable + "=" + w.mark)
	var out []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !bytes.Contains(append([]byte{0}, env...), append([]byte{0}, append(mark, 0)...)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		f := bytes.Fields(stat[end+1:])
		if f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		parent, _ := strconv.Atoi(string(f[1]))
		out = append(out, process{pid, parent, string(stat[open+1 : end])})
	}
	return out
}

// quiet waits until no process of the world lives, and gives those that do not end.
func (w *world) quiet(limit time.Duration) []process {
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		left := w.processes()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// close ends what the world still runs, the user's service too.
func (w *world) close() {
	for _, p := range w.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	if data, err := os.ReadFile(filepath.Join(w.home, "service")); err == nil {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
	_ = os.RemoveAll(w.dir)
}

// programs are built with the failpoints in them, once for all tests; scripts are the driver and what belongs to it, as
// they were then.
var programs, scripts string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ralph-torture-")
	if err == nil {
		programs, scripts = filepath.Join(dir, "bin"), filepath.Join(dir, "scripts")
		err = errors.Join(build(programs), os.CopyFS(scripts, os.DirFS(filepath.Join("..", "..", "scripts"))))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the programs with the failpoints, and with these options of the go command.
func build(bin string, options ...string) error {
	args := append([]string{"build", "-tags", "failpoint", "-o", bin + string(filepath.Separator)}, options...)
	if out, err := exec.Command("go", append(args, "../../cmd/...")...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return nil
}
