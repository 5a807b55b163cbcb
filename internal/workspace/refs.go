package workspace

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/git"
)

// back is what the reflogs say of a ref that is put back.
const back = "ralph-checkpoint: back"

// restoreRefs brings HEAD and every ref back to where they were. Commits that only the attempt's refs held are kept.
//
// Worktrees share their refs. Another loop, or the user, may be at work in another one: to move the branch that is checked
// out there would take its commits away, and what another run keeps is not ours to delete.
func (w *Workspace) restoreRefs(ctx context.Context, g *Guard) (notes []string, err error) {
	id := g.id(w)
	refs, err := w.Repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	ours := w.Ref("agent", "")
	var created []string
	for _, ref := range slices.Sorted(maps.Keys(refs.Hash)) {
		if _, known := g.Refs[ref]; known || ref == w.Branch || strings.HasPrefix(ref, refsOfRuns) {
			continue
		}
		if refs.Elsewhere[ref] {
			notes = append(notes, fmt.Sprintf("%s was created; another worktree has it checked out, so it is left", ref))
			continue
		}
		created = append(created, ref)
	}
	// These first: one may stand in the way of another, as main/x of main.
	takenNotes, err := w.putBackRefs(ctx, refs, created, id, "created", func(ref string) string { return "delete " + ref })
	if err != nil {
		return nil, err
	}
	headNotes, err := w.restoreHead(ctx, refs, id)
	if err != nil {
		return nil, err
	}
	notes = slices.Concat(notes, takenNotes, headNotes)
	var moved, deleted []string
	for _, ref := range slices.Sorted(maps.Keys(g.Refs)) {
		was, target := g.Refs[ref], g.Symbolic[ref]
		now, there := refs.Hash[ref]
		switch {
		case ref == w.Branch || strings.HasPrefix(ref, ours):
		case refs.Symbolic[ref] != target:
			if err := w.pointRef(ctx, ref, was, target); err != nil {
				return nil, err
			}
			notes = append(notes, fmt.Sprintf("%s led elsewhere and is put back", ref))
		case there && (now == was || target != ""): // whom it leads to is looked at by itself
		case !there:
			deleted = append(deleted, ref)
		case g.Other[ref]:
			notes = append(notes, fmt.Sprintf("%s was moved; another worktree has it checked out, so it is left", ref))
		case refs.Elsewhere[ref] || strings.HasPrefix(ref, refsOfRuns) && !strings.HasPrefix(ref, refsOfRuns+git.RefName(w.Run)+"/"):
			kept, err := w.keepAny(ctx, id, was)
			if err != nil {
				return nil, err
			}
			whose := "it is another run's"
			if refs.Elsewhere[ref] {
				whose = "another worktree has it checked out"
			}
			notes = append(notes, fmt.Sprintf("%s was moved; %s, so it is left; where it was is kept under %s", ref, whose, kept))
		default:
			moved = append(moved, ref)
		}
	}
	update := func(ref string) string { return "update " + ref + " " + g.Refs[ref] }
	movedNotes, err := w.putBackRefs(ctx, refs, moved, id, "moved", update)
	if err != nil {
		return nil, err
	}
	deletedNotes, err := w.putBackRefs(ctx, refs, deleted, id, "deleted", update)
	if err != nil {
		return nil, err
	}
	notes = slices.Concat(notes, movedNotes, deletedNotes)
	// Only now: update-ref writes the stash's log too.
	for path, was := range g.Files {
		if path == w.stashLog() && !was.Unread {
			if err := was.Put(path); err != nil {
				return nil, err
			}
		}
	}
	return notes, nil
}

// pointRef makes the ref itself lead to the ref target, or where that is "" to hash.
func (w *Workspace) pointRef(ctx context.Context, ref, hash, target string) error {
	args := []string{"update-ref", "--no-deref", "-m", back, ref, hash}
	if target != "" {
		args = []string{"symbolic-ref", "-m", back, ref, target}
	}
	_, err := w.Repo.Output(ctx, args...)
	return err
}

// eachRef is how many refs are named one by one. A fetch of the user's makes or moves hundreds.
const eachRef = 10

