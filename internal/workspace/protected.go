package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/snapshot"
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
		if !tracked {
			continue // restoreControl has seen to it
		}
		full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
		if err := w.clearWay(path, found); err != nil {
			return nil, nil, err
		}
		now, readErr := readFile(full)
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
		} else if _, err := os.Lstat(full); err == nil {
			inPlace := contents{}
			if err := w.gather(full, path, inPlace); err != nil {
				return nil, nil, fmt.Errorf("keep what is in the place of %s: %w", path, err)
			}
			if err := inPlace.store(ctx, w.Repo); err != nil {
				return nil, nil, fmt.Errorf("keep what is in the place of %s: %w", path, err)
			}
			maps.Copy(found, inPlace)
			what = "changed"
		}
		if _, err := w.Repo.Output(ctx, "read-tree", "--reset", w.Baseline); err != nil {
			return nil, nil, err
		}
		_ = snapshot.OpenFolder(filepath.Dir(full))
		if err := snapshot.RemoveAll(full); err != nil {
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

// RestoreAgentsFile brings AGENTS.md back to the baseline: the section of an attempt that failed does not stay. Where the
// baseline has none, the section is cut out of what is there: the rest is a person's.
func (w *Workspace) RestoreAgentsFile(ctx context.Context) error {
	_, tracked, err := w.Repo.File(ctx, w.Baseline, agentsmd.Name)
	if err != nil {
		return err
	}
	if tracked {
		found, notes, err := w.restoreProtected(ctx)
		if err != nil || len(found) == 0 {
			return err
		}
		if only, err := w.onlyTheSection(ctx, found); only || err != nil {
			return err
		}
		ref, err := w.keepFiles(ctx, "found", w.Req, found, "what was found in the place of protected files as an attempt failed")
		if err != nil {
			return err
		}
		for _, note := range append(notes, "what was found there is kept under "+ref) {
			w.Say("put in order: %s", note)
		}
		return nil
	}
	file, err := agentsmd.Open(w.Repo.Top)
	if err != nil || file.Data == nil {
		return nil // nobody could have written into it
	}
	rest, err := agentsmd.Append(file.Data, agentsmd.Section{ID: w.Req})
	if err != nil || bytes.Equal(rest, file.Data) {
		return nil
	}
	if len(rest) > 0 {
		return file.Write(rest)
	}
	if err := os.Remove(file.Path); err != nil {
		return fmt.Errorf("take the section out of %s: %w", agentsmd.Name, err)
	}
	failpoint.Step("remove AGENTS.md")
	return nil
}

// onlyTheSection reports whether what was found is AGENTS.md alone, and of that nothing but the requirement's section is new.
func (w *Workspace) onlyTheSection(ctx context.Context, found map[string]File) (bool, error) {
	f, ok := found[agentsmd.Name]
	if !ok || len(found) > 1 || f.Mode&fs.ModeSymlink != 0 {
		return false, nil
	}
	rest, err := agentsmd.Append(f.Data, agentsmd.Section{ID: w.Req})
	if err != nil {
		return false, nil
	}
	now, err := w.Repo.Input(ctx, rest, "hash-object", "--stdin", "--path="+agentsmd.Name)
	if err != nil {
		return false, err
	}
	was, err := w.Repo.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", w.Baseline+":"+agentsmd.Name)
	return strings.TrimSpace(string(now)) == was, err
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
