package workspace

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"ralph-loop/internal/git"
)

// identity is who makes the commits that only our own refs hold; the user's name need not be configured for them.
var identity = []string{
	"GIT_AUTHOR_NAME=ralph-loop", "GIT_AUTHOR_EMAIL=ralph-loop@localhost",
	"GIT_COMMITTER_NAME=ralph-loop", "GIT_COMMITTER_EMAIL=ralph-loop@localhost",
}

// CommitTree makes a commit of a tree on parent ("" for none), in the loop's name; no ref holds it yet.
func (w *Workspace) CommitTree(ctx context.Context, tree, parent, why string) (string, error) {
	args := []string{"commit-tree", tree, "-m", why}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	return w.Repo.With(identity...).Line(ctx, args...)
}

// KeepTree stores a tree under refs/ralph/<run>/<kind>/<id> as a commit on parent ("" for none), and names the ref. An
// existing ref is not overwritten: a number is added to the new one.
func (w *Workspace) KeepTree(ctx context.Context, kind, id, tree, parent, why string) (string, error) {
	commit, err := w.CommitTree(ctx, tree, parent, why)
	if err != nil {
		return "", err
	}
	return w.KeepCommit(ctx, kind, id, commit)
}

// KeepCommit stores a commit under refs/ralph/<run>/<kind>/<id>, with a number added where that exists, and names the ref.
func (w *Workspace) KeepCommit(ctx context.Context, kind, id, commit string) (string, error) {
	base := w.Ref(kind, id)
	ref := base
	for n := 2; ; n++ {
		there, err := w.Repo.Commit(ctx, ref)
		if err != nil {
			return "", err
		}
		if there == "" || there == commit {
			break
		}
		ref = fmt.Sprintf("%s-%d", base, n)
	}
	return ref, w.Repo.SetRef(ctx, ref, commit, "ralph-checkpoint: keep "+kind)
}

// refsOfRuns is where every run keeps its refs.
const refsOfRuns = "refs/ralph/"

// Ref is where KeepTree and KeepCommit keep the first of a kind and id.
func (w *Workspace) Ref(kind, id string) string {
	return refsOfRuns + git.RefName(w.Run) + "/" + kind + "/" + git.RefName(id)
}

// KeepFile is KeepTree for a tree that holds one file, called name, with data.
func (w *Workspace) KeepFile(ctx context.Context, kind, id, name string, data []byte, why string) (string, error) {
	return w.keepFiles(ctx, kind, id, map[string]File{name: {Data: data, Mode: 0o644}}, why)
}

// keepFiles is KeepTree for files, path to content, and nothing else.
func (w *Workspace) keepFiles(ctx context.Context, kind, id string, files map[string]File, why string) (string, error) {
	tree, err := w.treeOf(ctx, files)
	if err != nil {
		return "", err
	}
	return w.KeepTree(ctx, kind, id, tree, "", why)
}

// treeOf stores files, path to content, as a tree that holds nothing else.
func (w *Workspace) treeOf(ctx context.Context, files map[string]File) (string, error) {
	inMemory := contents{}
	for path, f := range files {
		if f.Hash == "" {
			inMemory[path] = f
		}
	}
	if err := inMemory.store(ctx, w.Repo); err != nil {
		return "", err
	}
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return "", err
	}
	defer done()
	var info bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f := files[path]
		if f.Hash == "" {
			f.Hash = inMemory[path].Hash
		}
		fmt.Fprintf(&info, "%s %s\t%s\x00", f.gitMode(), f.Hash, path)
	}
	if _, err := private.Input(ctx, info.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return private.Line(ctx, "write-tree")
}
