package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWriteReplacesAndLeavesNoLitter(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, text := range []string{"one", "", "three"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("read %q, %v; want %q", got, err, text)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestFailedWriteKeepsTheOld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	// A folder that is not empty cannot be replaced by a file.
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if err := Write(filepath.Join(dir, "absent", "state"), nil); err == nil {
		t.Error("written into a folder that is not there")
	}
}

// What a killed Write left behind is swept away, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	if err := Sweep(filepath.Join(dir, "absent")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{".state.tmp-123", ".state.tmp-", "state", ".state", "state.tmp-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || strings.Join(left, " ") != ".state state state.tmp-1" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A file is replaced with its mode.
func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		write func(string, []byte) error
		mode  os.FileMode
	}{{Write, 0o644}, {WriteExecutable, 0o755}, {WritePrivate, 0o600}} {
		if err := c.write(path, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != c.mode {
			t.Errorf("%v, %v; want %o", info.Mode(), err, c.mode)
		}
	}
}
