package run

import (
	"bytes"
	"os"
	"strconv"
)

// belonging are the live processes of the group or session of pid, and those that carry the marker id wherever they
// went. The dead whom nobody has reaped yet do not count: an init that is slow to reap must not hold us up.
func belonging(pid int, id string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	marker := []byte(Marker + "=" + id)
	var out []int
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil || p == os.Getpid() {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp session ...; the name may hold anything, ") " too.
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) < 4 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		pgrp, _ := strconv.Atoi(string(f[2]))
		session, _ := strconv.Atoi(string(f[3]))
		if pgrp == pid || session == pid || id != "" && carries(e.Name(), marker) {
			out = append(out, p)
		}
	}
	return out
}

func carries(pid string, marker []byte) bool {
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(kv, marker) {
			return true
		}
	}
	return false
}
