package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/run"
)

// patient is the repository for the calls that run the user's hooks or signer: they may run tests, so they have as long
// as each command of the gate.
func (c *Checkpoint) patient() *git.Repo {
	return c.repo.Patient(time.Duration(c.cfg.Gate.Timeout))
}

// tryMessage has the user's hooks look at the message of the first requirement that is ready. One that refuses
// it, or takes its trailers away, would cost each requirement its attempts, and no attempt can mend that.
func (c *Checkpoint) tryMessage(ctx context.Context) error {
	hook, err := c.findMessageHook(ctx)
	c.p.MessageHook = hook
	ready := c.graph.Ready(c.p.States())
	if err != nil || hook == "" || len(ready) == 0 {
		return err
	}
	message, err := c.likely(ctx, ready[0])
	if err != nil {
		return err
	}
	a, err := c.askHook(ctx, hook, c.repo.Top, message)
	if err != nil {
		return err
	}
	if a.code != 0 {
		return exit.Refuse("say what it wants as commit.subject in ralph.yaml; no agent was called",
			"the %s hook refuses the loop's messages (exit code %d), for instance %q:\n%s", a.hook, a.code, a.subject, a.said)
	}
	if a.strips {
		return exit.Refuse("let it keep the trailers; no agent was called",
			"the %s hook takes the trailers out of the loop's messages: 'ralph-checkpoint recover' could not tell its commits from others", a.hook)
	}
	return nil
}

// refusedMessage is why a requirement's own message would be refused by the hook that was there as the run began, before
// an agent is paid for it, or "".
func (c *Checkpoint) refusedMessage(ctx context.Context, id string) (string, error) {
	if !isHook(c.p.MessageHook) {
		return "", nil // there was none, or the user took it away
	}
	message, err := c.likely(ctx, id)
	if err != nil {
		return "", err
	}
	a, err := c.askHook(ctx, c.p.MessageHook, c.repo.Top, message)
	if err != nil || a.code == 0 {
		return "", err
	}
	return a.refusal(), nil
}

// refusedAlone is why no attempt at the work could mend that a commit was refused, or "": the commit-msg hook refuses its
// message in a clean checkout of parent too, where it finds nothing of the attempt's in files or index.
func (c *Checkpoint) refusedAlone(ctx context.Context, hook, parent, message string) (why string, err error) {
	if hook == "" {
		return "", nil
	}
	top, err := os.MkdirTemp("", "ralph-clean-")
	if err != nil {
		return "", fmt.Errorf("make a clean checkout: %w", err)
	}
	defer func() { _ = os.RemoveAll(top) }()
	private, done, err := c.repo.PrivateIndex()
	if err != nil {
		return "", err
	}
	defer done()
	clean := c.repo.WithWorktree(top, private.Index)
	if _, err := clean.Output(ctx, "read-tree", "--reset", "-u", parent); err != nil {
		return "", fmt.Errorf("make a clean checkout: %w", err)
	}
	own, err := c.besideRepository(top, private)
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(own) }()
	// What a hook is installed in, and is in no commit.
	for _, name := range c.cfg.Gate.Link {
		if from := filepath.Join(c.repo.Top, name); filepath.IsLocal(name) && !exists(filepath.Join(top, name)) && exists(from) {
			if err := os.Symlink(from, filepath.Join(top, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("make a clean checkout: %w", err)
			}
		}
	}
	a, err := c.askHook(ctx, hook, top, message)
	if err != nil || a.code == 0 {
		return "", err
	}
	return a.refusal(), nil
}

