package run

import (
	"bytes"
	"fmt"
	"iter"
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
	marker := []byte(Marker + "=" + id)
	oldest := uint64(0)
	if own, ok := readStatus("self"); ok && pid >= 0 {
		oldest = own.begun
	}
	var out []int
	for p, s := range processes() {
		if s.begun < oldest || p == os.Getpid() {
			continue
		}
		if s.group == pid || s.session == pid || id != "" && carries(p, marker) {
			out = append(out, p)
		}
	}
	return out
}

// processes are the live processes, each looked at as soon as it is listed: who was started meanwhile has a higher number
// and is met further on. os.ReadDir lists them all before the first look.
func processes() iter.Seq2[int, status] {
	return func(yield func(int, status) bool) {
		fd, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer syscall.Close(fd)
		var buf [512]byte // some twenty names
		for {
			n, err := syscall.ReadDirent(fd, buf[:])
			if err == syscall.EINTR {
				continue
			}
			if err != nil || n <= 0 {
				return
			}
			_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
			for _, name := range names {
				pid, err := strconv.Atoi(name)
				if err != nil {
					continue
				}
				if s, ok := readStatus(name); ok && !yield(pid, s) {
					return
				}
			}
		}
	}
}

// status is what /proc says of a live process.
type status struct {
	parent, group, session int
	begun                  uint64 // clock ticks since the machine's start
}

// readStatus reads with bare system calls: there may be hundreds of processes, and os.ReadFile makes three times as many.
func readStatus(pid string) (s status, alive bool) {
	var buf [1024]byte // the line is shorter: some fifty numbers and a name of at most 64 bytes
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return s, false
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return s, false
	}
	// pid (name) state ppid pgrp session ... starttime, which is the 22nd; the name may hold anything, ") " too.
	f := bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
	if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return s, false
	}
	s.parent, _ = strconv.Atoi(string(f[1]))
	s.group, _ = strconv.Atoi(string(f[2]))
	s.session, _ = strconv.Atoi(string(f[3]))
	s.begun, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return s, true
}

func carries(pid int, marker []byte) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
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
