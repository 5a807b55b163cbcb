package workspace

import (
	"encoding/json"
	"maps"
	"slices"
)

// guardFile is a Guard as it lies on disk: a name may hold any bytes, and JSON's text holds UTF-8 alone.
type guardFile struct {
	Marker  string
	Attempt int
	Refs    []named[string]
	Other   []named[bool]
	Files   []named[File]
}

type named[T any] struct {
	Name  []byte
	Value T
}

// MarshalJSON writes the guard so that UnmarshalJSON gives it back byte for byte.
func (g *Guard) MarshalJSON() ([]byte, error) {
	return json.Marshal(guardFile{g.Marker, g.Attempt, listed(g.Refs), listed(g.Other), listed(g.Files)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (g *Guard) UnmarshalJSON(data []byte) error {
	var f guardFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*g = Guard{f.Marker, f.Attempt, mapped(f.Refs), mapped(f.Other), mapped(f.Files)}
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
