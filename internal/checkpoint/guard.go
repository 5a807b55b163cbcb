package checkpoint

import (
	"bytes"
	"context"
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
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/learn"
)

// guard remembers, before an agent is let loose, what is not the agent's to change: where HEAD and the refs point,
// git's settings and hooks, the toolkit's own state. Afterwards it puts back what differs and keeps what it found.
type guard struct {
	c     *Checkpoint
	refs  map[string]string
	other map[string]bool     // the branches that other worktrees have checked out
	files map[string]keptFile // absolute path → content
}

// maxGuarded is the largest file that can be put back, in bytes; settings, hooks and state are far smaller.
const maxGuarded = 64 << 20

// guarded are the roots of what is guarded: files, or folders with all below them.
func (c *Checkpoint) guarded() []string {
	common, own := c.repo.CommonDir, c.repo.GitDir
	roots := []string{
		filepath.Join(common, "config"), filepath.Join(common, "hooks"), filepath.Join(common, "info"),
		filepath.Join(common, "logs", "refs", "stash"),
		filepath.Join(own, "config.worktree"), filepath.Join(own, "ralph"),
		// What else lies in .sprint-state is not ours.
		c.repo.Sprint(), c.baselinePath(), filepath.Join(filepath.Dir(c.repo.Sprint()), ".gitignore"),
	}
	if own != common {
		roots = append(roots, filepath.Join(own, "info"))
	}
	return roots
}

// unguarded are the files below the roots that change for good reasons while an agent runs. A link is none by its name: a
// lock that is one, or a named pipe, would lead the next program of ours astray, or hold it up.
func (c *Checkpoint) unguarded(path string, kind fs.FileMode) bool {
	if path == c.ReportPath() || path == c.guardPath() {
		return true
	}
	if runs := filepath.Join(c.repo.Sprint(), runsDir); path == runs || below(path, runs) {
		return true
	}
	name := filepath.Base(path)
	return kind.IsRegular() && (strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".log") && name != LogName || atomicfile.IsTemporary(name))
}

func below(path, dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }

func (c *Checkpoint) readGuarded() (map[string]keptFile, error) {
	files := map[string]keptFile{}
	for _, root := range c.guarded() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || c.unguarded(path, d.Type()) {
				return err
			}
			if d.IsDir() {
				if below(path, c.repo.Sprint()) { // one may stand where the loop is about to write a file
					files[path] = keptFile{mode: fs.ModeDir, unread: true}
				}
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if info.Size() > maxGuarded || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
				files[path] = keptFile{mode: info.Mode(), unread: true}
				return nil
			}
			f, err := readFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			files[path] = f
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", root, err)
		}
	}
	return files, nil
}

// newGuard remembers.
func (c *Checkpoint) newGuard(ctx context.Context) (*guard, error) {
	g := &guard{c: c}
	refs, err := c.repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	g.refs, g.other = refs.Hash, refs.Elsewhere
	g.files, err = c.readGuarded()
	return g, err
}

