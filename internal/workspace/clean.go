package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
)

// CleanTo puts worktree and index back to the commit base. What the worktree held beyond it is kept under a ref of that
// kind, which is named; "" where there was nothing, or it is one of the trees known, which are kept already. Ignored files
// and the user's untracked ones stay.
func (w *Workspace) CleanTo(ctx context.Context, base, kind, id, why string, known ...string) (string, error) {
	userFiles, err := w.userFilesBeside(ctx, base)
	if err != nil {
		return "", err
	}
	tree, err := w.treeWithout(ctx, base, userFiles)
	if err != nil {
		return "", err
	}
	baseTree, err := w.Repo.Tree(ctx, base)
	if err != nil {
		return "", err
	}
	ref := ""
	if tree != baseTree && !slices.Contains(known, tree) {
		if ref, err = w.KeepTree(ctx, kind, id, tree, base, why); err != nil {
			return "", err
		}
	}
	if err := w.moveNested(ctx, base, id, userFiles); err != nil {
		return "", err
	}
	if err := w.SetIndex(ctx, tree); err != nil {
		return "", err
	}
	_, err = w.Repo.Output(ctx, "read-tree", "--reset", "-u", base)
	return ref, err
}

// moveNested moves an attempt's own repositories out of the tree: no tree can hold their files, and the next
// requirement must not be blamed for them.
func (w *Workspace) moveNested(ctx context.Context, base, id string, userFiles []string) error {
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return err
	}
	defer done()
	if _, err := private.Output(ctx, "read-tree", base); err != nil {
		return err
	}
	inner, err := w.listNested(ctx, private)
	if err != nil {
		return err
	}
	for _, path := range inner {
		if slices.Contains(userFiles, path) {
			continue
		}
		if err := w.moveAway(path, id); err != nil {
			return err
		}
	}
	return nil
}

// moveAway moves a folder that is, or holds, a repository of its own beside the logs of the attempts at id, and says so.
func (w *Workspace) moveAway(path, id string) error {
	dir := RunDir(w.Repo, w.Run, id)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		dir, err = os.MkdirTemp(dir, innerPrefix)
	}
	to := filepath.Join(dir, filepath.Base(path))
	if err == nil {
		err = os.Rename(filepath.Join(w.Repo.Top, path), to)
	}
	if err != nil {
		return fmt.Errorf("move %q away: %w", path, err)
	}
	failpoint.Step("move a repository away")
	w.Say("%q is a repository of its own, which no commit can hold: it is moved to %s", path, to)
	return nil
}

// listNested are the folders, each with a slash at its end, that hold a repository of their own and are no submodules.
func (w *Workspace) listNested(ctx context.Context, repo *git.Repo) ([]string, error) {
	out, err := repo.Output(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(git.Records(out), func(path string) bool { return !strings.HasSuffix(path, "/") }), nil
}
