package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
	"ralph-loop/internal/snapshot"
)

// Tree is the tree that the worktree would be: that of the commit base with every change in it, ignored files and the
// user's own untracked ones left out.
func (w *Workspace) Tree(ctx context.Context, base string) (string, error) {
	leaveOut, err := w.userFilesBeside(ctx, base)
	if err != nil {
		return "", err
	}
	return w.treeWithout(ctx, base, leaveOut, nil)
}

// TreeOfUser is Tree with what the user has staged, whatever git ignores or was untracked as the run began.
func (w *Workspace) TreeOfUser(ctx context.Context, base string) (string, error) {
	leaveOut, err := w.userFilesBeside(ctx, base)
	if err != nil {
		return "", err
	}
	index, err := w.Repo.IndexTree(ctx)
	if err != nil {
		return "", err
	}
	out, err := w.Repo.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", base, index)
	if err != nil {
		return "", err
	}
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return "", err
	}
	defer done()
	return w.fillIndex(ctx, private, base, leaveOut, nil, git.Records(out)...)
}

func (w *Workspace) treeWithout(ctx context.Context, base string, leaveOut []string, kept []git.Entry) (string, error) {
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return "", err
	}
	defer done()
	return w.fillIndex(ctx, private, base, leaveOut, kept)
}

// Stage makes the index hold Tree of the baseline, and gives it. It is an attempt's: what git cannot take in is moved beside
// the attempts' logs, and named in refused; what no attempt changed is only named.
func (w *Workspace) Stage(ctx context.Context) (tree, refused string, err error) {
	leaveOut, err := w.UserFiles(ctx)
	if err != nil {
		return "", "", err
	}
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return "", "", err
	}
	defer done()
	tree, refused, _, err = w.withoutWhatCannot(ctx, w.Baseline, w.Req, func(kept []git.Entry) (string, error) {
		return w.fillIndex(ctx, private, w.Baseline, leaveOut, kept)
	})
	if err == nil {
		err = w.takeIndex(private)
	}
	if err != nil {
		return "", "", fmt.Errorf("build the index: %w", err)
	}
	return tree, refused, nil
}

// fillIndex makes a fresh private index hold what the worktree holds, and gives its tree: base with every change in it,
// ignored files and the user's own untracked ones left out, staged ones taken in all the same, those in kept as base has them.
// An index of its own, since flags and file times that an agent set in the real one must hide nothing.
func (w *Workspace) fillIndex(ctx context.Context, private *git.Repo, base string, leaveOut []string, kept []git.Entry, staged ...string) (string, error) {
	if _, err := private.Output(ctx, "read-tree", base); err != nil {
		return "", err
	}
	if err := dropEntries(ctx, private, kept); err != nil {
		return "", err
	}
	for _, e := range kept {
		leaveOut = append(leaveOut[:len(leaveOut):len(leaveOut)], e.Path)
	}
	if err := w.openFolders(ctx, base); err != nil {
		return "", err
	}
	if err := w.linkedModules(ctx, base); err != nil {
		return "", err
	}
	if _, err := private.Output(ctx, "--no-literal-pathspecs", "add", "-u", "--", ":/"); err != nil {
		if git.CodeOf(err) <= 0 {
			return "", err
		}
		// A file that must not be read is the one thing that git does not pass over.
		out, listErr := private.Output(ctx, "ls-files", "-z")
		if listErr != nil {
			return "", listErr
		}
		for _, path := range git.Records(out) {
			w.openFile(path)
		}
		if _, err := private.Output(ctx, "--no-literal-pathspecs", "add", "-u", "--", ":/"); err != nil {
			return "", w.whichCannot(ctx, git.Records(out), err)
		}
	}
	// A repository inside the repository is one entry, and git refuses to add one without a commit: an attempt's is named
	// for the gate to refuse.
	others, err := w.others(ctx, private, base, leaveOut)
	if err != nil {
		return "", err
	}
	var list bytes.Buffer
	for _, path := range others {
		if inner, ok := strings.CutSuffix(path, "/"); ok {
			if _, err := private.Output(ctx, "update-index", "--add", "--cacheinfo", "160000,"+base+","+inner); git.CodeOf(err) > 0 {
				return "", noSuchName(inner)
			} else if err != nil {
				return "", err
			}
			continue
		}
		w.openFile(path)
		list.WriteString(path + "\x00")
	}
	if err := updateIndex(ctx, private, list.Bytes(), "--add", "--remove"); err != nil {
		return "", w.whichCannot(ctx, git.Records(list.Bytes()), err)
	}
	if err := w.passedOver(ctx, private, git.Records(list.Bytes())); err != nil {
		return "", err
	}
	unignored, err := w.unignored(ctx, private, base)
	if err != nil {
		return "", err
	}
	if err := updateIndex(ctx, private, ended(unignored), "--force-remove"); err != nil {
		return "", err
	}
	if err := updateIndex(ctx, private, ended(staged), "--add", "--remove"); err != nil {
		return "", err
	}
	if err := putEntries(ctx, private, kept); err != nil {
		return "", err
	}
	return private.Line(ctx, "write-tree")
}

