package testinfra

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"ralph-loop/internal/git"
)

// A commit and the worktree that it was made of look the same: files, no links, no folders unless asked for.
func TestTreesAgree(t *testing.T) {
	dir := t.TempDir()
	environ := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	large := bytes.Repeat([]byte("x"), maxSource+10)
	for name, text := range map[string]string{"a.js": "a", "dir/b c.js": "b", "dir/deep/d.js": "d", "large.js": string(large), ":odd/*.js": "odd"} {
		write(t, filepath.Join(dir, name), text)
	}
	if err := os.Symlink("a.js", filepath.Join(dir, "link.js")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	repo, err := git.Open(t.Context(), dir, environ)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"nowhere", "dir/b c.js", "dir", "dir/", "a.js/", "link.js", "a.js", ":odd/*.js", "nowhere/"}
	for name, tree := range map[string]Tree{"git": InGit(t.Context(), repo, "HEAD"), "folder": InFolder(dir)} {
		there, err := tree.Present(paths)
		if want := []string{"dir/b c.js", "dir/", "a.js", ":odd/*.js"}; err != nil || !reflect.DeepEqual(there, want) {
			t.Errorf("%s: %q are present, %v; want %q", name, there, err, want)
		}
		if data, err := tree.Read("dir/b c.js"); string(data) != "b" || err != nil {
			t.Errorf("%s: read %q, %v", name, data, err)
		}
		if there, err := tree.Present([]string{"large.js"}); len(there) != 1 || err != nil {
			t.Errorf("%s: %q, %v", name, there, err)
		}
		if data, err := tree.Read("large.js"); len(data) != maxSource || err != nil {
			t.Errorf("%s: read %d bytes, %v", name, len(data), err)
		}
		for folder, want := range map[string][]string{"dir": {"dir/b c.js"}, ".": {"a.js", "large.js"}, "nowhere": nil} {
			if list, err := tree.List(folder); err != nil || !reflect.DeepEqual(list, want) {
				t.Errorf("%s: %s holds %q, %v; want %q", name, folder, list, err, want)
			}
		}
	}
	if there, err := InGit(t.Context(), repo, "").Present(paths); there != nil || err != nil {
		t.Errorf("before the first commit: %q, %v", there, err)
	}
}
