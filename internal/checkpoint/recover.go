package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/workspace"
)

// recoverFromTrailers makes the state anew from the commits of the specification's requirements whose trailers hold.
// accept names requirements whose claims are believed although tree or text do not match any more.
func (c *Checkpoint) recoverFromTrailers(ctx context.Context, accept []string) (*Progress, []string, error) {
	head, err := c.repo.Head(ctx)
	if err != nil {
		return nil, nil, err
	}
	branch, err := c.repo.Branch(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := &Progress{Run: newRunID(c.now()), BaseCommit: head, Baseline: head, Branch: branch, MaxIterations: c.cfg.MaxIterations, Specification: c.specRel, Order: c.graph.Order()}
	claims, err := c.claims(ctx, head)
	if err != nil {
		return nil, nil, err
	}
	var doubtful []string
	for _, id := range p.Order {
		r := c.fresh(id)
		if cl, ok := claims[oneLine(id)]; ok {
			switch {
			case cl.doubt == "" && cl.hash == r.SpecHash, slices.Contains(accept, id):
				r.Status, r.Commit, r.Gate = Done, cl.commit, cl.gate
				r.Reason = "recovered from its commit"
			case cl.doubt == "":
				doubtful = append(doubtful, fmt.Sprintf("%s: its text changed since commit %.12s", id, cl.commit))
			default:
				doubtful = append(doubtful, fmt.Sprintf("%s: %s", id, cl.doubt))
			}
		}
		p.Requirements = append(p.Requirements, r)
	}
	return p, doubtful, nil
}

// refuseUnrecorded refuses to begin without a state where commits of this branch prove requirements done, as in a fresh
// clone: an agent would be paid for finding nothing to do.
func (c *Checkpoint) refuseUnrecorded(ctx context.Context) error {
	proved, doubtful, err := c.unrecorded(ctx)
	if err != nil {
		return err
	}
	if proved > 0 {
		return exit.Refuse("'ralph-checkpoint recover' takes them as done; what is to be done anew is taken back first, by 'git revert'",
			"%s", unrecordedWords(proved, len(c.graph.Order())))
	}
	if doubtful > 0 {
		c.say("warning: this branch has commits of %d of these requirements that prove nothing any more, rebased or squashed: they are begun anew; 'ralph-checkpoint recover' lists them", doubtful)
	}
	return nil
}

func unrecordedWords(proved, total int) string {
	return fmt.Sprintf("there is no run here, and the commits of this branch prove %d of %d requirements done", proved, total)
}

// unrecorded is how many requirements the commits of this branch prove done, and of how many more they claim it of the same
// text and do not prove it. What was reverted is not claimed.
func (c *Checkpoint) unrecorded(ctx context.Context) (proved, doubtful int, err error) {
	head, err := c.repo.Head(ctx)
	if err != nil || head == "" {
		return 0, 0, err
	}
	claims, err := c.claims(ctx, head)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range c.graph.Order() {
		cl, ok := claims[oneLine(id)]
		switch {
		case !ok || cl.reverted || c.fresh(id).Status != Pending || cl.hash != c.graph.Spec().Lookup(id).Hash():
		case cl.doubt == "":
			proved++
		default:
			doubtful++
		}
	}
	return proved, doubtful, nil
}

// NoRun is the answer where there is no run, with what the commits say of an earlier one.
func (c *Checkpoint) NoRun(ctx context.Context) error {
	if proved, _, err := c.unrecorded(ctx); err == nil && proved > 0 {
		return exit.Refuse("'ralph-checkpoint recover' takes them as done", "%s", unrecordedWords(proved, len(c.graph.Order())))
	}
	return errNoRun()
}

type claim struct {
	commit, hash, gate, doubt string
	reverted                  bool
}

// claims are what the trailers of head's history say, the newest of an id first; a revert of it casts doubt.
func (c *Checkpoint) claims(ctx context.Context, head string) (map[string]claim, error) {
	out, err := c.repo.Output(ctx, "log", "-z", "--format=%H%x01%T%x01%B", "--fixed-strings", "--grep="+TrailerReq+": ", "--grep=This reverts commit ", head, "--")
	if err != nil {
		return nil, err
	}
	claims, reverted := map[string]claim{}, map[string]bool{}
	for _, record := range git.Records(out) {
		f := strings.SplitN(record, "\x01", 3)
		if len(f) != 3 {
			continue
		}
		for _, word := range strings.Fields(between(f[2], "This reverts commit ", "\n")) {
			reverted[strings.TrimSuffix(word, ".")] = true
		}
		for id, hash := range squashed(f[2]) {
			if _, known := claims[id]; !known {
				claims[id] = claim{commit: f[0], hash: hash, doubt: fmt.Sprintf("its commit was squashed into %.12s with others", f[0])}
			}
		}
		t := trailersOf(f[2])
		id := t[TrailerReq]
		if _, known := claims[id]; id == "" || known {
			continue
		}
		cl := claim{commit: f[0], hash: t[TrailerHash], gate: t[TrailerGate]}
		switch {
		case reverted[f[0]]:
			cl.reverted, cl.doubt = true, fmt.Sprintf("its commit %.12s was reverted", f[0])
		case t[TrailerTree] != f[1]:
			cl.doubt = fmt.Sprintf("commit %.12s has another tree than its trailer says: it was rebased, squashed or forged", f[0])
		}
		claims[id] = cl
	}
	return claims, nil
}

// squashed are the ids, with the hashes of their texts, whose trailers stand in a message, and not as its trailers: a
// squash writes the messages of the commits that it joins one below the other.
func squashed(body string) map[string]string {
	body = strings.TrimRight(body, "\n")
	hashes, id := map[string]string{}, ""
	for line := range strings.Lines(body[:max(0, strings.LastIndex(body, "\n\n"))]) {
		line = strings.TrimSpace(line)
		if next, ok := strings.CutPrefix(line, TrailerReq+": "); ok {
			id, hashes[next] = next, ""
		} else if hash, ok := strings.CutPrefix(line, TrailerHash+": "); ok && id != "" {
			hashes[id] = hash
		}
	}
	return hashes
}

func between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, to)
	return rest
}

