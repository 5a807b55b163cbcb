package apptest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func TestCreateTestApp(t *testing.T) {
	url := ""
	t.Run("while the test runs", func(t *testing.T) {
		app := CreateTestApp(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
		}))
		url = app.URL
		answer, err := app.Client().Get(url + "/books")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "GET /books" {
			t.Errorf("it answered %q, %v", body, err)
		}
	})
	if answer, err := http.Get(url); err == nil {
		answer.Body.Close()
		t.Error("it still answers after the test")
	}
}

func TestWithTestDB(t *testing.T) {
	open := func(folder string) (*os.File, error) { return os.Create(filepath.Join(folder, "data")) }
	seed := func(db *os.File) error {
		_, err := db.WriteString("seed")
		return err
	}
	var old *os.File
	t.Run("while the test runs", func(t *testing.T) {
		old = WithTestDB(t, open, seed)
		if data, err := os.ReadFile(old.Name()); err != nil || string(data) != "seed" {
			t.Errorf("it holds %q, %v", data, err)
		}
		if other := WithTestDB(t, open, nil); other.Name() == old.Name() {
			t.Error("two tests share one database")
		}
	})
	if err := old.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("it was not closed: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(old.Name())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
}
