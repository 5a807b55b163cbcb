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

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/snapshot"
)

// What steers the loop is read from files. Where the baseline has one, its own is believed, and an attempt's edit is put back
// or refused by name. Where it has none, git may ignore the file, and neither a tree nor the list of untracked files shows
// it: it is guarded by what was there before the attempt, or by that nothing was.

// readControl reads the files of Control that the baseline does not have, and where they lead to in the worktree as links;
// nil is none.
func (w *Workspace) readControl(ctx context.Context) (map[string]*File, error) {
	files := map[string]*File{}
	var names []string
	for _, name := range w.Control {
		full := name
		if !filepath.IsAbs(name) {
			full = filepath.Join(w.Repo.Top, name)
		}
		names = append(names, full)
		if target, err := filepath.EvalSymlinks(full); err == nil {
			names = append(names, target)
		}
	}
	for _, full := range names {
		name, err := filepath.Rel(w.Repo.Top, full)
		if err != nil || name == "." || !filepath.IsLocal(name) {
			continue
		}
		path := filepath.ToSlash(name)
		if _, tracked, err := w.Repo.File(ctx, w.Baseline, path); tracked || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		info, err := os.Lstat(full)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			files[path] = nil
			continue
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", path, err)
		case info.Size() > maxGuarded || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 || !readable(full, info):
			continue // nobody can take it for what steers the loop
		}
		f, err := readFile(full)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		files[path] = &f
	}
	return files, nil
}

// restoreControl puts those files back, and takes away what stands where nothing was. It gives what it found in their place
// and a line for each.
func (w *Workspace) restoreControl(ctx context.Context, g *Guard) (found map[string]File, notes []string, err error) {
	inPlace := contents{}
	var spoiled []string
	for _, path := range slices.Sorted(maps.Keys(g.Control)) {
		was := g.Control[path]
		if err := w.clearWay(path, inPlace); err != nil {
			return nil, nil, err
		}
		full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
		now, err := readFile(full)
		gone := errors.Is(err, fs.ErrNotExist)
		switch {
		case was == nil && gone, was != nil && err == nil && was.Same(now):
			continue
		case was != nil && gone:
			notes = append(notes, putBack(path, "deleted"))
		case was != nil:
			notes = append(notes, putBack(path, "changed"))
		case path == agentsmd.Name:
			notes = append(notes, fmt.Sprintf("%s is written by ralph-learn alone: the agent's is taken away; its place is agentmd_addition in the report", path))
		default:
			notes = append(notes, fmt.Sprintf("%s is not the agent's to make: it was created and is taken away", path))
		}
		if !gone {
			if err := w.gather(full, path, inPlace); err != nil {
				return nil, nil, fmt.Errorf("keep what is in the place of %q: %w", path, err)
			}
		}
		spoiled = append(spoiled, path)
	}
	if len(inPlace) > 0 {
		if err := inPlace.store(ctx, w.Repo); err != nil {
			return nil, nil, fmt.Errorf("keep what is in the place of files that steer the loop: %w", err)
		}
	}
	for _, path := range spoiled {
		full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
		if was := g.Control[path]; was != nil {
			err = was.Put(full)
		} else {
			err = snapshot.RemoveAll(full)
			failpoint.Step("remove a file that steers the loop")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("put back %q: %w", path, err)
		}
	}
	return inPlace, notes, nil
}
