//go:build unix

package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A loop that waits for a limit is interrupted like any other, also when its driver alone is killed; the next start asks
// the agent at once, for the same attempt.
func TestWaitForALimitIsInterrupted(t *testing.T) {
	const limit, outage = "usage limit reached, try again in 2 hours", "TypeError: fetch failed"
	for name, c := range map[string]struct {
		says, shown string
		signal      syscall.Signal
		code        int
	}{
		"SIGINT":          {limit, "The agent is over a limit until ", syscall.SIGINT, 130},
		"SIGTERM":         {limit, "The agent is over a limit until ", syscall.SIGTERM, 143},
		"SIGKILL":         {limit, "The agent is over a limit until ", syscall.SIGKILL, -1},
		"without network": {outage, "The agent does not reach its service and waits until ", syscall.SIGINT, 130},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cmd, out := w.loop("--agent", "command", "--", "sh", "-c", `cat >/dev/null; echo $PPID >"$HOME/pids"; echo "$0"; exit 1`, c.says)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pids := pidsFrom(t, filepath.Join(w.home, "pids"), 1)
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				status := exec.Command("ralph-checkpoint", "status")
				status.Dir, status.Env = w.dir, w.environ
				text, _ := status.Output()
				if strings.Contains(string(text), c.shown) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("it does not wait:\n%s", text)
				}
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); code(err) != c.code {
				t.Errorf("exit code %d (%v), want %d\n%s", code(err), err, c.code, out)
			}
			mustEnd(t, pids)
			again, out := w.loop("--agent", "command", "--", "sh", "-c", `. "$STUBS"; cat >/dev/null; write`)
			if err := again.Run(); err != nil || !regexp.MustCompile(`(?m)^REQ-001 +✅ done +1 `).MatchString(out.String()) {
				t.Errorf("started again: %v\n%s", err, out)
			}
		})
	}
}
