package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/git"
)

// gate.setup: the copy links the worktree's folders of dependencies. Where one was made for another lock file than the
// tree's, the copy gets a folder of its own, installed by the package manager, that stays until that lock file changes.
//
// The go command needs none of this: it fetches what a step uses by itself.

// locks are the lock files that say what belongs into a folder beside them.
var locks = []struct {
	file, folder string
	marker       string // what the package manager writes in there last
	install      []string
}{
	{"package-lock.json", "node_modules", ".package-lock.json", []string{"npm", "ci"}},
	{"npm-shrinkwrap.json", "node_modules", ".package-lock.json", []string{"npm", "ci"}},
	{"pnpm-lock.yaml", "node_modules", ".modules.yaml", []string{"pnpm", "install", "--frozen-lockfile"}},
	{"yarn.lock", "node_modules", ".yarn-integrity", []string{"yarn", "install", "--frozen-lockfile"}},
	{"uv.lock", ".venv", "pyvenv.cfg", []string{"uv", "sync", "--frozen"}},
	{"poetry.lock", ".venv", "pyvenv.cfg", []string{"poetry", "install", "--no-interaction"}},
}

// stampName is the file that says for which lock file the copy's own folder was made.
const stampName = ".ralph-setup"

// install is a folder that the copy needs for itself.
type install struct {
	dir, folder string   // where the lock file lies, and the folder, below the top
	args        []string // the package manager
	stamp       string
}

// ownFolders finds the linked folders that were made for another lock file than the tree's.
func (j *judge) ownFolders(ctx context.Context, tree string) error {
	j.installs, j.copied.Own = nil, nil
	if j.Config.Gate.Where == "worktree" {
		return nil // it is the user's own
	}
	entries, err := j.Repo.Entries(ctx, tree)
	if err != nil {
		return err
	}
	j.locked = false
	for _, e := range entries {
		name, base := e.Path, path.Base(e.Path)
		for _, lock := range locks {
			if base != lock.file || !slices.Contains(j.Config.Gate.Link, lock.folder) || strings.Contains("/"+name, "/node_modules/") {
				continue
			}
			dir := path.Dir(name)
			folder := path.Join(dir, lock.folder)
			if _, err := os.Stat(j.inWorktree(folder)); err != nil {
				continue // nothing is linked
			}
			j.locked = true
			madeFor, err := j.madeFor(ctx, name, path.Join(folder, lock.marker), e.Hash)
			if err != nil {
				return err
			}
			if madeFor {
				continue
			}
			sum := sha256.Sum256([]byte(e.Hash + "\x00" + strings.Join(lock.install, " ") + strings.Join(lines(j.Config.Gate.Setup), "\n")))
			j.installs = append(j.installs, install{dir, folder, lock.install, hex.EncodeToString(sum[:])})
			j.copied.Own = append(j.copied.Own, folder)
		}
	}
	return nil
}

func (j *judge) inWorktree(name string) string {
	return filepath.Join(j.Repo.Top, filepath.FromSlash(name))
}

// madeFor reports whether the worktree's folder was made for the tree's lock file: it is the worktree's too, and was
// not changed since the folder was made, as far as times and the package manager's own record tell.
func (j *judge) madeFor(ctx context.Context, lock, marker, blob string) (bool, error) {
	data, err := os.ReadFile(j.inWorktree(lock))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the lock file: %w", err)
	}
	id, err := j.Repo.Input(ctx, data, "hash-object", "--stdin", "--path="+lock)
	if err != nil {
		return false, fmt.Errorf("compare the lock file: %w", err)
	}
	if strings.TrimSpace(string(id)) != blob {
		return false, nil
	}
	made, err := os.Stat(j.inWorktree(marker))
	if err != nil {
		return true, nil // made by something else
	}
	changed, err := os.Stat(j.inWorktree(lock))
	if err != nil {
		return false, fmt.Errorf("look at the lock file: %w", err)
	}
	if !changed.ModTime().After(made.ModTime().Add(time.Second)) {
		return true, nil
	}
	// git writes the file anew when a branch is switched to and fro.
	record, err := os.ReadFile(j.inWorktree(marker))
	return err == nil && samePackages(data, record), nil
}

