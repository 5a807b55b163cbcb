// Package order puts the requirements of a specification into the order of work: Kahn's algorithm over all of them,
// whatever their status, so that the order never changes as work gets done. It says which one is next, and why.
//
// Everything here is iterative and runs in time that grows with the number of requirements and dependencies, sorting
// within a layer aside: a chain of a million requirements is no deeper on the stack than one of two.
package order

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/spec"
)

// Graph is the order of one specification. It has no cycle.
type Graph struct {
	spec  *spec.Spec
	index map[string]int32 // position in the file by id
	edges                  // dependencies and dependents, by position
	order []int32          // positions in topology order
	ends  []int32          // where each layer ends in order
	layer []int32          // the layer of each position, 0-based
}

// edges holds both directions of the dependency relation in flat arrays: the neighbours of i are
// list[start[i]:start[i+1]].
type edges struct {
	upStart, up     []int32 // what i depends on
	downStart, down []int32 // what depends on i
}

// build orders a specification. A dependency that is unknown or on the requirement itself, and a cycle, are problems:
// all of them are found, each with its place, and the graph is whole only without any.
func build(s *spec.Spec) (*Graph, []spec.Problem) {
	g := &Graph{spec: s, index: make(map[string]int32, len(s.Requirements))}
	for i, r := range s.Requirements {
		if _, known := g.index[r.ID]; !known {
			g.index[r.ID] = int32(i)
		}
	}
	problems := g.connect()
	g.sort()
	if len(g.order) < len(s.Requirements) {
		problems = append(problems, g.cycles()...)
	}
	return g, problems
}

// connect fills the edges, leaving out those that cannot be followed.
func (g *Graph) connect() []spec.Problem {
	var problems []spec.Problem
	reqs := g.spec.Requirements
	total := 0
	for _, r := range reqs {
		total += len(r.DependsOn)
	}
	g.upStart = make([]int32, len(reqs)+1)
	g.up = make([]int32, 0, total)
	g.downStart = make([]int32, len(reqs)+2)
	var suggest *spec.Suggester
	for i, r := range reqs {
		for d, id := range r.DependsOn {
			j, known := g.index[id]
			switch {
			case !known:
				if suggest == nil {
					suggest = spec.NewSuggester(g.ids())
				}
				hint := suggest.Hint(id)
				if strings.Contains(id, ",") {
					hint = fmt.Sprintf("write several ids as a list: [%s]", id)
				}
				problems = append(problems, g.problem(r, d, hint, "%q depends on %q, which does not exist", r.ID, id))
			case j == int32(i):
				problems = append(problems, g.problem(r, d, "remove it", "%q depends on itself", r.ID))
			default:
				g.up = append(g.up, j)
				g.downStart[j+2]++
			}
		}
		g.upStart[i+1] = int32(len(g.up))
	}
	// downStart[j+1] is first the place where the next dependent of j goes, in the end where those of j end.
	for i := 2; i < len(g.downStart); i++ {
		g.downStart[i] += g.downStart[i-1]
	}
	g.down = make([]int32, len(g.up))
	for i := range reqs {
		for _, j := range g.dependencies(int32(i)) {
			g.down[g.downStart[j+1]] = int32(i)
			g.downStart[j+1]++
		}
	}
	g.downStart = g.downStart[:len(reqs)+1]
	return problems
}

// problem is about the d-th dependency of r.
func (g *Graph) problem(r *spec.Requirement, d int, hint, format string, args ...any) spec.Problem {
	p := spec.Problem{File: g.spec.Name, Line: r.Line, Message: fmt.Sprintf(format, args...), Hint: hint}
	if d < len(r.DependsOnAt) {
		p.Line, p.Col = r.DependsOnAt[d].Line, r.DependsOnAt[d].Col
	}
	return p
}

// sort is Kahn's algorithm, a layer at a time. Requirements of a cycle, and those behind one, are left out.
func (g *Graph) sort() {
	n := len(g.spec.Requirements)
	g.order = make([]int32, 0, n)
	g.layer = make([]int32, n)
	missing := make([]int32, n) // dependencies that lie in no layer yet
	for i := range n {
		missing[i] = g.upStart[i+1] - g.upStart[i]
		if missing[i] == 0 {
			g.order = append(g.order, int32(i))
		}
	}
	for start := 0; start < len(g.order); {
		end := len(g.order)
		slices.SortFunc(g.order[start:end], g.compare)
		for _, i := range g.order[start:end] {
			g.layer[i] = int32(len(g.ends))
			for _, j := range g.dependents(i) {
				if missing[j]--; missing[j] == 0 {
					g.order = append(g.order, j)
				}
			}
		}
		g.ends = append(g.ends, int32(end))
		start = end
	}
}

// compare is the order within a layer: by priority, those without one last, then by position in the file.
func (g *Graph) compare(a, b int32) int {
	ra, rb := g.spec.Requirements[a], g.spec.Requirements[b]
	if ra.HasPriority != rb.HasPriority {
		if ra.HasPriority {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(ra.Priority, rb.Priority), cmp.Compare(a, b))
}

// Spec is the specification that the graph orders.
func (g *Graph) Spec() *spec.Spec { return g.spec }

// Order is the ids of all requirements, the layers one after the other.
func (g *Graph) Order() []string { return g.named(g.order) }

// Layers is the ids of all requirements by layer: the dependencies of each lie in earlier layers.
func (g *Graph) Layers() [][]string {
	layers := make([][]string, len(g.ends))
	start := int32(0)
	for i, end := range g.ends {
		layers[i] = g.named(g.order[start:end])
		start = end
	}
	return layers
}

// Dependents is the ids that depend directly on id, in the order of the file.
func (g *Graph) Dependents(id string) []string {
	i, known := g.index[id]
	if !known {
		return nil
	}
	return g.named(g.dependents(i))
}

func (g *Graph) dependencies(i int32) []int32 { return g.up[g.upStart[i]:g.upStart[i+1]] }
func (g *Graph) dependents(i int32) []int32   { return g.down[g.downStart[i]:g.downStart[i+1]] }

func (g *Graph) id(i int32) string { return g.spec.Requirements[i].ID }

func (g *Graph) named(positions []int32) []string {
	ids := make([]string, len(positions))
	for k, i := range positions {
		ids[k] = g.id(i)
	}
	return ids
}

func (g *Graph) ids() []string {
	ids := make([]string, len(g.spec.Requirements))
	for i, r := range g.spec.Requirements {
		ids[i] = r.ID
	}
	return ids
}