// besideRepository makes the folder top a worktree of the repository's that no list names, with that index, and gives its
// git directory. A variable that named the repository would be heard by each git of the hook's, wherever that works.
func (c *Checkpoint) besideRepository(top string, index *git.Repo) (gitDir string, err error) {
	head, err := os.ReadFile(filepath.Join(c.repo.GitDir, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("make a clean checkout: %w", err)
	}
	if gitDir, err = os.MkdirTemp("", "ralph-clean-git-"); err != nil {
		return "", fmt.Errorf("make a clean checkout: %w", err)
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(gitDir, "HEAD"), head, 0o644),
		os.WriteFile(filepath.Join(gitDir, "commondir"), []byte(c.repo.CommonDir+"\n"), 0o644),
		os.WriteFile(filepath.Join(gitDir, "gitdir"), []byte(filepath.Join(top, ".git")+"\n"), 0o644),
		os.Rename(index.Index, filepath.Join(gitDir, "index")),
		os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: "+gitDir+"\n"), 0o644),
	)
	if err != nil {
		_ = os.RemoveAll(gitDir)
		return "", fmt.Errorf("make a clean checkout: %w", err)
	}
	return gitDir, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// messageHooks are those that see or make a commit's message, in the order in which git calls them.
var messageHooks = []string{"prepare-commit-msg", "commit-msg"}

// findMessageHook is the last of the hooks that git would run on a message, or "". The other one lies beside it.
func (c *Checkpoint) findMessageHook(ctx context.Context) (string, error) {
	dir, err := c.hooksFolder(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Backward(messageHooks) {
		if hook := filepath.Join(dir, name); isHook(hook) {
			return hook, nil
		}
	}
	return "", nil
}

// hasCommitHook reports whether git commit runs any program of the user's.
func (c *Checkpoint) hasCommitHook(ctx context.Context) (bool, error) {
	dir, err := c.hooksFolder(ctx)
	return slices.ContainsFunc(append([]string{"pre-commit", "post-commit", "post-index-change", "reference-transaction"}, messageHooks...), func(name string) bool {
		return isHook(filepath.Join(dir, name))
	}), err
}

// hooksFolder is where git looks for hooks. It need not be a folder: /dev/null is how people switch hooks off.
func (c *Checkpoint) hooksFolder(ctx context.Context) (string, error) {
	dir, err := c.repo.Line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "hooks")
	if err != nil {
		return "", fmt.Errorf("look for the hooks: %w", err)
	}
	return dir, nil
}

// isHook reports whether git would run the file at path.
func isHook(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// likely is the message that a requirement's commit will have, with a verdict made up.
func (c *Checkpoint) likely(ctx context.Context, id string) (string, error) {
	req := c.graph.Spec().Lookup(id)
	tree, err := c.repo.Tree(ctx, c.p.Baseline)
	if err != nil {
		return "", err
	}
	return c.compose(ctx, req, c.trailers(req, tree, "L1 pass; L1b 1/2; L2 1 passed; L3 1/1"))
}

// answer is what the hooks made of a message.
type answer struct {
	code          int
	hook          string // which one had the last word
	subject, said string
	strips        bool // the message has lost its trailers
}

func (a answer) refusal() string {
	return fmt.Sprintf("the %s hook refuses its message %q with %q: another title, or commit.subject in ralph.yaml, may do", a.hook, a.subject, firstLine([]byte(a.said)))
}

// askHook shows a message to the hook, and before it to the one beside it that git calls first. They find the files in the
// folder dir.
func (c *Checkpoint) askHook(ctx context.Context, hook, dir, message string) (answer, error) {
	file, done, err := tempFile("ralph-message-", []byte(message))
	if err != nil {
		return answer{}, err
	}
	defer done()
	subject, _, _ := strings.Cut(message, "\n")
	a := answer{subject: subject}
	for _, a.hook = range messageHooks {
		path := filepath.Join(filepath.Dir(hook), a.hook)
		if !isHook(path) {
			continue
		}
		args := []string{path, file}
		if a.hook == "prepare-commit-msg" {
			args = append(args, "message") // where it comes from, as git says for -F
		}
		if a.said, a.code, err = c.runHook(ctx, a.hook, dir, args); err != nil || a.code != 0 {
			return a, err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return a, fmt.Errorf("read the message behind the %s hook: %w", a.hook, err)
		}
		if a.strips = !bytes.Contains(data, []byte(TrailerRun+": "+c.p.Run)); a.strips {
			break
		}
	}
	return a, nil
}

// runHook runs a hook of that name as git would. said is the beginning of what it printed.
func (c *Checkpoint) runHook(ctx context.Context, name, dir string, args []string) (said string, code int, err error) {
	log, err := os.CreateTemp("", "ralph-hook-")
	if err != nil {
		return "", 0, fmt.Errorf("run the %s hook: %w", name, err)
	}
	defer func() {
		_ = log.Close()
		_ = os.Remove(log.Name())
	}()
	limit := time.Duration(c.cfg.Gate.Timeout)
	// Through sh, since git also runs a script that does not say what runs it.
	command := run.Command{Args: append([]string{"sh", "-c", `exec "$0" "$@"`}, args...), Dir: dir, Stdout: log, Timeout: limit,
		Env: run.Environment(c.environ, "GIT_EDITOR=:")}
	ended, err := command.Run(ctx)
	if err != nil {
		return "", 0, fmt.Errorf("run the %s hook: %w", name, err)
	}
	if ctx.Err() != nil {
		return "", 0, context.Cause(ctx)
	}
	if ended.Why == run.TimedOut {
		return "", 0, exit.Fail("mend the hook", "the %s hook was ended after %s", name, limit)
	}
	data := make([]byte, maxDigest/2)
	n, err := log.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return "", 0, fmt.Errorf("read what the %s hook said: %w", name, err)
	}
	return strings.TrimSpace(plain(string(data[:n]))), ended.Code, nil
}

// tempFile is a temporary file with that content.
func tempFile(prefix string, data []byte) (path string, done func(), err error) {
	f, err := os.CreateTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.Remove(f.Name()) }
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return f.Name(), done, nil
}