// putInOrder restores what differs; every difference gives a note, and what was found in its place is kept under a
// ref, since it may be the user's own edit. Files come before refs: git must not be called with an agent's settings.
func (g *guard) putInOrder(ctx context.Context, attempt int) (notes []string, err error) {
	c := g.c
	if err := c.dropLinks(); err != nil {
		return nil, err
	}
	notes = append(notes, c.dropLocks(c.guardPath())...)
	found := map[string]keptFile{}
	now, err := c.readGuarded()
	if err != nil {
		return nil, err
	}
	legitimate := g.legitimate(now)
	for path, f := range now {
		was, known := g.files[path]
		switch {
		case known && was.unread && was.mode.IsDir() == f.mode.IsDir():
			continue
		case known && !was.unread && !f.unread && was.same(f):
			continue
		case legitimate[path]:
			continue
		case known && !was.unread:
			err = was.put(path)
		default:
			err = os.RemoveAll(path) // with its folder it may be gone already
			failpoint.Step("remove a file that was not there")
		}
		if err != nil {
			return nil, fmt.Errorf("put back %s: %w", path, err)
		}
		// An agent that runs the gate by itself fills its cache. The answers are not believed, and it did no wrong.
		if below(path, filepath.Join(c.repo.GitDir, "ralph", "cache")) {
			continue
		}
		if !f.unread {
			found[g.treeName(path)] = f
		}
		if !known {
			notes = append(notes, fmt.Sprintf("%s was created and is taken away", c.nameOf(path)))
		} else {
			notes = append(notes, fmt.Sprintf("%s was changed and is put back", c.nameOf(path)))
		}
	}
	for path, was := range g.files {
		if _, ok := now[path]; ok || was.mode.IsDir() {
			continue
		}
		if err := was.put(path); err != nil {
			return nil, fmt.Errorf("put back %s: %w", path, err)
		}
		notes = append(notes, fmt.Sprintf("%s was deleted and is put back", c.nameOf(path)))
	}
	notes = append(notes, g.endOperations()...)
	refNotes, err := g.restoreRefs(ctx, attempt)
	if err != nil {
		return nil, err
	}
	notes = append(notes, refNotes...)

	theirs, untrackedNotes, err := c.restoreUntracked(ctx)
	if err != nil {
		return nil, err
	}
	ours, protectedNotes, err := c.restoreProtected(ctx)
	if err != nil {
		return nil, err
	}
	notes = append(append(notes, untrackedNotes...), protectedNotes...)
	for _, more := range []map[string]keptFile{theirs, ours} {
		for path, f := range more {
			found["worktree/"+path] = f
		}
	}
	if len(found) > 0 {
		tree, err := c.treeOf(ctx, found)
		if err != nil {
			return nil, err
		}
		ref, err := c.keepTree(ctx, "found", fmt.Sprintf("%s-%d", c.p.Req.Current, attempt), tree, "", "what an attempt had put in the place of protected files")
		if err != nil {
			return nil, err
		}
		notes = append(notes, "what was found there is kept under "+ref)
	}
	slices.Sort(notes)
	return notes, nil
}

// mostWrites is more than a state is written while an agent runs.
const mostWrites = 1 << 20

// legitimate are the state files that differ by what our own programs wrote meanwhile: a person may add a learning while
// an agent runs, which on.learned is then told, and nothing else may be another than it was.
func (g *guard) legitimate(now map[string]keptFile) map[string]bool {
	history := filepath.Join(g.c.repo.Sprint(), learn.HistoryFile)
	logs := []string{g.c.store.path(), g.c.store.copy()}
	if !slices.ContainsFunc(append(logs, history), func(path string) bool { return !g.files[path].same(now[path]) }) {
		return nil // the usual case: nothing has to be read
	}
	ok := map[string]bool{}
	for _, path := range logs {
		ok[path] = g.onlyLearned(g.files[path], now[path], g.files[history].data, now[history].data)
		ok[history] = (ok[history] || ok[path]) && !now[history].unread // which learnings left the window a log shows
	}
	return ok
}

// onlyLearned reports whether a state became another by learnings that a person added.
func (g *guard) onlyLearned(was, now keptFile, past, present []byte) bool {
	before, err1 := decode(was.data)
	after, err2 := decode(now.data)
	if err1 != nil || err2 != nil {
		return false
	}
	if grown := after.Serial - before.Serial; grown < 0 || grown > mostWrites {
		return false
	}
	if !learn.OnlyAdded(learn.Memory{Windows: &before.Learnings, History: past}, learn.Memory{Windows: &after.Learnings, History: present}) {
		return false
	}
	before.Serial, before.CheckpointAt, before.Learnings = after.Serial, after.CheckpointAt, after.Learnings
	for _, r := range before.Requirements {
		if same := after.Find(r.ID); same != nil && (same.OnLearned == called || strings.HasPrefix(same.OnLearned, notCalled)) {
			r.OnLearned = same.OnLearned
		}
	}
	a, err1 := encode(before)
	b, err2 := encode(after)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}

