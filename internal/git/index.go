package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
)

// TreeOfIndex reads from the index file itself which tree git commit would make of it: git keeps that with the index,
// believes it, and has brought it up to date when it calls a hook. It costs no process. ok is false where the file does not
// tell: then IndexTree does.
func (r *Repo) TreeOfIndex() (tree string, ok bool) {
	data, err := os.ReadFile(r.Index)
	if err != nil {
		return "", false
	}
	return treeOfIndex(data, r.HashSize())
}

// HashSize is the length in bytes of the names of this repository's objects; 0 if it is not known, before the first
// commit.
func (r *Repo) HashSize() int { return len(r.HeadAtOpen) / 2 }

// treeOfIndex reads an index file as git's own documentation, gitformat-index, describes it. It gives up on anything that
// is not exactly so, on an index in two parts (extension "link"), and on a tree that was not brought up to date.
func treeOfIndex(data []byte, hashSize int) (string, bool) {
	const header, stat = 12, 40
	if hashSize == 0 || len(data) < header+hashSize || !bytes.HasPrefix(data, []byte("DIRC")) {
		return "", false
	}
	version, entries := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return "", false
	}
	body := data[:len(data)-hashSize] // the file's own checksum is last
	at := header
	for range entries {
		begin := at
		if at += stat + hashSize + 2; at > len(body) {
			return "", false
		}
		if flags := binary.BigEndian.Uint16(body[at-2:]); version > 2 && flags&0x4000 != 0 {
			at += 2
		}
		if version == 4 { // how much of the name before is kept, a number of seven bits a byte
			for at < len(body) && body[at]&0x80 != 0 {
				at++
			}
			at++
		}
		if at >= len(body) {
			return "", false
		}
		end := bytes.IndexByte(body[at:], 0)
		if end < 0 {
			return "", false
		}
		at += end + 1
		if version < 4 { // filled up with one to eight zeros
			at = begin + (at-begin+7)/8*8
		}
	}
	tree := ""
	for at < len(body) {
		if at+8 > len(body) {
			return "", false
		}
		name, size := string(body[at:at+4]), int64(binary.BigEndian.Uint32(body[at+4:]))
		at += 8
		if size > int64(len(body)-at) || name == "link" {
			return "", false
		}
		if name == "TREE" {
			tree = rootOf(body[at:at+int(size)], hashSize)
		}
		at += int(size)
	}
	return tree, tree != ""
}

// rootOf is the first tree of the extension TREE, the root: an empty name, how many entries it covers (-1: not up to date),
// how many trees are below it, its hash.
func rootOf(ext []byte, hashSize int) string {
	rest, ok := bytes.CutPrefix(ext, []byte{0})
	if !ok {
		return ""
	}
	counts, hash, ok := bytes.Cut(rest, []byte("\n"))
	if !ok || len(hash) < hashSize || bytes.HasPrefix(counts, []byte("-")) {
		return ""
	}
	return hex.EncodeToString(hash[:hashSize])
}
