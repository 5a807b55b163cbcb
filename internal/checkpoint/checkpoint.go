package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/order"
	"ralph-loop/internal/spec"
	"ralph-loop/internal/workspace"
)

// Checkpoint is the state of one worktree with what is needed to change it.
type Checkpoint struct {
	repo    *git.Repo
	cfg     *config.Config
	graph   *order.Graph
	specRel string // the specification, relative to the worktree's top, with slashes
	store   *Store
	environ []string
	now     func() time.Time
	say     func(format string, args ...any) // a line for the user, on stderr

	held *os.File // the run lock, where an agent had removed it

	p *Progress // as last read or written; nil: there never was a run

	event string // of the update at hand, with its requirement
}

// Options are what Open needs.
type Options struct {
	Repo    *git.Repo
	Config  *config.Config
	Graph   *order.Graph
	Spec    string // the specification's path, relative to the worktree's top
	Environ []string
	Now     func() time.Time
	Say     func(format string, args ...any)
}

// Open is a checkpoint with the state as it was found; nil is none.
func Open(o Options, p *Progress) *Checkpoint {
	c := Blank(o)
	c.p = p
	return c
}

// Blank is a checkpoint without a look at the state: for Recover, where it may be damaged.
func Blank(o Options) *Checkpoint {
	c := &Checkpoint{repo: o.Repo, cfg: o.Config, graph: o.Graph, specRel: filepath.ToSlash(o.Spec), environ: o.Environ, now: o.Now, say: o.Say}
	c.store = NewStore(o.Repo, o.Now)
	return c
}

// AgentTimeout is the configured limit of one attempt.
func (c *Checkpoint) AgentTimeout() time.Duration { return time.Duration(c.cfg.Agent.Timeout) }

// Progress is the state as it was last read or written, or nil.
func (c *Checkpoint) Progress() *Progress { return c.p }

// workspace is the worktree, with what the state says of it by now. It is not to be kept beyond the next update.
func (c *Checkpoint) workspace() *workspace.Workspace {
	w := &workspace.Workspace{Repo: c.repo, Say: c.say}
	if p := c.p; p != nil {
		w.Run, w.Req, w.Branch, w.Baseline, w.Spec = p.Run, p.Req.Current, p.Branch, p.Baseline, p.Specification
		w.Control = []string{config.File, p.Specification, agentsmd.Name}
		if c.cfg != nil {
			w.Control = append(w.Control, c.cfg.Prompt.Template)
		}
	}
	return w
}

func (c *Checkpoint) reportPath() string { return workspace.ReportPath(c.repo) }

// runDir is where this run keeps what came of the attempts at a requirement, a folder each.
func (c *Checkpoint) runDir(id string) string { return workspace.RunDir(c.repo, c.p.Run, id) }

// LastReport is the attempt whose report tells what was learned of a requirement that this run has done or blocked: its
// number, 0 where none was made, and where its report is kept if it wrote one. ok is false for any other requirement.
func (p *Progress) LastReport(repo *git.Repo, id string) (attempt int, path string, ok bool) {
	r := p.Find(id)
	if r == nil || r.Number == 0 || r.Status != Done && !r.failed() {
		return 0, "", false
	}
	return r.Attempts, filepath.Join(workspace.RunDir(repo, p.Run, id), fmt.Sprint(r.Attempts), workspace.ReportFile), true
}

// update is one read-modify-write of the state. An error of change leaves it as it was.
func (c *Checkpoint) update(ctx context.Context, change func(*Progress) error) error {
	return c.store.Update(ctx, func(p *Progress) (*Progress, error) {
		if p == nil {
			return nil, errNoRun()
		}
		c.event = p.LastEvent
		if err := change(p); err != nil {
			return nil, err
		}
		p.LastEvent = c.event
		c.p = p
		return p, nil
	})
}

func errNoRun() error {
	return exit.Refuse("'ralph-loop', or 'ralph-checkpoint begin', starts one", "there is no run")
}

// Requirement is what the specification has under an id; it must have it.
func (c *Checkpoint) Requirement(id string) (*spec.Requirement, error) {
	return c.graph.Spec().Require(id)
}

