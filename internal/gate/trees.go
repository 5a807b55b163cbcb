package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Trees are what the gate compares.
type Trees struct {
	Head     string   // the commit at HEAD; "" before the first one
	Base     string   // a commit, or the empty tree before the first one
	BaseTree string   // the tree of Base; "" where it was not needed yet
	Others   []string // the other parents of a merge in the making: what they have is not new either
	Tree     string   // what would be committed
	Staged   bool     // the index differs from HEAD; otherwise HEAD's own tree is judged
}

const deepen = "fetch the whole history: git fetch --unshallow (in CI: fetch-depth: 0)"

// FindTrees finds the tree that would be committed, the index, and what to measure it against. base names a commit,
// or is empty: then it is HEAD. With nothing staged there is nothing between the index and HEAD, so that HEAD is
// judged against the place where it left the target branch, else against its parent; but a hook and the work on a
// requirement (inTheMaking is true) are about the next commit, which is then empty.
func FindTrees(ctx context.Context, repo *git.Repo, base string, inTheMaking bool) (Trees, error) {
	tree, err := repo.IndexTree(ctx)
	if err != nil {
		if unmerged, asked := repo.Unmerged(ctx); asked == nil && len(unmerged) > 0 {
			return Trees{}, exit.Fail("resolve the conflicts, then git add the files", "the index holds unmerged files, %q for one: there is no tree to judge", unmerged[0])
		}
		return Trees{}, err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return Trees{}, err
	}
	t := Trees{Head: head, Base: head, Tree: tree, Staged: true}
	if head != "" {
		headTree, err := repo.Tree(ctx, head)
		if err != nil {
			return Trees{}, err
		}
		t.Staged = headTree != tree
		if base == "" && (t.Staged || inTheMaking) {
			t.BaseTree = headTree
		}
	}
	if base == "" && head != "" {
		if t.Others, err = repo.MergeHeads(ctx); err != nil {
			return Trees{}, err
		}
	}
	switch {
	case base != "":
		t.Base, err = NamedBase(ctx, repo, base)
	case head == "":
		t.Base, err = repo.EmptyTree(ctx)
	case !t.Staged && !inTheMaking && len(t.Others) == 0:
		t.Base, err = branchPoint(ctx, repo, head)
	}
	return t, err
}

// NamedBase is the commit that a person named to measure against.
func NamedBase(ctx context.Context, repo *git.Repo, rev string) (string, error) {
	commit, err := repo.Commit(ctx, rev)
	if err != nil || commit != "" {
		return commit, err
	}
	// The empty tree is a base too: that of a repository's first commit.
	if empty, err := repo.EmptyTree(ctx); err == nil && empty == rev {
		return empty, nil
	}
	if isShallow(ctx, repo) {
		return "", exit.Fail(deepen, "the base %q is not in this shallow clone", rev)
	}
	return "", exit.Fail("give a commit, a branch or a tag", "the base %q names no commit", rev)
}

// branchPoint is where head left the branch that it will go to, else its parent, else the empty tree.
func branchPoint(ctx context.Context, repo *git.Repo, head string) (string, error) {
	for _, target := range []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"} {
		commit, err := repo.Commit(ctx, target)
		if err != nil {
			return "", err
		}
		if commit == "" || commit == head {
			continue
		}
		point, err := repo.Line(ctx, "merge-base", commit, head)
		if git.CodeOf(err) == 1 {
			if isShallow(ctx, repo) {
				return "", exit.Fail(deepen, "the place where HEAD left %q is not in this shallow clone", target)
			}
			continue
		}
		if err != nil {
			return "", err
		}
		if point != head {
			return point, nil
		}
	}
	parent, err := repo.Commit(ctx, head+"^")
	if err != nil || parent != "" {
		return parent, err
	}
	if isShallow(ctx, repo) {
		return "", exit.Fail(deepen, "the parent of HEAD is not in this shallow clone")
	}
	return repo.EmptyTree(ctx)
}

func isShallow(ctx context.Context, repo *git.Repo) bool {
	answer, err := repo.Line(ctx, "rev-parse", "--is-shallow-repository")
	return err == nil && answer == "true"
}

// ReadConfig is the ralph.yaml that a tree is judged by. While a requirement is in progress from is the baseline, so that
// nobody lowers a threshold that he is judged by; else it is the tree itself. A file that neither of them holds is the
// user's own, untracked: it counts, while a requirement is in work (inWork) as KeepConfig found it. Without any the defaults
// do.
func ReadConfig(ctx context.Context, repo *git.Repo, from, tree string, inWork bool) (*config.Config, error) {
	data, tracked, err := trackedConfig(ctx, repo, from, tree)
	if err == nil && !tracked {
		data, err = ownConfig(repo, inWork)
	}
	if err != nil {
		return nil, err
	}
	return config.Read(config.File, data)
}

// trackedConfig is the file as from has it, empty where only the tree does; tracked is false where neither does.
func trackedConfig(ctx context.Context, repo *git.Repo, from, tree string) (data []byte, tracked bool, err error) {
	data, tracked, err = repo.File(ctx, from, config.File)
	if err != nil || tracked || from == tree {
		return data, tracked, err
	}
	_, tracked, err = repo.File(ctx, tree, config.File)
	return nil, tracked, err
}

// ownConfig is the worktree's untracked file, or the one that is kept of it; nil if there is none.
func ownConfig(repo *git.Repo, kept bool) ([]byte, error) {
	if kept {
		data, err := os.ReadFile(keptConfig(repo))
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
	}
	data, err := os.ReadFile(filepath.Join(repo.Top, config.File))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return data, nil
}

// KeepConfig keeps the worktree's ralph.yaml, or that there is none, for as long as a requirement is in work: an agent may
// write one that no tree shows. It is a start's to do, when no agent is at work.
func KeepConfig(repo *git.Repo) error {
	data, err := ownConfig(repo, false)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(repo.StateDir(), 0o777); err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	return atomicfile.Write(keptConfig(repo), data)
}

func keptConfig(repo *git.Repo) string { return filepath.Join(repo.StateDir(), config.File) }
