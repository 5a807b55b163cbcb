// Package git is the only package that runs git: through plumbing, with the user's configuration kept from changing
// an answer, and with absolute paths, so that the place we were started from does not matter.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/run"
)

// Limit is how long one call of git may take. A signer, a hook or a network file system may hang.
const Limit = 10 * time.Minute

// Repo is a worktree of a repository. All its paths are absolute.
type Repo struct {
	Top       string // the worktree's top
	GitDir    string // this worktree's git directory
	CommonDir string // the repository's git directory; equal to GitDir outside a linked worktree
	Index     string // the index that is meant: a hook's GIT_INDEX_FILE, else the worktree's own
	Prefix    string // where in the worktree we were started, with a slash at the end; "" at the top

	HeadAtOpen string // HEAD's commit as the repository was opened; "" before the first one

	configAtOpen string // the object that HEAD had as the configuration then; "" for none

	environ  []string
	asGiven  []string // the caller's environment
	objects  *lookup
	cutShort *atomic.Bool
	listed   *listings
	patience time.Duration // how long one call may take; 0: Limit
}

// Error is a call of git that ended with a code other than 0.
type Error struct {
	Args   []string
	Code   int // -1 if it was ended by a signal
	Stderr string
}

func (e *Error) Error() string {
	name := "git " + verb(e.Args)
	if text := strings.TrimSpace(e.Stderr); text != "" {
		return name + ": " + text
	}
	return fmt.Sprintf("%s: exit code %d", name, e.Code)
}

// verb is the command among git's arguments, behind the settings.
func verb(args []string) string {
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		if args[0] == "-c" {
			args = args[1:]
		}
		args = args[1:]
	}
	return args[0]
}

// changes reports whether a call changes a ref, an index, the files or the object database.
func changes(args []string) bool {
	switch verb(args) {
	case "add", "checkout-index", "commit", "commit-tree", "mktree", "read-tree", "update-index", "update-ref", "write-tree":
		return true
	case "symbolic-ref":
		return slices.Contains(args, "-m")
	case "hash-object":
		return slices.Contains(args, "-w")
	}
	return false
}

// CutShort reports whether a git that changes something was ended by a signal, ours or another's: it may have left a lock.
func (r *Repo) CutShort() bool { return r.cutShort.Load() }

// CodeOf is the exit code of the call of git that err comes from, 0 for nil, -1 for any other error.
func CodeOf(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	}
	return -1
}

