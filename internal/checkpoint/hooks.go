package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
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

// tryMessage has the user's commit-msg hook look at the message of the first requirement that is ready. One that refuses
// it, or takes its trailers away, would cost each requirement its attempts, and no attempt can mend that.
func (c *Checkpoint) tryMessage(ctx context.Context) error {
	hook, err := c.repo.Line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "hooks/commit-msg")
	if err != nil {
		return fmt.Errorf("look for the commit-msg hook: %w", err)
	}
	info, err := os.Stat(hook)
	ready := c.graph.Ready(c.p.States())
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || len(ready) == 0 {
		return nil
	}
	req := c.graph.Spec().Lookup(ready[0])
	tree, err := c.repo.Tree(ctx, c.p.Baseline)
	if err != nil {
		return err
	}
	message, err := c.compose(ctx, req, c.trailers(req, tree, "L1 pass; L1b 1/2; L2 1 passed; L3 1/1"))
	if err != nil {
		return err
	}
	file, done, err := tempFile("ralph-message-", []byte(message))
	if err != nil {
		return err
	}
	defer done()
	said, code, err := c.runHook(ctx, hook, file)
	if err != nil {
		return err
	}
	subject, _, _ := strings.Cut(message, "\n")
	if code != 0 {
		return exit.Refuse("say what it wants as commit.subject in ralph.yaml; no agent was called",
			"the commit-msg hook refuses the loop's messages (exit code %d), for instance %q:\n%s", code, subject, said)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the message behind the commit-msg hook: %w", err)
	}
	if !bytes.Contains(after, []byte(TrailerRun+": "+c.p.Run)) {
		return exit.Refuse("let it keep the trailers; no agent was called",
			"the commit-msg hook takes the trailers out of the loop's messages: after a crash a commit could not be told from another")
	}
	return nil
}

// runHook runs a hook as git would, on one file. said is the beginning of what it printed.
func (c *Checkpoint) runHook(ctx context.Context, hook, file string) (said string, code int, err error) {
	log, err := os.CreateTemp("", "ralph-hook-")
	if err != nil {
		return "", 0, fmt.Errorf("run the commit-msg hook: %w", err)
	}
	defer func() {
		_ = log.Close()
		_ = os.Remove(log.Name())
	}()
	limit := time.Duration(c.cfg.Gate.Timeout)
	// Through sh, since git also runs a script that does not say what runs it.
	command := run.Command{Args: []string{"sh", "-c", `exec "$0" "$@"`, hook, file}, Dir: c.repo.Top, Stdout: log, Timeout: limit,
		Env: run.Environment(c.environ, "GIT_EDITOR=:")}
	ended, err := command.Run(ctx)
	if err != nil {
		return "", 0, fmt.Errorf("run the commit-msg hook: %w", err)
	}
	if ctx.Err() != nil {
		return "", 0, context.Cause(ctx)
	}
	if ended.Why == run.TimedOut {
		return "", 0, exit.Fail("mend the hook", "the commit-msg hook was ended after %s", limit)
	}
	data := make([]byte, maxDigest/2)
	n, err := log.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return "", 0, fmt.Errorf("read what the commit-msg hook said: %w", err)
	}
	return strings.TrimSpace(plain(string(data[:n]))), ended.Code, nil
}
