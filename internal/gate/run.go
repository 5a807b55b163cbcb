package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/nearest"
	"ralph-loop/internal/snapshot"
	"ralph-loop/internal/spec"
	"ralph-loop/internal/testinfra"
)

// Request is what the gate is asked.
type Request struct {
	Repo        *git.Repo
	Environ     []string          // the caller's; tools see what run.Environment leaves of it
	Config      *config.Config    // in force: the baseline's while a requirement is in progress, else the tree's
	Base        string            // a commit, or the empty tree
	BaseTree    string            // the tree of Base, if it is known
	Others      []string          // further bases, the other parents of a merge: what one of them has is not new
	Tree        string            // the tree to judge
	Head        string            // the commit whose history tells what is done; "": Base
	Requirement *spec.Requirement // in progress, or nil on a person's commit
	Made        string            // a commit with the test infrastructure that was made for it: none of its lines; may be empty
	Done        []string          // requirements that the checkpoint calls done; nil: there is none to ask
	Touched     []Touched         // earlier requirements whose lines the agent says that it changed
	Only        []string          // names of Layers; none: all
	StopAtFirst bool              // stop at the first layer that fails or ends in an error
	Alone       bool              // this process starts nothing else meanwhile: what a step leaves behind is found by that
	Now         func() time.Time
	CacheHome   string      // below it lies the exported copy; "": XDG_CACHE_HOME, else .cache in HOME
	OnLayer     func(Layer) // called as each layer ends; may be nil
}

// judge is one run of the gate. What several layers need is found once, and only when one needs it: on a full hit of
// the cache nothing is listed, checked out or run.
type judge struct {
	Request
	baseTree string
	cache    *cache
	stat     *diffstat.Stat
	agreed   *testinfra.Contract // nil: none, or not looked for
	looked   bool                // for agreed
	plans    map[string]*plan    // by tree
	copied   *snapshot.Copy
	installs []install           // folders that the copy needs for itself
	locked   bool                // the tree has a lock file whose folder is linked or installed
	setUp    string              // the tree for which gate.setup ran last
	heldBack bool                // a layer before did not pass
	second   bool                // work in the second copy
	tested   map[string]*testRun // by tree
	seen     map[string]string   // what programs and links are, see lookedAt
	logs     map[string]bool     // logs begun in this run
	base     *judge              // of the baseline alone, once it is asked
}

// Run judges a tree. The error is not nil only if there can be no verdict: the request makes no sense, or ctx ended.
// What goes wrong inside one layer is that layer's result.
func Run(ctx context.Context, req Request) (*Verdict, error) {
	if err := CheckLayers(req.Only); err != nil {
		return nil, err
	}
	j, err := newJudge(ctx, req)
	if err != nil {
		return nil, err
	}
	defer j.close()

	v := &Verdict{Version: 1, Base: req.Base, Others: req.Others, Tree: req.Tree, Layers: []Layer{}}
	if req.Requirement != nil {
		v.Requirement = req.Requirement.ID
	}
	for _, name := range Layers {
		if len(req.Only) > 0 && !slices.Contains(req.Only, name) {
			continue
		}
		begun := req.Now()
		j.heldBack = len(v.Layers) > 0 && v.outcome() != Pass
		l, err := j.layer(ctx, name)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			l = Layer{Result: Error, Summary: short(err.Error(), 1000), Advice: exit.HintOf(err)}
			if tool, ok := asTool(err); ok {
				l.Advice = tool.advice
			}
		}
		if l.Result == Error && v.outcome() != Fail && j.toldOfBaseline(ctx, name) { // else the attempt has failed anyway
			l.Result = Fail
			l.Notes = append(l.Notes, "on the baseline there is a result: it is this work that leaves none")
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l.Name, l.Seconds = name, req.Now().Sub(begun).Seconds()
		l.bound()
		v.Layers = append(v.Layers, l)
		if req.OnLayer != nil {
			req.OnLayer(l)
		}
		if req.StopAtFirst && l.Result != Pass && l.Result != NotApplicable {
			break
		}
	}
	v.Result = v.outcome()
	return v, nil
}

