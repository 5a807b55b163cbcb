package gate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/git"
	"ralph-loop/internal/glob"
)

// missingFiles names what lies in the worktree and is not in the judged tree: tests that pass there and fail here
// often need one of them. It is the one place where the gate scans the worktree, and only after a failure.
func (j *judge) missingFiles(ctx context.Context) ([]string, error) {
	kinds := []struct {
		what string
		args []string
	}{
		{"not staged", []string{"diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative", "--ignore-submodules=all"}},
		{"untracked", []string{"ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory"}},
		{"ignored", []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory"}},
	}
	repos := map[string]*git.Repo{"": j.Repo}
	if err := addSubmodules(ctx, repos, "", j.Tree); err != nil {
		return nil, fmt.Errorf("look for files that the tree lacks: %w", err)
	}
	const most = 8
	var parts []string
	for _, k := range kinds {
		var names []string
		for _, at := range slices.Sorted(maps.Keys(repos)) {
			out, err := repos[at].Output(ctx, k.args...)
			if err != nil {
				return nil, fmt.Errorf("look for files that the tree lacks: %w", err)
			}
			for _, name := range git.Records(out) {
				plain := path.Join(at, name)
				if plain != ".sprint-state" && !glob.Any(j.Config.Gate.Link, plain) {
					names = append(names, plain+name[len(strings.TrimSuffix(name, "/")):])
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
			names = names[:most]
		}
		for i, name := range names {
			names[i] = git.Quote(name)
		}
		parts = append(parts, fmt.Sprintf("%s%s (%s)", strings.Join(names, ", "), more, k.what))
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return []string{"in the worktree, but not in the judged tree: " + strings.Join(parts, "; ")}, nil
}

// addSubmodules adds the submodules that the repository in the folder at has in rev and that are checked out, and theirs.
func addSubmodules(ctx context.Context, repos map[string]*git.Repo, at, rev string) error {
	entries, err := repos[at].Entries(ctx, rev)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := filepath.Join(repos[at].Top, filepath.FromSlash(e.Path))
		if e.Kind != "commit" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			continue
		}
		p := path.Join(at, e.Path)
		if repos[p], err = repos[at].Other(ctx, dir); err != nil {
			return err
		}
		if err := addSubmodules(ctx, repos, p, e.Hash); err != nil {
			return err
		}
	}
	return nil
}
