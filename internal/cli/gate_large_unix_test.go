//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Case G14: 300,000 added lines, one of 5 MB: bounded memory and time.
func TestGateOnAVeryLargeChange(t *testing.T) {
	dir, env := gateProject(t)
	line := strings.Repeat("x := 1 // as long as code has it\n", 100_000)
	for name, text := range map[string]string{"large.sh": line + line, "large_test.sh": line, "wide.sh": strings.Repeat("y", 5<<20) + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	add := exec.Command("git", "add", ".")
	add.Dir, add.Env = dir, env
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	begun := time.Now()
	cmd := exec.Command("ralph-gate", "--only", "L0,L1b", "--format", "json")
	cmd.Dir, cmd.Env = dir, env
	out, _ := cmd.Output() // 33 per cent are too few
	if !bytes.Contains(out, []byte("100023 of 300028 added lines are tests (33.33 %), 40 % wanted")) {
		t.Errorf("%s", out)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	// Of git's processes too: the largest one counts.
	most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS == "darwin" {
		most /= 1024
	}
	if most > 200<<10 {
		t.Errorf("used %d MB of memory", most>>10)
	}
}
