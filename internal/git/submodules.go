package git

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// Submodules are those of the tree that rev names and that are checked out, and theirs, by their paths from the top.
func (r *Repo) Submodules(ctx context.Context, rev string) (map[string]*Repo, error) {
	found := map[string]*Repo{}
	return found, r.addSubmodules(ctx, found, "", rev)
}

func (r *Repo) addSubmodules(ctx context.Context, found map[string]*Repo, at, rev string) error {
	entries, err := r.Entries(ctx, rev)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := filepath.Join(r.Top, filepath.FromSlash(e.Path))
		if e.Kind != "commit" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			continue
		}
		name := path.Join(at, e.Path)
		sub, err := r.Other(ctx, dir)
		if err != nil {
			return fmt.Errorf("look at submodule %q: %w", name, err)
		}
		found[name] = sub
		if sub.HeadAtOpen == "" {
			continue
		}
		if err := sub.addSubmodules(ctx, found, name, sub.HeadAtOpen); err != nil {
			return err
		}
	}
	return nil
}
