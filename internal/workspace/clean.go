package workspace

import (
	"cmp"
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
	"ralph-loop/internal/snapshot"
)

// CleanTo puts worktree and index back to the commit base, and sees that they are. What the worktree held beyond it is kept
// under a ref of that kind, which is named; "" where there was nothing, or it is one of the trees known, which are kept
// already. Ignored files and the user's untracked ones stay.
func (w *Workspace) CleanTo(ctx context.Context, base, kind, id, why string, known ...string) (string, error) {
	userFiles, err := w.userFilesBeside(ctx, base)
	if err != nil {
		return "", err
	}
	k := &keeping{w: w, base: base, kind: kind, id: id, why: why, known: known}
	err = k.clean(ctx, userFiles)
	return k.ref, err
}

// MoveTo makes worktree and index, which are clean at the commit from, hold the commit to. What git does not track, and would
// overwrite, is kept under a ref of that kind, which is named; "" where nothing is in the way.
func (w *Workspace) MoveTo(ctx context.Context, from, to, kind, id, why string) (ref string, err error) {
	out, err := w.Repo.Output(ctx, "diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--diff-filter=A", from, to)
	if err != nil {
		return "", err
	}
	found := contents{}
	var inWay []string
	records := git.Records(out) // ":MODE MODE HASH HASH A" and the path, in turn
	for i := 0; i+1 < len(records); i += 2 {
		path, err := w.InWay(records[i+1])
		if err != nil {
			return "", err
		}
		full := filepath.Join(w.Repo.Top, filepath.FromSlash(path))
		fields := strings.Fields(records[i])
		if path == "" || slices.Contains(inWay, path) || len(fields) == 5 && path == records[i+1] && holds(full, fields[3]) {
			continue
		}
		inWay = append(inWay, path)
		if err := w.gather(full, path, found); err != nil {
			return "", fmt.Errorf("keep %q: %w", path, err)
		}
	}
	if err := found.store(ctx, w.Repo); err != nil {
		return "", fmt.Errorf("keep what is in the way: %w", err)
	}
	if len(found) > 0 {
		if ref, err = w.keepFiles(ctx, kind, id, found, why); err != nil {
			return "", err
		}
	}
	for _, path := range inWay {
		if err := snapshot.RemoveAll(filepath.Join(w.Repo.Top, filepath.FromSlash(path))); err != nil {
			return ref, err
		}
		failpoint.Step("clear the way")
	}
	_, err = w.Repo.Output(ctx, "read-tree", "--reset", "-u", to)
	return ref, err
}

// holds reports whether the file or link at full has the content of the object hash.
func holds(full, hash string) bool {
	info, err := os.Lstat(full)
	return err == nil && untrackedFile{Mode: info.Mode(), Hash: hash, Size: info.Size()}.isAt(full, info)
}

// InWay is what stands in the worktree where a new file is to be: the path, or what is no folder above it; "" is nothing.
func (w *Workspace) InWay(path string) (string, error) {
	for i, b := range path + "/" {
		if b != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(path[:i])))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("look at the place of %q: %w", path, err)
		case !info.IsDir() || i == len(path):
			return path[:i], nil
		}
	}
	return "", nil
}

// keeping is one CleanTo.
type keeping struct {
	w                   *Workspace
	base, kind, id, why string
	known               []string
	kept                string // the tree that is kept
	ref                 string // by this one; "": there was nothing to keep, or it is known
}

func (k *keeping) clean(ctx context.Context, userFiles []string) error {
	tree, _, kept, err := k.w.withoutWhatCannot(ctx, k.base, k.id, func(kept []git.Entry) (string, error) {
		return k.w.treeWithout(ctx, k.base, userFiles, kept)
	})
	if err != nil {
		return err
	}
	if err := k.w.comesBack(ctx, k.base, kept); err != nil {
		return err
	}
	if err := k.keep(ctx, tree); err != nil {
		return err
	}
	if err := k.w.moveNested(ctx, k.base, k.id, userFiles); err != nil {
		return err
	}
	// Where a folder must not be written git only warns, or leaves all as it is.
	resetErr := k.w.reset(ctx, tree, k.base)
	if resetErr == nil {
		if clean, err := k.w.isClean(ctx, k.base, userFiles); clean || err != nil {
			return err
		}
	}
	return k.cleanRest(ctx, userFiles, kept)
}

