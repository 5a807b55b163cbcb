//go:build unix

package workspace

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// isGit reports whether a program of that name may be a git.
func isGit(name string) bool { return name == "git" || strings.HasPrefix(name, "git-") }

// readers are the commands of git that may run for hours, before a pager or as a server, and hold no lock meanwhile.
var readers = []string{"log", "show", "diff", "blame", "grep", "help", "cat-file", "daemon", "fsmonitor--daemon", "credential-cache--daemon"}

// onlyReads reports whether a git with these arguments is one of the readers.
func onlyReads(args []string) bool {
	if len(args) == 0 {
		return false
	}
	if verb, ok := strings.CutPrefix(path.Base(args[0]), "git-"); ok {
		return slices.Contains(readers, verb)
	}
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "-C" || args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return slices.Contains(readers, args[i])
		}
	}
	return false
}

// callers are the processes that this one was started by, unless it may be in a hook: the git of an alias has no lock.
// parent is the one of a living process.
func (w *Workspace) callers(parent func(pid int) (int, bool)) map[int]bool {
	pids := map[int]bool{}
	if w.Repo.Index != filepath.Join(w.Repo.GitDir, "index") {
		return pids
	}
	for pid, alive := os.Getppid(), true; alive && pid > 1 && !pids[pid]; {
		pids[pid] = true
		pid, alive = parent(pid)
	}
	return pids
}
