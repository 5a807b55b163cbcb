package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
	"ralph-loop/internal/snapshot"
)

// core.hooksPath may lead anywhere: into the worktree, as husky's does, or to a folder of many repositories. What an agent
// leaves there runs at the loop's own commit, and at each of the user's from then on.

// hookNames are those that git looks for.
var hookNames = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-auto-gc", "post-rewrite", "post-index-change",
	"reference-transaction", "sendemail-validate", "fsmonitor-watchman", "push-to-checkout", "pre-receive", "update", "proc-receive",
	"post-receive", "post-update",
}

// maxHooks is how many files of a hooks folder are guarded, and maxHookBytes how much of them in all; beyond that only
// the hooks themselves are, not what they call.
const (
	maxHooks     = 1000
	maxHookBytes = 64 << 20
)

// readHooks reads what git would run as hooks, and what lies beside that for them to call, where core.hooksPath leads out
// of what is guarded anyway: absolute path to file, nil where there is none. A file that the baseline has is left to the
// gate, which refuses an edit by name or allows it.
func (w *Workspace) readHooks(ctx context.Context, modules []string) (map[string]*File, error) {
	dir, err := w.Repo.Line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "hooks")
	if err != nil {
		return nil, fmt.Errorf("look for the hooks: %w", err)
	}
	dir = resolved(dir) // a link on the way is a file of its own, tracked, untracked or nobody's
	for _, root := range w.guarded(modules) {
		if real, err := filepath.EvalSymlinks(root); dir == root || below(dir, root) || err == nil && (dir == real || below(dir, real)) {
			return nil, nil
		}
	}
	tracked, rest, err := w.besideHooks(ctx, dir)
	if err != nil {
		return nil, err
	}
	files := map[string]*File{}
	size := int64(0)
	for i, path := range slices.Concat(hookPaths(dir), rest) {
		if tracked[path] {
			continue
		}
		info, err := os.Lstat(path)
		switch {
		case isGone(err) && i < len(hookNames):
			files[path] = nil
			continue
		case isGone(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("look at the hooks: %w", err)
		case info.Size() > maxGuarded || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 || !readable(path, info):
			continue // it could not be put back
		}
		if size += info.Size(); size > maxHookBytes && i >= len(hookNames) {
			break
		}
		f, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("look at the hooks: %w", err)
		}
		files[path] = &f
	}
	return files, nil
}

// resolved is where a path leads as links, as far as it is there.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// isGone reports whether there is nothing at a path, not even a folder for it.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

func hookPaths(dir string) []string {
	paths := make([]string, len(hookNames))
	for i, name := range hookNames {
		paths[i] = filepath.Join(dir, name)
	}
	return paths
}

// besideHooks are the files of a hooks folder that the baseline has, and the others that hooks there may call: outside the
// worktree all that are there, in it those that git ignores. The user's untracked ones are guarded as such, and what else
// there is may be an attempt's work.
func (w *Workspace) besideHooks(ctx context.Context, dir string) (tracked map[string]bool, rest []string, err error) {
	top, err := filepath.EvalSymlinks(w.Repo.Top)
	if err != nil {
		return nil, nil, err
	}
	if dir == top || below(dir, top) {
		entries, err := w.Repo.Entries(ctx, w.Baseline)
		if err != nil {
			return nil, nil, err
		}
		tracked = map[string]bool{}
		for _, e := range entries {
			tracked[filepath.Join(top, filepath.FromSlash(e.Path))] = true
		}
		if dir == top {
			return tracked, nil, nil
		}
		rel, err := filepath.Rel(top, dir)
		if err != nil {
			return nil, nil, err
		}
		out, err := w.Repo.Output(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", filepath.ToSlash(rel))
		if err != nil {
			return nil, nil, err
		}
		for _, path := range git.Records(out) {
			rest = append(rest, filepath.Join(top, filepath.FromSlash(path)))
		}
	} else {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if len(rest) > maxHooks {
				return fs.SkipAll
			}
			if err == nil && !d.IsDir() {
				rest = append(rest, path)
			}
			return nil // what cannot be read cannot be put back
		})
	}
	rest = slices.DeleteFunc(rest, func(path string) bool {
		return filepath.Dir(path) == dir && slices.Contains(hookNames, filepath.Base(path))
	})
	if len(rest) > maxHooks {
		rest = nil
	}
	return tracked, rest, nil
}

// restoreHooks puts those files back, and takes away what stands where nothing was. It calls no git, which would run them.
func (w *Workspace) restoreHooks(g *Guard) (found map[string]File, notes []string, err error) {
	found = map[string]File{}
	needed := map[string]bool{}
	for path, was := range g.Hooks {
		dir := filepath.Dir(path)
		needed[dir] = needed[dir] || was != nil
	}
	for _, dir := range slices.Sorted(maps.Keys(needed)) {
		if err := w.clearHooksWay(dir, needed[dir], found); err != nil {
			return nil, nil, fmt.Errorf("put back the hooks: %w", err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(g.Hooks)) {
		was := g.Hooks[path]
		info, err := os.Lstat(path)
		gone := isGone(err)
		if err != nil && !gone {
			return nil, nil, fmt.Errorf("look at the hooks: %w", err)
		}
		if was == nil && (gone || info.IsDir()) {
			continue
		}
		var now File
		readErr := fs.ErrInvalid
		if !gone && info.Size() <= maxGuarded {
			now, readErr = readFile(path)
		}
		what := "changed"
		switch {
		case was != nil && readErr == nil && was.Same(now):
			continue
		case gone:
			what = "deleted"
		case was == nil:
			what = "created"
		}
		if readErr == nil {
			found[w.hookName(path)] = now
		}
		if was == nil {
			_ = snapshot.OpenFolder(filepath.Dir(path))
			err = snapshot.RemoveAll(path)
			failpoint.Step("remove a hook that was not there")
			notes = append(notes, fmt.Sprintf("the hook %s was created and is taken away", w.nameOf(path)))
		} else {
			err = was.Put(path)
			notes = append(notes, fmt.Sprintf("the hook %s was %s and is put back", w.nameOf(path), what))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("put back %s: %w", path, err)
		}
	}
	return found, notes, nil
}

// clearHooksWay takes away what an attempt put in the place of a hooks folder, or in the worktree of one above it: at dir no
// link stood in the way. Other than a link it is only removed where a file has to be put back.
func (w *Workspace) clearHooksWay(dir string, needed bool, found map[string]File) error {
	var way []string
	for at := dir; at == dir || below(at, w.Repo.Top); at = filepath.Dir(at) {
		way = append(way, at)
	}
	for _, at := range slices.Backward(way) { // what is below a link, or a closed folder, is seen only behind it
		info, err := os.Lstat(at)
		if err == nil && info.IsDir() {
			if err := openClosed(at, info); err != nil {
				return err
			}
			continue
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 && !(needed && info.Mode().IsRegular()) {
			continue
		}
		if f, err := readFile(at); err == nil {
			found[w.hookName(at)] = f
		}
		if err := os.Remove(at); err != nil {
			return err
		}
		failpoint.Step("clear the way")
	}
	return nil
}

// hookName is how a file of a hooks folder is called in a tree, where git does not allow every name.
func (w *Workspace) hookName(path string) string {
	if rel, err := filepath.Rel(w.Repo.Top, path); err == nil && filepath.IsLocal(rel) {
		return "worktree/" + filepath.ToSlash(rel)
	}
	parts := []string{"hooks"}
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part = strings.Trim(strings.NewReplacer("~", "-", ":", "-").Replace(part), "."); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/")
}