// cleanRest cleans what the first round left: what a .gitignore of the agent's hid, what stood in a folder that must not be
// written, and other commits of submodules.
func (k *keeping) cleanRest(ctx context.Context, userFiles []string, asBase []git.Entry) error {
	w := k.w
	if err := k.submodules(ctx); err != nil {
		return err
	}
	rest, _, err := w.rest(ctx, k.base, userFiles, asBase)
	if err != nil {
		return err
	}
	for _, path := range rest {
		w.openWay(path)
	}
	rest, tree, err := w.rest(ctx, k.base, userFiles, asBase)
	if err != nil {
		return err
	}
	all, err := w.overlaid(ctx, k.kept, tree, rest)
	if err != nil {
		return err
	}
	if err := k.keep(ctx, all); err != nil {
		return err
	}
	resetErr := w.reset(ctx, tree, k.base)
	if rest, _, err = w.rest(ctx, k.base, userFiles, asBase); err != nil {
		return err
	}
	if len(rest) == 0 {
		return resetErr
	}
	for i := range rest {
		rest[i] = git.Quote(rest[i])
	}
	if more := len(rest) - 5; more > 0 {
		rest = append(rest[:5], fmt.Sprintf("and %d more", more))
	}
	said := ""
	if resetErr != nil {
		said = ": " + resetErr.Error()
	}
	return exit.Fail("put them back yourself, so that 'git status' shows nothing of them, and start again", "the tree cannot be put back to %.12s at %s%s", k.base, strings.Join(rest, ", "), said)
}

// keep keeps a tree that holds all of the one that was kept before.
func (k *keeping) keep(ctx context.Context, tree string) error {
	baseTree, err := k.w.Repo.Tree(ctx, k.base)
	if err != nil {
		return err
	}
	was := k.kept
	k.kept = tree
	switch {
	case tree == was || tree == baseTree || slices.Contains(k.known, tree):
		return nil
	case k.ref == "":
		k.ref, err = k.w.KeepTree(ctx, k.kind, k.id, tree, k.base, k.why)
		return err
	}
	commit, err := k.w.CommitTree(ctx, tree, k.base, k.why)
	if err != nil {
		return err
	}
	return k.w.Repo.SetRef(ctx, k.ref, commit, "ralph-checkpoint: keep "+k.kind)
}

// submodules brings each submodule that is checked out back to the commit that base has of it. What it held is kept under a
// ref in it; its untracked files stay.
func (k *keeping) submodules(ctx context.Context) error {
	entries, err := k.w.Repo.Entries(ctx, k.base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := filepath.Join(k.w.Repo.Top, filepath.FromSlash(e.Path))
		if _, err := os.Lstat(filepath.Join(dir, ".git")); e.Kind != "commit" || err != nil {
			continue
		}
		if err := k.submodule(ctx, dir, e); err != nil {
			return fmt.Errorf("put submodule %q back: %w", e.Path, err)
		}
	}
	return nil
}

