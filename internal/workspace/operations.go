package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/failpoint"
)

// operations are the files by which git remembers an unfinished merge, rebase or the like.
var operations = []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG", "BISECT_START", "BISECT_TERMS", "rebase-merge", "rebase-apply", "sequencer"}

// Unfinished is the first operation that git is in the middle of, as the file that says so is called, or "".
func (w *Workspace) Unfinished() string {
	for _, name := range operations {
		if _, err := os.Lstat(filepath.Join(w.Repo.GitDir, name)); err == nil && name != "MERGE_MSG" {
			return name
		}
	}
	return ""
}

// endOperations forgets what an agent left unfinished; none was under way before, or the attempt would not have begun. What
// such an operation had stashed is kept.
func (w *Workspace) endOperations(ctx context.Context, id string) (notes []string, err error) {
	for _, name := range []string{"MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"} {
		data, err := os.ReadFile(filepath.Join(w.Repo.GitDir, name))
		if err != nil {
			continue
		}
		commit, err := w.Repo.Commit(ctx, strings.TrimSpace(string(data)))
		if err != nil || commit == "" {
			continue // nobody promises that an agent's file names a commit
		}
		ref, err := w.KeepCommit(ctx, "stash", id, commit)
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("what an unfinished operation of git had stashed is kept; 'git stash store %s' brings it back", ref))
	}
	for _, name := range operations {
		path := filepath.Join(w.Repo.GitDir, name)
		if _, err := os.Lstat(path); err == nil && os.RemoveAll(path) == nil && name != "MERGE_MSG" {
			failpoint.Step("end an operation of git's")
			notes = append(notes, fmt.Sprintf("an unfinished operation of git (%s) is ended", name))
		}
	}
	return notes, nil
}
