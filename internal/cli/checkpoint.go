package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/checkpoint"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/run"
)

const checkpointName = "ralph-checkpoint"

// Checkpoint is ralph-checkpoint.
func Checkpoint(p *Process, doc string, args []string) int {
	v := &checkpointVerbs{p: p}
	format := &urfave.StringFlag{Name: "format", Value: "text", Usage: "text or json"}
	app := &urfave.App{
		Name:   checkpointName,
		Action: noVerb,
		Commands: []*urfave.Command{
			{Name: "begin", Usage: "start a run or continue the open one", Action: v.begin, Flags: []urfave.Flag{
				&urfave.IntFlag{Name: "max-iterations", Usage: "requirements taken up in this run at most"},
				&urfave.StringFlag{Name: "branch", Usage: "work on this branch; made where it is not there"},
				&urfave.BoolFlag{Name: "resume", Usage: "insist on an open run"},
				&urfave.BoolFlag{Name: "redo-changed", Usage: "do requirements again whose text changed"},
				&urfave.BoolFlag{Name: "keep-changed", Usage: "leave them done"},
			}},
			{Name: "start", Usage: "take up a requirement; prints the number of its next attempt", Action: v.start},
			{Name: "infra", Usage: "see to the test infrastructure, or record what is known of it", Action: v.infra},
			{Name: "attempt", Usage: "run one agent, the prompt on stdin", Action: v.attempt, Flags: []urfave.Flag{
				&urfave.DurationFlag{Name: "timeout", Usage: "wall clock, as in 300s"},
				&urfave.StringFlag{Name: "agent", Usage: "one of 'ralph-checkpoint agents'; COMMAND is then its arguments"},
			}},
			{Name: "pass", Usage: "commit the index as the requirement's work", Action: v.pass, Flags: []urfave.Flag{
				&urfave.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "print the commit message and change nothing"},
				&urfave.StringFlag{Name: "digest", Usage: "write why it was refused into this file"},
			}},
			{Name: "fail", Usage: "record a failed attempt; prints what follows: retry or blocked", Action: v.fail, Flags: []urfave.Flag{
				&urfave.StringFlag{Name: "digest", Usage: "the file with what the next attempt is told; - is stdin"},
				&urfave.StringFlag{Name: "verdict", Usage: "the gate's verdict as JSON: regressions in it are told"},
			}},
			{Name: "block", Usage: "give a requirement up", Action: v.block, Flags: []urfave.Flag{
				&urfave.StringFlag{Name: "reason", Usage: "why"},
			}},
			{Name: "decide", Usage: "carry out the user's decision about a requirement", Action: v.decide, Flags: []urfave.Flag{
				&urfave.StringFlag{Name: "to", Usage: "the commit to roll back to"},
			}},
			{Name: "aside", Usage: "keep what lies there of the requirement in work, and clean the tree", Action: v.aside},
			{Name: "cost", Usage: "settle a requirement; exit code 1 where a threshold is passed", Action: v.cost, Flags: []urfave.Flag{
				&urfave.BoolFlag{Name: "summary", Usage: "print its execution summary, not its figures"},
				&urfave.BoolFlag{Name: "tell", Usage: "then do what the verb tell does"},
			}},
			{Name: "tell", Usage: "run the commands below 'on' in ralph.yaml for what happened", Action: v.tell},
			{Name: "finish", Usage: "end a run with nothing left to do; prints its status", Action: v.finish},
			{Name: "failures", Usage: "print what the next attempt is told of the failed ones", Action: v.failures},
			{Name: "status", Usage: "print where the run stands", Action: v.status, Flags: []urfave.Flag{
				format,
				&urfave.BoolFlag{Name: "watch", Usage: "draw it again and again, on a terminal"},
			}},
			{Name: "summary", Usage: "print a requirement's execution summary", Action: v.summary},
			{Name: "report", Usage: "print the run's report: the table, and what can be decided", Action: v.report},
			{Name: "check", Usage: "judge the state", Action: v.check},
			{Name: "recover", Usage: "make a damaged or lost state anew", Action: v.recover, Flags: []urfave.Flag{
				&urfave.StringSliceFlag{Name: "accept", Usage: "believe the claim of this requirement"},
			}},
			{Name: "agents", Usage: "list the agents that can be dispatched", Action: v.agents, Flags: []urfave.Flag{
				&urfave.StringFlag{Name: "select", Usage: "print the name of this one, or of the configured one where it is empty, if it is there"},
			}},
		},
	}
	return p.run(app, doc, args)
}

type checkpointVerbs struct{ p *Process }

