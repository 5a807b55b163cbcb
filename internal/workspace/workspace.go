// Package workspace keeps the worktree around an agent's attempts in order: it remembers what is not the agent's to change
// and puts it back, makes trees of what the worktree holds, keeps under refs what it takes away, and leaves the user's
// untracked files alone. It knows nothing of requirements and their states.
package workspace

import (
	"path/filepath"

	"ralph-loop/internal/git"
)

// Workspace is a worktree, with what a run says of it at the moment. Before there is a run the fields from Run on are empty.
type Workspace struct {
	Repo *git.Repo
	Say  func(format string, args ...any) // a line for the user, on stderr

	Run      string // its id: the name that refs and folders of what is kept have
	Req      string // the id of the requirement in work, for the names of what its attempts are found to have done
	Branch   string // the full name of the branch that the run works on; "" is a detached HEAD
	Baseline string // the commit that everything is measured from, and put back to
	Spec     string // the specification, from the worktree's top, with slashes

	home *git.Repo // in whose state folder what is moved away goes; nil: Repo

	Control []string // the files that steer the loop, from the worktree's top; the specification is one
}

// The names of what the loop and its agents write into the state folders.
const (
	StateFile  = "progress.log" // the state, in the worktree's folder and the git directory's
	ReportFile = "report.yaml"  // an agent's report, where it leaves it and where it is kept
)

// ReportPath is where an agent leaves its report.
func ReportPath(repo *git.Repo) string { return filepath.Join(repo.Sprint(), ReportFile) }

// BaselinePath is the file that tells other tools the current requirement's baseline.
func BaselinePath(repo *git.Repo) string {
	return filepath.Join(filepath.Dir(repo.Sprint()), "last-req-baseline.txt")
}

// RunLockPath is the file that is locked while a loop works in the worktree.
func RunLockPath(repo *git.Repo) string { return filepath.Join(repo.StateDir(), "driver") }

// RunsDir is the folder that holds a folder for each run, RefName of its id, and in that one for each requirement.
func RunsDir(repo *git.Repo) string { return filepath.Join(repo.Sprint(), "runs") }

// RunDir is where a run keeps what came of the attempts at a requirement, a folder each.
func RunDir(repo *git.Repo, run, id string) string {
	return filepath.Join(RunsDir(repo), git.RefName(run), git.RefName(id))
}
