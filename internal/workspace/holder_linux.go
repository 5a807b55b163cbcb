package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// holder is the first of the locks that a live process may have, and which process. It has one that it holds open; and since
// git closes a lock while the user writes a message, a git that works in the lock's repository may have each of them.
func (w *Workspace) holder(locks []string) (lock, who string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return "", ""
	}
	above := w.callers(func(pid int) (int, bool) {
		_, parent, alive := look(pid)
		return parent, alive
	})
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		name, parent, alive := look(pid)
		if !alive {
			continue
		}
		who = fmt.Sprintf("process %d (%s)", pid, name)
		fds, _ := os.ReadDir(filepath.Join(proc, "fd"))
		for _, fd := range fds {
			to, err := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
			if err == nil && slices.Contains(locks, to) {
				return to, who
			}
		}
		// A git that this program has started has no lock that it could not have removed by itself.
		if !isGit(name) || parent == os.Getpid() || above[pid] {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		if onlyReads(strings.Split(string(args), "\x00")) {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(proc, "environ"))
		own, shared := w.worksHere(strings.Split(string(args)+"\x00"+string(environ), "\x00"))
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		if err == nil && !own {
			var sharedToo bool
			own, sharedToo = w.worksIn(cwd)
			shared = shared || sharedToo
		}
		for _, lock := range locks {
			if own || shared && w.shared(lock) || errors.Is(err, fs.ErrPermission) && sameOwner(proc, lock) {
				return lock, who
			}
		}
	}
	return "", ""
}

// look is what /proc says of a process.
func look(pid int) (name string, parent int, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || open < 0 || end < open {
		return "", 0, false
	}
	fields := bytes.Fields(stat[end+1:]) // behind the name: the state, the parent
	if len(fields) < 2 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return "", 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return string(stat[open+1 : end]), parent, err == nil
}

// worksHere reports whether what a process was given names this worktree's git directory, or the repository's.
func (w *Workspace) worksHere(given []string) (own, shared bool) {
	for _, s := range given {
		_, value, _ := strings.Cut(s, "=")
		own = own || s == w.Repo.GitDir || value == w.Repo.GitDir
		shared = shared || s == w.Repo.CommonDir || value == w.Repo.CommonDir
	}
	return own, shared
}

// sameOwner reports whether the process is of the user whose file that is.
func sameOwner(proc, lock string) bool {
	var p, f syscall.Stat_t
	return syscall.Stat(proc, &p) == nil && syscall.Lstat(lock, &f) == nil && p.Uid == f.Uid
}

// worksIn reports whether a git that was started in dir works with this worktree, and whether with its repository: it looks
// for that as git does.
func (w *Workspace) worksIn(dir string) (own, shared bool) {
	for {
		switch dir {
		case w.Repo.Top, w.Repo.GitDir:
			return true, true
		case w.Repo.CommonDir:
			return false, true
		}
		at := filepath.Join(dir, ".git")
		if info, err := os.Lstat(at); err == nil {
			if !info.IsDir() {
				text, _ := os.ReadFile(at)
				at = strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:"))
				if !filepath.IsAbs(at) {
					at = filepath.Join(dir, at)
				}
			}
			return at == w.Repo.GitDir, at == w.Repo.CommonDir || below(at, filepath.Join(w.Repo.CommonDir, "worktrees"))
		}
		if filepath.Dir(dir) == dir {
			return false, false
		}
		dir = filepath.Dir(dir)
	}
}
