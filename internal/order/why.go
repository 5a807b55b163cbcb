package order

import (
	"fmt"
	"strings"

	"ralph-loop/internal/spec"
)

// Outlook is where the whole stands when the question is what comes next.
type Outlook string

// The outlooks.
const (
	SomeReady Outlook = "ready"    // something can be worked on
	Complete  Outlook = "complete" // each requirement is done or skipped
	Stuck     Outlook = "blocked"  // nothing is ready: all that is left is blocked, or waits behind what is
)

// shownNames is the number of ids that a sentence names before it counts the others.
const shownNames = 5

// Outlook is where the whole stands, and why, in one sentence.
func (g *Graph) Outlook(states States) (Outlook, string) {
	var blocked, waiting []string
	done, skipped := 0, 0
	for _, i := range g.order {
		switch status := g.status(i, states); {
		case g.ready(i, states):
			return SomeReady, g.id(i) + " is ready"
		case status == spec.Done:
			done++
		case status == spec.Skipped:
			skipped++
		case status == spec.Blocked:
			blocked = append(blocked, g.blockedBecause(i, states))
		default:
			waiting = append(waiting, g.id(i))
		}
	}
	switch {
	case len(blocked) > 0 && len(waiting) > 0:
		return Stuck, fmt.Sprintf("blocked: %s; waiting behind: %s", names(blocked), names(waiting))
	case len(blocked) > 0:
		return Stuck, "blocked: " + names(blocked)
	}
	return Complete, fmt.Sprintf("complete: %s", tally(done, skipped))
}

func tally(done, skipped int) string {
	if skipped == 0 {
		return fmt.Sprintf("%d of %d done", done, done)
	}
	return fmt.Sprintf("%d of %d done, %d skipped", done, done+skipped, skipped)
}

// Why answers, in sentences of one line each, why a requirement is where it is. It is "" for an unknown id.
func (g *Graph) Why(id string, states States) string {
	i, known := g.index[id]
	if !known {
		return ""
	}
	state := states[id]
	var say []string
	add := func(format string, args ...any) { say = append(say, fmt.Sprintf(format, args...)) }
	switch status := g.status(i, states); {
	case status == spec.Done && state.Commit != "":
		add("%s is done, in commit %s.", id, state.Commit)
	case status == spec.Done:
		add("%s is done; so says the specification.", id)
	case status == spec.Skipped:
		add("%s is skipped. What depends on it goes on as if it were done.", id)
	case status == spec.Blocked:
		add("%s is blocked: %s.", id, g.reason(i, states))
		if behind := g.behind(i, states); len(behind) > 0 {
			add("What waits for it: %s.", names(behind))
		}
	default:
		if chain := g.BlockedBy(id, states); len(chain) > 0 {
			last := g.index[chain[len(chain)-1]]
			add("%s is blocked: %s, blocked: %s.", id, arrows(append([]string{id}, chain...)), g.reason(last, states))
			add("It goes on when %s is done or skipped.", g.id(last))
			break
		}
		if g.ready(i, states) {
			g.whyReady(i, states, add)
		} else {
			g.whyWaiting(i, states, add)
		}
	}
	return strings.Join(say, "\n")
}

func (g *Graph) whyReady(i int32, states States, add func(string, ...any)) {
	id := g.id(i)
	ready := g.Ready(states)
	if g.status(i, states) == spec.InProgress {
		add("%s is in work%s.", id, inBrackets(states[id]))
	}
	switch {
	case ready[0] == id:
		add("%s is next: %s, and it comes first of what is ready (%s).", id, g.howMet(i, states), g.rank(i))
	default:
		before := ready
		for k, r := range ready {
			if r == id {
				before = ready[:k]
			}
		}
		add("%s is ready: %s. It comes after %s (%s).", id, g.howMet(i, states), names(before), g.rank(i))
	}
	if dependents := g.Dependents(id); len(dependents) > 0 {
		add("What depends on it: %s.", names(dependents))
	}
}

