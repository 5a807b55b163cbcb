package cli

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openPty gives the two ends of a new terminal.
func openPty(t *testing.T) (here, there *os.File) {
	t.Helper()
	here, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var name [128]byte
	for request, to := range map[uint]uintptr{unix.TIOCPTYGRANT: 0, unix.TIOCPTYUNLK: 0, unix.TIOCPTYGNAME: uintptr(unsafe.Pointer(&name[0]))} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, here.Fd(), uintptr(request), to); errno != 0 {
			t.Fatal(errno)
		}
	}
	there, err = os.OpenFile(string(name[:bytes.IndexByte(name[:], 0)]), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return here, there
}
