package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/git"
)

// maxStored is the largest untracked file that is stored, in bytes; larger ones are named as not stored.
const maxStored = 10 << 20

// untrackedFile is a file of the user's that git does not track: never committed, put back if an attempt changes it.
type untrackedFile struct {
	Path string `json:"path"`
	Mode string `json:"mode"` // as git writes it
	Hash string `json:"hash"` // of its bytes in the object database; empty: not stored, too large or a repository
}

// NoteUntracked stores the user's untracked files and names them.
func (w *Workspace) NoteUntracked(ctx context.Context) error {
	if err := w.storeIgnored(ctx); err != nil {
		return err
	}
	all, large, err := w.storeUntracked(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	shown := all
	if len(shown) > 5 {
		shown = shown[:5]
	}
	names := make([]string, len(shown))
	for i, path := range shown {
		names[i] = fmt.Sprintf("%q", path)
	}
	more := ""
	if len(all) > len(shown) {
		more = fmt.Sprintf(" and %d more", len(all)-len(shown))
	}
	what := "1 untracked file is left alone, never committed, and put back if an attempt changes it"
	if len(all) > 1 {
		what = fmt.Sprintf("%d untracked files are left alone, never committed, and put back if an attempt changes them", len(all))
	}
	w.Say("%s: %s%s", what, strings.Join(names, ", "), more)
	for _, path := range large {
		w.Say("warning: %q is larger than 10 MB and is not stored: if an attempt changes it, it cannot be put back", path)
	}
	return nil
}

func (w *Workspace) untrackedPath() string {
	return filepath.Join(w.Repo.StateDir(), "untracked.json")
}

// storeUntracked remembers the user's untracked files at the start of a run and gives their names and those that are
// too large to be stored.
func (w *Workspace) storeUntracked(ctx context.Context) (all, large []string, err error) {
	out, err := w.Repo.Output(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, err
	}
	files := []untrackedFile{}
	kept := map[string]File{}
	for _, path := range git.Records(out) {
		if strings.HasSuffix(path, "/") { // a repository of its own
			files = append(files, untrackedFile{Path: path})
			continue
		}
		all = append(all, path)
		full := filepath.Join(w.Repo.Top, path)
		info, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("look at the untracked files: %w", err)
		}
		if info.Size() > maxStored || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
			files, large = append(files, untrackedFile{Path: path}), append(large, path)
			continue
		}
		f, err := readFile(full)
		if err != nil {
			return nil, nil, fmt.Errorf("store the untracked files: %w", err)
		}
		hash, err := w.Repo.Store(ctx, f.Data)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, untrackedFile{Path: path, Mode: f.gitMode(), Hash: hash})
		kept[path] = f
	}
	if len(kept) > 0 {
		if _, err := w.keepFiles(ctx, "untracked", "begin", kept, "the user's untracked files as the run began"); err != nil {
			return nil, nil, err
		}
	}
	data, err := json.Marshal(files)
	if err != nil {
		return nil, nil, err
	}
	return all, large, atomicfile.Write(w.untrackedPath(), append(data, '\n'))
}

// untracked are the user's untracked files as the run began.
func (w *Workspace) untracked() ([]untrackedFile, error) {
	data, err := os.ReadFile(w.untrackedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of untracked files: %w", err)
	}
	var files []untrackedFile
	if err := json.Unmarshal(data, &files); err != nil {
		return nil, fmt.Errorf("read the list of untracked files in %s: %w", w.untrackedPath(), err)
	}
	return files, nil
}

// UserFiles are the names of the user's untracked files as the run began, without those that the baseline has by now.
func (w *Workspace) UserFiles(ctx context.Context) ([]string, error) {
	files, err := w.untracked()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	entries, err := w.Repo.Entries(ctx, w.Baseline)
	if err != nil {
		return nil, err
	}
	tracked := map[string]bool{}
	for _, e := range entries {
		tracked[e.Path] = true
	}
	var names []string
	for _, f := range files {
		if !tracked[f.Path] {
			names = append(names, f.Path)
		}
	}
	return names, nil
}

func (w *Workspace) userNames(ctx context.Context) []string {
	names, err := w.UserFiles(ctx)
	if err != nil {
		return nil
	}
	return names
}

// restoreUntracked puts back what an attempt did to the user's untracked files. It gives what it found in their place
// and a line for each.
func (w *Workspace) restoreUntracked(ctx context.Context) (found map[string]File, notes []string, err error) {
	files, err := w.untracked()
	if err != nil {
		return nil, nil, err
	}
	names, err := w.UserFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	found = map[string]File{}
	for _, u := range files {
		if !slices.Contains(names, u.Path) {
			continue
		}
		if err := w.clearWay(u.Path, found); err != nil {
			return nil, nil, err
		}
		full := filepath.Join(w.Repo.Top, u.Path)
		now, err := readFile(full)
		if u.Hash == "" {
			if errors.Is(err, fs.ErrNotExist) {
				notes = append(notes, fmt.Sprintf("%q, untracked, is gone and was not stored: too large, or a repository of its own", u.Path))
			}
			continue
		}
		data, catErr := w.Repo.Output(ctx, "cat-file", "blob", u.Hash)
		if catErr != nil {
			return nil, nil, catErr
		}
		was := File{Data: data, Mode: modeOf(u.Mode)}
		what := "deleted"
		if err == nil {
			if was.gitMode() == now.gitMode() && bytes.Equal(was.Data, now.Data) {
				continue
			}
			found[u.Path], what = now, "changed"
		}
		if err := was.Put(full); err != nil {
			return nil, nil, fmt.Errorf("put back %q: %w", u.Path, err)
		}
		notes = append(notes, fmt.Sprintf("%q is untracked and not the agent's to touch: it was %s and is put back", u.Path, what))
	}
	return found, notes, nil
}

func (w *Workspace) ignoredPath() string { return filepath.Join(w.Repo.StateDir(), "ignored") }

// storeIgnored remembers what git ignores at the start of a run, folders as one entry. Such a file may hold a secret, and
// stays the user's when an attempt edits .gitignore.
func (w *Workspace) storeIgnored(ctx context.Context) error {
	out, err := w.Repo.Output(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return err
	}
	return atomicfile.Write(w.ignoredPath(), out)
}

// unignored are the files that an index has, base has not, and git ignored as the run began.
func (w *Workspace) unignored(ctx context.Context, index *git.Repo, base string) ([]string, error) {
	data, err := os.ReadFile(w.ignoredPath())
	if errors.Is(err, fs.ErrNotExist) || len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of ignored files: %w", err)
	}
	ignored := map[string]bool{}
	for _, path := range git.Records(data) {
		ignored[path] = true
	}
	out, err := index.Output(ctx, "diff-index", "--cached", "-z", "--name-only", "--no-renames", "--diff-filter=A", base)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(git.Records(out), func(path string) bool {
		for at := path; ; {
			if ignored[at] {
				return false
			}
			i := strings.LastIndexByte(strings.TrimSuffix(at, "/"), '/')
			if i < 0 {
				return true
			}
			at = at[:i+1]
		}
	}), nil
}
