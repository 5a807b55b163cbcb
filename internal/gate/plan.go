package gate

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
)

// Step is one command of the gate.
type Step struct {
	Layer string   // L1 or L2; L3 reads what L2's commands write
	Dir   string   // where it runs, below the top of the tree; "" is the top
	Args  []string // the program and its arguments; for lint that the gate does itself nil
	Line  string   // as a person would type it
	kind  kind
}

type kind int

const (
	typecheck kind = iota
	lint
	goFormat // by the gate itself
	goTest
	ownTest // a test command of the project's own
)

// String is the step as a person would type it at the tree's top.
func (s Step) String() string {
	if s.Dir == "" {
		return s.Line
	}
	return "cd " + s.Dir + " && " + s.Line
}

type plan struct {
	steps     []Step
	modules   []module // Go's
	untested  []string // languages with code in the tree that no step tests, by name
	hasSource bool     // the tree holds implementation in any language
}

func (p *plan) of(kinds ...kind) []Step {
	var out []Step
	for _, s := range p.steps {
		if slices.Contains(kinds, s.kind) {
			out = append(out, s)
		}
	}
	return out
}

// Outline is how a tree would be judged.
type Outline struct {
	Steps     []Step   // the commands
	Gaps      []Gap    // what no command is known for
	TestNames []string // for each language, how a new test file is to be called, so that L1b counts it as one
}

// Gap is what a layer would have to check in a tree and cannot, since nobody has said how.
type Gap struct{ Layer, Text, Advice string }

// Plan outlines how a tree would be judged; nothing is run. With ahead it is judged as it will be with the first source
// file of each language of which there is a build file alone.
func Plan(ctx context.Context, repo *git.Repo, c *config.Config, tree string, ahead bool) (*Outline, error) {
	paths, err := treePaths(ctx, repo, tree)
	if err != nil {
		return nil, err
	}
	if ahead {
		paths = append(paths, diffstat.FirstSources(paths)...)
	}
	p, err := makePlan(ctx, repo, c, tree, paths)
	if err != nil {
		return nil, err
	}
	o := &Outline{Steps: p.steps, TestNames: (&diffstat.Classifier{TestGlobs: c.Gate.TestGlobs, IgnoreGlobs: c.Gate.IgnoreGlobs}).TestNames(paths)}
	if l := p.untestable(); l != nil && l.Result == Error {
		o.Gaps = append(o.Gaps, Gap{"L2", l.Summary, l.Advice})
	} else if len(p.of(ownTest)) > 0 && len(c.Gate.CoverageFiles) == 0 && c.Gate.Coverage != (config.Coverage{}) {
		o.Gaps = append(o.Gaps, Gap{"L3", errNoCoverage.Error(), adviceNoCoverage})
	}
	return o, nil
}

func treePaths(ctx context.Context, repo *git.Repo, tree string) ([]string, error) {
	entries, err := repo.Entries(ctx, tree)
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
	}
	return paths, err
}

// Tools are the programs that the commands begin with, each once.
func (o *Outline) Tools() []string {
	var names []string
	for _, s := range o.Steps {
		if len(s.Args) == 0 {
			continue // by the gate itself
		}
		for _, name := range programsOf(s.Args) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// plan is made once for each tree.
func (j *judge) plan(ctx context.Context, tree string) (*plan, error) {
	if p := j.plans[tree]; p != nil {
		return p, nil
	}
	paths, err := treePaths(ctx, j.Repo, tree)
	if err != nil {
		return nil, err
	}
	p, err := makePlan(ctx, j.Repo, j.Config, tree, paths)
	if err == nil {
		j.plans[tree] = p
	}
	return p, err
}

func makePlan(ctx context.Context, repo *git.Repo, c *config.Config, tree string, paths []string) (*plan, error) {
	p := &plan{modules: goModules(paths)}
	classifier := &diffstat.Classifier{TestGlobs: c.Gate.TestGlobs, IgnoreGlobs: c.Gate.IgnoreGlobs}
	languages := map[string]bool{} // that no step of our own tests
	for _, file := range paths {
		if class, _ := classifier.ByName(file); class == diffstat.Implementation {
			p.hasSource = true
			if !strings.HasSuffix(file, ".go") || len(p.modules) == 0 {
				languages["*"+path.Ext(file)] = true
			}
		}
	}
	if !p.hasSource {
		scripts, err := diffstat.Scripts(ctx, repo, tree, classifier)
		if err != nil {
			return nil, err
		}
		if len(scripts) > 0 {
			p.hasSource = true
			languages["scripts without an ending"] = true
		}
	}
	g := c.Gate
	for _, m := range p.modules {
		if len(g.Typecheck) == 0 {
			p.steps = append(p.steps, Step{Layer: "L1", Dir: m.dir, Args: []string{"go", "vet", "./..."}, Line: "go vet ./...", kind: typecheck})
		}
	}
	p.add("L1", typecheck, g.Typecheck)
	if len(g.Lint) == 0 && len(p.modules) > 0 {
		p.steps = append(p.steps, Step{Layer: "L1", Line: "gofmt -l (the changed files)", kind: goFormat})
	}
	p.add("L1", lint, g.Lint)
	if len(g.Test) > 0 {
		p.add("L2", ownTest, g.Test)
		return p, nil
	}
	for _, m := range p.modules {
		p.steps = append(p.steps, Step{Layer: "L2", Dir: m.dir, Args: []string{"go", "test", "-json", "-coverpkg=./...", "./..."}, Line: "go test -coverpkg=./... ./...", kind: goTest})
	}
	p.untested = slices.Sorted(maps.Keys(languages))
	return p, nil
}

func (p *plan) add(layer string, k kind, commands []config.Command) {
	for _, c := range commands {
		p.steps = append(p.steps, Step{Layer: layer, Args: c.Args, Line: c.Line, kind: k})
	}
}
