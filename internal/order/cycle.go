package order

import (
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/spec"
)

// searchBudget bounds the edges that the search for a shortest cycle follows, about a second of work. Beyond it the
// shortest found so far is reported; a file made by people never comes near.
const searchBudget = 100_000_000

// shownInChain is the number of ids at each end of a chain that a message shows.
const shownInChain = 10

// cycles reports the shortest cycle of each strongly connected component. Requirements that already lie in a layer
// are in none.
func (g *Graph) cycles() []spec.Problem {
	var problems []spec.Problem
	budget := searchBudget
	scratch := newSearch(len(g.spec.Requirements))
	for _, component := range g.components() {
		cycle := g.shortestCycle(component, scratch, &budget)
		problems = append(problems, g.cycleProblem(cycle))
	}
	return problems
}

// components is Tarjan's algorithm with its stack on the heap: the strongly connected components of two requirements
// and more, each sorted by position, in the order of the file.
func (g *Graph) components() [][]int32 {
	n := len(g.spec.Requirements)
	number := make([]int32, n) // order of discovery from 1; 0 = not seen
	low := make([]int32, n)
	onStack := make([]bool, n)
	var stack []int32
	type frame struct{ node, next int32 } // next: which dependency is followed next
	var frames []frame
	var found [][]int32
	count := int32(0)
	enter := func(i int32) {
		count++
		number[i], low[i], onStack[i] = count, count, true
		stack = append(stack, i)
		frames = append(frames, frame{node: i})
	}
	for root := range int32(n) {
		if number[root] != 0 {
			continue
		}
		enter(root)
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			i := f.node
			if deps := g.dependencies(i); int(f.next) < len(deps) {
				j := deps[f.next]
				f.next++
				if number[j] == 0 {
					enter(j)
				} else if onStack[j] {
					low[i] = min(low[i], number[j])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].node
				low[parent] = min(low[parent], low[i])
			}
			if low[i] != number[i] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != i {
				at--
			}
			if members := stack[at:]; len(members) > 1 {
				members = slices.Clone(members)
				slices.Sort(members)
				found = append(found, members)
			}
			for _, j := range stack[at:] {
				onStack[j] = false
			}
			stack = stack[:at]
		}
	}
	slices.SortFunc(found, func(a, b []int32) int { return int(a[0]) - int(b[0]) })
	return found
}

// search is what the breadth-first searches of one graph share, so that each costs only what it visits.
type search struct {
	component []int32 // 1-based component of a position, 0 = not in the one at hand
	from      []int32 // the predecessor
	depth     []int32 // 0 = not visited
	queue     []int32
}

func newSearch(n int) *search {
	return &search{component: make([]int32, n), from: make([]int32, n), depth: make([]int32, n)}
}

// shortestCycle finds a shortest cycle in a strongly connected component, beginning with its first requirement in
// the order of the file.
func (g *Graph) shortestCycle(members []int32, s *search, budget *int) []int32 {
	mark := members[0] + 1
	for _, i := range members {
		s.component[i] = mark
	}
	// Every cycle passes through a branching requirement, unless the component is nothing but one cycle.
	var starts []int32
	for _, i := range members {
		inside := 0
		for _, j := range g.dependencies(i) {
			if s.component[j] == mark {
				inside++
			}
		}
		if inside > 1 {
			starts = append(starts, i)
		}
	}
	if len(starts) == 0 {
		starts = members[:1]
	}
	var best []int32
	for _, start := range starts {
		if best != nil && (len(best) == 2 || *budget <= 0) {
			break
		}
		if cycle := g.cycleThrough(start, mark, len(best), s, budget); cycle != nil {
			best = cycle
		}
	}
	first := slices.Index(best, slices.Min(best))
	return append(best[first:len(best):len(best)], best[:first]...)
}

// cycleThrough finds a shortest cycle through start that is shorter than limit (0 = no limit), or nil.
func (g *Graph) cycleThrough(start, mark int32, limit int, s *search, budget *int) []int32 {
	s.queue = append(s.queue[:0], start)
	s.depth[start] = 1
	defer func() {
		for _, i := range s.queue {
			s.depth[i] = 0
		}
	}()
	for head := 0; head < len(s.queue); head++ {
		i := s.queue[head]
		if limit > 0 && int(s.depth[i]) >= limit {
			return nil
		}
		for _, j := range g.dependencies(i) {
			*budget--
			if s.component[j] != mark {
				continue
			}
			if j == start {
				cycle := []int32{i}
				for i != start {
					i = s.from[i]
					cycle = append(cycle, i)
				}
				slices.Reverse(cycle)
				return cycle
			}
			if s.depth[j] == 0 {
				s.depth[j] = s.depth[i] + 1
				s.from[j] = i
				s.queue = append(s.queue, j)
			}
		}
	}
	return nil
}

// cycleProblem words a cycle: the chain, and the lines of the depends_on entries that close it.
func (g *Graph) cycleProblem(cycle []int32) spec.Problem {
	ids := make([]string, 0, len(cycle)+1)
	lines := make([]string, 0, len(cycle))
	first := spec.Place{}
	for k, i := range cycle {
		r := g.spec.Requirements[i]
		ids = append(ids, r.ID)
		place := spec.Place{Line: r.Line}
		if d := slices.Index(r.DependsOn, g.id(cycle[(k+1)%len(cycle)])); d < len(r.DependsOnAt) {
			place = r.DependsOnAt[d]
		}
		if k == 0 {
			first = place
		}
		lines = append(lines, fmt.Sprint(place.Line))
	}
	ids = append(ids, ids[0])
	return spec.Problem{
		File: g.spec.Name, Line: first.Line, Col: first.Col,
		Message: fmt.Sprintf("dependencies form a cycle: %s (depends_on at lines %s)",
			strings.Join(shorten(ids), " → "), strings.Join(shorten(lines), ", ")),
		Hint: "remove one of these dependencies",
	}
}

// shorten leaves out the middle of a long chain.
func shorten(words []string) []string {
	if len(words) <= 2*shownInChain+1 {
		return words
	}
	left := append(slices.Clone(words[:shownInChain]), fmt.Sprintf("(%d more)", len(words)-2*shownInChain))
	return append(left, words[len(words)-shownInChain:]...)
}
