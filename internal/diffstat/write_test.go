package diffstat

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func sample() *Stat {
	return &Stat{Base: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", Tree: "HEAD", Files: []File{
		{Path: "README.md", Class: Other, Reason: documentation, Added: 3},
		{Path: "a b/caf\u00e9 日本.go", Class: Implementation, Added: 10, Removed: 2},
		{Path: "bytes\xff\"\t\n\x1b[0m\u202e.go", Class: Implementation, Added: 1},
		{Path: "docs/b.md", Class: Other, Reason: documentation, Removed: 1},
		{Path: "lib.rs", Class: Implementation, Added: 5},
		{Path: "lib.rs", Class: Test, Reason: "#[cfg(test)]", Added: 4},
		{Path: "new_test.go", From: "old\xfe_test.go", Class: Test, Added: 2, Removed: 7},
		{Path: "package-lock.json", Class: Other, Reason: lockFile, Added: 18000, Removed: 17000},
	}}
}

func TestGolden(t *testing.T) {
	s := sample()
	for name, write := range map[string]func(io.Writer) error{
		"stat.txt": s.WriteText,
		"stat.tsv": s.WriteTSV,
		"stat.json": func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(s)
		},
		"empty.txt":  (&Stat{}).WriteText,
		"empty.json": func(w io.Writer) error { return json.NewEncoder(w).Encode(&Stat{}) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.Bytes(), want)
		}
		if filepath.Ext(name) == ".json" && !json.Valid(got.Bytes()) {
			t.Errorf("%s is not JSON", name)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteError(t *testing.T) {
	if sample().WriteText(full{}) == nil || sample().WriteTSV(full{}) == nil {
		t.Error("a full disk went unnoticed")
	}
}
