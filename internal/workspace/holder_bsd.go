//go:build unix && !linux

package workspace

import (
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
)

// holder is the first of the locks that a live process may have, and which process. Where a process works cannot be seen
// here: any git may have each of them.
func (w *Workspace) holder(locks []string) (lock, who string) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=,args=").Output()
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] == strconv.Itoa(os.Getpid()) || f[2][0] == 'Z' || !isGit(path.Base(f[3])) || onlyReads(f[3:]) {
			continue
		}
		return locks[0], "process " + f[0] + " (git)"
	}
	return "", ""
}