// entry is the state of a requirement that the specification and the run know.
func (c *Checkpoint) entry(p *Progress, id string) (*Requirement, *spec.Requirement, error) {
	req, err := c.Requirement(id)
	if err != nil {
		return nil, nil, err
	}
	r := p.Find(id)
	if r == nil {
		return nil, nil, exit.Refuse("the next 'ralph-checkpoint begin' takes it in", "%q is not in the run: it was added to %s since", id, c.specRel)
	}
	return r, req, nil
}

// current is the entry of id, which must be the one in work.
func (c *Checkpoint) current(p *Progress, id string) (*Requirement, *spec.Requirement, error) {
	r, req, err := c.entry(p, id)
	if err != nil {
		return nil, nil, err
	}
	if p.Req.Current != id || !r.working() {
		return nil, nil, exit.Refuse(legal(r), "%s is %s, not in work", id, r.describe())
	}
	return r, req, nil
}

// set moves a requirement and notes when.
func (c *Checkpoint) set(r *Requirement, e Event) error {
	if err := r.move(e); err != nil {
		return err
	}
	r.Since = c.stamp()
	if e != AutoBlock && e != AutoUnblock {
		c.event = eventOf(e, r.ID)
	}
	return nil
}

func eventOf(e Event, id string) string { return string(e) + " " + id }

// replayed reports whether the last event was one of these of that requirement: whoever was killed before hearing of it
// says it again, and nothing more is to be done.
func (c *Checkpoint) replayed(id string, events ...Event) bool {
	return c.p != nil && c.p.Find(id) != nil && slices.ContainsFunc(events, func(e Event) bool { return c.p.LastEvent == eventOf(e, id) })
}

// stamp is the present time as it is recorded: UTC, whole seconds.
func (c *Checkpoint) stamp() time.Time { return c.now().UTC().Truncate(time.Second) }

// rebuildBlocks blocks what lies behind a blocked requirement, with the chain, and frees what no longer does.
func (c *Checkpoint) rebuildBlocks(p *Progress) error {
	// A state blocked from upstream must not keep another one blocked: look at the own failures alone.
	states := p.States()
	held := c.graph.Held(states)
	for _, r := range p.Requirements {
		if r.Status != Pending && (r.Status != Blocked || len(r.BlockedBy) == 0) {
			continue
		}
		var chain []string
		if held[r.ID] {
			chain = c.graph.BlockedBy(r.ID, states)
		}
		switch {
		case len(chain) > 0 && r.Status == Pending:
			if err := c.set(r, AutoBlock); err != nil {
				return err
			}
			r.BlockedBy = chain
		case len(chain) > 0:
			r.BlockedBy = chain
		case r.Status == Blocked:
			if err := c.set(r, AutoUnblock); err != nil {
				return err
			}
			r.BlockedBy = nil
		}
	}
	return nil
}

func (c *Checkpoint) writeBaseline(hash string) error {
	if err := c.store.EnsureSprint(); err != nil {
		return err
	}
	return atomicfile.Write(workspace.BaselinePath(c.repo), []byte(hash+"\n"))
}

// checkBaseline restores the baseline file where it is not what the state says; the state is never guessed from it.
func (c *Checkpoint) checkBaseline() error {
	data, err := os.ReadFile(workspace.BaselinePath(c.repo))
	if err == nil && string(data) == c.p.Baseline+"\n" {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the baseline: %w", err)
	}
	if err == nil {
		c.say("warning: last-req-baseline.txt said %q; restored to %s from the checkpoint", strings.TrimSpace(string(bytes.ToValidUTF8(data, []byte("?")))), c.p.Baseline)
	}
	return c.writeBaseline(c.p.Baseline)
}

// judge asks the gate about a tree. made is the commit with what was made for req as its test infrastructure, or "".
func (c *Checkpoint) judge(ctx context.Context, base, tree string, req *spec.Requirement, made string, only []string) (*gate.Verdict, error) {
	// As the baseline has it: an agent's edit of it must not guard the agent's own work.
	inWork := c.p != nil && c.p.Working() != ""
	cfg, err := gate.ReadConfig(ctx, c.repo, base, tree, inWork)
	if err != nil {
		return nil, err
	}
	v, err := gate.Run(ctx, gate.Request{Repo: c.repo, Environ: c.environ, Config: cfg, Base: base, Tree: tree, Requirement: req, Made: made, Only: only, Now: c.now})
	if err == nil && inWork && req != nil {
		err = c.restoreControl(ctx) // an attempt's tests ran
	}
	return v, err
}

func newRunID(now time.Time) string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}