// nameOf is how a file of ours or of git is called in notes.
func (c *Checkpoint) nameOf(path string) string {
	if rel, err := filepath.Rel(filepath.Dir(c.repo.Sprint()), path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(filepath.Join(".sprint-state", rel))
	}
	for _, dir := range []string{c.repo.GitDir, c.repo.CommonDir} {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return ".git/" + filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

// treeName is the same name as a path in a tree, where git allows no ".git".
func (g *guard) treeName(path string) string { return strings.TrimLeft(g.c.nameOf(path), "./") }

// dropLocks removes the lock files of git that are not older than the file at path, which was written before what made
// them began: that has ended. The times of files are compared with each other, not with a clock that may have been set.
func (c *Checkpoint) dropLocks(path string) (notes []string) {
	written, err := os.Stat(path)
	if err != nil {
		return nil
	}
	since := written.ModTime().Truncate(time.Second)
	var others []string // no git that we start makes a lock there, or it is another worktree's
	for _, dir := range []string{c.repo.CommonDir, c.repo.GitDir} {
		for _, name := range []string{"objects", "ralph", "worktrees", "modules"} {
			others = append(others, filepath.Join(dir, name))
		}
	}
	for _, dir := range slices.Compact([]string{c.repo.CommonDir, c.repo.GitDir}) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if d.IsDir() && slices.Contains(others, path) {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(d.Name(), ".lock") {
				return nil
			}
			if info, err := d.Info(); err == nil && !info.ModTime().Before(since) && os.Remove(path) == nil {
				failpoint.Step("remove a lock of git's")
				notes = append(notes, fmt.Sprintf("%s was left behind and is removed", c.nameOf(path)))
			}
			return nil
		})
	}
	return notes
}

// operations are the files by which git remembers an unfinished merge, rebase or the like.
var operations = []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG", "BISECT_START", "BISECT_TERMS", "rebase-merge", "rebase-apply", "sequencer"}

// endOperations forgets what an agent left unfinished; none was under way before, or the run would not have begun.
func (g *guard) endOperations() (notes []string) {
	for _, name := range operations {
		path := filepath.Join(g.c.repo.GitDir, name)
		if _, err := os.Lstat(path); err == nil && os.RemoveAll(path) == nil && name != "MERGE_MSG" {
			failpoint.Step("end an operation of git's")
			notes = append(notes, fmt.Sprintf("an unfinished operation of git (%s) is ended", name))
		}
	}
	return notes
}

// restoreRefs brings HEAD and every ref back to where they were. Commits that only the attempt's refs held are kept.
func (g *guard) restoreRefs(ctx context.Context, attempt int) (notes []string, err error) {
	c := g.c
	id := fmt.Sprintf("%s-%d", c.p.Req.Current, attempt)
	keep := func(hash string) (string, error) { return c.keepCommit(ctx, "agent", id, hash) }

	refs, err := c.repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	now, head := refs.Hash, refs.Hash[refs.Branch]
	if head == "" {
		if head, err = c.repo.Head(ctx); err != nil {
			return nil, err
		}
	}
	if head != c.p.Baseline && head != "" {
		ref, err := keep(head)
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("the agent's own commits are folded into its work and kept under %s", ref))
	}
	if refs.Branch != c.p.Branch {
		notes = append(notes, fmt.Sprintf("HEAD was on %q and is back on %q", refs.Branch, c.p.Branch))
		if c.p.Branch != "" {
			if _, err := c.repo.Output(ctx, "symbolic-ref", "-m", "ralph-checkpoint: back", "HEAD", c.p.Branch); err != nil {
				return nil, err
			}
		}
	}
	if refs.Branch != c.p.Branch || head != c.p.Baseline || refs.Symbolic[c.p.Branch] {
		if _, err := c.repo.Output(ctx, "update-ref", "--no-deref", "-m", "ralph-checkpoint: back", c.headRef(), c.p.Baseline); err != nil {
			return nil, err
		}
	}
	ours := refFor(c.p.Run, "agent", "")
	for _, ref := range slices.Sorted(mapKeys(now)) {
		hash, was := now[ref], g.refs[ref]
		if hash == was || ref == c.p.Branch || strings.HasPrefix(ref, ours) {
			continue
		}
		// Worktrees share their refs. Another loop, or the user, may be at work in another one: to move its branch under
		// it would take its commits away, and what another run keeps is not ours to delete.
		if g.other[ref] || was == "" && strings.HasPrefix(ref, refsOfRuns) {
			if g.other[ref] {
				notes = append(notes, fmt.Sprintf("%s was moved; another worktree has it checked out, so it is left", ref))
			}
			continue
		}
		ref2, err := keepAny(ctx, c, id, hash)
		if err != nil {
			return nil, err
		}
		if err := c.repo.SetRef(ctx, ref, was, "ralph-checkpoint: back"); err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("%s was %s and is put back; what it held is kept under %s", ref, changedOrCreated(was), ref2))
	}
	for _, ref := range slices.Sorted(mapKeys(g.refs)) {
		if _, there := now[ref]; there || ref == c.p.Branch {
			continue
		}
		if err := c.repo.SetRef(ctx, ref, g.refs[ref], "ralph-checkpoint: back"); err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("%s was deleted and is put back", ref))
	}
	// Only now: update-ref writes the stash's log too.
	for path, was := range g.files {
		if strings.HasSuffix(filepath.ToSlash(path), "/logs/refs/stash") {
			if err := was.put(path); err != nil {
				return nil, err
			}
		}
	}
	return notes, nil
}

