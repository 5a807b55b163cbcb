package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
)

// contents is what the copy shall hold.
type contents struct {
	files      map[string]bool   // tracked files and links
	folders    map[string]bool   // every folder above one of them, "" aside
	submodules map[string]bool   // also those that are not checked out
	modules    []module          // those that are, an outer one before those in it
	attributes []byte            // the entries of all .gitattributes
	links      map[string]string // what is linked in, and to where
	copies     map[string]string // small files that are copied in, and from where
	own        map[string]bool   // folders that stay as they are
}

// Checkout brings the copy to exactly the tree that rev names, with what is linked in, and nothing else. A file that is
// as it should be keeps its times. It does not matter what state an earlier run left the copy in.
//
// git decides whether a file is as it should be by size, times (the change time, which no program can set, among
// them), inode, owner and mode. The user's hooks are not run; filters and line endings are as in any checkout.
func (c *Copy) Checkout(ctx context.Context, rev string) error {
	tree, err := c.repo.Tree(ctx, rev)
	if err != nil {
		return fmt.Errorf("find the tree %q: %w", rev, err)
	}
	if c.inPlace {
		return c.same(ctx, tree)
	}
	want, err := c.list(ctx, tree)
	if err != nil {
		return err
	}
	if err := c.findLinks(want); err != nil {
		return fmt.Errorf("look for what is linked into the copy: %w", err)
	}
	if err := c.freshSettings(ctx, want); err != nil {
		return fmt.Errorf("look at the settings of the checkout: %w", err)
	}
	indexes := []string{c.index}
	for _, m := range want.modules {
		indexes = append(indexes, c.indexOf(m))
	}
	for _, index := range indexes {
		if err := unlockIndex(ctx, index); err != nil {
			return fmt.Errorf("free the copy's index: %w", err)
		}
	}
	if err := c.fill(ctx, tree, want); err != nil {
		if ctx.Err() != nil {
			return err
		}
		// A damaged index, or a folder in a state that was not thought of: once more from nothing.
		if err := c.reset(); err != nil {
			return fmt.Errorf("clear the copy: %w", err)
		}
		if err := c.fill(ctx, tree, want); err != nil {
			return fmt.Errorf("check out the copy: %w", err)
		}
	}
	return c.link(want)
}

// reset throws the copy away.
func (c *Copy) reset() error {
	if err := c.dropIndexes(); err != nil {
		return err
	}
	return RemoveAll(c.Dir)
}