// trailersOf reads the last paragraph of a commit message.
func trailersOf(body string) map[string]string {
	body = strings.TrimRight(body, "\n")
	if i := strings.LastIndex(body, "\n\n"); i >= 0 {
		body = body[i+2:]
	}
	t := map[string]string{}
	for line := range strings.Lines(body) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(key, "Ralph-") {
			t[key] = value
		}
	}
	return t
}

// Recover makes the state usable again. A whole file or copy is taken as it is; else what the history proves. It gives
// a line about what was recovered, and the claims that it does not believe.
func (c *Checkpoint) Recover(ctx context.Context, accept []string) (source string, doubtful []string, err error) {
	for _, id := range accept {
		if _, err := c.Requirement(id); err != nil {
			return "", nil, fmt.Errorf("--accept: %w", err)
		}
	}
	unlock, err := c.store.lock(ctx)
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	file, fileData, fileErr := read(c.store.path())
	copied, copyData, copyErr := read(c.store.copy())
	var p *Progress
	byClaims := false
	switch {
	case fileErr == nil && file != nil && (copied == nil || file.Serial >= copied.Serial) && len(accept) == 0:
		p, source = file, "the state is whole: there is nothing to recover"
	case copyErr == nil && copied != nil && len(accept) == 0:
		p, source = copied, "recovered from the copy in the git directory"
	default:
		if p, doubtful, err = c.recoverFromTrailers(ctx, accept); err != nil {
			return "", nil, err
		}
		byClaims = true
		n := p.Counts()
		source = fmt.Sprintf("recovered from the commits of this branch: they prove %d of %d done", n.Done, n.Total)
		if copied != nil {
			p.Learnings = copied.Learnings
		}
		c.rebuildLearnings(&p.Learnings)
	}
	// What is damaged is kept, for the curious.
	for _, f := range []struct {
		name string
		data []byte
		err  error
	}{{workspace.StateFile, fileData, fileErr}, {"copy-of-" + workspace.StateFile, copyData, copyErr}} {
		if f.err == nil || len(f.data) == 0 {
			continue
		}
		ref, err := c.keepDamaged(ctx, p, f.name, f.data)
		if err != nil {
			return "", nil, err
		}
		c.say("the damaged %s is kept under %s", f.name, ref)
	}
	if copied != nil && p.Serial < copied.Serial {
		p.Serial = copied.Serial
	}
	if err := p.move(RunRecover); err != nil {
		return "", nil, err
	}
	c.p = p
	if byClaims {
		if err := c.gateRecovered(ctx, p); err != nil {
			return "", nil, err
		}
	}
	if err := c.rebuildBlocks(p); err != nil {
		return "", nil, err
	}
	if err := c.store.write(p); err != nil {
		return "", nil, err
	}
	return source, doubtful, c.checkBaseline()
}

func (c *Checkpoint) keepDamaged(ctx context.Context, p *Progress, name string, data []byte) (ref string, err error) {
	c.p = p // the ref is named after its run
	return c.workspace().KeepFile(ctx, "damaged", "progress", name, data, "a damaged state")
}

// gateRecovered believes no claim on a tree that fails.
func (c *Checkpoint) gateRecovered(ctx context.Context, p *Progress) error {
	if p.Counts().Done == 0 {
		return nil
	}
	tree, err := c.repo.Tree(ctx, p.Baseline)
	if err != nil {
		return err
	}
	v, err := c.judge(ctx, p.Baseline, tree, nil, "", []string{"L1", "L2", "L3"})
	if err != nil {
		return fmt.Errorf("gate HEAD: %w", err)
	}
	if !v.Passed() {
		return exit.Refuse("mend HEAD first", "HEAD does not pass the gate, so no claim of its history is believed:\n%s", v.Digest())
	}
	return nil
}
