package git

import (
	"context"
	"strings"
)

// Border is where tip's own history begins: the newest of its commits that one of the known commits has too, tip itself
// if a known one holds it. None of them is an ancestor of another.
func (r *Repo) Border(ctx context.Context, tip string, known []string) ([]string, error) {
	if len(known) == 0 {
		return nil, nil
	}
	// On stdin: a remote may have thousands of branches.
	in := tip + "\n^" + strings.Join(known, "\n^") + "\n"
	out, err := r.Input(ctx, []byte(in), "rev-list", "--boundary", "--stdin")
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return []string{tip}, nil
	}
	var border []string
	for line := range strings.Lines(string(out)) {
		if hash, ok := strings.CutPrefix(strings.TrimSpace(line), "-"); ok {
			border = append(border, hash)
		}
	}
	if len(border) < 2 {
		return border, nil
	}
	out, err = r.Output(ctx, append([]string{"merge-base", "--independent"}, border...)...)
	return strings.Fields(string(out)), err
}
