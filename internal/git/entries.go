package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"sync"
)

// Entry is a file, a link, a submodule or a folder of a tree.
type Entry struct {
	Mode string // as git prints it: 100644, 100755, 120000, 160000 or 040000
	Kind string // blob, commit for a submodule, or tree
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
	entries, err := parseEntries(string(out))
	if err != nil || !isHash(rev) {
		return entries, err
	}
	if len(l.trees) == maxListings {
		delete(l.entries, l.trees[0])
		l.trees = l.trees[1:]
	}
	l.trees, l.entries[rev] = append(l.trees, rev), entries
	return entries, nil
}

// parseEntries reads what ls-tree -z prints: MODE SP KIND SP HASH TAB PATH, each.
func parseEntries(out string) ([]Entry, error) {
	var entries []Entry
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
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
	return entries, nil
}

// Folder are the entries of one folder, "." for the top, of the tree that rev names; none where it holds no such folder.
func (r *Repo) Folder(ctx context.Context, rev, dir string) ([]Entry, error) {
	tree, ok, err := r.objects.ask(ctx, rev+"^{tree}")
	at := ""
	for name := range strings.SplitSeq(strings.TrimPrefix(dir, "."), "/") {
		if name == "" || !ok || err != nil {
			continue
		}
		at = path.Join(at, name)
		hash := ""
		for _, e := range readTree(tree, "") {
			if e.Path == name && e.Kind == "tree" {
				hash = e.Hash
			}
		}
		if hash == "" {
			return nil, nil
		}
		tree, ok, err = r.objects.ask(ctx, hash)
	}
	if ok || err != nil {
		return readTree(tree, at), err
	}
	// It cannot be read, or there is none such: git tells them apart.
	args := []string{"ls-tree", "-z", "--full-tree", "--end-of-options", rev}
	if dir != "." {
		args = append(args, "--", dir+"/")
	}
	out, err := r.Output(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("list a folder of the tree: %w", err)
	}
	return parseEntries(string(out))
}

// readTree takes a tree object apart: MODE SP NAME NUL and the bytes of the hash, each.
func readTree(o object, dir string) []Entry {
	var entries []Entry
	size := len(o.hash) / 2
	for data := o.data; ; {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		if !ok || len(rest) < size {
			return entries
		}
		e := Entry{Mode: mode, Kind: "blob", Hash: hex.EncodeToString(rest[:size]), Path: path.Join(dir, name)}
		switch mode {
		case "40000":
			e.Mode, e.Kind = "040000", "tree"
		case "160000":
			e.Kind = "commit"
		}
		entries, data = append(entries, e), rest[size:]
	}
}
