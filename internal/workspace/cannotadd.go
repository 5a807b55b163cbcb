package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// cannotAdd is the error of files that git cannot take in: a filter of theirs fails, they must not be read, or git keeps their
// name for itself.
type cannotAdd struct {
	paths []string
	words []string // of git, for each
}

func (e *cannotAdd) Error() string {
	var lines []string
	for i, path := range e.paths {
		lines = append(lines, fmt.Sprintf("git cannot take in %s: %s", git.Quote(path), e.words[i]))
	}
	return strings.Join(lines, "\n")
}

// whichCannot finds those of paths that made git fail with err, which it gives where they are none.
func (w *Workspace) whichCannot(ctx context.Context, paths []string, err error) error {
	if git.CodeOf(err) <= 0 {
		return err
	}
	var files []string
	for _, path := range paths {
		if info, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(path))); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	var found cannotAdd
	for len(files) > 0 {
		var list bytes.Buffer
		for _, path := range files {
			list.WriteString(git.Quote(path) + "\n")
		}
		// It ends at the first that fails, having said a line for each before it.
		out, failed := w.Repo.Input(ctx, list.Bytes(), "hash-object", "-w", "--stdin-paths")
		n := bytes.Count(out, []byte("\n"))
		if failed == nil {
			break
		}
		if git.CodeOf(failed) <= 0 || n >= len(files) {
			return errors.Join(err, failed)
		}
		found.paths = append(found.paths, files[n])
		text := failed.Error()
		found.words = append(found.words, text[strings.LastIndexByte(text, '\n')+1:])
		files = files[n+1:]
	}
	if len(found.paths) > 0 {
		return found.asError()
	}
	return err
}

// passedOver is the error of those of paths that git has not taken into an index and yet has not failed at: the names that it
// reserves, such as .GIT.
func (w *Workspace) passedOver(ctx context.Context, private *git.Repo, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	out, err := private.Output(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, path := range git.Records(out) {
		has[path] = true
	}
	left := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(path)))
		return has[path] || err != nil
	})
	if len(left) == 0 {
		return nil
	}
	return noSuchName(left...)
}

// linkedModules is the error of a link in the place of a .gitmodules that the commit base has: git adds it, and reads no tree
// that holds one.
func (w *Workspace) linkedModules(ctx context.Context, base string) error {
	entries, err := w.Repo.Entries(ctx, base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.EqualFold(path.Base(e.Path), ".gitmodules") {
			continue
		}
		if info, err := os.Lstat(filepath.Join(w.Repo.Top, filepath.FromSlash(e.Path))); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return noSuchName(e.Path)
		}
	}
	return nil
}

func noSuchName(paths ...string) error {
	found := cannotAdd{paths: paths}
	for range paths {
		found.words = append(found.words, "no commit may hold such a name")
	}
	return found.asError()
}

func (e *cannotAdd) asError() error {
	return exit.Fail("take them away, or mend what git says of them", "%w", e)
}

// withoutWhatCannot gives the tree that build makes. Files that git cannot take in are moved out of its way, and refused says
// so: no commit could hold them, and what comes next must not be stopped by them. Those that are as the commit base has them
// are none of the attempt's doing, a filter that fails as such: they stay where they are, and in the tree, as kept for build.
func (w *Workspace) withoutWhatCannot(ctx context.Context, base, id string, build func(kept []git.Entry) (string, error)) (tree, refused string, kept []git.Entry, err error) {
	named := map[string]bool{}
	for {
		tree, err = build(kept)
		var which *cannotAdd
		if !errors.As(err, &which) {
			return tree, refused, kept, err
		}
		for i, path := range which.paths {
			if !named[path] {
				named[path] = true
				refused += (&cannotAdd{which.paths[i : i+1], which.words[i : i+1]}).Error() + "\n"
			}
		}
		others, changed, asBase, err := w.beside(ctx, base, which.paths)
		if err != nil {
			return "", "", nil, err
		}
		for _, path := range slices.Concat(others, changed) {
			if err := w.moveAway(path, id, "cannot be taken in by git"); err != nil {
				return "", "", nil, err
			}
		}
		if err := w.checkOut(ctx, base, w.Repo.Top, changed); err != nil {
			return "", "", nil, err
		}
		kept = append(kept, asBase...)
	}
}

