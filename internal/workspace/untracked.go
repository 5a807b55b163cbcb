package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
)

// maxStored is the largest untracked file that is stored, in bytes; larger ones are named as not stored.
const maxStored = 10 << 20

// untrackedFile is a file of the user's that git does not track: never committed, put back if an attempt changes it.
type untrackedFile struct {
	Path string
	Mode fs.FileMode
	Hash string // of its bytes in the object database; notStored: too large, not to be read, or a repository
	Size int64
	Time int64 // when it was last written, in nanoseconds
}

const notStored = "-"

func (u untrackedFile) stored() bool { return u.Hash != notStored }

// NoteUntracked stores the user's untracked files and names them.
func (w *Workspace) NoteUntracked(ctx context.Context) error {
	// The user's index may hold an untracked file's name alone (git add -N): HEAD says what is tracked.
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return err
	}
	defer done()
	if _, err := private.Output(ctx, "read-tree", "HEAD"); err != nil {
		return err
	}
	if err := w.storeIgnored(ctx, private); err != nil {
		return err
	}
	all, warnings, err := w.storeUntracked(ctx, private)
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
	for _, warning := range warnings {
		w.Say("warning: %s", warning)
	}
	return nil
}

// storeUntracked remembers the user's untracked files at the start of a run and gives their names and a line for each that
// is not stored. It costs a few calls of git, however many there are, and holds no content in memory.
func (w *Workspace) storeUntracked(ctx context.Context, index *git.Repo) (all, warnings []string, err error) {
	out, err := index.Output(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, err
	}
	var files []untrackedFile
	kept := contents{}
	for _, path := range git.Records(out) {
		if strings.HasSuffix(path, "/") { // a repository of its own
			files = append(files, untrackedFile{Path: path, Hash: notStored})
			continue
		}
		full := filepath.Join(w.Repo.Top, path)
		info, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("look at the untracked files: %w", err)
		}
		all = append(all, path)
		u := untrackedFile{Path: path, Mode: info.Mode(), Hash: notStored, Size: info.Size(), Time: info.ModTime().UnixNano()}
		why := ""
		switch {
		case info.Size() > maxStored:
			why = "is larger than 10 MB"
		case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
			why = "is neither a file nor a link"
		case !readable(full, info):
			why = "cannot be read"
		default:
			if err := kept.add(full, path, info); err != nil {
				return nil, nil, fmt.Errorf("store the untracked files: %w", err)
			}
		}
		if why != "" {
			warnings = append(warnings, fmt.Sprintf("%q %s and is not stored: if an attempt changes it, it cannot be put back", path, why))
		}
		files = append(files, u)
	}
	if err := kept.store(ctx, w.Repo); err != nil {
		return nil, nil, fmt.Errorf("store the untracked files: %w", err)
	}
	if len(kept) > 0 {
		if _, err := w.keepFiles(ctx, "untracked", "begin", kept, "the user's untracked files as the run began"); err != nil {
			return nil, nil, err
		}
	}
	for i, u := range files {
		if f, ok := kept[u.Path]; ok {
			files[i].Hash = f.Hash
		}
	}
	return all, warnings, w.writeUntracked(files)
}

func readable(path string, info fs.FileInfo) bool {
	if !info.Mode().IsRegular() {
		return true
	}
	f, err := os.Open(path)
	if err == nil {
		_ = f.Close()
	}
	return !errors.Is(err, fs.ErrPermission)
}

func (w *Workspace) untrackedPath() string { return filepath.Join(w.Repo.StateDir(), "untracked") }

// writeUntracked writes the list: of each file its mode, hash, size and time, a tab, its name whatever bytes that has, a NUL.
func (w *Workspace) writeUntracked(files []untrackedFile) error {
	var list bytes.Buffer
	for _, u := range files {
		fmt.Fprintf(&list, "%o %s %d %d\t%s\x00", u.Mode, u.Hash, u.Size, u.Time, u.Path)
	}
	return atomicfile.Write(w.untrackedPath(), list.Bytes())
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
	for _, record := range git.Records(data) {
		head, path, _ := strings.Cut(record, "\t")
		u := untrackedFile{Path: path}
		if _, err := fmt.Sscanf(head, "%o %s %d %d", &u.Mode, &u.Hash, &u.Size, &u.Time); err != nil || path == "" {
			return nil, fmt.Errorf("read the list of untracked files in %s: %q is no line of it", w.untrackedPath(), record)
		}
		files = append(files, u)
	}
	return files, nil
}

// UserFiles are the names of the user's untracked files as the run began, without those that the baseline has by now.
func (w *Workspace) UserFiles(ctx context.Context) ([]string, error) {
	return w.userFilesBeside(ctx, w.Baseline)
}