func (g *Graph) whyWaiting(i int32, states States, add func(string, ...any)) {
	var parts []string
	for _, j := range g.unmet(i, states) {
		switch {
		case g.status(j, states) == spec.InProgress:
			parts = append(parts, g.id(j)+" (in work)")
		case g.ready(j, states):
			parts = append(parts, g.id(j)+" (ready)")
		default:
			parts = append(parts, g.id(j)+" (waiting too)")
		}
	}
	add("%s waits for %s.", g.id(i), names(parts))
	chain := g.chainToReady(i, states)
	if len(chain) < 3 {
		return
	}
	end := chain[len(chain)-1]
	word := "ready"
	if g.Ready(states)[0] == end {
		word = "next"
	}
	add("The longest way: %s, which is %s.", arrows(chain), word)
}

// chainToReady follows, from a requirement that waits, the unmet dependency of the highest layer: what must be worked
// through, last one first.
func (g *Graph) chainToReady(i int32, states States) []string {
	chain := []string{g.id(i)}
	for {
		open := g.unmet(i, states)
		if len(open) == 0 {
			return chain
		}
		i = open[0]
		for _, j := range open[1:] {
			if g.layer[j] > g.layer[i] {
				i = j
			}
		}
		chain = append(chain, g.id(i))
	}
}

// howMet says how the dependencies of a ready requirement were met.
func (g *Graph) howMet(i int32, states States) string {
	deps := g.dependencies(i)
	if len(deps) == 0 {
		return "it depends on nothing"
	}
	parts := make([]string, len(deps))
	for k, j := range deps {
		parts[k] = fmt.Sprintf("%s is %s", g.id(j), g.status(j, states))
	}
	return names(parts)
}

// rank is what decides the order among the ready.
func (g *Graph) rank(i int32) string {
	r := g.spec.Requirements[i]
	priority := "no priority"
	if r.HasPriority {
		priority = fmt.Sprintf("priority %d", r.Priority)
	}
	return fmt.Sprintf("layer %d, %s, line %d", g.layer[i]+1, priority, r.Line)
}

// behind is the unfinished requirements that depend on i, directly or not, in topology order.
func (g *Graph) behind(i int32, states States) []string {
	reached := map[int32]bool{i: true}
	queue := []int32{i}
	for head := 0; head < len(queue); head++ {
		for _, j := range g.dependents(queue[head]) {
			if !reached[j] && !g.status(j, states).Finished() {
				reached[j] = true
				queue = append(queue, j)
			}
		}
	}
	var ids []string
	for _, j := range g.order {
		if j != i && reached[j] {
			ids = append(ids, g.id(j))
		}
	}
	return ids
}

func (g *Graph) reason(i int32, states States) string {
	if reason := states[g.id(i)].Reason; reason != "" {
		return strings.TrimRight(reason, ".") // it ends a sentence here
	}
	return "so says the specification"
}

func (g *Graph) blockedBecause(i int32, states States) string {
	if states[g.id(i)].Reason != "" {
		return fmt.Sprintf("%s (%s)", g.id(i), g.reason(i, states))
	}
	return g.id(i)
}

// inBrackets is what is known of work that goes on.
func inBrackets(s State) string {
	var parts []string
	if s.Phase != "" {
		parts = append(parts, s.Phase)
	}
	switch {
	case s.Attempts == 1:
		parts = append(parts, "1 attempt failed")
	case s.Attempts > 1:
		parts = append(parts, fmt.Sprintf("%d attempts failed", s.Attempts))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// names lists the first of many ids and counts the others.
func names(ids []string) string {
	if len(ids) > shownNames+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:shownNames], ", "), len(ids)-shownNames)
	}
	if len(ids) > 1 {
		return strings.Join(ids[:len(ids)-1], ", ") + " and " + ids[len(ids)-1]
	}
	return strings.Join(ids, "")
}

// arrows writes a chain from what is held up to what holds it up.
func arrows(chain []string) string { return strings.Join(shorten(chain), " ← ") }
