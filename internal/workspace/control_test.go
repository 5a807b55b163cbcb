package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that steer the loop and that no tree holds come back as they were before the attempt, from the guard as the next
// program reads it: ignored ones, what a link leads to, one below a folder; what was not there is not there again. What was
// found is kept.
func TestControlFiles(t *testing.T) {
	w := newWorld(t)
	w.write(".git/info/exclude", "*\n")
	w.write("conf/own.yaml", "mine\n")
	must(t, os.Symlink("conf/own.yaml", filepath.Join(w.Repo.Top, "loop.yaml")))
	w.write("texts/prompt.txt", "do it\n")
	w.Control = []string{"loop.yaml", "plan.yaml", "AGENTS.md", filepath.Join(w.Repo.Top, "texts", "prompt.txt"), "none.yaml", "", "../outside", "/nowhere"}
	outside := t.TempDir()
	must(t, w.NoteUntracked(t.Context()))
	_, err := w.Remember(t.Context(), "marker", 1)
	must(t, err)

	w.write("conf/own.yaml", "the agent's\n")
	must(t, os.Remove(filepath.Join(w.Repo.Top, "loop.yaml")))
	w.write("loop.yaml", "a file now\n")
	must(t, os.RemoveAll(filepath.Join(w.Repo.Top, "texts")))
	must(t, os.Symlink(outside, filepath.Join(w.Repo.Top, "texts")))
	w.write("texts/prompt.txt", "do nothing\n")
	w.write("AGENTS.md/in/a/folder.txt", "deep\n")
	w.write("none.yaml", "some\n")
	g, err := w.Remembered()
	must(t, err)
	must(t, w.PutInOrder(t.Context(), g, func(_, _ map[string]File) map[string]bool { return nil }))

	for path, want := range map[string]string{"conf/own.yaml": "mine\n", "loop.yaml": "mine\n", "texts/prompt.txt": "do it\n"} {
		if got := w.read(path); got != want {
			t.Errorf("%s holds %q", path, got)
		}
	}
	if to, err := os.Readlink(filepath.Join(w.Repo.Top, "loop.yaml")); to != "conf/own.yaml" {
		t.Errorf("the link leads to %q (%v)", to, err)
	}
	if got := content(t, filepath.Join(outside, "prompt.txt")); got != "do nothing\n" {
		t.Errorf("a file out of the worktree holds %q", got)
	}
	for _, path := range []string{"AGENTS.md", "none.yaml"} {
		if _, err := os.Lstat(filepath.Join(w.Repo.Top, path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	for _, line := range []string{
		`"conf/own.yaml" is untracked and not the agent's to touch: it was changed and is put back`,
		`"loop.yaml" is untracked and not the agent's to touch: it was changed and is put back`,
		`"texts/prompt.txt" is untracked and not the agent's to touch: it was deleted and is put back`,
		"AGENTS.md is written by ralph-learn alone",
		"none.yaml is not the agent's to make",
	} {
		if !strings.Contains(w.said.String(), line) {
			t.Errorf("it does not say %q:\n%s", line, w.said.String())
		}
	}
	ref := w.Ref("found", "REQ-001-1")
	for path, want := range map[string]string{"conf/own.yaml": "the agent's", "loop.yaml": "a file now", "AGENTS.md/in/a/folder.txt": "deep", "none.yaml": "some"} {
		if got := w.git("show", ref+":worktree/"+path); got != want {
			t.Errorf("%s is kept as %q", path, got)
		}
	}
}

// A section of ours is cut out of an AGENTS.md that is a person's, and the file goes only where it held nothing else. What a
// person wrote into a tracked one meanwhile is kept under a ref and named.
func TestRestoreAgentsFile(t *testing.T) {
	const section = "<!-- ralph-loop:begin REQ-001 2026-01-02 +0 -->\n## ralph-loop: [REQ-001 One] (auto-added)\nsaid\n<!-- ralph-loop:end REQ-001 -->\n"
	w := newWorld(t)
	w.write("AGENTS.md", "my own rules\n\n"+strings.Replace(section, "+0", "+1", 1))
	must(t, w.RestoreAgentsFile(t.Context()))
	if got := w.read("AGENTS.md"); got != "my own rules\n" {
		t.Errorf("it holds %q", got)
	}
	w.write("AGENTS.md", section)
	must(t, w.RestoreAgentsFile(t.Context()))
	if _, err := os.Lstat(filepath.Join(w.Repo.Top, "AGENTS.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	w.write("AGENTS.md", "rules\n")
	w.git("add", "AGENTS.md")
	w.git("commit", "-qm", "rules")
	w.Baseline = w.git("rev-parse", "HEAD")
	w.write("AGENTS.md", "rules\n\n"+strings.Replace(section, "+0", "+1", 1))
	must(t, w.RestoreAgentsFile(t.Context()))
	if got := w.read("AGENTS.md"); got != "rules\n" || w.said.Len() > 0 {
		t.Errorf("it holds %q; said %q", got, w.said.String())
	}
	w.write("AGENTS.md", "rules\nand one more\n\n"+strings.Replace(section, "+0", "+1", 1))
	must(t, w.RestoreAgentsFile(t.Context()))
	if got := w.read("AGENTS.md"); got != "rules\n" {
		t.Errorf("it holds %q", got)
	}
	if got := w.git("show", w.Ref("found", "REQ-001")+":AGENTS.md"); !strings.Contains(got, "and one more") || !strings.Contains(w.said.String(), "kept under") {
		t.Errorf("kept is %q; said %q", got, w.said.String())
	}
}
