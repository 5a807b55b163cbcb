package gate

import (
	"context"
	"fmt"
	"io"

	"ralph-loop/internal/diffstat"
)

// changedContents are the changed files that pick accepts, with both sides. A file of more than maxFile bytes is left
// out: L0 names it.
func (j *judge) changedContents(ctx context.Context, pick func(diffstat.File) bool) ([]Changed, error) {
	stat, err := j.changed(ctx)
	if err != nil {
		return nil, err
	}
	var files []Changed
	var blobs []string
	var into []func([]byte)
	tooLarge := map[string]bool{}
	last := ""
	for _, f := range stat.Files {
		if f.Path == last || !pick(f) || f.NewMode == modeGitlink || f.NewMode == modeSymlink {
			continue
		}
		last = f.Path
		i := len(files)
		files = append(files, Changed{Path: f.Path})
		if f.OldBlob != "" && isFile(f.OldMode) {
			blobs, into = append(blobs, f.OldBlob), append(into, func(data []byte) { files[i].Before = data })
		}
		if f.NewBlob != "" {
			blobs, into = append(blobs, f.NewBlob), append(into, func(data []byte) { files[i].After = data })
		}
	}
	err = j.Repo.Blobs(ctx, blobs, func(i int, r io.Reader, size int64) error {
		if size > maxFile {
			tooLarge[blobs[i]] = true
			return nil
		}
		data, err := io.ReadAll(r)
		if data == nil {
			data = []byte{}
		}
		into[i](data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the changed files: %w", err)
	}
	return files, nil
}
