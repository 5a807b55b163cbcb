// Package snapshot keeps the exported copy of a repository in which the project's tools run: a folder outside the
// worktree that holds exactly one tree, brought from one tree to the next so that unchanged files keep their times.
package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Copy is the exported copy of one worktree. Whoever holds it is alone with it.
type Copy struct {
	// Dir is the copy's top. It exists from the first Checkout on.
	Dir string
	// Links are names of ignored or untracked files and folders of the worktree that Checkout brings in (gate.link):
	// a plain name in every folder where it is found, a name with a slash at that one place.
	Links []string
	// Own are folders below Dir, with slashes, that are neither linked nor emptied: what is installed there stays.
	Own []string

	inPlace  bool // Dir is the worktree itself
	repo     *git.Repo
	home     string // the folder around Dir
	index    string
	modules  string // the folder of the submodules' indexes
	settings string
	lock     *flock.Flock
	python   []string // folders of the copy that outrank an editable install
}

// Open takes the copy of the repository's worktree below cacheHome (XDG_CACHE_HOME, or .cache in the home folder), and
// waits while another process has it. Nothing is written there but below ralph/.
func Open(ctx context.Context, repo *git.Repo, cacheHome string) (*Copy, error) {
	return open(ctx, repo, cacheHome, "")
}

// OpenSecond takes a second copy, so that the first keeps its files and their times.
func OpenSecond(ctx context.Context, repo *git.Repo, cacheHome string) (*Copy, error) {
	return open(ctx, repo, cacheHome, "-second")
}

// InPlace takes the worktree itself instead of a copy, for a project that cannot run elsewhere. Its Checkout checks out
// nothing: it refuses where the worktree is not the tree.
func InPlace(ctx context.Context, repo *git.Repo, cacheHome string) (*Copy, error) {
	c, err := open(ctx, repo, cacheHome, "")
	if err == nil {
		c.Dir, c.inPlace = repo.Top, true
	}
	return c, err
}

func open(ctx context.Context, repo *git.Repo, cacheHome, which string) (*Copy, error) {
	if !filepath.IsAbs(cacheHome) {
		return nil, exit.Fail("set XDG_CACHE_HOME or HOME to an absolute path", "the cache folder %q is not absolute", cacheHome)
	}
	// One name for one repository, by whatever links it is reached.
	gitDir, err := filepath.EvalSymlinks(repo.GitDir)
	if err != nil {
		return nil, fmt.Errorf("open the copy: %w", err)
	}
	sum := sha256.Sum256([]byte(gitDir))
	home := filepath.Join(cacheHome, "ralph", hex.EncodeToString(sum[:8])+which)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, exit.Fail("set XDG_CACHE_HOME to a folder that can be written", "make the folder of the copy: %w", err)
	}
	// The folder's name tells nobody whose copy it is.
	if err := os.WriteFile(filepath.Join(home, "repository"), []byte(gitDir+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("open the copy: %w", err)
	}
	lock := flock.New(filepath.Join(home, "lock"))
	if ok, err := lock.TryLockContext(ctx, 50*time.Millisecond); !ok {
		return nil, fmt.Errorf("wait for another gate to leave the copy %q: %w", home, err)
	}
	return &Copy{
		Dir: filepath.Join(home, "tree"), repo: repo, home: home,
		index: filepath.Join(home, "index"), modules: filepath.Join(home, "modules"), settings: filepath.Join(home, "settings"), lock: lock,
	}, nil
}

// Close lets others have the copy.
func (c *Copy) Close() error { return c.lock.Unlock() }

// Scratch is a folder beside the copy for what tools write elsewhere. It keeps its name from run to run.
func (c *Copy) Scratch() string { return filepath.Join(c.home, "scratch") }

// Env is what a tool's environment needs in the copy, over run.Environment: git, started there, must not find a
// repository around the cache, and Python must find the copy's modules before those of an editable install, which
// names the worktree. It holds from a Checkout on.
func (c *Copy) Env() []string {
	if c.inPlace {
		return nil
	}
	env := []string{"GIT_CEILING_DIRECTORIES=" + c.home}
	if len(c.python) > 0 {
		path := c.python[0]
		for _, p := range c.python[1:] {
			path += string(os.PathListSeparator) + p
		}
		env = append(env, "PYTHONPATH="+path)
	}
	return env
}
