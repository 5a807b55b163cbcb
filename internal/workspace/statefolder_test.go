//go:build unix

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ralph-loop/internal/git"
)

// planted is a worktree in an empty folder, whose state folder exists; said are its notes.
func planted(t *testing.T) (w *Workspace, sprint string, said *strings.Builder) {
	t.Helper()
	repo := &git.Repo{Top: t.TempDir()}
	said = &strings.Builder{}
	w = &Workspace{Repo: repo, Say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }}
	if err := os.MkdirAll(filepath.Join(RunDir(repo, "run", "REQ-001"), "1"), 0o777); err != nil {
		t.Fatal(err)
	}
	return w, repo.Sprint(), said
}

// Whatever stands where a file is to be made, or a folder above it, what it leads to is not written.
func TestWrittenAnew(t *testing.T) {
	for name, plant := range map[string]func(victim, folder, file string) error{
		"nothing":              func(_, _, file string) error { return nil },
		"a file":               func(_, _, file string) error { return os.WriteFile(file, []byte("old and longer"), 0o666) },
		"a link":               func(victim, _, file string) error { return os.Symlink(victim, file) },
		"a link to nothing":    func(victim, _, file string) error { return os.Symlink(victim+"-new", file) },
		"another name":         func(victim, _, file string) error { return os.Link(victim, file) },
		"a folder":             func(_, _, file string) error { return os.MkdirAll(filepath.Join(file, "inside"), 0o777) },
		"a link above":         func(victim, dir, _ string) error { return replace(dir, filepath.Dir(victim)) },
		"a link above, inside": func(_, dir, _ string) error { return replace(dir, "../../..") },
		"a file above":         func(victim, dir, _ string) error { _ = os.Remove(dir); return os.Link(victim, dir) },
		"a link for the runs": func(victim, dir, _ string) error {
			return replace(filepath.Dir(filepath.Dir(filepath.Dir(dir))), filepath.Dir(victim))
		},
		"a link far above, dot": func(_, dir, _ string) error { return replace(filepath.Dir(dir), ".") },
	} {
		t.Run(name, func(t *testing.T) {
			w, _, _ := planted(t)
			victim := filepath.Join(t.TempDir(), "prompt.txt")
			must(t, os.WriteFile(victim, []byte("precious"), 0o666))
			dir := filepath.Join(RunDir(w.Repo, "run", "REQ-001"), "1")
			file := filepath.Join(dir, "prompt.txt")
			must(t, plant(victim, dir, file))
			must(t, w.WriteAnew(file, []byte("new")))
			if got := content(t, victim); got != "precious" {
				t.Errorf("the other file is %q", got)
			}
			if got := content(t, file); got != "new" {
				t.Errorf("the file is %q", got)
			}
			if real, err := filepath.EvalSymlinks(file); err != nil || !strings.HasSuffix(real, "/runs/run/REQ-001/1/prompt.txt") {
				t.Errorf("it lies at %s, %v", real, err)
			}
			if _, err := os.Lstat(victim + "-new"); err == nil {
				t.Error("a file was made behind a link")
			}
		})
	}
}

// replace puts a link in the place of a folder.
func replace(dir, target string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Symlink(target, dir)
}

// What is neither a file nor a folder goes, a file gets an inode of its own, and a repository that was moved here stays.
func TestLinksAreDropped(t *testing.T) {
	w, sprint, said := planted(t)
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o666))
	run := RunDir(w.Repo, "run", "REQ-001")
	moved := filepath.Join(run, innerPrefix+"1", "theirs")
	must(t, os.MkdirAll(moved, 0o777))
	must(t, os.Symlink(victim, filepath.Join(moved, "link")))
	must(t, os.Symlink(victim, filepath.Join(run, "1", ReportFile)))
	must(t, os.Symlink(moved, filepath.Join(sprint, "digests")))
	must(t, syscall.Mkfifo(filepath.Join(sprint, "verdict.json"), 0o666))
	must(t, os.Link(victim, filepath.Join(sprint, "digest.txt")))
	// Of the same name elsewhere it is no repository that we moved.
	must(t, os.Mkdir(filepath.Join(run, "1", innerPrefix+"2"), 0o777))
	must(t, os.Symlink(victim, filepath.Join(run, "1", innerPrefix+"2", "link")))

	must(t, w.DropLinks())
	for _, name := range []string{"digests", "verdict.json", "runs/run/REQ-001/1/report.yaml", "runs/run/REQ-001/1/repository-2/link"} {
		if _, err := os.Lstat(filepath.Join(sprint, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
		if !strings.Contains(said.String(), "put in order: .sprint-state/ralph-loop/"+name+" was no plain file and is taken away\n") {
			t.Errorf("%s is not told of:\n%s", name, said)
		}
	}
	if _, err := os.Lstat(filepath.Join(moved, "link")); err != nil {
		t.Error(err)
	}
	must(t, os.WriteFile(filepath.Join(sprint, "digest.txt"), []byte("new"), 0o666))
	if got := content(t, victim); got != "precious" {
		t.Errorf("the other file is %q", got)
	}
	said.Reset()
	must(t, w.DropLinks())
	if said.Len() > 0 {
		t.Errorf("told again: %s", said)
	}
}
