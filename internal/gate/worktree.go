package gate

import (
	"context"
	"fmt"
	"maps"
	"path"
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
	repos, err := j.Repo.Submodules(ctx, j.Tree)
	if err != nil {
		return nil, fmt.Errorf("look for files that the tree lacks: %w", err)
	}
	repos[""] = j.Repo
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
