package diffstat

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"ralph-loop/internal/git"
)

// BenchmarkMeasure counts 10,000 new files with 1,000,000 lines, and compares with git's own counting alone.
func BenchmarkMeasure(b *testing.B) {
	for _, packed := range []bool{false, true} {
		w := newWork(b, "")
		base := w.tree()
		for i := range 10_000 {
			ext := []string{".go", "_test.go", ".ts", ".py", ".md"}[i%5]
			var text strings.Builder
			for line := range 100 {
				fmt.Fprintf(&text, "line %d of file %d, as long as code has it\n", line, i)
			}
			w.write(fmt.Sprintf("d%d/e%d/f%d%s", i%40, i%400, i, ext), text.String())
		}
		tree := w.tree()
		name := "loose"
		if packed {
			name = "packed"
			w.git("commit", "-q", "-m", "x")
			w.git("repack", "-qad")
		}
		elsewhere := w.repo.WithWorktree(b.TempDir(), w.repo.Index) // nothing lies there
		for where, repo := range map[string]*git.Repo{"": w.repo, "-no-files": elsewhere} {
			b.Run("measure/"+name+where, func(b *testing.B) {
				for b.Loop() {
					if s, err := Measure(b.Context(), repo, base, tree, nil); err != nil || len(s.Files) != 10_000 {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run("numstat/"+name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("git", "diff-index", "--cached", "--numstat", "-z", "-M", "-l0", base)
				cmd.Dir, cmd.Env, cmd.Stdout = w.dir, w.env, io.Discard
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
