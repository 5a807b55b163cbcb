//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal while a command of the user's is told ends it and the loop soon; so does the driver's death. The event is told
// again at the next start.
func TestTellingInterrupted(t *testing.T) {
	const command = `cat >>"$HOME/events"; echo $$ >"$HOME/pids"; sleep 300 & echo $! >>"$HOME/pids"; sleep 300`
	for name, c := range map[string]struct {
		list   string
		signal syscall.Signal
		group  bool
		code   int
	}{
		"SIGTERM at on.req_done":           {"req_done", syscall.SIGTERM, false, 143},
		"SIGINT from a terminal":           {"learned", syscall.SIGINT, true, 130},
		"SIGKILL of the driver, on.review": {"review", syscall.SIGKILL, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config, err := os.ReadFile(filepath.Join(w.dir, "ralph.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			w.write(filepath.Join(w.home, "tell.sh"), command)
			w.write(filepath.Join(w.dir, "ralph.yaml"), string(config)+"on: {"+c.list+`: ["exec sh $HOME/tell.sh"]}`+"\n")
			w.git("commit", "-qam", "Tell")
			agent := []string{"--agent", "command", "--", "sh", "-c", `. "$STUBS"; cat >/dev/null; write; echo 'learnings: [rows are short]' >"$RALPH_REPORT"`}
			cmd, out := w.loop(agent...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pids := pidsFrom(t, filepath.Join(w.home, "pids"), 2)
			target := cmd.Process.Pid
			if c.group {
				target = -target
			}
			if err := syscall.Kill(target, c.signal); err != nil {
				t.Fatal(err)
			}
			if got := code(cmd.Wait()); got != c.code {
				t.Errorf("exit code %d, want %d\n%s", got, c.code, out)
			}
			mustEnd(t, pids)

			w.write(filepath.Join(w.home, "tell.sh"), `cat >>"$HOME/events"`)
			// What the killed driver left holds the lock until it has noticed.
			for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
				again, out := w.loop(agent...)
				err := again.Run()
				if code(err) == 3 && strings.Contains(out.String(), "another loop works") && time.Now().Before(deadline) {
					continue
				}
				if err != nil || !strings.Contains(out.String(), "2 of 2 done") {
					t.Fatalf("started again: %v\n%s", err, out)
				}
				break
			}
			events, err := os.ReadFile(filepath.Join(w.home, "events"))
			if n := strings.Count(string(events), `"req":"REQ-001"`); err != nil || n != 2 {
				t.Errorf("REQ-001 was told %d times, want twice: %v\n%s", n, err, events)
			}
			if n := strings.Count(w.trees(), "REQ-00"); n != 2 {
				t.Errorf("%d commits, want 2", n)
			}
		})
	}
}
