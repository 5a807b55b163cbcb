package order

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph-loop/internal/spec"
)

// plan makes a specification from lines "ID: DEP DEP".
func plan(lines ...string) *spec.Spec {
	s := &spec.Spec{Name: "spec.yaml"}
	for i, line := range lines {
		id, deps, _ := strings.Cut(line, ":")
		r := &spec.Requirement{ID: id, Status: spec.Pending, Line: i + 1}
		for _, dep := range strings.Fields(deps) {
			r.DependsOn = append(r.DependsOn, dep)
			r.DependsOnAt = append(r.DependsOnAt, spec.Place{Line: i + 1, Col: strings.Index(line, " "+dep) + 2})
		}
		s.Requirements = append(s.Requirements, r)
	}
	return s
}

// newGraph orders a specification that no file stands behind.
func newGraph(s *spec.Spec) (*Graph, error) {
	g, problems := build(s)
	return g, spec.Invalid(problems)
}

// layerOf is the 1-based layer of a requirement.
func layerOf(g *Graph, id string) int { return int(g.layer[g.index[id]]) + 1 }

func graph(t testing.TB, lines ...string) *Graph {
	t.Helper()
	g, err := newGraph(plan(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestLayers(t *testing.T) {
	g := graph(t, "D: B C", "C: A", "B: A", "A", "Z")
	want := [][]string{{"A", "Z"}, {"C", "B"}, {"D"}}
	if got := g.Layers(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("layers %q, want %q", got, want)
	}
	if got, want := g.Order(), []string{"A", "Z", "C", "B", "D"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
	if got, want := g.Dependents("A"), []string{"C", "B"}; !slices.Equal(got, want) {
		t.Errorf("dependents of A: %q, want %q", got, want)
	}
	if g.Dependents("none") != nil {
		t.Error("an unknown id has dependents")
	}
}

func TestPriorityDecidesWithinALayer(t *testing.T) {
	s := plan("none", "two", "one", "minus", "alsoone", "late: none")
	for id, priority := range map[string]int{"two": 2, "one": 1, "minus": -3, "alsoone": 1, "late": -100} {
		for _, r := range s.Requirements {
			if r.ID == id {
				r.Priority, r.HasPriority = priority, true
			}
		}
	}
	g, err := newGraph(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := g.Order(), []string{"minus", "one", "alsoone", "two", "none", "late"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestEveryProblemIsNamed(t *testing.T) {
	_, err := newGraph(plan("A: A ghost", "B: C", "C: B D", "D: E", "E: D", "F: F"))
	var invalid *spec.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v", err)
	}
	want := `spec.yaml:1:4: "A" depends on itself
spec.yaml:1:6: "A" depends on "ghost", which does not exist
spec.yaml:2:4: dependencies form a cycle: B → C → B (depends_on at lines 2, 3)
spec.yaml:4:4: dependencies form a cycle: D → E → D (depends_on at lines 4, 5)
spec.yaml:6:4: "F" depends on itself`
	if got := invalid.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheShortestCycleOfAComponent(t *testing.T) {
	cases := map[string][]string{
		"A → B → A": {"A: B", "B: C A", "C: D", "D: A"},
		"B → C → B": {"A: B", "B: C D", "C: B", "D: A"},
		"X → Y → Z": {"P: X", "X: Y", "Y: Z", "Z: X"},
		"C → D → E": {"A: B", "B: C", "C: D", "D: E", "E: A C"},
	}
	for want, lines := range cases {
		_, err := newGraph(plan(lines...))
		if err == nil || !strings.Contains(err.Error(), "cycle: "+want) {
			t.Errorf("%q: got %v, want the chain %s", lines, err, want)
		}
	}
}

func TestALongCycleIsShortened(t *testing.T) {
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf("R%d: R%d", i, (i+1)%len(lines))
	}
	_, err := newGraph(plan(lines...))
	if err == nil || !strings.Contains(err.Error(), "R9 → (981 more) → R991") || len(err.Error()) > 500 {
		t.Errorf("got %v", err)
	}
}

// Case O7, at ten times the size: nothing recurses, in order or in a cycle.
func TestAChainOfAMillion(t *testing.T) {
	const n = 1_000_000
	s := &spec.Spec{Requirements: make([]*spec.Requirement, n)}
	for i := range s.Requirements {
		s.Requirements[i] = &spec.Requirement{ID: strconv.Itoa(i)}
		if i > 0 {
			s.Requirements[i].DependsOn = []string{strconv.Itoa(i - 1)}
		}
	}
	g, err := newGraph(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := layerOf(g, strconv.Itoa(n-1)); got != n {
		t.Errorf("the last one is in layer %d", got)
	}
	if why := g.Why(strconv.Itoa(n-1), nil); !strings.Contains(why, "← 0, which is next") {
		t.Errorf("why the last one: %s", why)
	}
	states := States{"0": {Status: spec.Blocked, Reason: "no"}}
	if held := g.held(g.statuses(states)); held[0] != -1 || held[n-1] != n-2 {
		t.Errorf("the first is held by %d, the last by %d", held[0], held[n-1])
	}
	s.Requirements[0].DependsOn = []string{strconv.Itoa(n - 1)}
	if _, err := newGraph(s); err == nil || !strings.Contains(err.Error(), "0 → 999999 → 999998") {
		t.Errorf("the cycle: %v", err)
	}
}

// dense draws a specification with edges in any direction; cycles are likely.
func drawPlan(t *rapid.T, acyclic bool) *spec.Spec {
	n := rapid.IntRange(1, 30).Draw(t, "requirements")
	s := &spec.Spec{Name: "spec.yaml"}
	for i := range n {
		r := &spec.Requirement{ID: fmt.Sprintf("R%d", i), Status: spec.Pending, Line: i + 1}
		if r.HasPriority = rapid.Bool().Draw(t, "has priority"); r.HasPriority {
			r.Priority = rapid.IntRange(-1, 3).Draw(t, "priority")
		}
		s.Requirements = append(s.Requirements, r)
	}
	rank := rapid.Permutation(s.Requirements).Draw(t, "rank")
	for k, r := range rank {
		for range rapid.IntRange(0, 3).Draw(t, "dependencies") {
			j := rapid.IntRange(0, n-1).Draw(t, "dependency")
			if rank[j] == r || acyclic && j > k || slices.Contains(r.DependsOn, rank[j].ID) {
				continue
			}
			r.DependsOn = append(r.DependsOn, rank[j].ID)
			r.DependsOnAt = append(r.DependsOnAt, spec.Place{Line: r.Line, Col: 1})
		}
	}
	return s
}

// The order is a permutation that respects every edge, equals the layered definition, and does not depend on status.
func TestOrderProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawPlan(t, true)
		g, err := newGraph(s)
		if err != nil {
			t.Fatal(err)
		}
		order := g.Order()
		at := make(map[string]int)
		for k, id := range order {
			at[id] = k
		}
		if len(order) != len(s.Requirements) || len(at) != len(order) {
			t.Fatalf("%q is no permutation", order)
		}
		for _, r := range s.Requirements {
			layer := 1
			for _, dep := range r.DependsOn {
				if at[dep] >= at[r.ID] {
					t.Fatalf("%s comes before its dependency %s", r.ID, dep)
				}
				layer = max(layer, layerOf(g, dep)+1)
			}
			if layerOf(g, r.ID) != layer {
				t.Fatalf("%s is in layer %d, want %d", r.ID, layerOf(g, r.ID), layer)
			}
		}
		want := slices.Clone(s.Requirements)
		slices.SortStableFunc(want, func(a, b *spec.Requirement) int {
			if d := layerOf(g, a.ID) - layerOf(g, b.ID); d != 0 {
				return d
			}
			if a.HasPriority != b.HasPriority {
				if a.HasPriority {
					return -1
				}
				return 1
			}
			return a.Priority - b.Priority
		})
		for k, r := range want {
			if order[k] != r.ID {
				t.Fatalf("place %d holds %s, want %s", k, order[k], r.ID)
			}
		}
		if flat := slices.Concat(g.Layers()...); !slices.Equal(flat, order) {
			t.Fatalf("the layers one after the other are %q, the order is %q", flat, order)
		}
		for _, r := range s.Requirements {
			r.Status = rapid.SampledFrom([]spec.Status{spec.Pending, spec.Done, spec.Blocked, spec.Skipped, spec.InProgress}).Draw(t, "status")
		}
		again, err := newGraph(s)
		if err != nil || !slices.Equal(again.Order(), order) {
			t.Fatalf("the order changed with the statuses (%v)", err)
		}
	})
}

// A run that always does what is next comes to an end, in an order that respects every edge, and what is not next is
// explained.
func TestNextLeadsToTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := newGraph(drawPlan(t, true))
		if err != nil {
			t.Fatal(err)
		}
		states := States{}
		blocked := false
		for range len(g.spec.Requirements) + 1 {
			for _, r := range g.spec.Requirements {
				if why := g.Why(r.ID, states); !strings.HasPrefix(why, r.ID+" ") || strings.Contains(why, "%!") {
					t.Fatalf("why %s: %q", r.ID, why)
				}
			}
			ready := g.Ready(states)
			outlook, _ := g.Outlook(states)
			if (len(ready) > 0) != (outlook == SomeReady) {
				t.Fatalf("%q are ready and the outlook is %s", ready, outlook)
			}
			if len(ready) == 0 {
				if blocked != (outlook == Stuck) {
					t.Fatalf("the outlook is %s, blocked %v", outlook, blocked)
				}
				held := g.held(g.statuses(states))
				for i, r := range g.spec.Requirements {
					chain := g.BlockedBy(r.ID, states)
					if named := g.Held(states)[r.ID]; named != (len(chain) > 0) {
						t.Fatalf("%s: held %v, blocked by %v", r.ID, named, chain)
					}
					if (held[i] >= 0) != (len(chain) > 0) {
						t.Fatalf("%s: held by %d, chain %q", r.ID, held[i], chain)
					}
				}
				return
			}
			status := rapid.SampledFrom([]spec.Status{spec.Done, spec.Done, spec.Skipped, spec.Blocked}).Draw(t, "status")
			blocked = blocked || status == spec.Blocked
			states[ready[0]] = State{Status: status}
		}
		t.Fatal("there is no end")
	})
}

// tsort agrees about what is a cycle, and accepts our order as a topological one.
func TestAgreesWithTsort(t *testing.T) {
	tsort, err := exec.LookPath("tsort")
	if err != nil {
		t.Fatal("tsort is part of POSIX and must be installed for this test")
	}
	sortEdges := func(input string) error {
		cmd := exec.Command(tsort)
		cmd.Stdin = strings.NewReader(input)
		return cmd.Run()
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawPlan(t, rapid.Bool().Draw(t, "acyclic"))
		var edges strings.Builder
		for _, r := range s.Requirements {
			fmt.Fprintf(&edges, "%s %s\n", r.ID, r.ID)
			for _, dep := range r.DependsOn {
				fmt.Fprintf(&edges, "%s %s\n", dep, r.ID)
			}
		}
		g, err := newGraph(s)
		if theirs := sortEdges(edges.String()); (theirs == nil) != (err == nil) {
			t.Fatalf("tsort says %v, we say %v", theirs, err)
		}
		if err != nil {
			checkCycles(t, s, err)
			return
		}
		order := g.Order()
		for k := 1; k < len(order); k++ {
			fmt.Fprintf(&edges, "%s %s\n", order[k-1], order[k])
		}
		if err := sortEdges(edges.String()); err != nil {
			t.Fatalf("tsort finds that our order contradicts an edge: %v", err)
		}
	})
}

