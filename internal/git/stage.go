package git

import (
	"context"
	"strings"
)

// Stage puts data into the index as the content of path (below the top, with slashes), as git add would: by the
// filters that the attributes name. An entry that is there keeps its mode; a new one is a plain file. The file must be
// there. It gives false where the path is untracked and a .gitignore leaves it out: then nothing is staged.
func (r *Repo) Stage(ctx context.Context, path string, data []byte) (bool, error) {
	// What is tracked comes with its mode, what is neither tracked nor ignored as its name alone.
	entry, err := r.Line(ctx, "ls-files", "-z", "--stage", "--cached", "--others", "--exclude-standard", "--", path)
	if err != nil || entry == "" {
		return false, err
	}
	out, err := r.Input(ctx, data, "hash-object", "-w", "--stdin", "--path="+path)
	if err != nil {
		return false, err
	}
	mode := "100644"
	if strings.HasPrefix(entry, "100755 ") {
		mode = "100755"
	}
	_, err = r.Output(ctx, "update-index", "--add", "--cacheinfo", mode+","+strings.TrimSpace(string(out))+","+path)
	return err == nil, err
}
