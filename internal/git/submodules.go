package git

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// Submodules are those of the tree that rev names and that are checked out, and theirs, by their paths from the top. One
// that git cannot read is left out.
func (r *Repo) Submodules(ctx context.Context, rev string) (map[string]*Repo, error) {
	entries, err := r.Entries(ctx, rev)
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	found := map[string]*Repo{}
	r.addSubmodules(ctx, found, map[string]bool{r.GitDir: true}, "", entries)
	return found, nil
}

// addSubmodules adds to found those among the entries; seen are the git directories that have been met.
func (r *Repo) addSubmodules(ctx context.Context, found map[string]*Repo, seen map[string]bool, at string, entries []Entry) {
	for _, e := range entries {
		dir := filepath.Join(r.Top, filepath.FromSlash(e.Path))
		if e.Kind != "commit" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			continue
		}
		sub, err := r.Other(ctx, dir)
		if err != nil || seen[sub.GitDir] { // git passes over a .git that is none, and finds the outer one
			continue
		}
		seen[sub.GitDir] = true
		name := path.Join(at, e.Path)
		found[name] = sub
		if inner, err := sub.Entries(ctx, "HEAD"); err == nil {
			sub.addSubmodules(ctx, found, seen, name, inner)
		}
	}
}
