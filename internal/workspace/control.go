package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/snapshot"
)

// What steers the loop is read from files. Where the baseline has one, its own is believed, and an attempt's edit is put back
// or refused by name. Where it has none, git may ignore the file, and neither a tree nor the list of untracked files shows
// it: it is guarded by what was there before the attempt, or by that nothing was.

// readControl reads those files that the baseline does not have, and where they lead to in the worktree as links; nil is
// none.
func (w *Workspace) readControl(ctx context.Context, control []string) (map[string]*File, error) {
	files := map[string]*File{}
	var names []string
	for _, name := range control {
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

// controlPath is where those files lie as they were at the last start or before the last attempt, AGENTS.md aside, for
// RestoreControl.
func (w *Workspace) controlPath() string { return filepath.Join(w.Repo.StateDir(), "control.json") }

// NoteControl remembers those files as the loop begins: what the user has changed there since it ended is the user's.
func (w *Workspace) NoteControl(ctx context.Context) error { return w.keepControl(ctx) }

func (w *Workspace) keepControl(ctx context.Context) error {
	files, err := w.readControl(ctx, slices.DeleteFunc(slices.Clone(w.Control), func(name string) bool { return name == agentsmd.Name }))
	if err != nil {
		return err
	}
	data, err := json.Marshal(listed(files))
	if err != nil {
		return fmt.Errorf("remember what steers the loop: %w", err)
	}
	return atomicfile.WritePrivate(w.controlPath(), data)
}

// RestoreControl puts back, when the gate has run an attempt's tests, what these did to files that steer the loop and are in
// no tree: they run with the user's rights.
func (w *Workspace) RestoreControl(ctx context.Context) error {
	data, err := os.ReadFile(w.controlPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what steers the loop: %w", err)
	}
	var files []named[*File]
	if err := json.Unmarshal(data, &files); err != nil {
		return fmt.Errorf("read what steers the loop in %s: %w", w.controlPath(), err)
	}
	found, notes, err := w.restoreControl(ctx, mapped(files))
	if err != nil || len(notes) == 0 {
		return err
	}
	if len(found) > 0 {
		ref, err := w.keepFiles(ctx, "found", w.Req, found, "what was in the place of files that steer the loop behind the gate")
		if err != nil {
			return err
		}
		notes = append(notes, "what was found there is kept under "+ref)
	}
	for _, note := range notes {
		w.Say("put in order: %s", note)
	}
	return nil
}

// restoreControl puts files back as they were, and takes away what stands where nothing was. It gives what it found in their place
// and a line for each.
func (w *Workspace) restoreControl(ctx context.Context, control map[string]*File) (found map[string]File, notes []string, err error) {
	inPlace := contents{}
	var spoiled []string
	for _, path := range slices.Sorted(maps.Keys(control)) {
		was := control[path]
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
		if was := control[path]; was != nil {
			err = was.Put(full)
		} else {
			_ = snapshot.OpenFolder(filepath.Dir(full))
			err = snapshot.RemoveAll(full)
			failpoint.Step("remove a file that steers the loop")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("put back %q: %w", path, err)
		}
	}
	return inPlace, notes, nil
}
