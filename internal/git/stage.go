package git

import (
	"context"
	"strings"
)

// Stage puts data into the index as the content of path (below the top, with slashes), as git add would: by the
// filters that the attributes name. An entry that is there keeps its mode; a new one is a plain file.
func (r *Repo) Stage(ctx context.Context, path string, data []byte) error {
	out, err := r.Input(ctx, data, "hash-object", "-w", "--stdin", "--path="+path)
	if err != nil {
		return err
	}
	entry, err := r.Line(ctx, "ls-files", "-s", "-z", "--", path)
	if err != nil {
		return err
	}
	mode := "100644"
	if strings.HasPrefix(entry, "100755 ") {
		mode = "100755"
	}
	_, err = r.Output(ctx, "update-index", "--add", "--cacheinfo", mode+","+strings.TrimSpace(string(out))+","+path)
	return err
}

// Ignored reports whether path is untracked and a .gitignore leaves it out.
func (r *Repo) Ignored(ctx context.Context, path string) (bool, error) {
	out, err := r.Output(ctx, "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", path)
	return len(out) > 0, err
}