func (k *keeping) submodule(ctx context.Context, dir string, e git.Entry) error {
	sub, err := k.w.Repo.Other(ctx, dir)
	if err != nil {
		return err
	}
	defer sub.EndLookups()
	if sub.GitDir == k.w.Repo.GitDir {
		return nil // what .git is there is none
	}
	// Nothing guards its hooks.
	sub = sub.With("GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0="+os.DevNull)
	if recorded, err := sub.Commit(ctx, e.Hash); recorded == "" || err != nil {
		return err // what differs is named in the end
	}
	head, err := sub.Head(ctx)
	if err != nil {
		return err
	}
	w := &Workspace{Repo: sub, Say: k.w.Say, Run: k.w.Run, Req: k.w.Req, Baseline: e.Hash, home: cmp.Or(k.w.home, k.w.Repo)}
	untracked, err := w.untrackedBeside(ctx, e.Hash, head)
	if err != nil {
		return err
	}
	inner := &keeping{w: w, base: e.Hash, kind: k.kind, id: k.id, why: k.why}
	var refs []string
	if head != e.Hash && head != "" {
		ref, err := w.KeepCommit(ctx, k.kind, k.id, head)
		if err != nil {
			return err
		}
		refs = append(refs, ref)
		tree, err := sub.Tree(ctx, head)
		if err != nil {
			return err
		}
		inner.known = []string{tree}
	}
	if err := inner.clean(ctx, untracked); err != nil {
		return err
	}
	if inner.ref != "" {
		refs = append(refs, inner.ref)
	}
	if head != e.Hash {
		if _, err := sub.Output(ctx, "update-ref", "--no-deref", "-m", "ralph-checkpoint: back", "HEAD", e.Hash); err != nil {
			return err
		}
	}
	if len(refs) > 0 {
		k.w.Say("submodule %q is back at %.12s; what it held is kept under %s in it", e.Path, e.Hash, strings.Join(refs, " and "))
	}
	return nil
}

// untrackedBeside are the files that neither of two commits has and that git does not ignore.
func (w *Workspace) untrackedBeside(ctx context.Context, one, other string) ([]string, error) {
	private, done, err := w.Repo.PrivateIndexOf(ctx, one)
	if err != nil {
		return nil, err
	}
	defer done()
	var has []string
	if other != "" {
		entries, err := w.Repo.Entries(ctx, other)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			has = append(has, e.Path)
		}
	}
	return w.others(ctx, private, one, has)
}

// reset makes worktree and index, which hold tree, hold the commit base.
func (w *Workspace) reset(ctx context.Context, tree, base string) error {
	if err := w.SetIndex(ctx, tree); err != nil {
		return err
	}
	_, err := w.Repo.Output(ctx, "read-tree", "--reset", "-u", base)
	return err
}

// isClean reports whether the worktree is what the index says, which reset has made, but for the user's files. It is a look
// at the files' times, and cheap.
func (w *Workspace) isClean(ctx context.Context, base string, userFiles []string) (bool, error) {
	out, err := w.Repo.Output(ctx, "diff-files", "-z", "--name-only", "--ignore-submodules=untracked")
	if err != nil || len(out) > 0 {
		return false, err
	}
	others, err := w.others(ctx, w.Repo, base, userFiles)
	return len(others) == 0, err
}

// rest are the paths at which the worktree differs from the commit base, and the tree that it is.
func (w *Workspace) rest(ctx context.Context, base string, userFiles []string, kept []git.Entry) (paths []string, tree string, err error) {
	if tree, err = w.treeWithout(ctx, base, userFiles, kept); err != nil {
		return nil, "", err
	}
	paths, err = w.Repo.Changed(ctx, base, tree)
	return paths, tree, err
}

// overlaid is a tree with what another one has at some paths.
func (w *Workspace) overlaid(ctx context.Context, tree, other string, paths []string) (string, error) {
	entries, err := w.Repo.Entries(ctx, other)
	if err != nil {
		return "", err
	}
	at := map[string]bool{}
	for _, path := range paths {
		at[path] = true
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e git.Entry) bool { return !at[e.Path] })
	private, done, err := w.Repo.PrivateIndexOf(ctx, tree)
	if err != nil {
		return "", err
	}
	defer done()
	if err := putEntries(ctx, private, entries); err != nil {
		return "", err
	}
	return private.Line(ctx, "write-tree")
}

// openWay gives the owner back what a path and the folders above it were deprived of, as far as they are there.
func (w *Workspace) openWay(path string) {
	for dir := range w.foldersAbove(path) {
		_ = snapshot.OpenFolder(dir) // where that fails what comes next says so
	}
	w.openFile(path)
}

