package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/git"
	"ralph-loop/internal/lazyregexp"
)

// weakerThanASide judges a merge: its tests must be as strong as those of every side, but for what another side has
// weakened since the two parted, which was judged there. examined is false where each file is simply one side's, the other
// having left it alone. justified is how many findings a person has given a reason for.
func (j *judge) weakerThanASide(ctx context.Context, pick func(diffstat.File) bool) (found []Finding, justified int, examined bool, err error) {
	sides := append([]string{j.Base}, j.Others...)
	for _, side := range sides {
		ours, err := j.ownWork(ctx, side, sides)
		if err != nil {
			return nil, 0, false, err
		}
		if !ours {
			continue
		}
		examined = true
		left, files, err := j.findingsBetween(ctx, side, j.Tree, pick)
		if err != nil {
			return nil, 0, false, err
		}
		before := len(left)
		left = withoutJustified(left, files)
		justified += before - len(left)
		for _, other := range sides {
			if other == side || len(left) == 0 {
				continue
			}
			fork, err := j.fork(ctx, side, other)
			if err != nil {
				return nil, 0, false, err
			}
			old, _, err := j.findingsBetween(ctx, fork, other, pick)
			if err != nil {
				return nil, 0, false, err
			}
			left = slices.DeleteFunc(left, func(f Finding) bool {
				return slices.ContainsFunc(old, func(o Finding) bool { return sameFinding(f, o) })
			})
		}
		for _, f := range left {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	return found, justified, examined, nil
}

// ownWork reports whether the merge did more to a side than to take what another changed: whether a file that differs from
// this side's was changed on this side too, or differs from another side's as well.
func (j *judge) ownWork(ctx context.Context, side string, sides []string) (bool, error) {
	differs, err := changedNames(ctx, j.Repo, side, j.Tree)
	if err != nil {
		return false, err
	}
	for _, other := range sides {
		if other == side {
			continue
		}
		fork, err := j.fork(ctx, side, other)
		if err != nil {
			return false, err
		}
		for _, pair := range [][2]string{{fork, side}, {other, j.Tree}} {
			names, err := changedNames(ctx, j.Repo, pair[0], pair[1])
			if err != nil {
				return false, err
			}
			for name := range names {
				if differs[name] {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

func changedNames(ctx context.Context, repo *git.Repo, from, to string) (map[string]bool, error) {
	out, err := repo.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-relative", "--ignore-submodules=none", "-O/dev/null", "--end-of-options", from, to)
	if err != nil {
		return nil, fmt.Errorf("list what changed: %w", err)
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name != "" {
			names[name] = true
		}
	}
	return names, nil
}

// fork is where two sides parted; the empty tree where they have nothing in common.
func (j *judge) fork(ctx context.Context, a, b string) (string, error) {
	commit, err := j.Repo.Line(ctx, "merge-base", a, b)
	if git.CodeOf(err) == 1 {
		return j.Repo.EmptyTree(ctx)
	}
	return commit, err
}

func (j *judge) findingsBetween(ctx context.Context, from, to string, pick func(diffstat.File) bool) ([]Finding, []sourceChange, error) {
	contract, err := j.contract(ctx)
	if err != nil {
		return nil, nil, err
	}
	class := classifier(j.Config, contract)
	stat, err := diffstat.Measure(ctx, j.Repo, from, to, class)
	if err != nil {
		return nil, nil, err
	}
	files, err := j.contentsOf(ctx, stat, pick)
	if err != nil {
		return nil, nil, err
	}
	return integrityFindings(files, class), files, nil
}

var anyNumber = lazyregexp.New(`[0-9]+`)

// sameFinding compares but for places: the same test stands elsewhere on another side.
func sameFinding(a, b Finding) bool {
	return a.Path == b.Path && a.Rule == b.Rule && anyNumber.ReplaceAllString(a.Message, "") == anyNumber.ReplaceAllString(b.Message, "")
}
