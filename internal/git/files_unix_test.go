//go:build unix

package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFiles: a file gives what git has by that name, or nothing.
func TestFiles(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWork(t, "--object-format="+format)
		for path, text := range map[string]string{"a.go": "package a\n", "empty": "", "odd\n\xff name": "x", "d/e/f": "no newline", "link": "target",
			"full": strings.Repeat("y", maxFile), "over": strings.Repeat("y", maxFile+1), "bin": "\x00\r\n\xff"} {
			w.write(path, text)
		}
		id := func(path string) string { return w.git("hash-object", "--no-filters", "--", path) }
		ids := map[string]string{}
		f := w.open().Files()
		for _, path := range []string{"a.go", "full", "empty", "odd\n\xff name", "bin", "d/e/f"} { // a small one behind a large one too
			ids[path] = id(path)
			want, err := os.ReadFile(filepath.Join(w.dir, path))
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := f.Blob(path, ids[path]); !ok || string(data) != string(want) {
				t.Errorf("%s: %q gives %q, %v", format, path, data, ok)
			}
		}
		outside := filepath.Join(w.home, "outside")
		write(t, filepath.Join(outside, "f"), "no newline")
		err := errors.Join(
			os.Symlink("a.go", filepath.Join(w.dir, "alias")),
			os.Symlink("target", filepath.Join(w.dir, "dangling")),
			os.Symlink(outside, filepath.Join(w.dir, "elsewhere")),
			syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o666),
			os.Mkdir(filepath.Join(w.dir, "folder"), 0o777),
			os.Rename(filepath.Join(w.dir, "a.go"), filepath.Join(w.dir, "moved")),
			os.WriteFile(filepath.Join(w.dir, "a.go"), []byte("b"), 0o666),
		)
		if err != nil {
			t.Fatal(err)
		}
		for path, blob := range map[string]string{"a.go": ids["a.go"], "alias": ids["a.go"], "dangling": id("link"), "pipe": ids["empty"], "folder": ids["empty"],
			"over": id("over"), "absent": ids["empty"], "": ids["empty"], "../outside/f": ids["d/e/f"], "/etc/passwd": ids["empty"], "d": ids["empty"],
			"empty": "", "moved": ids["a.go"][:20], "nul\x00": ids["empty"]} {
			if data, ok := f.Blob(path, blob); ok {
				t.Errorf("%s: %q gives %q", format, path, data)
			}
		}
		// A folder that is a link leads elsewhere; what lies there under that name is that content all the same.
		if data, ok := f.Blob("elsewhere/f", ids["d/e/f"]); !ok || string(data) != "no newline" {
			t.Errorf("%s: through a link: %q, %v", format, data, ok)
		}
	}
}

// TestFilesGiveUp: a worktree that holds something else is not searched to the end.
func TestFilesGiveUp(t *testing.T) {
	w := newWork(t)
	f := w.open().Files()
	hit := func(i int) bool {
		path := fmt.Sprintf("f%d", i)
		w.write(path, path)
		_, ok := f.Blob(path, blobName([]byte(path), 40))
		return ok
	}
	for i := range 5 {
		if !hit(i) {
			t.Fatalf("file %d was not read", i)
		}
	}
	for range maxMisses + 5 {
		f.Blob("absent", blobName(nil, 40))
	}
	if !hit(5) {
		t.Error("gave up too early")
	}
	for range 3 {
		f.Blob("absent", blobName(nil, 40))
	}
	if hit(6) {
		t.Error("did not give up")
	}
	if other := w.open().Files(); other.misses != 0 {
		t.Error("one reader's misses are another's")
	}
}
