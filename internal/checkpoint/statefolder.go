package checkpoint

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

// runsDir is the folder in the state folder that holds a folder for each attempt, with these files.
const (
	runsDir    = "runs"
	promptFile = "prompt.txt"
	logFile    = "agent.log"
)

// innerPrefix is how the folders beside the attempts' begin that hold a repository which was moved out of the way.
const innerPrefix = "repository-"

// stateFolders are the folders of the state in the worktree, the outer one first.
func (c *Checkpoint) stateFolders() []string {
	return []string{filepath.Dir(c.repo.Sprint()), c.repo.Sprint()}
}

// checkStateFolders refuses a link in the place of a state folder: it would be taken away after the attempt, and all that
// lies behind it would be lost from sight.
func (c *Checkpoint) checkStateFolders() error {
	for _, dir := range c.stateFolders() {
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

// dropLinks takes away what is neither a plain file nor a folder in the state folder, and says so. A file that has a second
// name elsewhere is parted from it.
func (c *Checkpoint) dropLinks() error {
	for _, dir := range c.stateFolders() {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !info.IsDir() {
			err = c.dropLink(dir)
		}
		if err != nil {
			return fmt.Errorf("look at the state folder: %w", err)
		}
	}
	runs := filepath.Join(c.repo.Sprint(), runsDir)
	return filepath.WalkDir(c.repo.Sprint(), func(path string, d fs.DirEntry, err error) error {
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
			return c.dropLink(path)
		case below(path, runs):
			return nil // a file there is made anew when it is written
		}
		return part(path)
	})
}

func (c *Checkpoint) dropLink(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("take away %s: %w", path, err)
	}
	failpoint.Step("remove a link")
	c.say("put in order: %s was no plain file and is taken away", c.nameOf(path))
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

// createAnew makes the file at path below the state folder, and the folders above it. What stands in the way of the file, or
// of a folder, is taken away: no link is followed, and no file that has another name is written.
func (c *Checkpoint) createAnew(path string) (*os.File, error) {
	if err := os.MkdirAll(c.repo.Sprint(), 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.repo.Sprint())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(c.repo.Sprint(), path)
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

// writeAnew is createAnew with a content.
func (c *Checkpoint) writeAnew(path string, data []byte) error {
	f, err := c.createAnew(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