// beside tells paths apart: those that the commit base has not, those that are not as a checkout of it writes them, and the
// entries of those that are, or that nothing can be said of, since it cannot be checked out either.
func (w *Workspace) beside(ctx context.Context, base string, paths []string) (others, changed []string, asBase []git.Entry, err error) {
	entries, err := w.Repo.Entries(ctx, base)
	if err != nil {
		return nil, nil, nil, err
	}
	at := map[string]git.Entry{}
	for _, e := range entries {
		at[e.Path] = e
	}
	dir, err := os.MkdirTemp("", "ralph-was-")
	if err != nil {
		return nil, nil, nil, err
	}
	defer os.RemoveAll(dir)
	var had []string
	for _, path := range paths {
		if at[path].Path == "" {
			others = append(others, path)
		} else {
			had = append(had, path)
		}
	}
	was := func(path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
	for rest := had; len(rest) > 0; {
		err := w.checkOut(ctx, base, dir, rest)
		if err == nil {
			break
		}
		if git.CodeOf(err) <= 0 {
			return nil, nil, nil, err
		}
		// It ends at the first that fails.
		i := slices.IndexFunc(rest, func(path string) bool { _, err := os.Lstat(was(path)); return err != nil })
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	for _, path := range had {
		if _, err := os.Lstat(was(path)); err == nil && !sameFile(was(path), filepath.Join(w.Repo.Top, filepath.FromSlash(path))) {
			changed = append(changed, path)
		} else {
			asBase = append(asBase, at[path])
		}
	}
	return others, changed, asBase, nil
}

// sameFile reports whether two files are regular ones with the same content, and can both be run or not.
func sameFile(one, other string) bool {
	a, err := os.Lstat(one)
	if err != nil {
		return false
	}
	b, err := os.Lstat(other)
	if err != nil || !a.Mode().IsRegular() || !b.Mode().IsRegular() || a.Size() != b.Size() || (a.Mode()^b.Mode())&0o100 != 0 {
		return false
	}
	f, err := os.Open(one)
	if err != nil {
		return false
	}
	defer f.Close()
	g, err := os.Open(other)
	if err != nil {
		return false
	}
	defer g.Close()
	x, y := make([]byte, 1<<16), make([]byte, 1<<16)
	for {
		n, err := io.ReadFull(f, x)
		m, _ := io.ReadFull(g, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// checkOut writes paths into the folder dir as the commit base, which has them, has them.
func (w *Workspace) checkOut(ctx context.Context, base, dir string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	private, done, err := w.Repo.PrivateIndexOf(ctx, base)
	if err != nil {
		return err
	}
	defer done()
	args := []string{"checkout-index", "-q", "-f", "-z", "--stdin"}
	if dir != w.Repo.Top {
		args = append(args, "--prefix="+filepath.ToSlash(dir)+"/")
	}
	_, err = private.Input(ctx, ended(paths), args...)
	return err
}

// comesBack is the error of entries of the commit base that git could not write into the worktree, by the attributes that
// base has: it takes the old file away before it asks a filter.
func (w *Workspace) comesBack(ctx context.Context, base string, entries []git.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "ralph-was-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	private, done, err := w.Repo.PrivateIndexOf(ctx, base)
	if err != nil {
		return err
	}
	defer done()
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Path)
	}
	apart := w.Repo.WithWorktree(dir, private.Index)
	if _, err := apart.Input(ctx, ended(paths), "checkout-index", "-q", "-z", "--stdin"); err != nil {
		return exit.Fail("mend what git says of that file, and start again", "the tree cannot be put back to %.12s: %w", base, err)
	}
	return nil
}
