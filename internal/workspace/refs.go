package workspace

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/git"
)

// restoreRefs brings HEAD and every ref back to where they were. Commits that only the attempt's refs held are kept.
func (w *Workspace) restoreRefs(ctx context.Context, g *Guard) (notes []string, err error) {
	id := fmt.Sprintf("%s-%d", w.Req, g.Attempt)
	refs, err := w.Repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	if notes, err = w.restoreHead(ctx, refs, id); err != nil {
		return nil, err
	}
	now := refs.Hash
	ours := w.Ref("agent", "")
	for _, ref := range slices.Sorted(maps.Keys(now)) {
		hash, was := now[ref], g.Refs[ref]
		if hash == was || ref == w.Branch || strings.HasPrefix(ref, ours) {
			continue
		}
		// Worktrees share their refs. Another loop, or the user, may be at work in another one: to move its branch under
		// it would take its commits away, and what another run keeps is not ours to delete.
		if g.Other[ref] || was == "" && strings.HasPrefix(ref, refsOfRuns) {
			if g.Other[ref] {
				notes = append(notes, fmt.Sprintf("%s was moved; another worktree has it checked out, so it is left", ref))
			}
			continue
		}
		kept, err := w.keepAny(ctx, id, hash)
		if err != nil {
			return nil, err
		}
		if err := w.Repo.SetRef(ctx, ref, was, "ralph-checkpoint: back"); err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("%s was %s and is put back; what it held is kept under %s", ref, changedOrCreated(was), kept))
	}
	for _, ref := range slices.Sorted(maps.Keys(g.Refs)) {
		if _, there := now[ref]; there || ref == w.Branch {
			continue
		}
		if err := w.Repo.SetRef(ctx, ref, g.Refs[ref], "ralph-checkpoint: back"); err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("%s was deleted and is put back", ref))
	}
	// Only now: update-ref writes the stash's log too.
	for path, was := range g.Files {
		if strings.HasSuffix(filepath.ToSlash(path), "/logs/refs/stash") {
			if err := was.Put(path); err != nil {
				return nil, err
			}
		}
	}
	return notes, nil
}

// restoreHead brings HEAD back to the run's branch, and that to the baseline. refs are those that the attempt left.
func (w *Workspace) restoreHead(ctx context.Context, refs *git.Refs, id string) (notes []string, err error) {
	head := refs.Hash[refs.Branch]
	if head == "" {
		if head, err = w.Repo.Head(ctx); err != nil {
			return nil, err
		}
	}
	if head != w.Baseline && head != "" {
		ref, err := w.KeepCommit(ctx, "agent", id, head)
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("the agent's own commits are folded into its work and kept under %s", ref))
	}
	if refs.Branch != w.Branch {
		notes = append(notes, fmt.Sprintf("HEAD was on %q and is back on %q", refs.Branch, w.Branch))
		if w.Branch != "" {
			if _, err := w.Repo.Output(ctx, "symbolic-ref", "-m", "ralph-checkpoint: back", "HEAD", w.Branch); err != nil {
				return nil, err
			}
		}
	}
	if refs.Branch != w.Branch || head != w.Baseline || refs.Symbolic[w.Branch] {
		if _, err := w.Repo.Output(ctx, "update-ref", "--no-deref", "-m", "ralph-checkpoint: back", w.headRef(), w.Baseline); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// keepAny keeps what a ref pointed to, be it a commit or an annotated tag.
func (w *Workspace) keepAny(ctx context.Context, id, hash string) (string, error) {
	commit, err := w.Repo.Commit(ctx, hash)
	if err != nil {
		return "", err
	}
	if commit == "" {
		commit = hash
	}
	return w.KeepCommit(ctx, "agent", id, commit)
}

func changedOrCreated(was string) string {
	if was == "" {
		return "created"
	}
	return "moved"
}

// headRef is the ref that the run's commits move.
func (w *Workspace) headRef() string {
	if w.Branch == "" {
		return "HEAD"
	}
	return w.Branch
}