// moveNested moves an attempt's own repositories out of the tree: no tree can hold their files, and the next
// requirement must not be blamed for them.
func (w *Workspace) moveNested(ctx context.Context, base, id string, userFiles []string) error {
	private, done, err := w.Repo.PrivateIndexOf(ctx, base)
	if err != nil {
		return err
	}
	defer done()
	others, err := w.others(ctx, private, base, userFiles)
	if err != nil {
		return err
	}
	for _, path := range others {
		if !strings.HasSuffix(path, "/") {
			continue
		}
		if err := w.moveAway(path, id, innerRepository); err != nil {
			return err
		}
	}
	return nil
}

// innerRepository is why a repository in the tree is moved away.
const innerRepository = "is a repository of its own, which no commit can hold"

// moveAway moves what no commit can hold beside the logs of the attempts at id, and says so and why.
func (w *Workspace) moveAway(path, id, why string) error {
	dir := RunDir(cmp.Or(w.home, w.Repo), w.Run, id)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		dir, err = os.MkdirTemp(dir, innerPrefix)
	}
	to := filepath.Join(dir, filepath.Base(path))
	if err == nil {
		err = os.Rename(filepath.Join(w.Repo.Top, path), to)
	}
	if err != nil {
		return fmt.Errorf("move %q away: %w", path, err)
	}
	failpoint.Step("move a repository away")
	w.Say("%q %s: it is moved to %s", path, why, to)
	return nil
}

// MovedAway reports whether a folder of that name beside those of the attempts holds what was moved out of the way.
func MovedAway(name string) bool { return strings.HasPrefix(name, innerPrefix) }

// DropRun removes what a run left of its attempts, in its folder dir, and leaves what was moved there.
func DropRun(dir string) error {
	moved, err := fs.Glob(os.DirFS(dir), "*/"+innerPrefix+"*")
	for i := range moved {
		moved[i] = filepath.Join(dir, filepath.FromSlash(moved[i]))
	}
	if err != nil || len(moved) == 0 {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(moved, path):
			return fs.SkipDir
		case slices.ContainsFunc(moved, func(m string) bool { return path == dir || path == filepath.Dir(m) }):
			return nil
		}
		if err := os.RemoveAll(path); err != nil || !d.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// others are what an index has not and git does not ignore, without those in but: a folder that holds a repository of
// its own and is no submodule has a slash at its end. Linked worktrees are left out, unless they are in the way of what the
// commit base has: whoever made one may be at work in it.
func (w *Workspace) others(ctx context.Context, index *git.Repo, base string, but []string) ([]string, error) {
	out, err := index.Output(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for _, path := range but {
		left[path] = true
	}
	var linked []string
	others := slices.DeleteFunc(git.Records(out), func(path string) bool {
		if !left[path] && strings.HasSuffix(path, "/") && w.isLinked(filepath.Join(w.Repo.Top, filepath.FromSlash(path))) {
			linked = append(linked, path)
			return true
		}
		return left[path]
	})
	if len(linked) == 0 {
		return others, nil
	}
	entries, err := w.Repo.Entries(ctx, base)
	if err != nil {
		return nil, err
	}
	for _, path := range linked {
		if slices.ContainsFunc(entries, func(e git.Entry) bool { return strings.HasPrefix(path, e.Path+"/") }) {
			others = append(others, path)
		}
	}
	return others, nil
}

// isLinked reports whether dir is a linked worktree of this repository, or of the one that it is a submodule of.
func (w *Workspace) isLinked(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return false
	}
	data, err := os.ReadFile(filepath.Join(dir, ".git"))
	to, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if err != nil || !ok {
		return false
	}
	if to = filepath.FromSlash(to); !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	there, err := os.Stat(filepath.Dir(to))
	if info, statErr := os.Stat(to); err != nil || statErr != nil || !info.IsDir() {
		return false
	}
	for _, repo := range []*git.Repo{w.Repo, cmp.Or(w.home, w.Repo)} {
		if info, err := os.Stat(filepath.Join(repo.CommonDir, "worktrees")); err == nil && os.SameFile(info, there) {
			return true
		}
	}
	return false
}
