package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// maxCopied is the largest file that is copied in where it could be linked, in bytes: what a tool writes to a small
// file (.env) must not reach the worktree.
const maxCopied = 1 << 20

// findLinks finds what Links names in the worktree: at the top and in each folder of the tree.
func (c *Copy) findLinks(want *contents) error {
	top, err := filepath.EvalSymlinks(c.repo.Top)
	if err != nil {
		return err
	}
	c.python = nil
	folders := []string{""}
	for f := range want.folders {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	found := map[string]fs.FileInfo{}
	for _, name := range c.Links {
		name = path.Clean(name)
		if name == "." || !filepath.IsLocal(name) {
			return exit.Fail("name files or folders of the worktree in gate.link", "gate.link holds %q, which is not below the worktree's top", name)
		}
		in := folders
		if strings.Contains(name, "/") {
			in = []string{""}
		}
		for _, folder := range in {
			p := path.Join(folder, name)
			if want.files[p] || want.folders[p] || want.submodules[p] || want.own[p] {
				continue // tracked: the tree has it; or made in the copy
			}
			if info, err := os.Stat(filepath.Join(c.repo.Top, filepath.FromSlash(p))); err == nil {
				found[p] = info
			}
		}
	}
	for p, info := range found {
		full := filepath.Join(c.repo.Top, filepath.FromSlash(p))
		switch {
		case info.Mode().IsRegular() && info.Size() <= maxCopied:
			want.copies[p] = full
		case info.IsDir() && path.Base(p) == "node_modules":
			if err := c.mirror(want, top, p, full, found); err != nil {
				return err
			}
		default:
			want.links[p] = full
		}
		want.addFolders(p)
		if _, err := os.Stat(filepath.Join(full, "pyvenv.cfg")); err == nil {
			project := filepath.Join(c.Dir, filepath.FromSlash(path.Dir(p)))
			c.python = append(c.python, project, filepath.Join(project, "src"))
		}
	}
	slices.Sort(c.python)
	return nil
}

// mirror makes a folder of packages out of links, one a package, so that a package which is itself a link into the
// worktree (a workspace) can lead into the copy instead. What tools write between the packages (.cache, .vite) is not
// linked: they make their own in the copy.
func (c *Copy) mirror(want *contents, top, p, full string, found map[string]fs.FileInfo) error {
	entries, err := os.ReadDir(full)
	if err != nil {
		return err
	}
	want.folders[p] = true
	for _, e := range entries {
		name := e.Name()
		inner, target := p+"/"+name, filepath.Join(full, name)
		switch {
		case e.IsDir() && (strings.HasPrefix(name, "@") || name == ".bin"):
			if err := c.mirror(want, top, inner, target, found); err != nil {
				return err
			}
			continue
		case strings.HasPrefix(name, ".") && e.IsDir() && name != ".pnpm":
			continue
		case e.Type()&fs.ModeSymlink != 0:
			target = c.redirect(want, top, target, found)
		}
		want.links[inner] = target
	}
	return nil
}

// redirect gives the place in the copy for a link that leads to a tracked place of the worktree.
func (c *Copy) redirect(want *contents, top, link string, found map[string]fs.FileInfo) string {
	at, err := filepath.EvalSymlinks(link)
	if err != nil {
		return link // broken there, broken here
	}
	rel, err := filepath.Rel(top, at)
	if err != nil || !filepath.IsLocal(rel) {
		return link
	}
	rel = filepath.ToSlash(rel)
	for p := range found {
		if rel == p || strings.HasPrefix(rel, p+"/") {
			return link // a package among the packages
		}
	}
	if want.files[rel] || want.folders[rel] {
		return filepath.Join(c.Dir, filepath.FromSlash(rel))
	}
	return link
}

// module is a submodule that is checked out, and the recorded commit, which the copy gets.
type module struct {
	path, commit string
	repo         *git.Repo
}

// findSubmodules adds what the submodules below at hold to want: each that is checked out at the recorded commit, as that
// commit has it, since nobody else gets what lies there beside it. One that is not checked out is an empty folder, as in a
// fresh clone. outer is the repository that records them.
func (c *Copy) findSubmodules(ctx context.Context, outer *git.Repo, want *contents, recorded map[string]string) error {
	for _, p := range slices.Sorted(maps.Keys(recorded)) {
		commit, full := recorded[p], filepath.Join(c.repo.Top, filepath.FromSlash(p))
		if _, err := os.Lstat(filepath.Join(full, ".git")); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		sub, err := outer.Other(ctx, full)
		if err != nil {
			return fmt.Errorf("look at submodule %q: %w", p, err)
		}
		head, err := sub.Head(ctx)
		if err != nil {
			return fmt.Errorf("look at submodule %q: %w", p, err)
		}
		if head != commit {
			return exit.Fail(fmt.Sprintf("git submodule update -- %s, or stage the commit that is checked out", p),
				"submodule %q is at %.12s, but %.12s is recorded", p, head, commit)
		}
		// Unlike the plumbing, status does not take a touched file for a changed one.
		changed, err := sub.Output(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=untracked")
		if err != nil {
			return fmt.Errorf("look at submodule %q: %w", p, err)
		}
		if name, _, some := strings.Cut(string(changed), "\x00"); some {
			return exit.Fail("commit inside the submodule and stage its new commit, or undo the change", "submodule %q has changes that are not committed: %q", p, name[3:])
		}
		entries, err := sub.Entries(ctx, commit)
		if err != nil {
			return fmt.Errorf("look at submodule %q: %w", p, err)
		}
		want.modules = append(want.modules, module{p, commit, sub})
		want.folders[p] = true
		if err := c.findSubmodules(ctx, sub, want, want.add(p, entries)); err != nil {
			return err
		}
	}
	return nil
}

// link makes what clean left out or git does not know of.
func (c *Copy) link(want *contents) error {
	for p, target := range want.links {
		full := filepath.Join(c.Dir, filepath.FromSlash(p))
		if leadsTo(full, target) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return fmt.Errorf("link into the copy: %w", err)
		}
		if err := os.Symlink(target, full); err != nil {
			return fmt.Errorf("link into the copy: %w", err)
		}
	}
	for p, from := range want.copies {
		data, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("copy %q: %w", p, err)
		}
		full := filepath.Join(c.Dir, filepath.FromSlash(p))
		if before, err := os.ReadFile(full); err == nil && bytes.Equal(before, data) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return fmt.Errorf("copy %q: %w", p, err)
		}
		// Never through what stands there: it may be one file with another by a hard link.
		if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy %q: %w", p, err)
		}
		if err := os.WriteFile(full, data, 0o600); err != nil {
			return fmt.Errorf("copy %q: %w", p, err)
		}
	}
	return nil
}
