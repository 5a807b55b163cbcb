package git

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// Files finds the contents of blobs in the worktree's own files. What is about to be committed mostly lies there, and to
// open a file is cheaper than to have git find an object and inflate it. It serves one goroutine.
type Files struct {
	top          string
	buf          []byte
	hits, misses int
}

const (
	maxFile   = 1 << 20 // the largest file that is read, in bytes; it is held in memory
	maxMisses = 100     // so many more misses than hits, and the worktree is not the place to look
)

// Files gives a reader of this worktree's files.
func (r *Repo) Files() *Files { return &Files{top: r.Top} }

// Blob is the content of the object id if the file at path, from the top and with slashes, holds it; it is valid until the
// next call. ok is false for everything else, and git has to be asked: another content, a filter or other line endings, a
// file that is large, missing, or not a plain one.
//
// The content's hash decides, not what path leads to: a link to a folder on the way, even out of the worktree, is harmless.
// A file that changes meanwhile is one with another content. Nothing that opening could wait for is waited for.
func (f *Files) Blob(path, id string) (data []byte, ok bool) {
	if id == "" || f.misses > f.hits+maxMisses {
		return nil, false
	}
	data, ok = f.read(path)
	if ok = ok && blobName(data, len(id)) == id; !ok {
		f.misses++
		return nil, false
	}
	f.hits++
	return data, true
}

func (f *Files) read(path string) (data []byte, ok bool) {
	local := filepath.FromSlash(path)
	if !filepath.IsLocal(local) {
		return nil, false
	}
	file, err := os.OpenFile(filepath.Join(f.top, local), os.O_RDONLY|plainFile, 0)
	if err != nil {
		return nil, false
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, false
	}
	size := int(info.Size())
	if size > len(f.buf) {
		f.buf = make([]byte, max(size, 64<<10))
	}
	n := 0
	for n < size && err == nil {
		var got int
		got, err = file.Read(f.buf[n:size])
		n += got
	}
	return f.buf[:n], err == nil
}

// blobName is the name that git gives to a content, as a hash whose text has that length.
func blobName(data []byte, length int) string {
	h := blobHash(int64(len(data)), length)
	if h == nil {
		return ""
	}
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// blobHash is a hash that is about to be given a content of that size; nil for a length that no name has.
func blobHash(size int64, length int) hash.Hash {
	var h hash.Hash
	switch length {
	case 2 * sha1.Size:
		h = sha1.New()
	case 2 * sha256.Size:
		h = sha256.New()
	default:
		return nil
	}
	h.Write([]byte("blob " + strconv.FormatInt(size, 10) + "\x00"))
	return h
}

// Holds reports whether the bytes of in, size of them, are the content of the object id. They are not held in memory.
func Holds(in io.Reader, size int64, id string) (bool, error) {
	h := blobHash(size, len(id))
	if h == nil {
		return false, nil
	}
	if _, err := io.Copy(h, in); err != nil {
		return false, err
	}
	return hex.EncodeToString(h.Sum(nil)) == id, nil
}