// checkCycles holds every reported chain against the edges, and its length against all shorter ones.
func checkCycles(t *rapid.T, s *spec.Spec, err error) {
	deps := make(map[string][]string)
	for _, r := range s.Requirements {
		deps[r.ID] = r.DependsOn
	}
	var invalid *spec.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v", err)
	}
	for _, p := range invalid.Problems {
		_, rest, _ := strings.Cut(p.Message, "cycle: ")
		text, _, _ := strings.Cut(rest, " (")
		chain := strings.Split(text, " → ")
		if len(chain) > 2*shownInChain {
			continue
		}
		if chain[0] != chain[len(chain)-1] {
			t.Fatalf("%q is not closed", chain)
		}
		for k := range chain[1:] {
			if !slices.Contains(deps[chain[k]], chain[k+1]) {
				t.Fatalf("%s does not depend on %s", chain[k], chain[k+1])
			}
		}
		for _, id := range chain {
			if n := shortestBack(deps, id); n < len(chain)-1 {
				t.Fatalf("%q is not the shortest: there is one of %d through %s", chain, n, id)
			}
		}
	}
}

// shortestBack is the length of a shortest way from id back to itself.
func shortestBack(deps map[string][]string, id string) int {
	reached := map[string]bool{}
	for n, level := 1, []string{id}; len(level) > 0; n++ {
		var following []string
		for _, at := range level {
			for _, dep := range deps[at] {
				if dep == id {
					return n
				}
				if !reached[dep] {
					reached[dep] = true
					following = append(following, dep)
				}
			}
		}
		level = following
	}
	return 0
}
