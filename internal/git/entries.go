package git

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Entry is a file, a link or a submodule of a tree.
type Entry struct {
	Mode string // as git prints it: 100644, 100755, 120000 or 160000
	Kind string // blob, or commit for a submodule
	Hash string
	Path string // from the top, with slashes; any bytes but NUL
}

// listings are the trees that were listed last.
type listings struct {
	mu      sync.Mutex
	trees   []string
	entries map[string][]Entry
}

// maxListings bounds the memory: whoever judges a change looks at the tree, its baseline and one made of both.
const maxListings = 4

// Entries are all files of the tree that rev names, in git's order. They must not be changed: what a hash names never
// does, so the answer is kept.
func (r *Repo) Entries(ctx context.Context, rev string) ([]Entry, error) {
	l := r.listed
	l.mu.Lock()
	defer l.mu.Unlock()
	if entries, ok := l.entries[rev]; ok {
		return entries, nil
	}
	out, err := r.Output(ctx, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", rev)
	if err != nil {
		return nil, fmt.Errorf("list the files of the tree: %w", err)
	}
	var entries []Entry
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// MODE SP KIND SP HASH TAB PATH
		mode, rest, _ := strings.Cut(record, " ")
		kind, rest, _ := strings.Cut(rest, " ")
		hash, path, ok := strings.Cut(rest, "\t")
		if record != "" && !ok {
			return nil, fmt.Errorf("list the files of the tree: git printed %q", record)
		}
		if ok {
			entries = append(entries, Entry{mode, kind, hash, path})
		}
	}
	if !isHash(rev) {
		return entries, nil
	}
	if len(l.trees) == maxListings {
		delete(l.entries, l.trees[0])
		l.trees = l.trees[1:]
	}
	l.trees, l.entries[rev] = append(l.trees, rev), entries
	return entries, nil
}
