package workspace

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
)

// guardFile is a Guard as it lies on disk: a name may hold any bytes, and JSON's text holds UTF-8 alone.
type guardFile struct {
	Marker    string
	Attempt   int
	Refs      []named[string]
	Symbolic  []named[[]byte]
	Other     []named[bool]
	Files     []named[File]
	Locks     [][]byte
	Modules   [][]byte
	Control   []named[*File]
	Folders   []named[fs.FileMode]
	Hooks     []named[*File]
	Worktrees [][]byte
	Special   [][]byte
	Roots     [][]byte
}

type named[T any] struct {
	Name  []byte
	Value T
}

// MarshalJSON writes the guard so that UnmarshalJSON gives it back byte for byte.
func (g *Guard) MarshalJSON() ([]byte, error) {
	f := guardFile{Marker: g.Marker, Attempt: g.Attempt, Refs: listed(g.Refs), Other: listed(g.Other), Files: listed(g.Files), Hooks: listed(g.Hooks), Control: listed(g.Control), Folders: listed(g.Folders),
		Locks: raw(g.Locks), Modules: raw(g.Modules), Worktrees: raw(g.Worktrees), Special: raw(g.Special), Roots: raw(g.Roots)}
	for _, n := range listed(g.Symbolic) {
		f.Symbolic = append(f.Symbolic, named[[]byte]{n.Name, []byte(n.Value)})
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Guard) UnmarshalJSON(data []byte) error {
	var f guardFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*g = Guard{Marker: f.Marker, Attempt: f.Attempt, Refs: mapped(f.Refs), Symbolic: map[string]string{}, Other: mapped(f.Other), Files: mapped(f.Files), Hooks: mapped(f.Hooks), Control: mapped(f.Control), Folders: mapped(f.Folders),
		Locks: text(f.Locks), Modules: text(f.Modules), Worktrees: text(f.Worktrees), Special: text(f.Special), Roots: text(f.Roots)}
	for _, n := range f.Symbolic {
		g.Symbolic[string(n.Name)] = string(n.Value)
	}
	return nil
}

func raw(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func text(list [][]byte) (out []string) {
	for _, s := range list {
		out = append(out, string(s))
	}
	return out
}

func listed[T any](m map[string]T) (list []named[T]) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, named[T]{[]byte(name), m[name]})
	}
	return list
}

func mapped[T any](list []named[T]) map[string]T {
	m := make(map[string]T, len(list))
	for _, n := range list {
		m[string(n.Name)] = n.Value
	}
	return m
}
