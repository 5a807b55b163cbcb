//go:build unix

package snapshot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAsAnotherUser: root may write everywhere, so the permissions are tried by a child with another uid.
func TestAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: TestTampering has tried it already")
		return
	}
	// Not in TMPDIR, which may lie in a folder of root's alone.
	base, err := os.MkdirTemp("/tmp", "ralph-other-user-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	for _, d := range []string{"home", "work", "cache", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, d), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(base, d), 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	self = filepath.Join(base, "snapshot.test")
	if err := os.WriteFile(self, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestTampering$/^(read-only|no_permission|mode)$")
	cmd.Dir = base
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "TMPDIR=" + filepath.Join(base, "tmp")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
