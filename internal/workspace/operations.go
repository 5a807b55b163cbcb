package workspace

import (
	"fmt"
	"os"
	"path/filepath"

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

// endOperations forgets what an agent left unfinished; none was under way before, or the run would not have begun.
func (w *Workspace) endOperations() (notes []string) {
	for _, name := range operations {
		path := filepath.Join(w.Repo.GitDir, name)
		if _, err := os.Lstat(path); err == nil && os.RemoveAll(path) == nil && name != "MERGE_MSG" {
			failpoint.Step("end an operation of git's")
			notes = append(notes, fmt.Sprintf("an unfinished operation of git (%s) is ended", name))
		}
	}
	return notes
}
