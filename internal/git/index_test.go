package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTreeOfIndex compares with git write-tree, over the versions of the file and both hash functions: it says the same or
// nothing, and it says it when git commit has just brought the index up to date.
func TestTreeOfIndex(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for version := 2; version <= 4; version++ {
			t.Run(fmt.Sprintf("%s, version %d", format, version), func(t *testing.T) {
				w := newWork(t, "--object-format="+format)
				w.git("config", "core.splitIndex", "false")
				w.git("config", "index.skipHash", fmt.Sprint(version%2 == 0))
				w.git("update-index", "--index-version", fmt.Sprint(version))
				w.write("a", "a")
				w.commit("one")
				check := func(what string, must bool) {
					t.Helper()
					repo := w.open()
					got, ok := repo.TreeOfIndex()
					want, err := repo.writeTree(t.Context())
					if ok && (err != nil || got != want) {
						t.Errorf("%s: %s, git says %s, %v", what, got, want, err)
					}
					if !ok && must {
						t.Errorf("%s: it does not tell", what)
					}
				}
				check("one file", true)
				for i := range 30 {
					w.write(filepath.Join(strings.Repeat("long", i), fmt.Sprint("name ", i, "\n\xff")), fmt.Sprint(i))
				}
				w.git("add", "-A")
				check("staged", false)
				w.git("write-tree") // as git commit does before it calls a hook
				check("brought up to date", true)
				w.write("new", "new")
				w.git("add", "-N", "new")
				check("intent to add", false)
				w.git("add", "new")
				check("staged again", false)
				w.git("write-tree")
				w.git("update-index", "--skip-worktree", "a")
				w.git("update-index", "--assume-unchanged", "new")
				w.git("write-tree")
				check("extended flags", true)
				w.git("rm", "-q", "--sparse", "--cached", "a")
				check("removed", false)
				w.git("update-index", "--split-index")
				w.git("write-tree")
				check("split", false)
			})
		}
	}
}

// A conflict has no tree; without a commit nothing tells the hash function.
func TestTreeOfIndexGivesUp(t *testing.T) {
	w := newWork(t)
	w.git("config", "core.splitIndex", "false")
	w.write("a", "a")
	w.git("add", "a")
	w.git("write-tree")
	if tree, ok := w.open().TreeOfIndex(); ok {
		t.Errorf("before the first commit: %s", tree)
	}
	w.commit("one")
	blob := w.git("rev-parse", "HEAD:a")
	cmd := exec.Command("git", "-c", "core.fsmonitor=false", "update-index", "--index-info")
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.env, strings.NewReader("100644 "+blob+" 1\ta\n100644 "+blob+" 2\ta\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if tree, ok := w.open().TreeOfIndex(); ok {
		t.Errorf("a conflict: %s", tree)
	}
	if err := os.Remove(filepath.Join(w.dir, ".git", "index")); err != nil {
		t.Fatal(err)
	}
	if tree, ok := w.open().TreeOfIndex(); ok {
		t.Errorf("no index: %s", tree)
	}
}

func FuzzTreeOfIndex(f *testing.F) {
	entry := strings.Repeat("\x00", 40) + strings.Repeat("h", 20) + "\x00\x01a" + strings.Repeat("\x00", 9)
	tree := "TREE\x00\x00\x00\x1a\x00" + "1 0\n" + strings.Repeat("t", 20) + "x"
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + entry + tree + strings.Repeat("c", 20)))
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x00" + "link\x00\x00\x00\x00" + strings.Repeat("c", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tree, ok := treeOfIndex(data, 20); ok && len(tree) != 40 {
			t.Fatalf("%q", tree)
		}
	})
}