// userFilesBeside is UserFiles without those that the commit rev has.
func (w *Workspace) userFilesBeside(ctx context.Context, rev string) ([]string, error) {
	files, err := w.untracked()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	entries, err := w.Repo.Entries(ctx, rev)
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
	user := map[string]bool{}
	for _, name := range names {
		user[name] = true
	}
	found = map[string]File{}
	inPlace := contents{}
	var spoiled []untrackedFile
	told := false
	for i, u := range files {
		if !user[u.Path] {
			continue
		}
		if err := w.clearWay(u.Path, found); err != nil {
			return nil, nil, err
		}
		full := filepath.Join(w.Repo.Top, u.Path)
		info, err := os.Lstat(full)
		switch {
		case !u.stored():
			if note := u.look(info, err); note != "" {
				notes, files[i], told = append(notes, note), u, true
			}
			continue
		case err == nil && u.isAt(full, info):
			if info.Mode() == u.Mode || u.Mode&fs.ModeSymlink != 0 {
				continue
			}
			if err := os.Chmod(full, u.Mode.Perm()); err != nil {
				return nil, nil, fmt.Errorf("put back %q: %w", u.Path, err)
			}
			failpoint.Step("put a mode back")
			notes = append(notes, putBack(u.Path, "changed"))
			continue
		case err == nil:
			if err := w.gather(full, u.Path, inPlace); err != nil {
				return nil, nil, fmt.Errorf("keep what is in the place of %q: %w", u.Path, err)
			}
			notes = append(notes, putBack(u.Path, "changed"))
		default:
			notes = append(notes, putBack(u.Path, "deleted"))
		}
		spoiled = append(spoiled, u)
	}
	if told {
		if err := w.writeUntracked(files); err != nil {
			return nil, nil, err
		}
	}
	note, err := w.missIgnored()
	if err != nil {
		return nil, nil, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	if err := inPlace.store(ctx, w.Repo); err != nil {
		return nil, nil, fmt.Errorf("keep what is in the place of untracked files: %w", err)
	}
	for path, f := range inPlace {
		found[path] = f
	}
	hashes := make([]string, len(spoiled))
	for i, u := range spoiled {
		hashes[i] = u.Hash
	}
	err = w.Repo.Blobs(ctx, hashes, func(i int, data io.Reader, _ int64) error {
		was := File{Mode: spoiled[i].Mode}
		if was.Data, err = io.ReadAll(data); err != nil { // one at a time, of at most maxStored
			return err
		}
		if err := was.Put(filepath.Join(w.Repo.Top, spoiled[i].Path)); err != nil {
			return fmt.Errorf("put back %q: %w", spoiled[i].Path, err)
		}
		return nil
	})
	return found, notes, err
}

// look is a line about a file that is not stored, where an attempt deleted or wrote it. u then says so, for it to be told once.
func (u *untrackedFile) look(info fs.FileInfo, err error) string {
	const gone = -1
	switch {
	case errors.Is(err, fs.ErrNotExist) && u.Size != gone:
		u.Size = gone
		return fmt.Sprintf("%q, untracked, is gone and was not stored: too large, or a repository of its own", u.Path)
	case err != nil || info.IsDir() || info.Size() == u.Size && info.ModTime().UnixNano() == u.Time:
		return ""
	}
	u.Size, u.Time = info.Size(), info.ModTime().UnixNano()
	return fmt.Sprintf("%q, untracked, was written and was not stored: it is left as it is", u.Path)
}

func putBack(path, what string) string {
	return fmt.Sprintf("%q is untracked and not the agent's to touch: it was %s and is put back", path, what)
}

// isAt reports whether the file at full has the content, and is of the kind, that was stored.
func (u untrackedFile) isAt(full string, info fs.FileInfo) bool {
	if info.Mode().Type() != u.Mode.Type() {
		return false
	}
	if u.Mode&fs.ModeSymlink != 0 {
		to, err := os.Readlink(full)
		if err != nil {
			return false
		}
		same, err := git.Holds(strings.NewReader(to), int64(len(to)), u.Hash)
		return same && err == nil
	}
	if info.Size() != u.Size {
		return false
	}
	f, err := os.Open(full)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	same, err := git.Holds(f, u.Size, u.Hash)
	return same && err == nil
}

func (w *Workspace) ignoredPath() string { return filepath.Join(w.Repo.StateDir(), "ignored") }

// storeIgnored remembers what git ignores at the start of a run, folders as one entry. Such a file may hold a secret, and
// stays the user's when an attempt edits .gitignore.
func (w *Workspace) storeIgnored(ctx context.Context, index *git.Repo) error {
	out, err := index.Output(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return err
	}
	return atomicfile.Write(w.ignoredPath(), out)
}

// toldGone is what a name on the list of ignored files begins with where it was told that the file is gone: no path does.
const toldGone = "/"

// missIgnored is a line about the ignored files that are gone since the last look, or "". Nothing of them was stored.
func (w *Workspace) missIgnored() (string, error) {
	data, err := os.ReadFile(w.ignoredPath())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the list of ignored files: %w", err)
	}
	names := git.Records(data)
	var gone []string
	for i, name := range names {
		if strings.HasPrefix(name, toldGone) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
			gone, names[i] = append(gone, fmt.Sprintf("%q", name)), toldGone+name
		}
	}
	if len(gone) == 0 {
		return "", nil
	}
	if more := len(gone) - 5; more > 0 {
		gone = append(gone[:5], fmt.Sprintf("%d more", more))
	}
	note := fmt.Sprintf("gone, and as files that git ignores not stored: %s", strings.Join(gone, ", "))
	return note, atomicfile.Write(w.ignoredPath(), ended(names))
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
		ignored[strings.TrimPrefix(path, toldGone)] = true
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