// open is the state, with the run lock held where the verb changes it.
func (v *checkpointVerbs) open(ctx context.Context, change, begin bool) (c *checkpoint.Checkpoint, release func(), err error) {
	release = func() {}
	repo, err := git.Open(ctx, v.p.Dir, v.p.Environ)
	if err != nil {
		return nil, nil, err
	}
	killed := false
	if change {
		if release, killed, err = v.hold(ctx, repo, begin); err != nil {
			return nil, nil, err
		}
	}
	var pr *project
	var progress *checkpoint.Progress
	if begin { // what the user wrote there since the last start holds from now on
		err = gate.KeepConfig(repo)
	}
	if err == nil {
		pr, err = v.p.openProject(ctx, repo)
	}
	if err == nil {
		progress, err = v.p.progress(repo)
	}
	if err == nil {
		c = checkpoint.Open(v.p.checkpointOptions(pr, checkpointName), progress)
	}
	if err == nil && killed {
		err = c.PutAside(ctx)
	}
	if err == nil && change {
		err = c.FinishRollback(ctx)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return c, release, nil
}

// openAt is open for a verb that names a requirement: an unknown one is refused before the verb does anything, run or none.
// What a killed program left is put in order all the same: which requirements there are is read only then.
func (v *checkpointVerbs) openAt(ctx context.Context, id string, change bool) (*checkpoint.Checkpoint, func(), error) {
	cp, release, err := v.open(ctx, change, false)
	if err != nil {
		return nil, nil, err
	}
	if _, err := cp.Requirement(id); err != nil {
		release()
		return nil, nil, err
	}
	return cp, release, nil
}

// hold takes the run lock, and first of all puts in order what a killed attempt left: the specification, the
// configuration and the state are read only then. killed says that there was one.
func (v *checkpointVerbs) hold(ctx context.Context, repo *git.Repo, begin bool) (release func(), killed bool, err error) {
	c := checkpoint.Blank(v.p.checkpointOptions(&project{repo: repo}, checkpointName))
	if release, err = c.HoldRun(begin); err != nil {
		return nil, false, err
	}
	unlock := release
	ended, err := c.Begun()
	if err != nil {
		unlock()
		return nil, false, err
	}
	release = func() {
		ended()
		unlock()
	}
	if killed, err = c.SettleKilled(ctx); err == nil {
		err = c.RestoreControl(ctx) // the gate may have run an attempt's tests
	}
	if err != nil {
		release()
		return nil, false, err
	}
	return release, killed, nil
}

// change runs f on the state with the run lock held, for a verb with exactly one operand, the requirement.
func (v *checkpointVerbs) change(c *urfave.Context, usage string, f func(*checkpoint.Checkpoint, string) error) error {
	ops, err := v.p.operands(c, usage, 1, 1)
	if err != nil {
		return err
	}
	cp, release, err := v.openAt(c.Context, ops[0], true)
	if err != nil {
		return err
	}
	defer release()
	if err := f(cp, ops[0]); err != nil {
		return err
	}
	return v.keepStatus(cp)
}

func (v *checkpointVerbs) keepStatus(cp *checkpoint.Checkpoint) error {
	if cp.Progress() == nil {
		return nil
	}
	return cp.KeepStatus()
}

func (v *checkpointVerbs) begin(c *urfave.Context) error {
	if _, err := v.p.operands(c, "ralph-checkpoint begin [OPTIONS]", 0, 0); err != nil {
		return err
	}
	if c.Bool("redo-changed") && c.Bool("keep-changed") {
		return exit.Misuse("give one of them", "--redo-changed and --keep-changed exclude each other")
	}
	if c.IsSet("max-iterations") && c.Int("max-iterations") < 1 {
		return exit.Misuse("give a number from 1", "--max-iterations %d makes no sense", c.Int("max-iterations"))
	}
	cp, release, err := v.open(c.Context, true, true)
	if err != nil {
		return err
	}
	defer release()
	ctx, stop := run.WithParent(c.Context)
	defer stop()
	unsettled, err := cp.Begin(ctx, checkpoint.BeginOptions{
		MaxIterations: c.Int("max-iterations"), Branch: c.String("branch"), Resume: c.Bool("resume"),
		RedoChanged: c.Bool("redo-changed"), KeepChanged: c.Bool("keep-changed"),
	})
	if err != nil {
		return err
	}
	for _, id := range unsettled {
		fmt.Fprintln(v.p.Stdout, id)
	}
	return v.keepStatus(cp)
}

func (v *checkpointVerbs) start(c *urfave.Context) error {
	return v.change(c, "ralph-checkpoint start REQ", func(cp *checkpoint.Checkpoint, id string) error {
		n, err := cp.Start(c.Context, id)
		if err != nil {
			return err
		}
		more := ""
		if cp.InfraOpen() {
			more = " infra"
		}
		fmt.Fprintf(v.p.Stdout, "%d%s\n", n, more)
		return nil
	})
}

func (v *checkpointVerbs) infra(c *urfave.Context) error {
	ops, err := v.p.operands(c, "ralph-checkpoint infra REQ check|existing|skipped|needed|ready|fallback|failed", 2, 2)
	if err != nil {
		return err
	}
	cp, release, err := v.openAt(c.Context, ops[0], true)
	if err != nil {
		return err
	}
	defer release()
	// A driver that was killed cannot end us: we notice.
	ctx, stop := run.WithParent(c.Context)
	defer stop()
	if ops[1] != "check" {
		err = cp.Infra(ctx, ops[0], ops[1])
	} else {
		var word string
		if word, err = cp.CheckInfra(ctx, ops[0]); err == nil {
			fmt.Fprintln(v.p.Stdout, word)
		}
	}
	if err != nil {
		return err
	}
	return v.keepStatus(cp)
}

func (v *checkpointVerbs) attempt(c *urfave.Context) error {
	ops, err := v.p.operands(c, "ralph-checkpoint attempt [--timeout D] [--agent NAME] REQ -- COMMAND [ARGUMENT...]", 1, -1)
	if err != nil {
		return err
	}
	command := ops[1:]
	if name := c.String("agent"); name != "" {
		if command, err = v.p.agentCommand(c.Context, name, command); err != nil {
			return err
		}
	}
	cp, release, err := v.openAt(c.Context, ops[0], true)
	if err != nil {
		return err
	}
	defer release()
	timeout := c.Duration("timeout")
	if !c.IsSet("timeout") {
		timeout = cp.AgentTimeout()
	}
	a, err := cp.Attempt(c.Context, ops[0], v.p.Stdin, timeout, command)
	if err != nil {
		return err
	}
	if err := v.keepStatus(cp); err != nil {
		return err
	}
	used := fmt.Sprintf("%d tokens", a.Tokens)
	switch {
	case a.Again:
		used = "as it was before the interruption"
	case a.Guessed:
		used += ", estimated"
	}
	fmt.Fprintf(v.p.Stdout, "%-9s  %-5s  %-70s  %.2fs\n", "agent", a.Outcome, used, a.Seconds)
	if a.Changed {
		return nil
	}
	if err := v.p.flush(); err != nil {
		return err
	}
	fmt.Fprint(v.p.Stderr, a.Digest)
	if !strings.HasSuffix(a.Digest, "\n") {
		fmt.Fprintln(v.p.Stderr)
	}
	if a.Outcome == checkpoint.OutcomeTimeout {
		return exit.Silent(exit.Timeout)
	}
	return exit.Silent(exit.No)
}

func (v *checkpointVerbs) pass(c *urfave.Context) error {
	if c.Bool("dry-run") {
		ops, err := v.p.operands(c, "ralph-checkpoint pass [-n] [--digest FILE] REQ", 1, 1)
		if err != nil {
			return err
		}
		cp, _, err := v.open(c.Context, false, false)
		if err != nil {
			return err
		}
		message, err := cp.Preview(c.Context, ops[0])
		if err == nil {
			fmt.Fprint(v.p.Stdout, message)
		}
		return err
	}
	return v.change(c, "ralph-checkpoint pass [-n] [--digest FILE] REQ", func(cp *checkpoint.Checkpoint, id string) error {
		ctx, stop := run.WithParent(c.Context)
		defer stop()
		commit, err := cp.Pass(ctx, id)
		if err == nil {
			fmt.Fprintln(v.p.Stdout, commit)
		}
		if name := c.String("digest"); name != "" && exit.Code(err) == exit.No {
			if writeErr := atomicfile.Replace(v.p.abs(name), []byte(err.Error()+"\n")); writeErr != nil {
				return writeErr
			}
		}
		return err
	})
}

func (v *checkpointVerbs) fail(c *urfave.Context) error {
	return v.change(c, "ralph-checkpoint fail [--digest FILE] [--verdict FILE] REQ", func(cp *checkpoint.Checkpoint, id string) error {
		var digest []byte
		if name := c.String("digest"); name != "" {
			var err error
			if digest, err = v.read(name); err != nil {
				return err
			}
		}
		verdict, err := v.verdict(c.String("verdict"))
		if err != nil {
			return err
		}
		status, err := cp.Fail(c.Context, id, digest, verdict)
		if err == nil {
			fmt.Fprintln(v.p.Stdout, status)
		}
		return err
	})
}

// verdict reads what ralph-gate --verdict wrote; nil where the gate was not asked, so that the file is empty or none is named.
func (v *checkpointVerbs) verdict(name string) (*gate.Verdict, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(v.p.abs(name))
	if err != nil {
		return nil, fmt.Errorf("read the verdict: %w", err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	verdict := new(gate.Verdict)
	if err := json.Unmarshal(data, verdict); err != nil {
		return nil, exit.Fail("'ralph-gate --verdict FILE' writes one", "%q is no verdict: %w", name, err)
	}
	return verdict, nil
}

// read is the beginning of a file that the user names; - is stdin.
func (v *checkpointVerbs) read(name string) ([]byte, error) {
	const most = 1 << 20
	in := v.p.Stdin
	if name != "-" {
		f, err := os.Open(v.p.abs(name))
		if err != nil {
			return nil, fmt.Errorf("read the digest: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return nil, fmt.Errorf("read the digest: %w", err)
	}
	return data, nil
}

func (v *checkpointVerbs) block(c *urfave.Context) error {
	return v.change(c, "ralph-checkpoint block [--reason TEXT] REQ", func(cp *checkpoint.Checkpoint, id string) error {
		return cp.Block(c.Context, id, c.String("reason"))
	})
}

func (v *checkpointVerbs) decide(c *urfave.Context) error {
	ops, err := v.p.operands(c, "ralph-checkpoint decide [--to REV] REQ skip|manual|retry|stop|rollback", 2, 2)
	if err != nil {
		return err
	}
	cp, release, err := v.openAt(c.Context, ops[0], true)
	if err != nil {
		return err
	}
	defer release()
	ctx, stop := run.WithParent(c.Context)
	defer stop()
	if err := cp.Decide(ctx, ops[0], ops[1], c.String("to")); err != nil {
		return err
	}
	return v.keepStatus(cp)
}

func (v *checkpointVerbs) cost(c *urfave.Context) error {
	var over error
	err := v.change(c, "ralph-checkpoint cost [--summary] [--tell] REQ", func(cp *checkpoint.Checkpoint, id string) error {
		var used checkpoint.Cost
		var err error
		if used, over, err = cp.Cost(c.Context, id); err != nil {
			return err
		}
		if c.Bool("summary") {
			err = cp.WriteSummary(v.p.Stdout, id)
		} else {
			fmt.Fprintf(v.p.Stdout, "%s  %d tokens  %d in the run%s, of %d\n", id, used.Tokens, used.Cumulative, used.Mark(), used.Threshold)
		}
		if err == nil && c.Bool("tell") {
			if err = v.p.flush(); err == nil {
				err = cp.Tell(c.Context)
			}
		}
		return err
	})
	return cmp.Or(err, over)
}

// mostAside is how long the tree may take to be cleaned where the loop ends, with a wait for locks in it. The next start has
// the time.
const mostAside = 20 * time.Second

var errTooLong = fmt.Errorf("it takes longer than %s", mostAside)

func (v *checkpointVerbs) aside(c *urfave.Context) error {
	if _, err := v.p.operands(c, "ralph-checkpoint aside", 0, 0); err != nil {
		return err
	}
	// It is what a driver does that was told to end.
	ctx, stop := context.WithTimeoutCause(c.Context, mostAside, errTooLong)
	defer stop()
	cp, release, err := v.open(ctx, true, false)
	if err != nil {
		return err
	}
	defer release()
	return cp.PutAside(ctx)
}

func (v *checkpointVerbs) finish(c *urfave.Context) error {
	if _, err := v.p.operands(c, "ralph-checkpoint finish", 0, 0); err != nil {
		return err
	}
	cp, release, err := v.open(c.Context, true, false)
	if err != nil {
		return err
	}
	defer release()
	status, err := cp.Finish(c.Context)
	if err != nil {
		return err
	}
	fmt.Fprintln(v.p.Stdout, status)
	return v.keepStatus(cp)
}

func (v *checkpointVerbs) tell(c *urfave.Context) error {
	if _, err := v.p.operands(c, "ralph-checkpoint tell", 0, 0); err != nil {
		return err
	}
	cp, release, err := v.open(c.Context, true, false)
	if err != nil {
		return err
	}
	defer release()
	return cp.Tell(c.Context)
}

func (v *checkpointVerbs) recover(c *urfave.Context) error {
	if _, err := v.p.operands(c, "ralph-checkpoint recover [--accept REQ]...", 0, 0); err != nil {
		return err
	}
	repo, err := git.Open(c.Context, v.p.Dir, v.p.Environ)
	if err != nil {
		return err
	}
	release, _, err := v.hold(c.Context, repo, false)
	if err != nil {
		return err
	}
	defer release()
	pr, err := v.p.openProject(c.Context, repo)
	if err != nil {
		return err
	}
	// Without a look at the state, which may be damaged: that is why we are here.
	cp := checkpoint.Blank(v.p.checkpointOptions(pr, checkpointName))
	source, doubtful, err := cp.Recover(c.Context, c.StringSlice("accept"))
	if err != nil {
		return err
	}
	say(v.p.Stderr, checkpointName, "%s", source)
	for _, line := range doubtful {
		say(v.p.Stderr, checkpointName, "not believed: %s (--accept believes it)", line)
	}
	return v.keepStatus(cp)
}
