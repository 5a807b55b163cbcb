package workspace

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
)

// guardFile is a Guard as it lies on disk: a name may hold any bytes, and JSON's text holds UTF-8 alone.
type guardFile struct {
	Marker   string
	Attempt  int
	Refs     []named[string]
	Symbolic []named[[]byte]
	Other    []named[bool]
	Files    []named[File]
	Locks    [][]byte
	Modules  [][]byte
	Control  []named[*File]
	Folders  []named[fs.FileMode]
	Hooks    []named[*File]
	Roots    [][]byte
}

type named[T any] struct {
	Name  []byte
	Value T
}

// MarshalJSON writes the guard so that UnmarshalJSON gives it back byte for byte.
func (g *Guard) MarshalJSON() ([]byte, error) {
	symbolic := map[string][]byte{}
	for ref, target := range g.Symbolic {
		symbolic[ref] = []byte(target)
	}
	return json.Marshal(guardFile{
		Marker: g.Marker, Attempt: g.Attempt, Refs: listed(g.Refs), Symbolic: listed(symbolic), Other: listed(g.Other), Files: listed(g.Files),
		Locks: raw(g.Locks), Modules: raw(g.Modules), Control: listed(g.Control), Folders: listed(g.Folders), Hooks: listed(g.Hooks), Roots: raw(g.Roots),
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Guard) UnmarshalJSON(data []byte) error {
	var f guardFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*g = Guard{
		Marker: f.Marker, Attempt: f.Attempt, Refs: mapped(f.Refs), Symbolic: map[string]string{}, Other: mapped(f.Other), Files: mapped(f.Files),
		Locks: text(f.Locks), Modules: text(f.Modules), Control: mapped(f.Control), Folders: mapped(f.Folders), Hooks: mapped(f.Hooks), Roots: text(f.Roots),
	}
	for _, n := range f.Symbolic {
		g.Symbolic[string(n.Name)] = string(n.Value)
	}
	return nil
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

func raw(names []string) (list [][]byte) {
	for _, name := range names {
		list = append(list, []byte(name))
	}
	return list
}

func text(list [][]byte) (names []string) {
	for _, name := range list {
		names = append(names, string(name))
	}
	return names
}
