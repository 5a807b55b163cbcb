// Package shelf keeps books in one JSON file.
//
// A Store may be used by many goroutines. Every change is in the file before
// the call returns, and a crash leaves either the old file or the new one.
package shelf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ErrNotFound is returned for an id that the store does not hold.
var ErrNotFound = errors.New("no such book")

// Store is a shelf of books and the file behind it.
type Store struct {
	path string

	mu    sync.RWMutex
	state state
}

// state is the file's content. A change builds a new one, which replaces the
// old one only after it was written: a full disk leaves both alike.
type state struct {
	NextID int    `json:"next_id"`
	Books  []Book `json:"books"` // ascending by ID
}

// Open reads the store at path. A file that does not exist yet is an empty
// shelf; a damaged one is an error and is left as it is.
func Open(path string) (*Store, error) {
	s := &Store{path: path, state: state{NextID: 1, Books: []Book{}}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the shelf: %w", err)
	}
	if err := json.Unmarshal(data, &s.state); err != nil {
		return nil, fmt.Errorf("reading the shelf %q: %w", path, err)
	}
	last := 0
	for _, b := range s.state.Books {
		if b.ID <= last || b.ID >= s.state.NextID {
			return nil, fmt.Errorf("reading the shelf %q: book %d follows book %d, next_id is %d", path, b.ID, last, s.state.NextID)
		}
		last = b.ID
	}
	return s, nil
}

// Add stores a new book under an id of the store's choice and returns it.
func (s *Store) Add(b Book) (Book, error) {
	b, err := b.clean()
	if err != nil {
		return Book{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ID = s.state.NextID
	next := state{
		NextID: b.ID + 1,
		Books:  append(slices.Clone(s.state.Books), b),
	}
	if err := s.replace(next); err != nil {
		return Book{}, err
	}
	return b, nil
}

// Get returns the book with that id, or ErrNotFound.
func (s *Store) Get(id int) (Book, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, found := s.state.find(id)
	if !found {
		return Book{}, ErrNotFound
	}
	return s.state.Books[i], nil
}

// List returns all books in the order of their ids. It is never nil.
func (s *Store) List() []Book {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]Book{}, s.state.Books...)
}

// Remove takes the book with that id from the shelf, or returns ErrNotFound.
// Its id is not given to another book.
func (s *Store) Remove(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := s.state.find(id)
	if !found {
		return ErrNotFound
	}
	return s.replace(state{
		NextID: s.state.NextID,
		Books:  slices.Delete(slices.Clone(s.state.Books), i, i+1),
	})
}

func (st state) find(id int) (int, bool) {
	return slices.BinarySearchFunc(st.Books, id, func(b Book, id int) int {
		return cmp.Compare(b.ID, id)
	})
}

// replace writes next and makes it the current state. The caller holds mu.
func (s *Store) replace(next state) error {
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the shelf: %w", err)
	}
	if err := writeFile(s.path, append(data, '\n')); err != nil {
		return fmt.Errorf("writing the shelf: %w", err)
	}
	s.state = next
	return nil
}

// writeFile replaces the file at path as a whole: the new content is synced to
// the disk before it takes the old one's name.
func writeFile(path string, data []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".shelf-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