func newJudge(ctx context.Context, req Request) (*judge, error) {
	baseTree := req.BaseTree
	if baseTree == "" {
		var err error
		if baseTree, err = req.Repo.Tree(ctx, req.Base); err != nil {
			return nil, fmt.Errorf("find the baseline's tree: %w", err)
		}
	}
	return &judge{Request: req, baseTree: baseTree, cache: newCache(req.Repo, req.Now), tested: map[string]*testRun{}, plans: map[string]*plan{}, logs: map[string]bool{}}, nil
}

// toldOfBaseline reports whether a layer that ended in an error for a requirement's work gives a result for the baseline, here
// and now: what is kept of it would blame the work for a tool that is gone since.
func (j *judge) toldOfBaseline(ctx context.Context, name string) bool {
	if j.Requirement == nil || j.Tree == j.baseTree || !slices.Contains([]string{"L1", "L2", "L3"}, name) {
		return false
	}
	if j.base == nil {
		dir, err := os.MkdirTemp("", "ralph-gate-")
		if err != nil {
			return false
		}
		base, err := newJudge(ctx, j.Request)
		if err != nil {
			_ = os.RemoveAll(dir)
			return false
		}
		base.Tree, base.Requirement, base.Made, base.second, base.cache.dir = j.baseTree, nil, "", true, dir
		j.base = base
	}
	l, err := j.base.layer(ctx, name)
	return err == nil && l.Result != Error
}

// CheckLayers refuses names that are no layer's.
func CheckLayers(names []string) error {
	for _, name := range names {
		if slices.Contains(Layers, name) {
			continue
		}
		hint := "layers are " + strings.Join(Layers, ", ")
		if meant := nearest.Word(name, Layers); meant != "" {
			hint = fmt.Sprintf("did you mean %s? ", meant) + hint
		}
		return exit.Misuse(hint, "there is no layer %q", name)
	}
	return nil
}

func (j *judge) layer(ctx context.Context, name string) (Layer, error) {
	switch name {
	case "L0":
		return j.remembered(ctx, j.scopeKey(), j.scope)
	case "L1b":
		return j.remembered(ctx, j.ratioKey(), j.ratio)
	case "mocks":
		return j.remembered(ctx, j.mocksKey(), j.mocks)
	case "integrity":
		return j.remembered(ctx, j.integrityKey(), j.integrity)
	case "infra":
		return j.remembered(ctx, j.infraKey(), j.infra)
	case "trace":
		return j.advice(ctx, j.Config.Gate.Trace, j.traceKey(), j.trace)
	case "scope":
		return j.advice(ctx, j.Config.Gate.Scope, j.earlierKey(), j.earlier)
	case "red":
		if j.heldBack {
			return Layer{Result: NotApplicable, Summary: "not run: the tree is held back anyway"}, nil
		}
		return j.advice(ctx, j.Config.Gate.Red, j.redKey(), j.red)
	case "L1":
		return j.static(ctx)
	case "L2":
		return j.suite(ctx)
	case "L3":
		return j.coverage(ctx)
	}
	return Layer{}, errors.New("no such layer")
}

// advice is remembered for a check that has a level. The answer that it cannot be told is kept like any other, since it cost
// a run of the tests; that something broke is not, and is softened behind the cache.
func (j *judge) advice(ctx context.Context, level config.Level, in inputs, check func(context.Context) (Layer, error)) (Layer, error) {
	l, err := j.remembered(ctx, in, func(ctx context.Context) (Layer, error) {
		l, err := check(ctx)
		if l.untold {
			l = soften(level, l)
		}
		return l, err
	})
	if err != nil {
		if level != config.Warn {
			return l, err
		}
		l = Layer{Result: Error, Summary: err.Error()}
	}
	return soften(level, l), nil
}

// soften lets a check that only warns hold nothing back when it cannot be made: that is told, and is no pass.
func soften(level config.Level, l Layer) Layer {
	if level == config.Warn && l.Result == Error {
		return Layer{Result: NotApplicable, Summary: "could not be told: " + short(l.Summary, 500), Notes: l.Notes, Log: l.Log}
	}
	return l
}

// remembered answers from the cache, else computes the answer and keeps it if it may be kept.
func (j *judge) remembered(ctx context.Context, in inputs, compute func(context.Context) (Layer, error)) (Layer, error) {
	if in.Base != "" {
		in.Others = j.Others
	}
	key := in.key()
	if l, ok := j.cache.get(key); ok {
		return l, nil
	}
	l, err := compute(ctx)
	if err == nil && ctx.Err() == nil {
		j.cache.put(key, in.Layer, j.Tree, &l)
	}
	return l, err
}