// updateIndex gives the paths, each ended by a NUL, to git update-index with those options, where there are any.
func updateIndex(ctx context.Context, index *git.Repo, paths []byte, options ...string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := index.Input(ctx, paths, append(append([]string{"update-index", "-z"}, options...), "--stdin")...)
	return err
}

// dropEntries takes entries out of an index.
func dropEntries(ctx context.Context, index *git.Repo, entries []git.Entry) error {
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	return updateIndex(ctx, index, ended(paths), "--force-remove")
}

// putEntries puts entries into an index, whatever is in the worktree.
func putEntries(ctx context.Context, index *git.Repo, entries []git.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var info bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&info, "%s %s\t%s\x00", e.Mode, e.Hash, e.Path)
	}
	_, err := index.Input(ctx, info.Bytes(), "update-index", "-z", "--replace", "--index-info")
	return err
}

// ended are paths with a NUL at the end of each.
func ended(paths []string) []byte {
	var list bytes.Buffer
	for _, path := range paths {
		list.WriteString(path + "\x00")
	}
	return list.Bytes()
}

// openFolders makes the folders of the commit base readable where an agent has made them unreadable: git takes what is in
// them for unchanged.
func (w *Workspace) openFolders(ctx context.Context, base string) error {
	entries, err := w.Repo.Entries(ctx, base)
	if err != nil {
		return err
	}
	last := ""
	for _, e := range entries {
		i := strings.LastIndexByte(e.Path, '/')
		if i < 0 || e.Path[:i] == last {
			continue
		}
		last = e.Path[:i]
		for dir := range w.foldersAbove(e.Path) {
			if info, err := os.Lstat(dir); err == nil && info.Mode()&0o500 != 0o500 {
				if err := snapshot.OpenFolder(dir); err != nil {
					return fmt.Errorf("look into %q: %w", last, err)
				}
			}
		}
	}
	return nil
}

// foldersAbove are the folders above a path that are there, the uppermost first, as far as no link or file is in the way.
func (w *Workspace) foldersAbove(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, b := range path {
			if b != '/' {
				continue
			}
			dir := filepath.Join(w.Repo.Top, filepath.FromSlash(path[:i]))
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !yield(dir) {
				return
			}
		}
	}
}

// openFile makes a file readable.
func (w *Workspace) openFile(path string) {
	full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
	if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() && info.Mode()&0o400 == 0 {
		_ = os.Chmod(full, info.Mode().Perm()|0o600) // where that fails git says so
	}
}

// SetIndex makes the index hold exactly tree, with fresh file times and without any flag that was set in it. It is made
// anew beside the old one.
func (w *Workspace) SetIndex(ctx context.Context, tree string) error {
	private, done, err := w.Repo.PrivateIndexOf(ctx, tree)
	if err != nil {
		return err
	}
	defer done()
	if err := w.refresh(ctx, private, tree); err != nil {
		return err
	}
	return w.takeIndex(private)
}

// refresh gives the entries of a private index that holds tree the times of their files, but for those whose filter fails.
func (w *Workspace) refresh(ctx context.Context, private *git.Repo, tree string) error {
	// Exit code 1 says that some file differs, which is allowed here.
	_, err := private.Output(ctx, "update-index", "-q", "--refresh")
	if code := git.CodeOf(err); code == 0 || code == 1 {
		return nil
	}
	entries, listErr := w.Repo.Entries(ctx, tree)
	if listErr != nil {
		return listErr
	}
	at := map[string]git.Entry{}
	var paths []string
	for _, e := range entries {
		at[e.Path] = e
		paths = append(paths, e.Path)
	}
	var which *cannotAdd
	if err := w.whichCannot(ctx, paths, err); !errors.As(err, &which) {
		return err
	}
	var failing []git.Entry
	for _, path := range which.paths {
		failing = append(failing, at[path])
	}
	if err := dropEntries(ctx, private, failing); err != nil {
		return err
	}
	if _, err := private.Output(ctx, "update-index", "-q", "--refresh"); git.CodeOf(err) > 1 || git.CodeOf(err) < 0 {
		return err
	}
	return putEntries(ctx, private, failing)
}

// takeIndex puts a private index in the place of the real one.
func (w *Workspace) takeIndex(private *git.Repo) error {
	data, err := os.ReadFile(private.Index)
	if err != nil {
		return fmt.Errorf("make the index: %w", err)
	}
	return w.PutIndex(data)
}

// PutIndex puts an index file's content in the place of the index, under git's own lock. Where a git holds that lock for
// longer than a moment nothing is changed, and the error names the lock.
func (w *Workspace) PutIndex(data []byte) error {
	lock := w.Repo.Index + ".lock"
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) && git.Momentary(lock) {
		f, err = os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if errors.Is(err, fs.ErrExist) {
		return exit.Fail("see whether a git command still runs; if none does, remove that file", "the index is locked by %s", lock)
	}
	if err != nil {
		return fmt.Errorf("lock the index: %w", err)
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	failpoint.Step("write index.lock")
	if err == nil {
		err = os.Rename(lock, w.Repo.Index)
	}
	if err != nil {
		_ = os.Remove(lock)
		return fmt.Errorf("write the index: %w", err)
	}
	failpoint.Step("write the index")
	return nil
}
