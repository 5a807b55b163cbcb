package diffstat

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMerge compares, over generated merges, with a count by sets: each line occurs once, in the order of its number, so
// a line of the result is new if no parent has it.
func TestMerge(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWork(t, hostile)
			r := rand.New(rand.NewPCG(seed, 11))
			parents := 2 + int(seed%2)
			files := []string{"a.go", "a_test.go", "d/b.py", "-c.ts", "e\n.go", "lib.rs"}
			// side gives some of the lines 1 to 400 of a file.
			side := func() []int {
				var lines []int
				for n := range 400 {
					if r.IntN(4) > 0 {
						lines = append(lines, n)
					}
				}
				return lines
			}
			put := func(name string, lines []int) {
				var b strings.Builder
				for _, n := range lines {
					fmt.Fprintf(&b, "let line%d of %q\n", n, name)
				}
				w.write(name, b.String())
			}
			var trees []string
			has := map[string][][]int{}
			for range parents {
				for _, name := range files {
					if r.IntN(5) == 0 { // this side does not have the file
						_ = os.Remove(filepath.Join(w.dir, name))
						has[name] = append(has[name], nil)
						continue
					}
					lines := side()
					put(name, lines)
					has[name] = append(has[name], lines)
				}
				trees = append(trees, w.tree())
			}
			want := map[string]int{}
			for _, name := range files {
				var lines []int
				switch r.IntN(3) {
				case 0: // one side as it is
					if lines = has[name][r.IntN(parents)]; lines == nil {
						_ = os.Remove(filepath.Join(w.dir, name))
						continue
					}
				case 1: // no side's line is missing, and none is new
					seen := map[int]bool{}
					for _, l := range has[name] {
						for _, n := range l {
							seen[n] = true
						}
					}
					for n := range 400 {
						if seen[n] {
							lines = append(lines, n)
						}
					}
				default:
					lines = side()
				}
				put(name, lines)
				for _, n := range lines {
					if !slices.ContainsFunc(has[name], func(l []int) bool { return slices.Contains(l, n) }) {
						want[name]++
					}
				}
			}
			got := map[string]int{}
			for _, f := range w.measureMerge(trees[0], w.tree(), trees[1:]...).Files {
				got[f.Path] += f.Added
				if f.Removed != 0 {
					t.Errorf("%q: %d removed lines", f.Path, f.Removed)
				}
			}
			for _, name := range files {
				if got[name] != want[name] {
					t.Errorf("%q: %d new lines, the other count says %d", name, got[name], want[name])
				}
			}
		})
	}
}

// A renamed file, a new one, test code inside a Rust source, and a binary file, in a merge.
func TestMergeOfOddFiles(t *testing.T) {
	w := newWork(t, "")
	w.write("old.go", lines(20, "same "))
	w.write("lib.rs", "fn a() {}\n")
	w.write("img.bin", "\x00\x01")
	w.write("gone.go", "one\ntwo\n")
	left := w.tree()
	w.write("lib.rs", "fn a() {}\nfn b() {}\n")
	w.write("img.bin", "\x00\x02")
	right := w.tree()
	w.git("mv", "old.go", "new.go")
	w.write("new.go", lines(20, "same ")+"more\n")
	w.write("fresh.go", "three\nfour\n")
	w.write("img.bin", "\x00\x03")
	w.write("lib.rs", "fn a() {}\nfn b() {}\nfn c() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {}\n}\n")
	if err := os.Remove(filepath.Join(w.dir, "gone.go")); err != nil {
		t.Fatal(err)
	}
	s := w.measureMerge(left, w.tree(), right)
	for _, want := range []struct {
		path  string
		class Class
		added int
	}{{"new.go", Implementation, 1}, {"fresh.go", Implementation, 2}, {"lib.rs", Implementation, 2}, {"lib.rs", Test, 5}, {"img.bin", Other, 0}, {"gone.go", Implementation, 0}} {
		if f := w.file(s, want.path, want.class); f.Added != want.added || f.Removed != 0 {
			t.Errorf("%s, %s: +%d -%d, want +%d", want.path, want.class, f.Added, f.Removed, want.added)
		}
	}
}

func (w *work) measureMerge(base, tree string, others ...string) *Stat {
	w.t.Helper()
	s, err := Measure(w.t.Context(), w.repo, base, tree, nil, others...)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}
