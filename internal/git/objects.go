package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/exit"
)

// Head is the commit of HEAD, or "" while the branch has none.
func (r *Repo) Head(ctx context.Context) (string, error) {
	hash, err := r.commit(ctx, "HEAD")
	if err != nil || hash != "" {
		return hash, err
	}
	// git answers alike for a branch without a commit and for a commit that cannot be read.
	if hash, err := r.Line(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
		return "", exit.Fail("git fsck", "HEAD is %s, which cannot be read", hash)
	} else if CodeOf(err) != 1 {
		return "", err
	}
	return "", nil
}

// Commit is the full hash of the commit that rev names, or "" if it names none.
func (r *Repo) Commit(ctx context.Context, rev string) (string, error) {
	return r.commit(ctx, rev)
}

func (r *Repo) commit(ctx context.Context, rev string) (string, error) {
	if o, ok, err := r.objects.ask(ctx, rev+"^{commit}"); ok || err != nil {
		return o.hash, err
	}
	hash, err := r.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if CodeOf(err) > 0 {
		return "", nil
	}
	return hash, err
}

// Branch is the full name of the ref that HEAD points to, or "" if HEAD is detached.
func (r *Repo) Branch(ctx context.Context) (string, error) {
	ref, err := r.Line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if CodeOf(err) == 1 {
		return "", nil
	}
	return ref, err
}

// Tree is the hash of the tree that rev names.
func (r *Repo) Tree(ctx context.Context, rev string) (string, error) {
	if o, ok, err := r.objects.ask(ctx, rev+"^{tree}"); ok || err != nil {
		return o.hash, err
	}
	return r.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{tree}")
}

// EmptyTree is the hash of the tree without entries, in the repository's own hash function.
func (r *Repo) EmptyTree(ctx context.Context) (string, error) {
	out, err := r.Input(ctx, []byte{}, "mktree")
	return strings.TrimSpace(string(out)), err
}

// IndexTree is the hash of the tree that the index would commit.
func (r *Repo) IndexTree(ctx context.Context) (string, error) {
	if tree, ok := r.TreeOfIndex(); ok {
		return tree, nil
	}
	return r.writeTree(ctx)
}

// writeTree makes a tree of the index. The index itself is not touched: git would lock it and write it anew, so a copy is
// asked.
func (r *Repo) writeTree(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "ralph-index-")
	if err != nil {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "index")
	data, err := os.ReadFile(r.Index)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	if err == nil {
		if err := os.WriteFile(copied, data, 0o600); err != nil {
			return "", fmt.Errorf("copy the index: %w", err)
		}
	}
	// With its index git writes a shared part of it (split index), and runs a hook: neither is wanted here.
	return r.WithIndex(copied).Line(ctx, "-c", "core.splitIndex=false", "-c", "core.hooksPath=/dev/null", "write-tree")
}

// PrivateIndex is the worktree seen through an index of its own, which is not there yet; done removes it.
func (r *Repo) PrivateIndex() (private *Repo, done func(), err error) {
	dir, err := os.MkdirTemp("", "ralph-index-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a private index: %w", err)
	}
	return r.WithIndex(filepath.Join(dir, "index")), func() { _ = os.RemoveAll(dir) }, nil
}

// PrivateIndexOf is PrivateIndex holding a tree or a commit's.
func (r *Repo) PrivateIndexOf(ctx context.Context, tree string) (private *Repo, done func(), err error) {
	if private, done, err = r.PrivateIndex(); err != nil {
		return nil, nil, err
	}
	if _, err = private.Output(ctx, "read-tree", tree); err != nil {
		done()
		return nil, nil, err
	}
	return private, done, nil
}

// Changed are the paths, from the top, that differ between two trees or commits. A renamed file is two of them.
func (r *Repo) Changed(ctx context.Context, from, to string) ([]string, error) {
	out, err := r.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to)
	return Records(out), err
}

