package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
// so: no commit could hold them, and what comes next must not be stopped by them.
func (w *Workspace) withoutWhatCannot(ctx context.Context, base, id string, build func() (string, error)) (tree, refused string, err error) {
	var moved []string
	for {
		tree, err = build()
		var which *cannotAdd
		if !errors.As(err, &which) {
			return tree, refused, err
		}
		refused += which.Error() + "\n"
		for _, path := range which.paths {
			if err := w.moveAway(path, id, "cannot be taken in by git"); err != nil {
				return "", "", err
			}
		}
		// One that base holds may fail as it was, too: it stays away then.
		again := slices.DeleteFunc(slices.Clone(which.paths), func(path string) bool { return slices.Contains(moved, path) })
		if err := w.checkOut(ctx, base, again); err != nil {
			return "", "", err
		}
		moved = append(moved, which.paths...)
	}
}

// checkOut writes those of paths anew that the commit base has. Where a filter keeps git from that they stay away.
func (w *Workspace) checkOut(ctx context.Context, base string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	private, done, err := w.Repo.PrivateIndex()
	if err != nil {
		return err
	}
	defer done()
	if _, err := private.Output(ctx, "read-tree", base); err != nil {
		return err
	}
	_, err = private.Output(ctx, append([]string{"checkout-index", "-q", "-f", "--"}, paths...)...)
	if git.CodeOf(err) > 0 {
		return nil
	}
	return err
}
