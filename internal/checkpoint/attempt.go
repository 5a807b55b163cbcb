package checkpoint

import (
	"cmp"
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

	"ralph-loop/internal/agentlog"
	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/run"
	"ralph-loop/internal/workspace"
)

// Attempted is how one dispatch of an agent ended.
type Attempted struct {
	Number  int
	Outcome string // one of the outcomes
	Changed bool   // there is work for the gate to judge
	Again   bool   // it was made before an interruption, and its work is put back
	Tokens  int
	Guessed bool // the agent did not say what it used
	Seconds float64
	Digest  string // why there is nothing to judge
	Log     string

	tree       string    // what was left, without AGENTS.md
	worked     bool      // and it is not what the attempt before had left
	how, words string    // how it ended, and the agent's last words
	until      time.Time // of a limit: when to ask again, as far as the agent says
}

// The files in an attempt's folder, beside the report.
const (
	promptFile = "prompt.txt"
	logFile    = "agent.log"
)

// keptRuns is of how many runs the attempts' logs are kept, and maxLogs how many bytes of them in all.
const (
	keptRuns = 10
	maxLogs  = 200 << 20
)

// Attempt dispatches an agent for a requirement in work: the prompt on its stdin, a session of its own, a time limit.
// When it has ended, so have its processes; then the repository is put in order and the index holds the work. Whether
// the work is good only the gate says, whatever the agent's exit code.
func (c *Checkpoint) Attempt(ctx context.Context, id string, prompt io.Reader, timeout time.Duration, command []string) (*Attempted, error) {
	if c.p == nil {
		return nil, errNoRun()
	}
	if len(command) == 0 {
		return nil, exit.Misuse("ralph-checkpoint attempt REQ -- COMMAND [ARGUMENT...]", "no command is given")
	}
	r, _, err := c.current(c.p, id)
	if err != nil {
		return nil, err
	}
	infra := r.Status == InfraDispatch
	a := &Attempted{Number: r.Attempts + 1}
	folder := fmt.Sprint(a.Number)
	if infra {
		a.Number = r.Infra.Tries + 1
		folder = infraFolder(a.Number)
		if a.Number > maxInfraTries {
			return nil, exit.Refuse("ralph-checkpoint infra "+operand(id)+" check", "%s: all %d dispatches for its test infrastructure failed", id, maxInfraTries)
		}
	}
	dir := filepath.Join(c.runDir(id), folder)
	if last := c.p.LastAttempt; last != nil && last.Aside && last.Req == id && last.Number == a.Number && !infra {
		return c.putBackAttempt(ctx, last, dir)
	}
	// What somebody commits is neither the agent's nor to be built on unseen.
	if head, err := c.repo.Head(ctx); err != nil || head != c.p.Baseline {
		return nil, cmp.Or(err, c.headMoved(id, c.p.Baseline, head))
	}
	text, err := c.prepareAttempt(prompt)
	if err != nil {
		return nil, err
	}
	// The event is recorded first: a state that does not allow an attempt must not pay for one.
	err = c.update(ctx, func(p *Progress) error {
		r, _, err := c.current(p, id)
		if err != nil {
			return err
		}
		p.LastAttempt, p.Left, p.GivenBack = nil, "", false
		if !infra {
			r.Steps.Isolate = r.Steps.after(c.stamp())
		}
		return c.set(r, Attempt)
	})
	if err != nil {
		return nil, err
	}
	if err := c.checkBaseline(); err != nil {
		return nil, err
	}
	watched, stop := run.WithParent(ctx)
	defer stop()
	after, stopAfter := run.Longer(watched, orderly)
	defer stopAfter()
	a, err = c.untilItRan(watched, id, func() (*Attempted, error) {
		return a, c.once(watched, after, a, id, dir, text, timeout, command)
	})
	if watched.Err() != nil {
		aside := c.PutAside(after)
		switch {
		case err == nil:
			err = aside
		case aside != nil: // the exit code is the interruption's
			c.say("warning: the work at %s could not be put aside: %v", id, aside)
		}
	}
	return a, err
}

// orderly is how long the repository is put in order, and what a paid agent left is recorded, after an interruption. A git
// that works on gigabytes is ended then: the next start does it.
const orderly = 10 * time.Second