// Open finds the repository of dir. environ is the caller's environment: what a hook says there of the repository and
// of the index is honoured.
func Open(ctx context.Context, dir string, environ []string) (*Repo, error) {
	r := &Repo{Top: dir, environ: environ}
	questions := [][]string{{"--git-dir"}, {"--git-common-dir"}, {"--git-path", "index"}, {"--show-toplevel"}, {"--show-prefix"}}
	out, err := r.Output(ctx, append([]string{"rev-parse", "--path-format=absolute"}, append(slices.Concat(questions...), "--revs-only", "HEAD", "HEAD:"+config.File)...)...)
	if err != nil {
		return nil, r.whyNot(ctx, err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	n := len(questions)
	if more := answers[min(n, len(answers)):]; len(answers) >= n && len(more) <= 2 && !slices.ContainsFunc(more, func(s string) bool { return !isHash(s) }) {
		if len(more) > 0 {
			r.HeadAtOpen = more[0]
		}
		if len(more) > 1 {
			r.configAtOpen = more[1]
		}
	} else {
		// A path holds a newline. One question at a time, then.
		questions = append(questions, []string{"--revs-only", "HEAD"})
		answers = make([]string, len(questions))
		for i, question := range questions {
			if answers[i], err = r.Line(ctx, append([]string{"rev-parse", "--path-format=absolute"}, question...)...); err != nil {
				return nil, err
			}
		}
		r.HeadAtOpen = answers[n]
	}
	r.GitDir, r.CommonDir, r.Index, r.Top, r.Prefix = answers[0], answers[1], answers[2], answers[3], answers[4]
	// From here on every call names the repository itself, wherever it is run.
	r.environ, r.asGiven = append(withoutLocal(environ), "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+r.Top, "GIT_INDEX_FILE="+r.Index), environ
	r.objects, r.listed, r.cutShort = &lookup{repo: r}, &listings{entries: map[string][]Entry{}}, new(atomic.Bool)
	return r, nil
}

// ErrOutside is Open's where there is no repository.
var ErrOutside = errors.New("not in a git repository")

// whyNot says in a user's words why git found no worktree.
func (r *Repo) whyNot(ctx context.Context, err error) error {
	var missing *exec.Error
	switch {
	case errors.As(err, &missing):
		return exit.Fail("install git 2.34 or newer", "git was not found in PATH")
	case strings.Contains(err.Error(), "dubious ownership"):
		return exit.Fail("git config --global --add safe.directory "+r.Top, "git refuses %q: it belongs to another user", r.Top)
	}
	bare, bareErr := r.Line(ctx, "rev-parse", "--is-bare-repository")
	switch {
	case bareErr != nil:
		if damaged := whyDamaged(r.Top); damaged != nil {
			return damaged
		}
		if own := gitDirAbove(r.Top); own != "" && CodeOf(err) > 0 {
			return exit.Fail("mend what git says of it, then start again", "git cannot open the repository %q: %w", own, err)
		}
		return exit.Fail("run it inside a repository, or make one with 'git init'", "%q is %w", r.Top, ErrOutside)
	case bare == "true":
		return exit.Fail("run it in a clone or a worktree of it", "%q is a bare repository: it has no files to work on", r.Top)
	}
	return exit.Fail("run it in the worktree, not inside the git directory", "%q is not in a worktree", r.Top)
}

// withoutLocal drops the variables by which git names one repository and one commit's people.
func withoutLocal(environ []string) []string {
	var out []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		switch key {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_REFLOG_ACTION", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS":
			continue
		}
		out = append(out, kv)
	}
	return out
}

// Other finds another repository, a submodule for instance, with the same environment.
func (r *Repo) Other(ctx context.Context, dir string) (*Repo, error) {
	return Open(ctx, dir, withoutLocal(r.environ))
}

// WithIndex is the same worktree seen through another index file.
func (r *Repo) WithIndex(path string) *Repo {
	other := *r
	other.Index = path
	other.environ = append(withoutLocal(r.environ), "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+r.Top, "GIT_INDEX_FILE="+path)
	return &other
}

// WithWorktree is the same repository with its files in another folder and its index in another file.
func (r *Repo) WithWorktree(top, index string) *Repo {
	other := *r
	other.Top, other.Index, other.Prefix = top, index, ""
	other.environ = append(withoutLocal(r.environ), "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+top, "GIT_INDEX_FILE="+index)
	return &other
}

// With is the same worktree with more environment, KEY=value each.
func (r *Repo) With(env ...string) *Repo {
	other := *r
	other.environ = append(append([]string{}, r.environ...), env...)
	other.asGiven = append(append([]string{}, r.asGiven...), env...)
	return &other
}

// Patient is the same worktree with another limit than Limit for each call, for those that run the user's programs.
func (r *Repo) Patient(limit time.Duration) *Repo {
	other := *r
	other.patience = limit
	return &other
}

// fixed are the settings that no configuration of the user's may change under our plumbing. That line endings are converted
// is the user's choice; to refuse what could not be converted back would stop a loop in the night for a file of an agent's.
var fixed = []string{
	"-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "core.trustctime=true",
	"-c", "core.checkStat=default", "-c", "core.bigFileThreshold=512m", "-c", "color.ui=false",
	"-c", "diff.renames=true", "-c", "advice.detachedHead=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "trailer.separators=:", "-c", "core.safecrlf=false", "-c", "log.showSignature=false", "-c", "submodule.recurse=false",
	"-c", InUTF8, "-c", "i18n.logOutputEncoding=UTF-8",
}

// InUTF8 is the setting that says of our commits' messages what they are, whatever the user writes his own in.
const InUTF8 = "i18n.commitEncoding=UTF-8"

// plumbing are the variables for the calls that read: no lock taken by the way, no replaced object believed.
var plumbing = []string{"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "LC_ALL=C", "GIT_LITERAL_PATHSPECS=1"}

// Do runs git with stdin (nil: none) and writes what it prints to out.
func (r *Repo) Do(ctx context.Context, stdin io.Reader, out io.Writer, args ...string) error {
	settings, env := fixed, r.environ
	switch verb(args) {
	case "add", "checkout-index", "read-tree", "update-index", "write-tree":
		// No hook of the user's on an index that may be a private one.
		settings = append(append([]string{}, fixed...), "-c", "core.hooksPath=/dev/null")
	case "update-ref", "symbolic-ref":
		env = r.forTheUser() // the hook reference-transaction is asked
	}
	return r.call(ctx, append(append([]string{}, settings...), args...), args, append(append([]string{}, env...), plumbing...), stdin, out, nil)
}

// Porcelain runs a command of git that works for the user, with the user's own configuration and hooks: commit. Both
// its streams go to out.
func (r *Repo) Porcelain(ctx context.Context, out io.Writer, args ...string) error {
	both := &shared{out: out} // git has its hooks write to stderr, whatever they print
	return r.call(ctx, args, args, append(r.forTheUser(), "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true"), nil, both, both)
}

// forTheUser is the environment of a git that the user himself would call at the worktree's top. What names the repository
// there is handed on to the hooks, and a hook that makes a repository of its own elsewhere would write into this one.
func (r *Repo) forTheUser() []string {
	named := func(key string) bool {
		return slices.ContainsFunc(r.asGiven, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	}
	env := withoutLocal(r.asGiven)
	if !r.ledHere() || named("GIT_DIR") || named("GIT_WORK_TREE") {
		env = append(env, "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+r.Top)
	}
	if named("GIT_INDEX_FILE") {
		env = append(env, "GIT_INDEX_FILE="+r.Index)
	}
	return env
}

// ledHere reports whether git finds the repository from the worktree's top, and no other.
func (r *Repo) ledHere() bool {
	path := filepath.Join(r.Top, ".git")
	if data, err := os.ReadFile(path); err == nil {
		link, _ := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
		if path = link; !filepath.IsAbs(link) {
			path = filepath.Join(r.Top, link)
		}
	}
	there, err := os.Stat(path)
	here, hereErr := os.Stat(r.GitDir)
	return err == nil && hereErr == nil && os.SameFile(there, here)
}

// shared lets two streams write to one place.
type shared struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// Locked reports whether git could not have a lock that another git holds.
func Locked(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == 128 && strings.Contains(e.Stderr, ".lock'")
}

// Momentary waits for the end of a lock that another git, an editor's status say, holds for a moment: at most five
// seconds, and not for one that is older than a minute. It reports whether the lock is gone.
func Momentary(lock string) bool {
	const pause = 20 * time.Millisecond
	for range 5 * time.Second / pause {
		info, err := os.Lstat(lock)
		if err != nil {
			return true
		}
		if time.Since(info.ModTime()) > time.Minute {
			return false
		}
		time.Sleep(pause)
	}
	return false
}

// call runs git. One that could not lock the index has done nothing, and is called again when the lock is gone.
func (r *Repo) call(ctx context.Context, argv, name, env []string, stdin io.Reader, out, alsoStderr io.Writer) error {
	for tries := 0; ; tries++ {
		err := r.once(ctx, argv, name, env, stdin, out, alsoStderr)
		if stdin != nil || tries == 10 || !Locked(err) || !strings.Contains(err.Error(), filepath.Base(r.Index)+".lock") || !Momentary(r.Index+".lock") {
			return err
		}
	}
}

func (r *Repo) once(ctx context.Context, argv, name, env []string, stdin io.Reader, out, alsoStderr io.Writer) error {
	limit := cmp.Or(r.patience, Limit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", argv...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = r.Top, env, stdin, out
	run.OwnSession(cmd)
	cmd.Cancel = func() error { return run.EndSession(cmd) }
	// A hook's grandchild may hold the pipe: it must not hold us.
	cmd.WaitDelay = 2 * time.Second
	var stderr tail
	cmd.Stderr = &stderr
	if alsoStderr != nil {
		cmd.Stderr = io.MultiWriter(&stderr, alsoStderr)
	}
	err := cmd.Run()
	if changes(name) {
		failpoint.Step("git " + verb(name))
		if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() < 0 && r.cutShort != nil {
			r.cutShort.Store(true)
		}
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		if context.Cause(ctx) == context.DeadlineExceeded {
			return fmt.Errorf("git %s was ended after %s: %w", verb(name), limit, context.DeadlineExceeded)
		}
		return context.Cause(ctx)
	}
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return &Error{Args: name, Code: exited.ExitCode(), Stderr: stderr.String()}
	}
	return fmt.Errorf("git %s: %w", verb(name), err)
}

// Output is what a call of git prints.
func (r *Repo) Output(ctx context.Context, args ...string) ([]byte, error) {
	return r.Input(ctx, nil, args...)
}

// Input is what a call of git prints when it is given stdin.
func (r *Repo) Input(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	var out bytes.Buffer
	var in io.Reader
	if stdin != nil {
		in = bytes.NewReader(stdin)
	}
	err := r.Do(ctx, in, &out, args...)
	return out.Bytes(), err
}

// Line is the one line that a call of git prints, without its newline.
func (r *Repo) Line(ctx context.Context, args ...string) (string, error) {
	out, err := r.Output(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// tail keeps the last 8 KB of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - most; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }

// StateDir is the folder of the toolkit's files on the git side.
func (r *Repo) StateDir() string { return filepath.Join(r.GitDir, "ralph") }

// Sprint is the folder of the toolkit's own files in this worktree.
func (r *Repo) Sprint() string { return filepath.Join(r.Top, ".sprint-state", "ralph-loop") }
