package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
)

// The worktree's state folder lies where agents write, and the loop writes there when their changes are already put back:
// a link that an agent left there would lead it to git's settings. So none outlives its agent, and what is written where
// nothing is guarded is made anew, whatever stands in its way.

// innerPrefix is how the folders beside the attempts' begin that hold a repository which was moved out of the way.
const innerPrefix = "repository-"

// stateFolders are the folders of the state in the worktree, the outer one first.
func (w *Workspace) stateFolders() []string {
	return []string{filepath.Dir(w.Repo.Sprint()), w.Repo.Sprint()}
}

// CheckStateFolders refuses a link in the place of a state folder: it would be taken away after the attempt, and all that
// lies behind it would be lost from sight.
func (w *Workspace) CheckStateFolders() error {
	for _, dir := range w.stateFolders() {
		info, err := os.Lstat(dir)
		if err != nil {
			return fmt.Errorf("look at the state folder: %w", err)
		}
		if !info.IsDir() {
			return exit.Fail("put a folder with the same files in its place", "%s is a link, and agents could turn it", dir)
		}
	}
	return nil
}

// DropLinks takes away what is neither a plain file nor a folder in the state folder, and says so. A file that has a second
// name elsewhere is parted from it.
func (w *Workspace) DropLinks() error {
	for _, dir := range w.stateFolders() {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !info.IsDir() {
			err = w.dropLink(dir)
		}
		if err != nil {
			return fmt.Errorf("look at the state folder: %w", err)
		}
	}
	runs := RunsDir(w.Repo)
	return filepath.WalkDir(w.Repo.Sprint(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("look at the state folder: %w", err)
		case d.IsDir():
			if strings.HasPrefix(d.Name(), innerPrefix) && filepath.Dir(filepath.Dir(filepath.Dir(path))) == runs {
				return fs.SkipDir // somebody's work, where nothing is written
			}
			return nil
		case !d.Type().IsRegular():
			return w.dropLink(path)
		case below(path, runs):
			return nil // a file there is made anew when it is written
		}
		return part(path)
	})
}

func (w *Workspace) dropLink(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("take away %s: %w", path, err)
	}
	failpoint.Step("remove a link")
	w.Say("put in order: %s was no plain file and is taken away", w.nameOf(path))
	return nil
}

// part makes path a file of its own where another name has the same one: to write it would write that.
func part(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !linked(info) {
		return nil
	}
	if info.Size() > maxGuarded {
		defer failpoint.Step("remove a large link")
		return os.Remove(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("part %s from its other name: %w", path, err)
	}
	return atomicfile.Replace(path, data)
}

// CreateAnew makes the file at path below the state folder, and the folders above it. What stands in the way of the file, or
// of a folder, is taken away: no link is followed, and no file that has another name is written.
func (w *Workspace) CreateAnew(path string) (*os.File, error) {
	if err := os.MkdirAll(w.Repo.Sprint(), 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(w.Repo.Sprint())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(w.Repo.Sprint(), path)
	if err != nil {
		return nil, err
	}
	for i := range len(name) {
		if !os.IsPathSeparator(name[i]) {
			continue
		}
		dir := name[:i]
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			if err := root.Remove(dir); err != nil {
				return nil, err
			}
			failpoint.Step("clear the way")
		}
		if err := root.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if err := root.RemoveAll(name); err != nil {
		return nil, err
	}
	failpoint.Step("make way for a file")
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// WriteAnew is CreateAnew with a content.
func (w *Workspace) WriteAnew(path string, data []byte) error {
	f, err := w.CreateAnew(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
