package gate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ralph-loop/internal/git"
)

// The modes of git's tree entries that the gate tells apart.
const (
	modeSymlink = "120000"
	modeGitlink = "160000" // a submodule, or a repository that was added by mistake
)

// change is one path that differs between the baseline and the tree. Renames are a deletion and an addition here.
type change struct {
	Path             string
	OldMode, NewMode string // "" where the side does not hold the path
	OldHash, NewHash string // ""
}

func (c change) added() bool   { return c.OldMode == "" }
func (c change) deleted() bool { return c.NewMode == "" }

// regular reports whether the new side is a file with content.
func (c change) regular() bool {
	return c.NewMode != "" && c.NewMode != modeSymlink && c.NewMode != modeGitlink
}

// changesOf lists what differs between two trees or commits, by path.
func changesOf(ctx context.Context, repo *git.Repo, base, tree string) ([]change, error) {
	out, err := repo.Output(ctx, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", "--no-ext-diff", base+"^{tree}", tree)
	if err != nil {
		return nil, fmt.Errorf("compare %s with the baseline: %w", tree, err)
	}
	var list []change
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		meta := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(meta) != 5 {
			return nil, fmt.Errorf("git diff-tree: unexpected record %q", fields[i])
		}
		c := change{Path: fields[i+1], OldMode: meta[0], NewMode: meta[1], OldHash: meta[2], NewHash: meta[3]}
		if strings.Trim(c.OldMode, "0") == "" {
			c.OldMode, c.OldHash = "", ""
		}
		if strings.Trim(c.NewMode, "0") == "" {
			c.NewMode, c.NewHash = "", ""
		}
		list = append(list, c)
	}
	return list, nil
}

// pathsOf lists the files of a tree.
func pathsOf(ctx context.Context, repo *git.Repo, tree string) ([]string, error) {
	out, err := repo.Output(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", tree, err)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// sizesOf gives the size of each object, in bytes.
func sizesOf(ctx context.Context, repo *git.Repo, hashes []string) (map[string]int64, error) {
	sizes := map[string]int64{}
	if len(hashes) == 0 {
		return sizes, nil
	}
	out, err := repo.Input(ctx, []byte(strings.Join(hashes, "\n")+"\n"), "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return nil, fmt.Errorf("ask for the sizes of the changed files: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		hash, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git cat-file: unexpected line %q", line)
		}
		sizes[hash] = n
	}
	return sizes, nil
}

// maxRead is the largest file that the gate reads into memory, in bytes; L0 refuses larger ones anyway.
const maxRead = maxFile

// contentsOf gives the content of each object of at most maxRead bytes; larger ones are left out.
func contentsOf(ctx context.Context, repo *git.Repo, hashes []string) (map[string][]byte, error) {
	hashes = slices.DeleteFunc(slices.Clone(hashes), func(h string) bool { return h == "" })
	sizes, err := sizesOf(ctx, repo, hashes)
	if err != nil {
		return nil, err
	}
	hashes = slices.DeleteFunc(hashes, func(h string) bool { return sizes[h] > maxRead })
	contents := map[string][]byte{}
	if len(hashes) == 0 {
		return contents, nil
	}
	out, err := repo.Input(ctx, []byte(strings.Join(hashes, "\n")+"\n"), "cat-file", "--batch")
	if err != nil {
		return nil, fmt.Errorf("read the changed files: %w", err)
	}
	r := bufio.NewReader(bytes.NewReader(out))
	for {
		head, err := r.ReadString('\n')
		if err == io.EOF {
			return contents, nil
		}
		fields := strings.Fields(head)
		if err != nil || len(fields) != 3 {
			return nil, fmt.Errorf("git cat-file: unexpected line %q", head)
		}
		data := make([]byte, sizes[fields[0]])
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		if _, err := r.Discard(1); err != nil {
			return nil, fmt.Errorf("git cat-file: %w", err)
		}
		contents[fields[0]] = data
	}
}

// changedFiles are the changed files that pick accepts, with their contents.
func changedFiles(ctx context.Context, repo *git.Repo, changes []change, pick func(path string) bool) ([]Changed, error) {
	var hashes []string
	var picked []change
	for _, c := range changes {
		if pick(c.Path) && (c.regular() || c.deleted()) {
			picked, hashes = append(picked, c), append(hashes, c.OldHash, c.NewHash)
		}
	}
	contents, err := contentsOf(ctx, repo, hashes)
	if err != nil {
		return nil, err
	}
	var files []Changed
	for _, c := range picked {
		files = append(files, Changed{Path: c.Path, Before: contents[c.OldHash], After: contents[c.NewHash]})
	}
	return files, nil
}
