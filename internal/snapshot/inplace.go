package snapshot

import (
	"context"
	"fmt"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// same refuses unless the worktree is exactly the tree: the index is it, no file differs from the index, and no file is
// there that git neither has nor ignores.
func (c *Copy) same(ctx context.Context, tree string) error {
	const hint = "stage or remove them; or run in a copy: gate: {where: copy} in ralph.yaml"
	index, err := c.repo.IndexTree(ctx)
	if err != nil {
		return fmt.Errorf("look at the index: %w", err)
	}
	if index != tree {
		return exit.Fail("set gate.where to copy", "gate.where is worktree, and the tree %.12s is not the one that is staged: it cannot be run there", tree)
	}
	for _, look := range []struct {
		what string
		args []string
	}{
		{"differ from what is staged", []string{"diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative", "--ignore-submodules=none"}},
		{"are untracked", []string{"ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory"}},
	} {
		out, err := c.repo.Output(ctx, look.args...)
		if err != nil {
			return fmt.Errorf("look at the worktree: %w", err)
		}
		names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if names[0] == "" {
			continue
		}
		more := ""
		if len(names) > 5 {
			more = fmt.Sprintf(" and %d more", len(names)-5)
			names = names[:5]
		}
		for i, name := range names {
			names[i] = git.Quote(name)
		}
		return exit.Fail(hint, "gate.where is worktree, and files there %s: %s%s", look.what, strings.Join(names, ", "), more)
	}
	return nil
}
