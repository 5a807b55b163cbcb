//go:build linux

package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets this binary be a process that cannot be caught where it was seen: it starts itself anew and ends, again and
// again, in a session of its own and where asked without the marker, until an hour is over. Each beat is left in a file.
func TestMain(m *testing.M) {
	beats := os.Getenv("RUN_TEST_HOPS")
	if beats == "" {
		os.Exit(m.Run())
	}
	_ = os.WriteFile(beats, []byte(strconv.Itoa(os.Getpid())), 0o666)
	cmd := exec.Command(os.Args[0])
	cmd.Env = os.Environ()
	OwnSession(cmd)
	_ = cmd.Start()
	os.Exit(0)
}

// still reports whether somebody goes on to write the file.
func still(t *testing.T, beats string) bool {
	t.Helper()
	if _, err := os.Stat(beats); err != nil {
		t.Fatal("it never began: ", err)
	}
	if err := os.Remove(beats); err != nil {
		t.Fatal(err)
	}
	time.Sleep(150 * time.Millisecond)
	_, err := os.Stat(beats)
	return err == nil
}

func TestWhoForksAndEndsInTurnIsEnded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh := `f() { echo $$ >BEATS; (f) & }; f`
	for name, c := range map[string]struct{ script, id string }{
		"program":            {`RUN_TEST_HOPS=BEATS SELF & sleep 0.1`, "hop"},
		"without the marker": {`env -u ` + Marker + ` RUN_TEST_HOPS=BEATS SELF & sleep 0.1`, "hop"},
		"shell":              {`setsid sh -c '` + sh + `' & sleep 0.1`, "hop"},
		"four shells":        {strings.Repeat(`setsid sh -c '`+sh+`' & `, 4) + `sleep 0.1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				beats := filepath.Join(t.TempDir(), "beats")
				ended, _ := shell(t, Command{ID: c.id, Alone: true, Timeout: 20 * time.Second}, strings.NewReplacer("BEATS", beats, "SELF", self).Replace(c.script))
				if ended.Why != Exited {
					t.Errorf("ended %+v", ended)
				}
				if still(t, beats) {
					t.Fatal("it lives on")
				}
				if _, none := deadChild(); !none {
					t.Fatal("a child is left")
				}
			}
		})
	}
}

// A child that was there before is neither ended nor waited for.
func TestOtherChildrenAreLeft(t *testing.T) {
	other := exec.Command("sleep", "300")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended, out := shell(t, Command{ID: "others", Alone: true}, `setsid sleep 300 & echo $!; exit 3`)
	if ended.Why != Exited || ended.Code != 3 {
		t.Errorf("ended %+v", ended)
	}
	gone(t, out)
	if !lives(other.Process.Pid) {
		t.Error("it was ended")
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if state, err := other.Process.Wait(); err != nil || state.ExitCode() != -1 {
		t.Errorf("%v, %v", state, err)
	}
}

// Orphans that end while the command runs do not pile up, and its own exit code is not taken with them.
func TestDeadOrphansAreReaped(t *testing.T) {
	ended, out := shell(t, Command{Alone: true}, `for i in 1 2 3 4 5; do (sleep 0.01 &) ; done; sleep 0.5
ps -o stat= --ppid "$PPID" | grep -c Z; exit 7`)
	if ended.Code != 7 || strings.TrimSpace(out) != "0" {
		t.Errorf("%+v, dead and not waited for: %s", ended, out)
	}
}
