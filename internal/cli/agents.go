package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// commandAgent is the agent that runs whatever it is given.
const commandAgent = "command"

// agentsFolder is the one that RALPH_AGENTS names, as the driver does; else the one that was installed with this program, or
// lies in the same clone.
func (p *Process) agentsFolder() (string, error) {
	if dir := p.Getenv("RALPH_AGENTS"); dir != "" {
		return dir, nil
	}
	self, err := p.Executable()
	if err != nil {
		return "", fmt.Errorf("look for the agents beside this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	for _, beside := range []string{"lib/ralph/agents", "scripts/agents"} {
		dir := filepath.Join(filepath.Dir(self), "..", filepath.FromSlash(beside))
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", exit.Fail("let RALPH_AGENTS name the folder with a file for each agent; ralph-loop names its own", "the agents are not where they are installed, beside %q", self)
}

// agentNames are the executable files of the agents' folder.
func (p *Process) agentNames() (dir string, names []string, err error) {
	if dir, err = p.agentsFolder(); err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, fmt.Errorf("list the agents: %w", err)
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			names = append(names, e.Name())
		}
	}
	return dir, names, nil
}

// agents lists the agents, or names the one that is meant, if it can be dispatched with these arguments.
func (v *checkpointVerbs) agents(c *urfave.Context) error {
	args, err := v.p.operands(c, "ralph-checkpoint agents [--select NAME [-- ARGUMENT...]]", 0, -1)
	if err != nil {
		return err
	}
	_, names, err := v.p.agentNames()
	if err != nil {
		return err
	}
	if c.IsSet("select") {
		name, err := v.p.selectAgent(c.Context, c.String("select"), names)
		if err != nil {
			return err
		}
		if command, err := v.p.agentCommand(c.Context, name, args); err != nil {
			return err
		} else if name == commandAgent && len(command) == 1 {
			return exit.Misuse("ralph-loop --agent command -- PROGRAM [ARGUMENT...], or agent.command in ralph.yaml", "the agent \"command\" is given no program")
		}
		names = []string{name}
	} else if len(args) > 0 {
		return exit.Misuse("usage: ralph-checkpoint agents [--select NAME [-- ARGUMENT...]]", "unexpected operand %q", args[0])
	}
	for _, n := range names {
		fmt.Fprintln(v.p.Stdout, n)
	}
	return nil
}

// selectAgent is the agent that is meant: by the flag, the environment, the configuration, in this order.
func (p *Process) selectAgent(ctx context.Context, name string, names []string) (string, error) {
	if name == "" {
		name = p.Getenv("RALPH_AGENT")
	}
	if name == "" {
		repo, err := git.Open(ctx, p.Dir, p.Environ)
		if err != nil {
			return "", err
		}
		cfg, err := p.readConfig(ctx, repo)
		if err != nil {
			return "", err
		}
		if name = cfg.Agent.Name; name == "" && len(cfg.Agent.Command) > 0 {
			name = commandAgent
		}
	}
	known := "known are " + strings.Join(names, ", ")
	if name == "" {
		return "", exit.Misuse("give --agent, or agent.name in ralph.yaml; "+known, "no agent is named")
	}
	if !slices.Contains(names, name) {
		return "", exit.Misuse(known, "there is no agent %q", name)
	}
	return name, nil
}

// agentCommand is the command line of an agent with its arguments; the agent "command" has those of ralph.yaml where
// none are given.
func (p *Process) agentCommand(ctx context.Context, name string, args []string) ([]string, error) {
	dir, names, err := p.agentNames()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, name) {
		return nil, exit.Misuse("known are "+strings.Join(names, ", "), "there is no agent %q", name)
	}
	if name == commandAgent && len(args) == 0 {
		repo, err := git.Open(ctx, p.Dir, p.Environ)
		if err != nil {
			return nil, err
		}
		cfg, err := p.readConfig(ctx, repo)
		if err != nil {
			return nil, err
		}
		args = cfg.Agent.Command
	}
	return append([]string{filepath.Join(dir, name)}, args...), nil
}