// dropIndexes makes git write every file anew.
func (c *Copy) dropIndexes() error {
	if err := os.Remove(c.index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(c.modules)
}

// plain are the settings under which a checkout writes nothing but its own index and the whole tree, and runs no hook.
var plain = []string{"-c", "core.hooksPath=/dev/null", "-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "core.sparseCheckout=false"}

func (c *Copy) fill(ctx context.Context, tree string, want *contents) error {
	if info, err := os.Lstat(c.Dir); err == nil && !info.IsDir() {
		if err := os.Remove(c.Dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	if err := want.clean(c.Dir, ""); err != nil {
		return err
	}
	if err := c.readTree(ctx, c.repo, "", c.index, tree); err != nil {
		return err
	}
	for _, m := range want.modules {
		if err := c.readTree(ctx, m.repo, m.path, c.indexOf(m), m.commit); err != nil {
			return err
		}
	}
	return nil
}

// indexOf is the copy's index for the files of a submodule.
func (c *Copy) indexOf(m module) string {
	sum := sha256.Sum256([]byte(m.path))
	return filepath.Join(c.modules, hex.EncodeToString(sum[:8]))
}

// readTree brings a folder of the copy to what repo has as rev.
func (c *Copy) readTree(ctx context.Context, repo *git.Repo, folder, index, rev string) error {
	dir := filepath.Join(c.Dir, filepath.FromSlash(folder))
	for _, d := range []string{dir, filepath.Dir(index)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	err := repo.WithWorktree(dir, index).Do(ctx, nil, io.Discard, append(slices.Clone(plain), "read-tree", "--reset", "-u", rev)...)
	if err != nil {
		// That git has ended, perhaps by our own hand: its lock serves nobody.
		_ = os.Remove(index + ".lock")
	}
	return err
}

func (c *Copy) list(ctx context.Context, tree string) (*contents, error) {
	entries, err := c.repo.Entries(ctx, tree)
	if err != nil {
		return nil, err
	}
	want := &contents{files: map[string]bool{}, folders: map[string]bool{}, submodules: map[string]bool{}, links: map[string]string{}, copies: map[string]string{}, own: map[string]bool{}}
	for _, p := range c.Own {
		want.own[p] = true
		want.addFolders(p)
	}
	return want, c.findSubmodules(ctx, c.repo, want, want.add("", entries))
}

// add marks the entries of a repository that lies in the folder at, and gives the submodules among them with the recorded
// commits.
func (w *contents) add(at string, entries []git.Entry) (recorded map[string]string) {
	recorded = map[string]string{}
	for _, e := range entries {
		p := path.Join(at, e.Path)
		if e.Kind == "commit" {
			recorded[p], w.submodules[p] = e.Hash, true
		} else {
			w.files[p] = true
		}
		if path.Base(p) == ".gitattributes" {
			w.attributes = fmt.Appendf(w.attributes, "%s %s %s\x00", e.Mode, e.Hash, p)
		}
		w.addFolders(p)
	}
	return recorded
}

// addFolders marks the folders above p.
func (w *contents) addFolders(p string) {
	for i := strings.LastIndexByte(p, '/'); i > 0 && !w.folders[p[:i]]; i = strings.LastIndexByte(p[:i], '/') {
		w.folders[p[:i]] = true
	}
}

// freshSettings makes the checkout start anew when something changed that decides how a blob becomes a file: git
// itself would leave the unchanged blobs as they were written under the old rules.
func (c *Copy) freshSettings(ctx context.Context, want *contents) error {
	sum := sha256.New()
	sum.Write(want.attributes)
	if err := addSettings(ctx, sum, c.repo); err != nil {
		return err
	}
	for _, m := range want.modules {
		if err := addSettings(ctx, sum, m.repo); err != nil {
			return err
		}
	}
	now := hex.EncodeToString(sum.Sum(nil)) + "\n"
	if before, err := os.ReadFile(c.settings); err == nil && string(before) == now {
		return nil
	}
	if err := c.dropIndexes(); err != nil {
		return err
	}
	err := os.WriteFile(c.settings, []byte(now), 0o600)
	failpoint.Step("write the copy's settings")
	return err
}

// addSettings writes what decides in a repository how a blob becomes a file, the tree's own attributes aside.
func addSettings(ctx context.Context, sum io.Writer, repo *git.Repo) error {
	out, err := repo.Output(ctx, "config", "-z", "--get-regexp", `^(core\.(autocrlf|eol|symlinks|filemode|attributesfile|ignorecase)|filter\..*)$`)
	if err != nil && git.CodeOf(err) != 1 {
		return err
	}
	_, _ = sum.Write(out) // never fails
	files := []string{filepath.Join(repo.CommonDir, "info", "attributes")}
	if bytes.Contains(out, []byte("core.attributesfile\n")) {
		global, err := repo.Line(ctx, "config", "--path", "--get", "core.attributesFile")
		if err != nil {
			return err
		}
		files = append(files, global)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		fmt.Fprintf(sum, "%d\x00%s", len(data), data)
	}
	return nil
}

// unlockIndex removes the lock that a killed git left on an index of the copy's. The copy is ours, so no gate holds it; but a
// git whose gate was killed may live a moment longer.
func unlockIndex(ctx context.Context, index string) error {
	name := index + ".lock"
	for range 150 { // three seconds
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return os.Remove(name)
}
