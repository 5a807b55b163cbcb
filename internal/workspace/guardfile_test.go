package workspace

import (
	"io/fs"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// A guard comes back from the disk byte for byte, whatever its names hold, and with every field.
func TestGuardOnDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "bytes")) })
		g := &Guard{
			Marker:   rapid.String().Draw(t, "marker"),
			Attempt:  rapid.IntRange(1, 9).Draw(t, "attempt"),
			Refs:     rapid.MapOf(text, rapid.StringMatching(`[0-9a-f]{40}`)).Draw(t, "refs"),
			Symbolic: rapid.MapOf(text, text).Draw(t, "symbolic"),
			Other:    rapid.MapOf(text, rapid.Just(true)).Draw(t, "other"),
			Files: rapid.MapOf(text, rapid.Custom(func(t *rapid.T) File {
				return File{Data: rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "data"), Mode: 0o600}
			})).Draw(t, "files"),
			Hooks: rapid.MapOf(text, rapid.OneOf(rapid.Just[*File](nil), rapid.Just(&File{Data: []byte("a hook"), Mode: 0o700}))).Draw(t, "hooks"),
			Roots: rapid.SliceOfN(text, 3, 3).Draw(t, "roots"),
			Control: rapid.MapOf(text, rapid.Custom(func(t *rapid.T) *File {
				if rapid.Bool().Draw(t, "absent") {
					return nil
				}
				return &File{Data: rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "data"), Mode: 0o600}
			})).Draw(t, "control"),
			Locks:     rapid.SliceOfN(text, 1, 3).Draw(t, "locks"),
			Modules:   rapid.SliceOfN(text, 1, 3).Draw(t, "modules"),
			Folders:   rapid.MapOf(text, rapid.Custom(func(t *rapid.T) fs.FileMode { return fs.FileMode(rapid.IntRange(0, 0o777).Draw(t, "mode")) })).Draw(t, "folders"),
			Worktrees: rapid.SliceOfN(text, 1, 3).Draw(t, "worktrees"),
			Special:   rapid.SliceOfN(text, 1, 3).Draw(t, "special"),
		}
		for i := range reflect.TypeFor[Guard]().NumField() {
			if f := reflect.ValueOf(g).Elem().Field(i); f.IsZero() && f.Kind() != reflect.Map && f.Kind() != reflect.String {
				t.Fatalf("the test does not set %s", reflect.TypeFor[Guard]().Field(i).Name)
			}
		}
		data, err := g.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var read Guard
		if err := read.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*g, read) {
			t.Errorf("written\n%#v\nread\n%#v", *g, read)
		}
	})
}