// keepAny keeps what a ref pointed to, be it a commit or an annotated tag.
func keepAny(ctx context.Context, c *Checkpoint, id, hash string) (string, error) {
	commit, err := c.repo.Commit(ctx, hash)
	if err != nil {
		return "", err
	}
	if commit == "" {
		commit = hash
	}
	return c.keepCommit(ctx, "agent", id, commit)
}

func changedOrCreated(was string) string {
	if was == "" {
		return "created"
	}
	return "moved"
}

// headRef is the ref that the run's commits move.
func (c *Checkpoint) headRef() string {
	if c.p.Branch == "" {
		return "HEAD"
	}
	return c.p.Branch
}

// restoreProtected puts the specification and what people wrote in AGENTS.md back as the baseline has them. Edits of
// other protected files are left for the gate to refuse.
func (c *Checkpoint) restoreProtected(ctx context.Context) (found map[string]keptFile, notes []string, err error) {
	found = map[string]keptFile{}
	for _, path := range []string{c.p.Specification, agentsmd.Name} {
		was, tracked, err := c.repo.File(ctx, c.p.Baseline, path)
		if err != nil {
			return nil, nil, err
		}
		full := filepath.Join(c.repo.Top, filepath.FromSlash(path))
		if tracked {
			if err := c.clearWay(path, found); err != nil {
				return nil, nil, err
			}
		}
		now, readErr := readFile(full)
		if !tracked {
			// A specification may live outside git; it is guarded as an untracked file then. An AGENTS.md that the
			// baseline does not have is the toolkit's to make.
			if path == agentsmd.Name && readErr == nil && !slices.Contains(c.userNames(ctx), path) {
				found[path] = now
				notes = append(notes, fmt.Sprintf("%s is written by ralph-learn alone: the agent's is taken away; its place is agentmd_addition in the report", path))
				if err := os.Remove(full); err != nil {
					return nil, nil, err
				}
				failpoint.Step("remove the agent's AGENTS.md")
			}
			continue
		}
		if readErr == nil && bytes.Equal(now.data, was) {
			continue
		}
		changed, err := c.differs(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		if !changed {
			continue // only line endings or a filter
		}
		what := "deleted"
		if readErr == nil {
			found[path], what = now, "changed"
		}
		if _, err := c.repo.Output(ctx, "read-tree", "--reset", c.p.Baseline); err != nil {
			return nil, nil, err
		}
		if err := os.RemoveAll(full); err != nil {
			return nil, nil, err
		}
		failpoint.Step("remove a spoiled file")
		if _, err := c.repo.Output(ctx, "checkout-index", "-f", "--", path); err != nil {
			return nil, nil, err
		}
		advice := ""
		if path == agentsmd.Name {
			advice = "; its place is agentmd_addition in the report"
		}
		notes = append(notes, fmt.Sprintf("%s was %s and is put back%s", path, what, advice))
	}
	return found, notes, nil
}

func (c *Checkpoint) userNames(ctx context.Context) []string {
	names, err := c.userFiles(ctx)
	if err != nil {
		return nil
	}
	return names
}

// differs reports whether git would see path as changed against the blob, filters and line endings considered.
func (c *Checkpoint) differs(ctx context.Context, path string) (bool, error) {
	full := filepath.Join(c.repo.Top, filepath.FromSlash(path))
	info, err := os.Lstat(full)
	if err != nil || !info.Mode().IsRegular() {
		return true, nil
	}
	now, err := c.repo.Line(ctx, "hash-object", "--path", path, "--", full)
	if err != nil {
		return false, err
	}
	was, err := c.repo.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", c.p.Baseline+":"+path)
	return now != was, err
}
