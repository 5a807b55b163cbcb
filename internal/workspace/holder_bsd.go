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
	var live [][]string
	parents := map[int]int{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 4 && f[2][0] != 'Z' {
			live = append(live, f)
			pid, _ := strconv.Atoi(f[0])
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	above := w.callers(func(pid int) (int, bool) {
		parent, alive := parents[pid]
		return parent, alive
	})
	for _, f := range live {
		pid, _ := strconv.Atoi(f[0])
		if above[pid] || parents[pid] == os.Getpid() || !isGit(path.Base(f[3])) || onlyReads(f[3:]) {
			continue
		}
		return locks[0], "process " + f[0] + " (git)"
	}
	return "", ""
}
