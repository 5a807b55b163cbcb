//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever git cannot take in is named, stops nothing, and is gone when the tree is cleaned.
func TestCannotAdd(t *testing.T) {
	full := func(w *world, path string) string { return filepath.Join(w.Repo.Top, filepath.FromSlash(path)) }
	for name, c := range map[string]struct {
		spoil func(w *world)
		named string // what is said to be refused; "": git can do without it
	}{
		"a reserved name":       {func(w *world) { w.write("code/.GIT", "x\n") }, "code/.GIT"},
		"a reserved short name": {func(w *world) { w.write("code/GIT~1", "x\n") }, "code/GIT~1"},
		"a reserved folder":     {func(w *world) { w.write("GIT~1/hooks/x", "x\n") }, "GIT~1/hooks/x"},
		"a link .gitmodules":    {func(w *world) { must(w.t, os.Symlink("code/a.txt", full(w, ".gitmodules"))) }, ".gitmodules"},
		"a link instead of .gitmodules": {func(w *world) {
			must(w.t, os.Remove(full(w, ".gitmodules")))
			must(w.t, os.Symlink("code/a.txt", full(w, ".gitmodules")))
		}, ".gitmodules"},
		"a repository by a reserved name": {func(w *world) { w.git("init", "-q", "code/GIT~1") }, "code/GIT~1"},
		"an encoding": {func(w *world) {
			w.write(".gitattributes", "code/b.txt working-tree-encoding=UTF-16\n")
			w.write("code/b.txt", "work\n")
		}, "code/b.txt"},
		"an encoding of what was": {func(w *world) {
			w.write(".gitattributes", "code/a.txt working-tree-encoding=UTF-16\n")
			w.write("code/a.txt", "work\n")
		}, "code/a.txt"},
		"a filter that fails":  {func(w *world) { w.write("code/a.bin", "x\n") }, "code/a.bin"},
		"a repository instead": {func(w *world) { must(w.t, os.Remove(full(w, "code/a.txt"))); w.git("init", "-q", "code/a.txt") }, ""},
		"a pipe instead": {func(w *world) {
			must(w.t, os.Remove(full(w, "code/a.txt")))
			must(w.t, syscall.Mkfifo(full(w, "code/a.txt"), 0o666))
		}, ""},
		"a folder instead": {func(w *world) { must(w.t, os.Remove(full(w, "code/a.txt"))); w.write("code/a.txt/b", "x\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if name == "a link instead of .gitmodules" {
				w.write(".gitmodules", "")
				w.git("add", ".gitmodules")
				w.git("commit", "-q", "-m", "modules")
				w.Baseline = w.git("rev-parse", "HEAD")
			}
			w.git("config", "filter.refuse.clean", "false")
			w.git("config", "filter.refuse.required", "true")
			w.write(".git/info/attributes", "*.bin filter=refuse\n")
			w.write("users.bin", "mine\n") // the user's own file stops nothing either
			must(t, w.NoteUntracked(t.Context()))
			spoilt := func() {
				g, err := w.Remember(t.Context(), "marker", 1)
				must(t, err)
				c.spoil(w)
				must(t, w.PutInOrder(t.Context(), g, nothingOurs))
				must(t, w.Forget())
				w.said.Reset()
			}
			spoilt()
			w.write("code/new.txt", "new\n")
			tree, refused, err := w.Stage(t.Context())
			must(t, err)
			if (refused == "") != (c.named == "") || !strings.Contains(refused, c.named) && c.named != "" {
				t.Errorf("refused is %q", refused)
			}
			if names := w.git("ls-tree", "-r", "--name-only", tree); !strings.Contains(names, "code/new.txt") || strings.Contains(names, "users.bin") {
				t.Errorf("the tree holds %q", names)
			}
			if c.named != "" {
				moved, err := filepath.Glob(filepath.Join(RunDir(w.Repo, w.Run, w.Req), innerPrefix+"*", filepath.Base(c.named)))
				if len(moved) != 1 || err != nil {
					t.Errorf("moved are %q, %v", moved, err)
				}
			}
			_, err = w.CleanTo(t.Context(), w.Baseline, "leftover", w.Req, "what was left")
			must(t, err)
			spoilt() // and where nothing has looked at it before
			_, err = w.CleanTo(t.Context(), w.Baseline, "leftover", w.Req, "what was left")
			must(t, err)
			if status := w.git("status", "--porcelain"); status != "?? users.bin" {
				t.Errorf("the status is %q", status)
			}
			if w.read("users.bin") != "mine\n" || w.read("code/a.txt") != "a\n" {
				t.Error("a file is not as it was")
			}
		})
	}
}

// A file that is as the baseline has it, and yet cannot be taken in, is in the tree and stays where it is.
func TestCannotAddWhatWas(t *testing.T) {
	for _, filter := range []string{"refuse", "broken"} {
		t.Run(filter, func(t *testing.T) {
			w := newWorld(t)
			w.git("config", "filter.refuse.clean", "false")
			w.git("config", "filter.refuse.required", "true")
			w.git("config", "filter.broken.clean", "false")
			w.git("config", "filter.broken.smudge", "false")
			w.git("config", "filter.broken.required", "true")
			w.write(".gitattributes", "code/*.txt filter="+filter+"\n")
			tree, refused, err := w.Stage(t.Context())
			must(t, err)
			if strings.Count(refused, "code/a.txt") == 0 || w.read("code/a.txt") != "a\n" {
				t.Errorf("refused is %q", refused)
			}
			if changed := w.git("diff-tree", "-r", "--name-only", w.Baseline, tree); changed != ".gitattributes" {
				t.Errorf("changed are %q", changed)
			}
			if w.said.Len() > 0 {
				t.Errorf("said: %s", &w.said)
			}
			_, err = w.CleanTo(t.Context(), w.Baseline, "leftover", w.Req, "what was left")
			must(t, err)
			if status := w.git("status", "--porcelain"); status != "" || w.said.Len() > 0 {
				t.Errorf("the status is %q; said: %s", status, &w.said)
			}
		})
	}
}

func nothingOurs(_, _ map[string]File) map[string]bool { return nil }
