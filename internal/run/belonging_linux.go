package run

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// belonging are the live processes of the group or session of pid, and those that carry the marker id wherever they
// went. The dead whom nobody has reaped yet do not count: an init that is slow to reap must not hold us up.
//
// What this process started is younger than it, so of all older ones only their age is looked at. With pid < 0, where
// another one started them, all are.
func belonging(pid int, id string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	marker := []byte(Marker + "=" + id)
	var buf [1024]byte // a process's line in stat is shorter: some fifty numbers and a name of at most 64 bytes
	oldest := uint64(0)
	if own, ok := readStatus("self", buf[:]); ok && pid >= 0 {
		oldest = own.begun
	}
	var out []int
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil || p == os.Getpid() {
			continue
		}
		s, ok := readStatus(e.Name(), buf[:])
		if !ok || s.begun < oldest {
			continue
		}
		if s.group == pid || s.session == pid || id != "" && carries(e.Name(), marker) {
			out = append(out, p)
		}
	}
	return out
}

// status is what /proc says of a live process.
type status struct {
	group, session int
	begun          uint64 // clock ticks since the machine's start
}

// readStatus reads with bare system calls: there may be hundreds of processes, and os.ReadFile makes three times as many.
func readStatus(pid string, buf []byte) (s status, alive bool) {
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return s, false
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	if err != nil || n <= 0 {
		return s, false
	}
	// pid (name) state ppid pgrp session ... starttime, which is the 22nd; the name may hold anything, ") " too.
	f := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
	if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return s, false
	}
	s.group, _ = strconv.Atoi(string(f[2]))
	s.session, _ = strconv.Atoi(string(f[3]))
	s.begun, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return s, true
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
