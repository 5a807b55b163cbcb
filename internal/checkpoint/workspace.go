package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
)

// identity is who makes the commits that only our own refs hold; the user's name need not be configured for them.
var identity = []string{
	"GIT_AUTHOR_NAME=ralph-loop", "GIT_AUTHOR_EMAIL=ralph-loop@localhost",
	"GIT_COMMITTER_NAME=ralph-loop", "GIT_COMMITTER_EMAIL=ralph-loop@localhost",
}

// keepTree stores a tree under refs/ralph/<run>/<kind>/<id> as a commit on parent ("" for none), and names the ref. An
// existing ref is not overwritten: a number is added to the new one.
func (c *Checkpoint) keepTree(ctx context.Context, kind, id, tree, parent, why string) (string, error) {
	args := []string{"commit-tree", tree, "-m", why}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	commit, err := c.repo.With(identity...).Line(ctx, args...)
	if err != nil {
		return "", err
	}
	return c.keepCommit(ctx, kind, id, commit)
}

// keepCommit stores a commit under refs/ralph/<run>/<kind>/<id>, with a number added where that exists.
func (c *Checkpoint) keepCommit(ctx context.Context, kind, id, commit string) (string, error) {
	base := refFor(c.p.Run, kind, id)
	ref := base
	for n := 2; ; n++ {
		there, err := c.repo.Commit(ctx, ref)
		if err != nil {
			return "", err
		}
		if there == "" || there == commit {
			break
		}
		ref = fmt.Sprintf("%s-%d", base, n)
	}
	return ref, c.repo.SetRef(ctx, ref, commit, "ralph-checkpoint: keep "+kind)
}

// refsOfRuns is where every run keeps its refs.
const refsOfRuns = "refs/ralph/"

func refFor(run, kind, id string) string {
	return refsOfRuns + git.RefName(run) + "/" + kind + "/" + git.RefName(id)
}

// treeOf stores files, path to content, as a tree that holds nothing else.
func (c *Checkpoint) treeOf(ctx context.Context, files map[string]keptFile) (string, error) {
	private, done, err := c.privateIndex()
	if err != nil {
		return "", err
	}
	defer done()
	var info bytes.Buffer
	for _, path := range slices.Sorted(mapKeys(files)) {
		f := files[path]
		hash, err := c.repo.Store(ctx, f.data)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&info, "%s %s\t%s\x00", f.gitMode(), hash, path)
	}
	if _, err := private.Input(ctx, info.Bytes(), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return private.Line(ctx, "write-tree")
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// privateIndex is the worktree seen through an index of its own, which done removes.
func (c *Checkpoint) privateIndex() (private *git.Repo, done func(), err error) {
	dir, err := os.MkdirTemp("", "ralph-index-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a private index: %w", err)
	}
	return c.repo.WithIndex(filepath.Join(dir, "index")), func() { _ = os.RemoveAll(dir) }, nil
}

// tempFile is a temporary file with that content.
func tempFile(prefix string, data []byte) (path string, done func(), err error) {
	f, err := os.CreateTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.Remove(f.Name()) }
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return f.Name(), done, nil
}

// keptFile is a file as it was, so that it can be put back.
type keptFile struct {
	data   []byte // of a link: where it leads
	mode   fs.FileMode
	unread bool // a folder, too large, or neither a file nor a link
}

func (f keptFile) gitMode() string {
	switch {
	case f.mode&fs.ModeSymlink != 0:
		return "120000"
	case f.mode&0o111 != 0:
		return "100755"
	}
	return "100644"
}

func (f keptFile) same(g keptFile) bool {
	return f.gitMode() == g.gitMode() && bytes.Equal(f.data, g.data)
}

// readFile is the file or link at path.
func readFile(path string) (keptFile, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return keptFile{}, err
	}
	f := keptFile{mode: info.Mode()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		f.data = []byte(to)
		return f, err
	case info.Mode().IsRegular():
		f.data, err = os.ReadFile(path)
		return f, err
	}
	return f, fmt.Errorf("%s is neither a file nor a link", path)
}

// clearWay takes away what stands in the place of a folder above path, which is relative to the worktree's top, and
// adds it to found. A link there would lead every look at path, and its removal, to a file outside.
func (c *Checkpoint) clearWay(path string, found map[string]keptFile) error {
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		full := filepath.Join(c.repo.Top, path[:i])
		info, err := os.Lstat(full)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			continue
		}
		if f, err := readFile(full); err == nil {
			found[path[:i]] = f
		}
		err = os.Remove(full)
		failpoint.Step("clear the way")
		return err
	}
	return nil
}

// put writes f to path, in the place of whatever is there.
func (f keptFile) put(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	failpoint.Step("remove a file to put back")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	defer failpoint.Step("put a file back")
	if f.mode&fs.ModeSymlink != 0 {
		return os.Symlink(string(f.data), path)
	}
	return os.WriteFile(path, f.data, f.mode.Perm())
}

// changes are the paths that differ between two trees.
func (c *Checkpoint) changes(ctx context.Context, from, to string) ([]string, error) {
	out, err := c.repo.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to)
	return nulList(out), err
}