// putBackRefs puts refs back to which that was done, by a command of update-ref for each; what they hold now is kept and named.
func (w *Workspace) putBackRefs(ctx context.Context, refs *git.Refs, names []string, id, done string, command func(ref string) string) (notes []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	few := len(names) <= eachRef
	var commands bytes.Buffer
	for _, ref := range names {
		fmt.Fprintf(&commands, "option no-deref\n%s\n", command(ref))
		if !few {
			continue
		}
		note := fmt.Sprintf("%s was %s and is put back", ref, done)
		if held := refs.Hash[ref]; held != "" {
			kept, err := w.keepAny(ctx, id, held)
			if err != nil {
				return nil, err
			}
			note += "; what it held is kept under " + kept
		}
		notes = append(notes, note)
	}
	if !few {
		note := fmt.Sprintf("%d refs, %s to %s, were %s and are put back", len(names), names[0], names[len(names)-1], done)
		if refs.Hash[names[0]] != "" {
			kept, err := w.keepAll(ctx, refs, names, id)
			if err != nil {
				return nil, err
			}
			note += fmt.Sprintf("; the message of %s names them, and its parents are what they held", kept)
		}
		notes = append(notes, note)
	}
	_, err = w.Repo.Input(ctx, commands.Bytes(), "update-ref", "-m", back, "--stdin")
	return notes, err
}

// keepAll keeps what the refs point to under one ref: a commit that has them as its parents, and names them.
func (w *Workspace) keepAll(ctx context.Context, refs *git.Refs, names []string, id string) (string, error) {
	tree, err := w.Repo.EmptyTree(ctx)
	if err != nil {
		return "", err
	}
	var parents, message bytes.Buffer
	known := map[string]bool{}
	for _, ref := range names {
		hash := refs.Hash[ref]
		fmt.Fprintf(&message, "%s %s\n", hash, ref)
		commit, err := w.Repo.Commit(ctx, hash)
		if err != nil {
			return "", err
		}
		switch {
		case commit == "": // a tag of a file or of a tree
			if _, err := w.KeepCommit(ctx, "agent", id, hash); err != nil {
				return "", err
			}
		case !known[commit]:
			known[commit] = true
			fmt.Fprintf(&parents, "parent %s\n", commit)
		}
	}
	// A command line has no room for thousands of parents.
	const who = "ralph-loop <ralph-loop@localhost> 0 +0000"
	text := fmt.Sprintf("tree %s\n%sauthor %s\ncommitter %s\n\nrefs that an attempt had changed, and what they held\n\n%s", tree, parents.Bytes(), who, who, message.Bytes())
	out, err := w.Repo.Input(ctx, []byte(text), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	return w.KeepCommit(ctx, "agent", id, strings.TrimSpace(string(out)))
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
			if err := w.pointRef(ctx, "HEAD", "", w.Branch); err != nil {
				return nil, err
			}
		}
	}
	if refs.Branch != w.Branch || head != w.Baseline || refs.Symbolic[w.Branch] != "" {
		if err := w.pointRef(ctx, w.headRef(), w.Baseline, ""); err != nil {
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

// headRef is the ref that the run's commits move.
func (w *Workspace) headRef() string {
	if w.Branch == "" {
		return "HEAD"
	}
	return w.Branch
}

// stashLog is the file that holds every stash but the newest, which a ref holds too.
func (w *Workspace) stashLog() string {
	return filepath.Join(w.Repo.CommonDir, "logs", "refs", "stash")
}

// keepStashes keeps the stashes of the log that were made since the guard was: one that the user made in another worktree is
// as good as any other of his work.
func (w *Workspace) keepStashes(ctx context.Context, g *Guard, log []byte) (notes []string, err error) {
	before := stashes(g.Files[w.stashLog()].Data)
	for _, hash := range stashes(log) {
		if slices.Contains(before, hash) {
			continue
		}
		if commit, err := w.Repo.Commit(ctx, hash); err != nil || commit == "" {
			continue // nobody promises that an agent's line names a commit
		}
		ref, err := w.KeepCommit(ctx, "stash", g.id(w), hash)
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("a stash was made meanwhile; it is kept, and 'git stash store %s' brings it back", ref))
	}
	return notes, nil
}

// stashes are the commits that a log of the stash names.
func stashes(log []byte) (hashes []string) {
	for line := range strings.Lines(string(log)) {
		if words := strings.SplitN(line, " ", 3); len(words) == 3 {
			hashes = append(hashes, words[1])
		}
	}
	return hashes
}
