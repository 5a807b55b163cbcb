package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// Stream runs git and hands what it prints to read as it comes, through a pipe of the system's: nothing is held in
// memory. When read returns before the end, git is ended.
func (r *Repo) Stream(ctx context.Context, stdin io.Reader, read func(io.Reader) error, args ...string) error {
	pr, pw, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("git %s: %w", verb(args), err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := r.Do(ctx, stdin, pw, args...)
		pw.Close()
		done <- err
	}()
	err = read(pr)
	if err != nil {
		cancel()
	}
	pr.Close()
	ended := <-done
	// That git was cut off explains a read error; that we cut it off explains git's.
	if code := CodeOf(ended); err == nil || code > 0 {
		return ended
	}
	return err
}

// few is up to how many objects it is not worth another process to read.
const few = 100

// Blobs hands the content of each object of ids to each, in that order, through one process. What each does not read
// of data is passed over, so memory does not grow with a blob. It stops at the first error. each must not ask the
// repository anything.
func (r *Repo) Blobs(ctx context.Context, ids []string, each func(i int, data io.Reader, size int64) error) error {
	if len(ids) == 0 {
		return nil
	}
	if len(ids) <= few {
		if served, err := r.objects.blobs(ctx, ids, each); served {
			return err
		}
	}
	return r.Stream(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), func(out io.Reader) error {
		return readBlobs(bufio.NewReaderSize(out, 64<<10), ids, each)
	}, "cat-file", "--batch", "--buffer")
}

func readBlobs(in *bufio.Reader, ids []string, each func(i int, data io.Reader, size int64) error) error {
	for i, id := range ids {
		if err := readBlob(in, id, func(data io.Reader, size int64) error { return each(i, data, size) }); err != nil {
			return err
		}
	}
	return nil
}

// readBlob reads the next answer of cat-file --batch, which is about id.
func readBlob(in *bufio.Reader, id string, use func(data io.Reader, size int64) error) error {
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
	if err := use(data, size); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, data); err != nil {
		return fmt.Errorf("read object %s: %w", id, err)
	}
	if _, err := in.Discard(1); err != nil { // the newline behind each
		return fmt.Errorf("read object %s: %w", id, err)
	}
	return nil
}
