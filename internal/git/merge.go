package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// NamedMergeHeads are what may be merged: what git wrote down or, before a merge that it makes by itself, when the hook
// pre-merge-commit runs, named in the environment only.
func (r *Repo) NamedMergeHeads() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(r.GitDir, "MERGE_HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for a merge: %w", err)
	}
	named := strings.Fields(string(data))
	if len(named) > 0 {
		return named, nil
	}
	for _, kv := range r.environ {
		if hash, ok := strings.CutPrefix(kv, "GITHEAD_"); ok {
			hash, _, _ = strings.Cut(hash, "=")
			named = append(named, hash)
		}
	}
	return named, nil
}

// MergeHeads are the commits that the commit in the making merges into HEAD; none if it is an ordinary one.
func (r *Repo) MergeHeads(ctx context.Context) ([]string, error) {
	named, err := r.NamedMergeHeads()
	if err != nil {
		return nil, err
	}
	var heads []string
	for _, hash := range named {
		commit, err := r.commit(ctx, hash)
		if err != nil || commit == "" {
			return nil, err
		}
		// The variables live on in whatever that git started.
		if below, err := r.IsAncestor(ctx, commit, "HEAD"); err != nil {
			return nil, err
		} else if !below {
			heads = append(heads, commit)
		}
	}
	return heads, nil
}