// Records are the parts, each ended by a NUL, of what git prints with -z.
func Records(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// Unmerged are the paths in the index that a conflict was left at, from the top: such an index has no tree.
func (r *Repo) Unmerged(ctx context.Context) ([]string, error) {
	out, err := r.Output(ctx, "ls-files", "--unmerged", "-z")
	if err != nil {
		return nil, err
	}
	var paths []string
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		// Mode, object and stage before the tab; each side of a conflict has a line of its own.
		if _, path, ok := strings.Cut(entry, "\t"); ok && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// File is the content of path in the tree that rev names; ok is false if it holds no such file.
func (r *Repo) File(ctx context.Context, rev, path string) (data []byte, ok bool, err error) {
	if rev == "" {
		return nil, false, nil
	}
	if path == config.File && rev == r.HeadAtOpen {
		// What nearly every program reads first lies in the worktree: its hash shows that it is the same.
		if data, ok := r.Files().Blob(path, r.configAtOpen); ok {
			return data, true, nil
		}
	}
	if o, found, err := r.objects.ask(ctx, rev+":"+path); err != nil || found && o.kind == "blob" {
		return o.data, err == nil, err
	}
	out, err := r.Output(ctx, "ls-tree", "-z", "--full-tree", rev, "--", path)
	if err != nil {
		return nil, false, err
	}
	meta, _, found := bytes.Cut(out, []byte{'\t'})
	fields := strings.Fields(string(meta))
	if !found || len(fields) != 3 || fields[1] != "blob" {
		return nil, false, nil
	}
	data, err = r.Output(ctx, "cat-file", "blob", fields[2])
	return data, err == nil, err
}

// StoreFiles writes the contents of files into the object database, byte for byte, whatever the attributes say, and gives
// their hashes. It is one call of git, which holds none of them in memory.
func (r *Repo) StoreFiles(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var list bytes.Buffer
	for _, path := range paths {
		list.WriteString(Quote(path) + "\n")
	}
	out, err := r.Input(ctx, list.Bytes(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	hashes := strings.Fields(string(out))
	if len(hashes) != len(paths) {
		return nil, fmt.Errorf("store %d files: git named %d", len(paths), len(hashes))
	}
	return hashes, nil
}

// IsAncestor reports whether commit a is b or one of b's ancestors.
func (r *Repo) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	if commit, err := r.commit(ctx, b); err != nil || commit != "" && commit == a {
		return err == nil, err
	}
	_, err := r.Output(ctx, "merge-base", "--is-ancestor", a, b)
	if CodeOf(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// SetRef makes ref, or of HEAD its branch, point to hash; an empty hash deletes it. The reason goes into the reflog.
func (r *Repo) SetRef(ctx context.Context, ref, hash, reason string) error {
	if hash == "" {
		_, err := r.Output(ctx, "update-ref", "-m", reason, "-d", ref)
		return err
	}
	_, err := r.Output(ctx, "update-ref", "-m", reason, ref, hash)
	return err
}

// Refs are refs as they stand at one moment.
type Refs struct {
	Hash      map[string]string // by full name: what it points to
	Symbolic  map[string]string // of the names that point to another ref: which one
	Branch    string            // the one that HEAD points to; "" if HEAD is detached
	Elsewhere map[string]bool   // other branches, by full names, that the repository's other worktrees have checked out
}

// Refs finds all refs below the given prefixes (none: all) in one call.
func (r *Repo) Refs(ctx context.Context, prefixes ...string) (*Refs, error) {
	out, err := r.Output(ctx, append([]string{"for-each-ref", "--format=%(objectname) %(refname)%00%(symref)%00%(HEAD)%00%(worktreepath)%00"}, prefixes...)...)
	if err != nil {
		return nil, err
	}
	refs := &Refs{Hash: map[string]string{}, Symbolic: map[string]string{}, Elsewhere: map[string]bool{}}
	fields := strings.Split(string(out), "\x00") // a worktree's path may hold a newline
	for ; len(fields) > 4; fields = fields[4:] {
		hash, ref, _ := strings.Cut(strings.TrimPrefix(fields[0], "\n"), " ")
		refs.Hash[ref] = hash
		switch {
		case fields[2] == "*":
			refs.Branch = ref
		case fields[3] != "":
			refs.Elsewhere[ref] = true
		}
		if fields[1] != "" {
			refs.Symbolic[ref] = fields[1]
		}
	}
	if refs.Branch == "" { // HEAD is detached, or its branch has no commit
		refs.Branch, err = r.Branch(ctx)
	}
	return refs, err
}

// RefName writes an id so that it can be a part of a ref or of a file's name: bytes outside [A-Za-z0-9-] become =XX.
func RefName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}