// changed counts what the tree adds to the baseline.
func (j *judge) changed(ctx context.Context) (*diffstat.Stat, error) {
	if j.stat != nil {
		return j.stat, nil
	}
	contract, err := j.contract(ctx)
	if err != nil {
		return nil, err
	}
	stat, err := diffstat.Measure(ctx, j.Repo, j.baseTree, j.Tree, classifier(j.Config, contract), j.Others...)
	if err != nil {
		return nil, err
	}
	j.stat = stat
	return stat, nil
}

// Added counts what the tree adds itself, as the layer L1b does: not what a side of a merge has, nor the test infrastructure
// that was made for the requirement.
func Added(ctx context.Context, req Request) (*diffstat.Stat, error) {
	j, err := newJudge(ctx, req)
	if err != nil {
		return nil, err
	}
	return j.added(ctx)
}

// added leaves out the lines that were made for the requirement: they answered for themselves as they came.
func (j *judge) added(ctx context.Context) (*diffstat.Stat, error) {
	if j.Made == "" {
		return j.changed(ctx)
	}
	contract, err := j.contract(ctx)
	if err != nil {
		return nil, err
	}
	return diffstat.Measure(ctx, j.Repo, j.baseTree, j.Tree, classifier(j.Config, contract), append(slices.Clone(j.Others), j.Made)...)
}

// checkout makes the exported copy hold exactly tree. The copy is locked until the judge closes.
func (j *judge) checkout(ctx context.Context, tree string) error {
	if j.copied == nil {
		open := snapshot.Open
		switch {
		case j.Config.Gate.Where == "worktree":
			open = snapshot.InPlace
		case j.second:
			open = snapshot.OpenSecond
		}
		c, err := open(ctx, j.Repo, j.cacheHome())
		if err != nil {
			return err
		}
		c.Links = j.Config.Gate.Link
		j.copied = c
	}
	if j.Config.Gate.Where == "worktree" && tree != j.Tree {
		return &errTool{why: "gate.where is worktree: the baseline cannot be run there", advice: "set gate.where to copy"}
	}
	if err := j.ownFolders(ctx, tree); err != nil {
		return err
	}
	if err := j.copied.Checkout(ctx, tree); err != nil {
		return err
	}
	return j.setup(ctx, tree)
}

func (j *judge) cacheHome() string {
	if j.CacheHome != "" {
		return j.CacheHome
	}
	home, cache := "", ""
	for _, kv := range j.Environ {
		switch key, value, _ := strings.Cut(kv, "="); key {
		case "HOME":
			home = value
		case "XDG_CACHE_HOME":
			cache = value
		}
	}
	if cache == "" && home != "" {
		cache = filepath.Join(home, ".cache")
	}
	return cache
}

// scratch is the folder for what tools write beside the copy. It keeps its name from run to run: the go command
// takes TMPDIR for an input of every test that asks for a temporary folder.
func (j *judge) scratch() string { return j.copied.Scratch() }

func (j *judge) close() {
	if j.base != nil {
		j.base.close()
		_ = os.RemoveAll(j.base.cache.dir)
	}
	if j.copied != nil {
		removeScratch(j.scratch())
		_ = j.copied.Close() // the lock ends with the process too
	}
}

// maxFindings is how many findings a layer keeps; the rest is counted.
const maxFindings = 50

func (l *Layer) bound() {
	if over := len(l.Findings) - maxFindings; over > 0 {
		l.Findings, l.Dropped = l.Findings[:maxFindings], l.Dropped+over
	}
	if over := len(l.Warnings) - maxFindings; over > 0 {
		l.Warnings = append(l.Warnings[:maxFindings:maxFindings], Finding{Rule: "more", Message: fmt.Sprintf("... and %d more", over)})
	}
	for _, list := range [][]Finding{l.Findings, l.Warnings} {
		for i := range list {
			list[i].Message = clean(list[i].Message)
			list[i].Path = strings.ToValidUTF8(list[i].Path, "\uFFFD")
		}
	}
	l.Summary = clean(l.Summary)
}
