package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// Blobs hands the content of each object of ids to each, in that order, through one process. What each does not read
// of data is passed over, so memory does not grow with a blob. It stops at the first error.
func (r *Repo) Blobs(ctx context.Context, ids []string, each func(i int, data io.Reader, size int64) error) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := r.Do(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), pw, "cat-file", "--batch", "--buffer")
		pw.CloseWithError(err)
		done <- err
	}()
	err := readBlobs(bufio.NewReaderSize(pr, 64<<10), ids, each)
	if err != nil {
		cancel()
	}
	pr.Close()
	if ended := <-done; err == nil {
		err = ended
	}
	return err
}

func readBlobs(in *bufio.Reader, ids []string, each func(i int, data io.Reader, size int64) error) error {
	for i, id := range ids {
		head, err := in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read object %s: %w", id, err)
		}
		var size int64
		fields := bytes.Fields(head)
		if len(fields) != 3 {
			return fmt.Errorf("read object %s: git says %q", id, bytes.TrimSpace(head))
		}
		if _, err := fmt.Sscan(string(fields[2]), &size); err != nil {
			return fmt.Errorf("read object %s: git says %q", id, bytes.TrimSpace(head))
		}
		data := io.LimitReader(in, size)
		if err := each(i, data, size); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, data); err != nil {
			return fmt.Errorf("read object %s: %w", id, err)
		}
		if _, err := in.Discard(1); err != nil { // the newline behind each
			return fmt.Errorf("read object %s: %w", id, err)
		}
	}
	return nil
}