// samePackages reports whether npm's record of what is installed is what the lock file asks for, optional packages
// aside.
func samePackages(lock, record []byte) bool {
	type packages struct {
		Packages map[string]struct {
			Version, Integrity                string
			Optional, DevOptional, Peer, Link bool
		}
	}
	var want, got packages
	if json.Unmarshal(lock, &want) != nil || json.Unmarshal(record, &got) != nil || len(want.Packages) == 0 {
		return false
	}
	for name, p := range want.Packages {
		have, ok := got.Packages[name]
		if !strings.Contains(name, "node_modules/") || p.Link || !ok && (p.Optional || p.DevOptional || p.Peer) {
			continue
		}
		if !ok || have.Version != p.Version || have.Integrity != p.Integrity {
			return false
		}
	}
	for name := range got.Packages {
		if _, ok := want.Packages[name]; !ok {
			return false
		}
	}
	return true
}

// setup installs what ownFolders found, unless it is there from before. Commands of the project's own replace the
// package managers'; without any lock file that says when, they run on each tree once.
func (j *judge) setup(ctx context.Context, tree string) error {
	own := j.Config.Gate.Setup
	var due []install
	for _, i := range j.installs {
		if data, err := os.ReadFile(filepath.Join(j.copied.Dir, filepath.FromSlash(i.folder), stampName)); err != nil || string(data) != i.stamp {
			due = append(due, i)
		}
	}
	each := len(own) > 0 && !j.locked && j.setUp != tree && j.Config.Gate.Where != "worktree"
	if len(due) == 0 && !each {
		return nil
	}
	log, err := j.logFile("setup", tree)
	if err != nil {
		return err
	}
	defer log.Close()
	for _, i := range due {
		if err := os.RemoveAll(filepath.Join(j.copied.Dir, filepath.FromSlash(i.folder))); err != nil {
			return fmt.Errorf("remove an old %q: %w", i.folder, err)
		}
		if len(own) == 0 {
			if err := j.install(ctx, Step{Dir: strings.TrimPrefix(i.dir, "."), Args: i.args, Line: strings.Join(i.args, " ")}, log, i.folder); err != nil {
				return err
			}
		}
	}
	for _, c := range own {
		if err := j.install(ctx, Step{Args: c.Args, Line: c.Line}, log, "the copy"); err != nil {
			return err
		}
	}
	for _, i := range due {
		folder := filepath.Join(j.copied.Dir, filepath.FromSlash(i.folder))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make %q: %w", i.folder, err)
		}
		if err := os.WriteFile(filepath.Join(folder, stampName), []byte(i.stamp), 0o644); err != nil {
			return fmt.Errorf("remember what was installed: %w", err)
		}
	}
	j.setUp = tree
	return nil
}

// install runs one command of the setup. A failure is the layer's error: nothing can be said of the tree.
func (j *judge) install(ctx context.Context, s Step, log *os.File, what string) error {
	fmt.Fprintf(log, "$ %s\n", s)
	out, err := j.exec(ctx, s)
	for _, name := range []string{out.stdout, out.stderr} {
		if err := appendFile(log, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write the log: %w", err)
		}
	}
	advice := fmt.Sprintf("install in the worktree what its lock file asks for, or name the commands in gate.setup of %s; the log is %s", config.File, log.Name())
	if tool, ok := asTool(err); ok {
		return &errTool{"setup of " + git.Quote(what) + ": " + tool.why, advice}
	}
	if err != nil {
		return err
	}
	if out.code != 0 {
		_, rest, err := j.diagnostics(s, out.stderr, out.stdout)
		if err != nil {
			return err
		}
		return &errTool{fmt.Sprintf("setup of %s: %s: exit code %d\n%s", git.Quote(what), s, out.code, headTail(rest, 500)), advice}
	}
	return nil
}
