package shelf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func add(t *testing.T, s *Store, b Book) Book {
	t.Helper()
	b, err := s.Add(b)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAddRefusesAnInvalidBook(t *testing.T) {
	tests := []struct {
		name  string
		book  Book
		field string
	}{
		{"no title", Book{Author: "Le Guin"}, "title"},
		{"a title of spaces", Book{Title: " \t", Author: "Le Guin"}, "title"},
		{"a title that is not UTF-8", Book{Title: "\xff", Author: "Le Guin"}, "title"},
		{"a title that is too long", Book{Title: strings.Repeat("书", 201), Author: "Le Guin"}, "title"},
		{"no author", Book{Title: "The Dispossessed"}, "author"},
		{"a negative year", Book{Title: "The Dispossessed", Author: "Le Guin", Year: -1}, "year"},
		{"a year with five digits", Book{Title: "The Dispossessed", Author: "Le Guin", Year: 10000}, "year"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "shelf.json"))
			_, err := s.Add(tt.book)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Field != tt.field {
				t.Errorf("Add: %v, want an error of %s", err, tt.field)
			}
			if got := s.List(); len(got) != 0 {
				t.Errorf("the shelf holds %v", got)
			}
		})
	}
}

func TestAddTrimsAndTakesTheLongestTitle(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "shelf.json"))
	long := strings.Repeat("书", 200)
	got := add(t, s, Book{ID: 77, Title: " " + long + "\n", Author: " 佚名 "})
	if got.ID != 1 || got.Title != long || got.Author != "佚名" {
		t.Errorf("Add: %+v", got)
	}
}

func TestStoreSurvivesAReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shelf.json")
	s := open(t, path)
	add(t, s, Book{Title: "三体", Author: "刘慈欣", Year: 2008})
	add(t, s, Book{Title: "Dune", Author: "Frank Herbert"})
	if err := s.Remove(2); err != nil {
		t.Fatal(err)
	}

	s = open(t, path)
	if b, err := s.Get(1); err != nil || b.Title != "三体" || b.Year != 2008 {
		t.Errorf("Get(1): %+v, %v", b, err)
	}
	if _, err := s.Get(2); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get(2): %v, want ErrNotFound", err)
	}
	if b := add(t, s, Book{Title: "Solaris", Author: "Stanisław Lem"}); b.ID != 3 {
		t.Errorf("a removed book's id was given again: %d", b.ID)
	}
}

func TestRemoveUnknown(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "shelf.json"))
	if err := s.Remove(1); !errors.Is(err, ErrNotFound) {
		t.Errorf("Remove: %v, want ErrNotFound", err)
	}
}

func TestOpenRefusesADamagedFile(t *testing.T) {
	tests := []struct {
		name, text string
	}{
		{"empty", ""},
		{"cut short", `{"next_id": 2, "books": [{"id": 1`},
		{"an id that would be given again", `{"next_id": 1, "books": [{"id": 1, "title": "a", "author": "b"}]}`},
		{"an id twice", `{"next_id": 3, "books": [{"id": 1, "title": "a", "author": "b"}, {"id": 1, "title": "c", "author": "d"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "shelf.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); err == nil {
				t.Fatal("no error")
			}
			left, err := os.ReadFile(path)
			if err != nil || string(left) != tt.text {
				t.Errorf("the file was changed: %q, %v", left, err)
			}
		})
	}
}

func TestListIsNeverNil(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shelf.json")
	if err := os.WriteFile(path, []byte(`{"next_id": 1, "books": null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := open(t, path).List(); got == nil || len(got) != 0 {
		t.Errorf("List: %#v", got)
	}
}

func TestAFailedWriteChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "shelf.json"))
	add(t, s, Book{Title: "Dune", Author: "Frank Herbert"})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(Book{Title: "Solaris", Author: "Stanisław Lem"}); err == nil {
		t.Error("Add: no error")
	}
	if err := s.Remove(1); err == nil {
		t.Error("Remove: no error")
	}
	if got := s.List(); len(got) != 1 || got[0].Title != "Dune" {
		t.Errorf("the shelf holds %v", got)
	}
}

func TestAddIsSafeForManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shelf.json")
	s := open(t, path)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if _, err := s.Add(Book{Title: fmt.Sprint("Volume ", i), Author: "Many"}); err != nil {
				t.Error(err)
			}
			s.List()
		})
	}
	group.Wait()
	books := open(t, path).List()
	if len(books) != 20 {
		t.Fatalf("%d books on disk, want 20", len(books))
	}
	for i, b := range books {
		if b.ID != i+1 {
			t.Errorf("book %d has the id %d", i, b.ID)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}