// once dispatches the agent and finds out what it left. The order of the repository cannot wait for the next start: after
// ends later than watched.
func (c *Checkpoint) once(watched, after context.Context, a *Attempted, id, dir string, prompt []byte, timeout time.Duration, command []string) error {
	*a = Attempted{Number: a.Number}
	// An interruption is no failure: the state stays as it was, and the next start puts the work aside.
	if err := os.Remove(c.reportPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take the last report away: %w", err)
	}
	failpoint.Step("remove report.yaml")
	// One of an attempt with that number before a decision gave new ones.
	if err := os.Remove(filepath.Join(dir, workspace.ReportFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take the last report away: %w", err)
	}
	failpoint.Step("remove a kept report")
	w := c.workspace()
	marker := fmt.Sprintf("%s.%s.%s.%d", c.p.Run, git.RefName(id), filepath.Base(dir), os.Getpid())
	g, err := w.Remember(after, marker, a.Number)
	if err != nil {
		return err
	}
	if err := w.WriteAnew(filepath.Join(dir, promptFile), prompt); err != nil {
		return fmt.Errorf("keep the prompt: %w", err)
	}
	failpoint.Step("write prompt.txt")
	ended, err := c.dispatch(watched, id, g, dir, timeout, command)
	if err != nil {
		return err
	}
	interrupted := watched.Err()
	a.Log, a.Seconds = filepath.Join(dir, logFile), ended.Duration.Seconds()
	if err := w.PutInOrder(after, g, c.legitimate); err != nil {
		return fmt.Errorf("put the repository in order: %w", err)
	}
	if err := w.Forget(); err != nil {
		return err
	}
	if interrupted != nil {
		return context.Cause(watched)
	}
	// The agent is paid: what it left is recorded, whatever happens to us now.
	return c.weigh(after, a, ended, command[0], dir)
}

// prepareAttempt reads the prompt, and sees to the state folder.
func (c *Checkpoint) prepareAttempt(prompt io.Reader) ([]byte, error) {
	if err := c.store.EnsureSprint(); err != nil {
		return nil, err
	}
	if err := c.workspace().CheckStateFolders(); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(prompt)
	if err != nil {
		return nil, fmt.Errorf("read the prompt: %w", err)
	}
	if len(text) == 0 {
		// Some agents do nothing and call it success when they are asked nothing.
		return nil, exit.Misuse("ralph-prompt REQ composes one", "the prompt on stdin is empty")
	}
	return text, nil
}

// dispatch runs the agent.
func (c *Checkpoint) dispatch(ctx context.Context, id string, g *workspace.Guard, dir string, timeout time.Duration, command []string) (run.Ended, error) {
	prompt, err := os.Open(filepath.Join(dir, promptFile))
	if err != nil {
		return run.Ended{}, fmt.Errorf("open the prompt: %w", err)
	}
	defer prompt.Close()
	log, err := c.workspace().CreateAnew(filepath.Join(dir, logFile))
	if err != nil {
		return run.Ended{}, fmt.Errorf("make the agent's log: %w", err)
	}
	defer log.Close()
	failpoint.Step("write agent.log")
	c.repo.EndLookups() // no program of ours beside the agent that it could end or ask
	env := []string{"RALPH_REQ=" + id, fmt.Sprintf("RALPH_ATTEMPT=%d", g.Attempt), "RALPH_REPORT=" + c.reportPath()}
	if r := c.p.Find(id); r.Status == InfraDispatch {
		env = append(env, "RALPH_INFRA=1")
	}
	agent := run.Command{
		Args: command, Dir: c.repo.Top, Stdin: prompt, Stdout: log, Timeout: timeout, Idle: time.Duration(c.cfg.Agent.IdleTimeout),
		ID: g.Marker, Alone: true,
		Env: run.Environment(withoutToolkit(c.environ), env...),
	}
	ended, err := agent.Run(ctx)
	if err == nil {
		err = c.keepRun()
	}
	if err != nil {
		return ended, err
	}
	if err := c.workspace().PutBackModes(g); err != nil {
		return ended, err
	}
	if err := c.workspace().DropLinks(); err != nil {
		return ended, err
	}
	// An agent may have deleted or replaced them; they are still open here.
	for _, f := range []*os.File{prompt, log} {
		if err := c.putBack(filepath.Join(dir, filepath.Base(f.Name())), f); err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// putBack writes an open file anew where path is another or none.
func (c *Checkpoint) putBack(path string, f *os.File) error {
	was, err := f.Stat()
	if err != nil {
		return fmt.Errorf("put back %s: %w", path, err)
	}
	if now, err := os.Lstat(path); err == nil && os.SameFile(was, now) {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("put back %s: %w", path, err)
	}
	copied, err := c.workspace().CreateAnew(path)
	if err != nil {
		return fmt.Errorf("put back %s: %w", path, err)
	}
	_, err = io.Copy(copied, f)
	if closeErr := copied.Close(); err == nil {
		err = closeErr
	}
	failpoint.Step("put back the attempt's log")
	return err
}

// withoutToolkit drops what would let an agent's own commits past the gate, or lead a nested agent astray.
func withoutToolkit(environ []string) []string {
	var out []string
	for _, kv := range environ {
		key, _, _ := strings.Cut(kv, "=")
		switch key {
		case "RALPH_SKIP", "RALPH_BASE", "RALPH_REQ", "RALPH_ATTEMPT", "RALPH_INFRA", "RALPH_REPORT":
			continue
		// By these the tools of agents tell that they run inside one; some then refuse to start, or act as a helper.
		case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED",
			"CURSOR_AGENT", "CURSOR_TRACE_ID", "GEMINI_CLI", "OPENCODE", "QWEN_CODE":
			continue
		}
		out = append(out, kv)
	}
	return out
}

// weigh finds out what the attempt left: the outcome, the tokens, the tree.
func (c *Checkpoint) weigh(ctx context.Context, a *Attempted, ended run.Ended, name, dir string) error {
	log, err := agentlog.ReadFile(a.Log)
	if err != nil {
		return err
	}
	how := ""
	switch {
	case ended.Why == run.NotFound:
		a.Outcome, how = OutcomeNotFound, fmt.Sprintf("the agent %q was not found (exit code %d)", name, ended.Code)
	case ended.Why == run.TimedOut:
		a.Outcome, how = OutcomeTimeout, fmt.Sprintf("the agent ran out of time after %.0f s", a.Seconds)
	case ended.Why == run.IdledOut:
		a.Outcome, how = OutcomeTimeout, "the agent fell silent for longer than agent.idle_timeout"
	case ended.Why == run.Flooded:
		a.Outcome, how = OutcomeCrash, "the agent printed more than 256 MB"
	case ended.Why == run.Signaled:
		a.Outcome, how = OutcomeCrash, fmt.Sprintf("the agent ended by a signal (exit code %d)", ended.Code)
	case ended.Code != 0:
		a.Outcome, how = OutcomeFailed, fmt.Sprintf("the agent ended with exit code %d", ended.Code)
	case log.Failed:
		a.Outcome, how = OutcomeFailed, "the agent ended with an error, although its exit code is 0"
	default:
		a.Outcome, how = OutcomeOK, "the agent ended well"
	}
	if err := c.keepReport(dir, log); err != nil {
		return err
	}
	// AGENTS.md is not the agent's to write: what of it differs is the toolkit's and comes later.
	tree, refused, err := c.workspace().Stage(ctx)
	if err != nil {
		return err
	}
	before := c.p.Baseline
	if r := c.p.Find(c.p.Req.Current); r != nil && r.Infra.Made != "" {
		before = r.Infra.Made // what was made for the requirement is none of its work
	}
	paths, err := c.repo.Changed(ctx, before, tree)
	if err != nil {
		return err
	}
	a.Changed = len(withoutAgentsFile(paths)) > 0
	a.tree, a.worked = tree, a.Changed && tree != c.p.LeftTree
	a.how, a.words = how, lastWords(a.Log, log)
	c.explain(a, ended, log)
	if a.Tokens, a.Guessed, err = tokens(a, log, filepath.Join(dir, promptFile)); err != nil {
		return err
	}
	if refused != "" {
		a.Changed, a.Digest = false, "not everything could be committed, so nothing was judged:\n"+refused
		return nil
	}
	if a.Changed {
		return nil
	}
	a.Digest = fmt.Sprintf("no change: %s and left no change in the tree.\n", how)
	if a.words != "" {
		a.Digest += "Its last words:\n" + a.words
	}
	return nil
}

// keepReport copies the agent's report, bounded, beside its log. An agent that wrote no file may have ended its final
// message with the report: that becomes the file.
func (c *Checkpoint) keepReport(dir string, log agentlog.Log) error {
	if info, err := os.Lstat(c.reportPath()); err == nil && !info.Mode().IsRegular() {
		// To open a named pipe waits for ever, and a link may lead anywhere.
		if err := os.RemoveAll(c.reportPath()); err != nil {
			return fmt.Errorf("take away what is no report: %w", err)
		}
		failpoint.Step("remove what is no report")
	}
	data, err := learn.ReadReport(c.reportPath())
	if errors.Is(err, fs.ErrNotExist) {
		block, ok := learn.ReportIn([]byte(log.Message))
		if !ok {
			printed, err := learn.ReadReport(filepath.Join(dir, logFile))
			if err != nil {
				return fmt.Errorf("look for a report in the agent's log: %w", err)
			}
			if block, ok = learn.ReportIn(printed); !ok {
				return nil // whoever needs the report says so
			}
		}
		if err := atomicfile.Write(c.reportPath(), block); err != nil {
			return err
		}
		data = block
	} else if err != nil {
		return nil // unreadable: whoever needs the report says why
	}
	if err := c.workspace().WriteAnew(filepath.Join(dir, workspace.ReportFile), data); err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	failpoint.Step("keep the report")
	return nil
}

// recordAttempt records what an agent's run used, and where it counts as an attempt what it left.
func (c *Checkpoint) recordAttempt(ctx context.Context, id string, a *Attempted, counts bool) error {
	err := c.update(ctx, func(p *Progress) error {
		r, _, err := c.current(p, id)
		if err != nil {
			return err
		}
		r.Tokens += a.Tokens
		r.Seconds += a.Seconds
		p.Cost.Tokens, p.Cost.Cumulative = r.Tokens, p.Cost.Cumulative+a.Tokens
		if a.Guessed {
			r.Guessed += a.Tokens
			p.Cost.Estimated, p.Cost.Guessed = true, p.Cost.Guessed+a.Tokens
		}
		c.noteTrouble(p, a)
		if !counts {
			return nil
		}
		if r.Status != InfraDispatch {
			r.Steps.Dispatch = r.Steps.after(c.stamp())
		}
		p.LastAttempt = &AttemptOutcome{Req: id, Number: a.Number, Outcome: a.Outcome, Changed: a.Changed, Digest: a.Digest}
		p.LeftTree = a.tree
		return nil
	})
	if err != nil {
		return err
	}
	return c.pruneRuns()
}

// pruneRuns removes the attempts of old runs: the names of runs sort by their time. The present one stays even where the
// clock was set back since, but for the oldest of its agents' logs. What was moved there to be kept is kept.
func (c *Checkpoint) pruneRuns() error {
	root := workspace.RunsDir(c.repo)
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	present := git.RefName(c.p.Run)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == present })
	total, err := pruneLogs(filepath.Join(root, present))
	if err != nil {
		return err
	}
	for i, kept := len(entries)-1, 1; i >= 0; i, kept = i-1, kept+1 {
		dir := filepath.Join(root, entries[i].Name())
		for _, f := range filesOfRun(dir) {
			total += f.size
		}
		if kept >= keptRuns || total > maxLogs {
			if err := workspace.DropRun(dir); err != nil {
				return fmt.Errorf("remove the logs of an old run: %w", err)
			}
			failpoint.Step("remove the logs of an old run")
		}
	}
	return nil
}

// pruneLogs removes the oldest agents' logs of a run that has too many bytes, and gives how many it has then. The newest
// stays, however large.
func pruneLogs(dir string) (total int64, err error) {
	files := filesOfRun(dir)
	for _, f := range files {
		total += f.size
	}
	logs := slices.DeleteFunc(files, func(f runFile) bool { return filepath.Base(f.path) != logFile })
	slices.SortStableFunc(logs, func(a, b runFile) int { return a.written.Compare(b.written) })
	for len(logs) > 1 && total > maxLogs {
		if err := os.Remove(logs[0].path); err != nil {
			return total, fmt.Errorf("remove an old log: %w", err)
		}
		failpoint.Step("remove an old log")
		total, logs = total-logs[0].size, logs[1:]
	}
	return total, nil
}

type runFile struct {
	path    string
	size    int64
	written time.Time
}

// filesOfRun are the files that a run left of its attempts.
func filesOfRun(dir string) (files []runFile) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir() && workspace.MovedAway(d.Name()):
			return fs.SkipDir
		case !d.IsDir():
			if info, err := d.Info(); err == nil {
				files = append(files, runFile{path, info.Size(), info.ModTime()})
			}
		}
		return nil
	})
	return files
}
