//go:build unix

package workspace

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// The git of an alias that started the loop has no lock of its own; one that runs us as its hook may.
func TestCallers(t *testing.T) {
	w := newWorld(t)
	parents := map[int]int{os.Getppid(): 7000001, 7000001: 7000002, 7000002: 7000001, 7000003: 1}
	parent := func(pid int) (int, bool) {
		above, alive := parents[pid]
		return above, alive
	}
	if got, want := w.callers(parent), map[int]bool{os.Getppid(): true, 7000001: true, 7000002: true}; !maps.Equal(got, want) {
		t.Errorf("they are %v, not %v", got, want)
	}
	w.Repo.Index = filepath.Join(w.Repo.GitDir, "index.lock")
	if got := w.callers(parent); len(got) > 0 {
		t.Errorf("in a hook they are %v", got)
	}
}
