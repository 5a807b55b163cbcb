package order

import (
	"slices"

	"ralph-loop/internal/spec"
)

// State is where one requirement stands, as the checkpoint has it.
type State struct {
	Status    spec.Status
	Phase     string   // the finer state of the checkpoint's table, such as "retry"; "" where there is none
	Commit    string   // of a requirement that is done
	BlockedBy []string // what blocks it, nearest first, where an upstream requirement does; else empty
	Reason    string   // why it is blocked, in a few words; "" where it is the specification's own word
	Attempts  int      // charged so far
}

// States holds the states by id. An id that is missing is pending.
type States map[string]State

// FromFile is the states that the specification's own statuses make.
func FromFile(s *spec.Spec) States {
	states := make(States, len(s.Requirements))
	for _, r := range s.Requirements {
		states[r.ID] = State{Status: r.Status}
	}
	return states
}

// status is the status of the requirement at position i on its own account: one that is blocked only by another
// is pending here, so that it is free again the moment that the other is.
func (g *Graph) status(i int32, states States) spec.Status {
	s := states[g.id(i)]
	if s.Status == "" || s.Status == spec.Blocked && len(s.BlockedBy) > 0 {
		return spec.Pending
	}
	return s.Status
}

// statuses is the status of every position: one look-up each, where a whole list is asked for.
func (g *Graph) statuses(states States) []spec.Status {
	list := make([]spec.Status, len(g.order))
	for i := range list {
		list[i] = g.status(int32(i), states)
	}
	return list
}

// Ready is the ids that can be worked on now: pending or in work, each dependency done or skipped. Those in work
// come first, then the topology order: the first is what comes next.
func (g *Graph) Ready(states States) []string {
	var inWork, pending []int32
	statuses := g.statuses(states)
	for _, i := range g.order {
		switch {
		case !g.met(i, statuses):
		case statuses[i] == spec.InProgress:
			inWork = append(inWork, i)
		case statuses[i] == spec.Pending:
			pending = append(pending, i)
		}
	}
	return g.named(append(inWork, pending...))
}

func (g *Graph) ready(i int32, states States) bool {
	status := g.status(i, states)
	return (status == spec.Pending || status == spec.InProgress) && len(g.unmet(i, states)) == 0
}

// unmet is the dependencies of i that are neither done nor skipped.
func (g *Graph) unmet(i int32, states States) []int32 {
	var open []int32
	for _, j := range g.dependencies(i) {
		if !g.status(j, states).Finished() {
			open = append(open, j)
		}
	}
	return open
}

// BlockedBy is what blocks a requirement from upstream: the shortest chain of unfinished dependencies to one that is
// blocked by itself, nearest first, that one last. It is empty where nothing upstream is blocked.
func (g *Graph) BlockedBy(id string, states States) []string {
	start, known := g.index[id]
	if !known || g.status(start, states).Finished() {
		return nil
	}
	from := map[int32]int32{start: start}
	queue := []int32{start}
	for head := 0; head < len(queue); head++ {
		i := queue[head]
		if i != start && g.status(i, states) == spec.Blocked {
			var chain []string
			for ; i != start; i = from[i] {
				chain = append(chain, g.id(i))
			}
			slices.Reverse(chain)
			return chain
		}
		for _, j := range g.unmet(i, states) {
			if _, seen := from[j]; !seen {
				from[j] = i
				queue = append(queue, j)
			}
		}
	}
	return nil
}

// held is, for each unfinished requirement with a blocked one upstream, its nearest dependency on the way there, -1 for
// the others. It is BlockedBy for all at once, in one pass.
func (g *Graph) held(statuses []spec.Status) []int32 {
	held := make([]int32, len(statuses))
	for i := range held {
		held[i] = -1
	}
	for _, i := range g.order {
		if statuses[i].Finished() {
			continue
		}
		for _, j := range g.dependencies(i) {
			if !statuses[j].Finished() && (statuses[j] == spec.Blocked || held[j] >= 0) {
				held[i] = j
				break
			}
		}
	}
	return held
}

// met reports that each dependency is done or skipped.
func (g *Graph) met(i int32, statuses []spec.Status) bool {
	for _, j := range g.dependencies(i) {
		if !statuses[j].Finished() {
			return false
		}
	}
	return true
}

// Held are the unfinished requirements with a blocked one upstream: BlockedBy is not empty for them alone. It looks at
// each dependency once, however many requirements there are.
func (g *Graph) Held(states States) map[string]bool {
	ids := map[string]bool{}
	for i, by := range g.held(g.statuses(states)) {
		if by >= 0 {
			ids[g.id(int32(i))] = true
		}
	}
	return ids
}
