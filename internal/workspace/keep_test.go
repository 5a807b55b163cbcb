package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// However many files are kept, they cost the same few calls of git.
func TestKeepFilesInFewCalls(t *testing.T) {
	w := newWorld(t)
	trace := filepath.Join(t.TempDir(), "trace")
	w.Repo = w.Repo.With("GIT_TRACE=" + filepath.ToSlash(trace))
	files := map[string]File{
		"a link": {Data: []byte("to"), Mode: os.ModeSymlink},
		"run":    {Data: []byte("run\n"), Mode: 0o755},
		"stored": {Mode: 0o644, Hash: w.git("rev-parse", "HEAD:code/a.txt")},
	}
	for i := range 20 {
		files[fmt.Sprintf("dir/%d\n", i)] = File{Data: fmt.Append(nil, i), Mode: 0o644}
	}
	ref, err := w.keepFiles(t.Context(), "found", "REQ-001", files, "what was found")
	must(t, err)
	data, err := os.ReadFile(trace)
	must(t, err)
	if n := strings.Count(string(data), "built-in: git hash-object"); n != 1 {
		t.Errorf("git hash-object was called %d times", n)
	}
	listed := w.git("ls-tree", "-r", "-z", ref)
	if n := strings.Count(listed, "\x00"); n != len(files) {
		t.Errorf("%d files are kept, not %d: %q", n, len(files), listed)
	}
	for path, want := range map[string]string{"a link": "120000 to", "run": "100755 run", "stored": "100644 a", "dir/7\n": "100644 7"} {
		mode, content, _ := strings.Cut(want, " ")
		if !strings.Contains(listed, "\t"+path+"\x00") || w.git("cat-file", "-p", ref+":"+path) != content || !strings.HasPrefix(w.git("ls-tree", ref, "--", path), mode) {
			t.Errorf("%q is not kept as %s", path, want)
		}
	}
}
