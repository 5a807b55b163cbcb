//go:build unix

package agentsmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// write makes a file below dir and the folders above it.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestOpenAndWrite(t *testing.T) {
	top := t.TempDir()
	f, err := Open(top)
	if err != nil || f.Data != nil || f.Rel != Name {
		t.Fatalf("no file: %+v, %v", f, err)
	}
	if err := f.Write([]byte("new\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(top, Name), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(top); err != nil || string(f.Data) != "new\n" {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := f.Write([]byte("newer\n")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(top, Name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Case L1: a link is followed inside the worktree and refused when it leads out of it.
func TestLinks(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	write(t, top, "docs/guide.md", "mine\n")
	write(t, top, ".git/config", "secret\n")
	write(t, outside, "theirs.md", "theirs\n")
	path := filepath.Join(top, Name)

	link(t, "docs/guide.md", path)
	f, err := Open(top)
	if err != nil || f.Rel != "docs/guide.md" || string(f.Data) != "mine\n" {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := f.Write([]byte("mine\nours\n")); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(path); err != nil || target != "docs/guide.md" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if data, err := os.ReadFile(filepath.Join(top, "docs/guide.md")); err != nil || string(data) != "mine\nours\n" {
		t.Errorf("%q, %v", data, err)
	}

	for target, want := range map[string]string{
		filepath.Join(outside, "theirs.md"): "leads out of the worktree",
		".git/config":                       "leads out of the worktree",
		"absent.md":                         "leads nowhere",
		Name:                                "leads nowhere",
		"docs":                              "is no regular file",
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		link(t, target, path)
		if _, err := Open(top); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("to %q: %v, want %q", target, err, want)
		}
	}
	// The whole worktree may be reached by a link.
	alias := filepath.Join(t.TempDir(), "alias")
	link(t, top, alias)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(top, "docs", "guide.md"), path)
	if f, err := Open(alias); err != nil || f.Rel != "docs/guide.md" {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestNoRegularFile(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, Name)
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(top); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, top, Name, "")
	if err := os.Truncate(path, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(top); err == nil || !strings.Contains(err.Error(), "has 16777217 bytes, more than 16777216") {
		t.Error(err)
	}
}

// otherUser is set in a child of this test that runs as nobody.
const otherUser = "RALPH_TEST_AGENTSMD_AS_NOBODY"

// Case L1: a read-only file is refused and stays, for its owner, for root, and for another user.
func TestReadOnly(t *testing.T) {
	if top := os.Getenv(otherUser); top != "" {
		f, err := Open(top)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write([]byte("changed")); err == nil || !strings.Contains(err.Error(), "is read-only") {
			t.Errorf("another user wrote: %v", err)
		}
		return
	}
	top, err := os.MkdirTemp("/tmp", "ralph-agentsmd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	path := filepath.Join(top, Name)
	write(t, top, Name, "mine\n")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := Open(top)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write([]byte("changed")); err == nil || !strings.Contains(err.Error(), "AGENTS.md is read-only") {
		t.Errorf("its owner wrote: %v", err)
	}
	if os.Getuid() == 0 {
		// The folder is everybody's, so that only the file's own mode stands in the way; the file is root's.
		if err := os.Chmod(top, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		// The test binary lies in a folder of root's: a copy that nobody can start.
		self := filepath.Join(top, "self")
		data, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(self, data, 0o755); err != nil {
			t.Fatal(err)
		}
		child := exec.Command(self, "-test.run=^TestReadOnly$", "-test.v")
		child.Dir, child.Env = top, append(os.Environ(), otherUser+"="+top, "GOCOVERDIR="+top, "TMPDIR="+top)
		child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestReadOnly") {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine\n" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestSaveArchive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	data := must(t, nil, section("REQ-001"))
	found, err := Sections(data)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := SaveArchive(dir, found); err != nil {
			t.Fatal(err)
		}
	}
	if err := SaveArchive(filepath.Join(dir, "none"), nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "2026-05-ralph-loop-entries.md"))
	if err != nil || string(got) != string(data) {
		t.Errorf("%q, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}
