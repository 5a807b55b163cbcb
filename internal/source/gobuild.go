package source

import (
	"bytes"
	"go/build"
	"io"
	"path"
)

// BuiltByGo reports whether the go command takes a Go file in on this machine, by its name's ending and its build
// constraint; cgo counts as available.
func BuiltByGo(name string, src []byte) bool {
	rules := build.Default
	rules.CgoEnabled = true
	rules.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(src)), nil }
	ok, err := rules.MatchFile("/", path.Base(name))
	return ok && err == nil
}
