package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/failpoint"
)

// restoreProtected puts the specification and what people wrote in AGENTS.md back as the baseline has them. Edits of
// other protected files are left for the gate to refuse.
func (w *Workspace) restoreProtected(ctx context.Context) (found map[string]File, notes []string, err error) {
	found = map[string]File{}
	for _, path := range []string{w.Spec, agentsmd.Name} {
		was, tracked, err := w.Repo.File(ctx, w.Baseline, path)
		if err != nil {
			return nil, nil, err
		}
		full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
		if tracked {
			if err := w.clearWay(path, found); err != nil {
				return nil, nil, err
			}
		}
		now, readErr := readFile(full)
		if !tracked {
			// A specification may live outside git; it is guarded as an untracked file then. An AGENTS.md that the
			// baseline does not have is the toolkit's to make.
			if path == agentsmd.Name && readErr == nil && !slices.Contains(w.userNames(ctx), path) {
				found[path] = now
				notes = append(notes, fmt.Sprintf("%s is written by ralph-learn alone: the agent's is taken away; its place is agentmd_addition in the report", path))
				if err := os.Remove(full); err != nil {
					return nil, nil, err
				}
				failpoint.Step("remove the agent's AGENTS.md")
			}
			continue
		}
		if readErr == nil && bytes.Equal(now.Data, was) {
			continue
		}
		changed, err := w.differs(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		if !changed {
			continue // only line endings or a filter
		}
		what := "deleted"
		if readErr == nil {
			found[path], what = now, "changed"
		}
		if _, err := w.Repo.Output(ctx, "read-tree", "--reset", w.Baseline); err != nil {
			return nil, nil, err
		}
		if err := os.RemoveAll(full); err != nil {
			return nil, nil, err
		}
		failpoint.Step("remove a spoiled file")
		if _, err := w.Repo.Output(ctx, "checkout-index", "-f", "--", path); err != nil {
			return nil, nil, err
		}
		advice := ""
		if path == agentsmd.Name {
			advice = "; its place is agentmd_addition in the report"
		}
		notes = append(notes, fmt.Sprintf("%s was %s and is put back%s", path, what, advice))
	}
	return found, notes, nil
}

// RestoreAgentsFile brings AGENTS.md back to the baseline: the section of an attempt that failed does not stay.
func (w *Workspace) RestoreAgentsFile(ctx context.Context) error {
	path := filepath.Join(w.Repo.Top, agentsmd.Name)
	_, tracked, err := w.Repo.File(ctx, w.Baseline, agentsmd.Name)
	if err != nil {
		return err
	}
	if !tracked {
		if slices.Contains(w.userNames(ctx), agentsmd.Name) {
			return nil
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take the section out of %s: %w", agentsmd.Name, err)
		}
		failpoint.Step("remove AGENTS.md")
		return nil
	}
	_, _, err = w.restoreProtected(ctx)
	return err
}

// differs reports whether git would see path as changed against the blob, filters and line endings considered.
func (w *Workspace) differs(ctx context.Context, path string) (bool, error) {
	full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
	info, err := os.Lstat(full)
	if err != nil || !info.Mode().IsRegular() {
		return true, nil
	}
	now, err := w.Repo.Line(ctx, "hash-object", "--path", path, "--", full)
	if err != nil {
		return false, err
	}
	was, err := w.Repo.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", w.Baseline+":"+path)
	return now != was, err
}
