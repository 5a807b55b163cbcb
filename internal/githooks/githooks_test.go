package githooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph-loop/hooks"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Case G28: whatever stands under the hooks' names, installing once or twice and uninstalling gives it back: bytes, mode,
// links. A refusal has written nothing.
func TestUninstallGivesBackWhatWasThere(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Join(repo.CommonDir, "hooks")
	rapid.Check(t, func(t *rapid.T) {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{"commit-msg"}, Names...) {
			path := filepath.Join(dir, name)
			var err error
			switch rapid.IntRange(0, 5).Draw(t, name) {
			case 0, 1:
			case 2:
				err = os.Symlink(rapid.SampledFrom([]string{"commit-msg", "../description", "nowhere", "/bin/true"}).Draw(t, "target"), path)
			case 3:
				err = os.WriteFile(path, []byte(rapid.SampledFrom([]string{owners[0].mark, owners[2].mark, text() + "# mine\n"}).Draw(t, "text")), 0o755)
			default:
				err = os.WriteFile(path, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), 0o600)
				if err == nil {
					err = os.Chmod(path, os.FileMode(rapid.SampledFrom([]int{0o755, 0o644, 0o500}).Draw(t, "mode")))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		before := listing(t, dir)
		done, err := Install(t.Context(), repo)
		if err != nil {
			if after := listing(t, dir); exit.Code(err) != exit.No || after != before {
				t.Fatalf("refused with %v, and left\n%s\nbefore:\n%s", err, after, before)
			}
			return
		}
		if len(done) != len(Names) {
			t.Fatalf("%v", done)
		}
		if rapid.Bool().Draw(t, "again") {
			installed := listing(t, dir)
			if _, err := Install(t.Context(), repo); err != nil || listing(t, dir) != installed {
				t.Fatalf("installing again: %v\n%s\nbefore:\n%s", err, listing(t, dir), installed)
			}
		}
		for _, name := range Names {
			if h, err := look(dir, name); err != nil || h.State != Current {
				t.Fatalf("%s: %+v, %v", name, h, err)
			}
		}
		if _, err := Uninstall(t.Context(), repo); err != nil {
			t.Fatal(err)
		}
		if after := listing(t, dir); after != before {
			t.Fatalf("it is\n%s\nbefore:\n%s", after, before)
		}
	})
}

func TestStateOf(t *testing.T) {
	ours := text()
	lines := strings.SplitAfter(ours, "\n")
	for name, c := range map[string]struct {
		text string
		want State
	}{
		"as installed":        {ours, Current},
		"put there by hand":   {hooks.Script, ByHand},
		"with a line more":    {ours + "true\n", Edited},
		"without the last":    {strings.Join(lines[:len(lines)-2], ""), Edited},
		"the mark alone":      {lines[0] + lines[1], Edited},
		"another first line":  {"#!/usr/bin/env sh\n" + strings.Join(lines[1:], ""), Edited},
		"of another version":  {"#!/bin/sh\n" + mark + checksum("#!/bin/sh\ntrue\n") + "\ntrue\n", Older},
		"somebody's":          {"#!/bin/sh\nralph-gate\n", Foreign},
		"empty":               {"", Foreign},
		"one line":            {"#!/bin/sh", Foreign},
		"the mark, elsewhere": {"#!/bin/sh\n\n" + lines[1], Foreign},
	} {
		if got := stateOf(c.text); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What stands in the way is told, not written over.
func TestInstallRefusals(t *testing.T) {
	for name, lay := range map[string]func(dir string) error{
		"a folder under the name": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "pre-push"), 0o755) },
		"two to be chained": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "pre-push"+Chained), []byte("x"), 0o755)
		},
	} {
		repo := newRepo(t)
		dir := filepath.Join(repo.CommonDir, "hooks")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if name == "two to be chained" {
			if err := os.WriteFile(filepath.Join(dir, "pre-push"), []byte("y"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := lay(dir); err != nil {
			t.Fatal(err)
		}
		before := listing(t, dir)
		if done, err := Install(t.Context(), repo); err == nil || len(done) > 0 || !strings.Contains(err.Error(), "pre-push") || listing(t, dir) != before {
			t.Errorf("%s: %v, %v\n%s", name, done, err, listing(t, dir))
		}
	}
}

func newRepo(t *testing.T) *git.Repo {
	t.Helper()
	dir := t.TempDir()
	env := append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	repo, err := git.Open(t.Context(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// listing is what a folder holds, without git's samples.
func listing(t interface{ Fatal(...any) }, dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		what := "folder"
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			what, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			what = string(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s %q\n", e.Name(), info.Mode(), what)
	}
	return b.String()
}
