//go:build unix && !linux

package run

import (
	"bytes"
	"os/exec"
	"strconv"
)

// belonging are the live processes of the group of pid and its descendants in other groups. There is no look at
// another process's environment here, so one that left the group and lost its parent is out of reach.
func belonging(pid int, _ string) []int {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,pgid=,stat=").Output()
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	found := map[int]bool{}
	for line := range bytes.Lines(out) {
		f := bytes.Fields(line)
		if len(f) < 4 || f[3][0] == 'Z' {
			continue
		}
		p, _ := strconv.Atoi(string(f[0]))
		parent, _ := strconv.Atoi(string(f[1]))
		group, _ := strconv.Atoi(string(f[2]))
		children[parent] = append(children[parent], p)
		if group == pid {
			found[p] = true
		}
	}
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		found[queue[0]] = true
		queue = append(queue, children[queue[0]]...)
	}
	var pids []int
	for p := range found {
		pids = append(pids, p)
	}
	return pids
}