func nulList(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// worktreeTree is the tree that the worktree would be.
func (c *Checkpoint) worktreeTree(ctx context.Context, baseline string, leaveOut []string) (string, error) {
	private, done, err := c.privateIndex()
	if err != nil {
		return "", err
	}
	defer done()
	return c.fillIndex(ctx, private, baseline, leaveOut)
}

// fillIndex makes a fresh private index hold what the worktree holds, and gives its tree: the baseline with every change
// in it, ignored files and the user's own untracked ones left out. An index of its own, since flags and file times that
// an agent set in the real one must hide nothing.
func (c *Checkpoint) fillIndex(ctx context.Context, private *git.Repo, baseline string, leaveOut []string) (string, error) {
	if _, err := private.Output(ctx, "read-tree", baseline); err != nil {
		return "", err
	}
	// A repository inside the repository is one entry, and git refuses to add one without a commit: it is left out here,
	// and an attempt's is named below for the gate to refuse.
	inner, err := c.listNested(ctx, private)
	if err != nil {
		return "", err
	}
	add := []string{"--no-literal-pathspecs", "add", "-A", "--", ":/"}
	for _, path := range inner {
		add = append(add, ":(top,exclude,literal)"+strings.TrimSuffix(path, "/"))
	}
	if _, err := private.Output(ctx, add...); err != nil {
		return "", err
	}
	for _, path := range inner {
		if slices.Contains(leaveOut, path) {
			continue
		}
		entry := "160000," + baseline + "," + strings.TrimSuffix(path, "/")
		if _, err := private.Output(ctx, "update-index", "--add", "--cacheinfo", entry); err != nil {
			return "", err
		}
	}
	unignored, err := c.unignored(ctx, private, baseline)
	if err != nil {
		return "", err
	}
	var list bytes.Buffer
	for _, path := range slices.Concat(leaveOut, unignored) {
		if !strings.HasSuffix(path, "/") {
			list.WriteString(path + "\x00")
		}
	}
	if list.Len() > 0 {
		if _, err := private.Input(ctx, list.Bytes(), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return "", err
		}
	}
	return private.Line(ctx, "write-tree")
}

// listNested are the folders, each with a slash at its end, that hold a repository of their own and are no submodules.
func (c *Checkpoint) listNested(ctx context.Context, repo *git.Repo) ([]string, error) {
	out, err := repo.Output(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(nulList(out), func(path string) bool { return !strings.HasSuffix(path, "/") }), nil
}

// moveNested moves an attempt's own repositories out of the tree: no tree can hold their files, and the next
// requirement must not be blamed for them.
func (c *Checkpoint) moveNested(ctx context.Context, baseline, id string, userFiles []string) error {
	private, done, err := c.privateIndex()
	if err != nil {
		return err
	}
	defer done()
	if _, err := private.Output(ctx, "read-tree", baseline); err != nil {
		return err
	}
	inner, err := c.listNested(ctx, private)
	if err != nil {
		return err
	}
	for _, path := range inner {
		if slices.Contains(userFiles, path) {
			continue
		}
		dir := c.runDir(id)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("move %q away: %w", path, err)
		}
		if dir, err = os.MkdirTemp(dir, innerPrefix); err != nil {
			return fmt.Errorf("move %q away: %w", path, err)
		}
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.Rename(filepath.Join(c.repo.Top, path), to); err != nil {
			return fmt.Errorf("move %q away: %w", path, err)
		}
		failpoint.Step("move a repository away")
		c.say("%q is a repository of its own, which no commit can hold: it is moved to %s", path, to)
	}
	return nil
}

// setIndex makes the index hold exactly tree, with fresh file times and without any flag that was set in it. It is made
// anew beside the old one.
func (c *Checkpoint) setIndex(ctx context.Context, tree string) error {
	private, done, err := c.privateIndex()
	if err != nil {
		return err
	}
	defer done()
	if _, err := private.Output(ctx, "read-tree", tree); err != nil {
		return err
	}
	// Exit code 1 says that some file differs, which is allowed here.
	if _, err := private.Output(ctx, "update-index", "-q", "--refresh"); git.CodeOf(err) > 1 || git.CodeOf(err) < 0 {
		return err
	}
	return c.takeIndex(private)
}

// takeIndex puts a private index in the place of the real one.
func (c *Checkpoint) takeIndex(private *git.Repo) error {
	data, err := os.ReadFile(private.Index)
	if err != nil {
		return fmt.Errorf("make the index: %w", err)
	}
	return c.putIndex(data)
}

// putIndex writes the index, under git's own lock.
func (c *Checkpoint) putIndex(data []byte) error {
	lock := c.repo.Index + ".lock"
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
		err = os.Rename(lock, c.repo.Index)
	}
	if err != nil {
		_ = os.Remove(lock)
		return fmt.Errorf("write the index: %w", err)
	}
	failpoint.Step("write the index")
	return nil
}

// cleanTo puts worktree and index back to the baseline. What the worktree held beyond it is kept under a ref of that
// kind, which is named; "" where there was nothing, or it is one of the trees known, which are kept already. Ignored files
// and the user's untracked ones stay.
func (c *Checkpoint) cleanTo(ctx context.Context, baseline, kind, id, why string, known ...string) (string, error) {
	userFiles, err := c.userFiles(ctx)
	if err != nil {
		return "", err
	}
	tree, err := c.worktreeTree(ctx, baseline, userFiles)
	if err != nil {
		return "", err
	}
	baseTree, err := c.repo.Tree(ctx, baseline)
	if err != nil {
		return "", err
	}
	ref := ""
	if tree != baseTree && !slices.Contains(known, tree) {
		if ref, err = c.keepTree(ctx, kind, id, tree, baseline, why); err != nil {
			return "", err
		}
	}
	if err := c.moveNested(ctx, baseline, id, userFiles); err != nil {
		return "", err
	}
	if err := c.setIndex(ctx, tree); err != nil {
		return "", err
	}
	_, err = c.repo.Output(ctx, "read-tree", "--reset", "-u", baseline)
	return ref, err
}
