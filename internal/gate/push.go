package gate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Push is one ref that git push would change, as the hook pre-push is told of it.
type Push struct {
	LocalRef, Local   string // what is pushed: a name, and the hash of a commit or of a tag
	RemoteRef, Remote string // what it would become there, and what stands there now
}

// ReadPushes reads what git gives the hook pre-push: a line a ref.
func ReadPushes(in io.Reader) ([]Push, error) {
	var pushes []Push
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		if lines.Text() == "" {
			continue
		}
		// A local name may be an expression with blanks in it (HEAD@{1 day ago}); the other three may not.
		n := len(words)
		if n < 4 {
			return nil, exit.Misuse("git's hook pre-push calls this; a line is: LOCAL-REF LOCAL-HASH REMOTE-REF REMOTE-HASH", "stdin holds %q, which names no push", lines.Text())
		}
		pushes = append(pushes, Push{strings.Join(words[:n-3], " "), words[n-3], words[n-2], words[n-1]})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what is pushed: %w", err)
	}
	return pushes, nil
}

// Why a push leaves nothing to judge.
const (
	deletes  = "is deleted"
	noCommit = "is no commit"
	ownRef   = "is no branch and no tag of the project's"
)

// Trees is what the pushed commit is to be compared with: what of its history the remote has. Without any of it that is
// the empty tree. skip is not "" where there is nothing to judge. remote is the name of the remote, or its address.
func (p *Push) Trees(ctx context.Context, repo *git.Repo, remote string) (t Trees, skip string, err error) {
	if strings.Trim(p.Local, "0") == "" {
		return t, deletes, nil
	}
	if strings.HasPrefix(p.RemoteRef, "refs/notes/") || strings.HasPrefix(p.RemoteRef, "refs/ralph/") {
		return t, ownRef, nil
	}
	tip, err := repo.Commit(ctx, p.Local)
	if err != nil {
		return t, "", err
	}
	if tip == "" {
		return t, noCommit, nil
	}
	t.Staged = true
	if t.Tree, err = repo.Tree(ctx, tip); err != nil {
		return t, "", err
	}
	there := ""
	if strings.Trim(p.Remote, "0") != "" {
		if there, err = repo.Commit(ctx, p.Remote); err != nil { // "": it was never fetched
			return t, "", err
		}
	}
	known, err := knownThere(ctx, repo, remote, there)
	if err != nil {
		return t, "", err
	}
	bases, err := repo.Border(ctx, tip, known)
	if err != nil {
		return t, "", err
	}
	switch {
	case len(bases) > 0:
		if i := slices.Index(bases, there); i > 0 {
			bases[0], bases[i] = bases[i], bases[0]
		}
		t.Base, t.Others = bases[0], bases[1:]
	case isShallow(ctx, repo):
		return t, "", exit.Fail(deepen, "what the remote has of %q is not in this shallow clone", p.LocalRef)
	default:
		t.Base, err = repo.EmptyTree(ctx)
	}
	return t, "", err
}

// knownThere are commits that the remote has: what it says itself, and what was fetched from it.
func knownThere(ctx context.Context, repo *git.Repo, remote, there string) ([]string, error) {
	var known []string
	if there != "" {
		known = append(known, there)
	}
	fetched, err := repo.Refs(ctx, "refs/remotes/"+remote+"/")
	if err != nil {
		return nil, err
	}
	for _, hash := range fetched.Hash {
		if !slices.Contains(known, hash) {
			known = append(known, hash)
		}
	}
	slices.Sort(known)
	return known, nil
}
