package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bookshelf/internal/shelf"
)

// server is the whole API over a real store in a folder of its own.
type server struct {
	t   *testing.T
	api *API
	dir string
	log bytes.Buffer
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, dir: filepath.Join(t.TempDir(), "data")}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := shelf.Open(filepath.Join(s.dir, "shelf.json"))
	if err != nil {
		t.Fatal(err)
	}
	s.api = New(store, slog.New(slog.NewTextHandler(&s.log, nil)))
	return s
}

// do sends one request; headers are given as name, value pairs.
func (s *server) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return w
}

// want sends one request and returns the answer's body, which must be JSON.
func (s *server) want(status int, method, target, body string) map[string]any {
	s.t.Helper()
	w := s.do(method, target, body)
	if w.Code != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, target, w.Code, status, w.Body)
	}
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		s.t.Fatalf("%s %s: %v: %s", method, target, err, w.Body)
	}
	return got
}

func TestHealth(t *testing.T) {
	if got := newServer(t).want(http.StatusOK, "GET", "/healthz", ""); got["status"] != "ok" {
		t.Errorf("GET /healthz: %v", got)
	}
}

func TestListOfAnEmptyShelf(t *testing.T) {
	got := newServer(t).do("GET", "/books", "").Body.String()
	if strings.TrimSpace(got) != `{"books":[]}` {
		t.Errorf("GET /books: %s", got)
	}
}

func TestCreateThenShow(t *testing.T) {
	s := newServer(t)
	w := s.do("POST", "/books", `{"title": "三体", "author": "刘慈欣", "year": 2008, "isbn": "978-7-5366-9293-0"}`)
	if w.Code != http.StatusCreated || w.Header().Get("Location") != "/books/1" {
		t.Fatalf("POST /books: %d, %q: %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	got := s.want(http.StatusOK, "GET", "/books/1", "")
	if got["title"] != "三体" || got["author"] != "刘慈欣" || got["year"] != 2008.0 {
		t.Errorf("GET /books/1: %v", got)
	}
	if books := s.want(http.StatusOK, "GET", "/books", "")["books"].([]any); len(books) != 1 {
		t.Errorf("GET /books: %v", books)
	}
}

func TestCreateRefuses(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		field      any
	}{
		{"no body", "", http.StatusBadRequest, nil},
		{"no JSON", "title=Dune", http.StatusBadRequest, nil},
		{"an unknown field", `{"title": "Dune", "author": "Herbert", "colour": "red"}`, http.StatusBadRequest, nil},
		{"two values", `{"title": "Dune", "author": "Herbert"} {}`, http.StatusBadRequest, nil},
		{"a bracket too many", `{"title": "Dune", "author": "Herbert"}}`, http.StatusBadRequest, nil},
		{"no author", `{"title": "Dune"}`, http.StatusBadRequest, "author"},
		{"a body without end", `{"title": "` + strings.Repeat("x", maxBody), http.StatusRequestEntityTooLarge, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := newServer(t).want(tt.status, "POST", "/books", tt.body)
			if got["error"] == "" || got["field"] != tt.field {
				t.Errorf("POST /books: %v, want field %v", got, tt.field)
			}
		})
	}
}

func TestRemoveAnswersWithoutABody(t *testing.T) {
	s := newServer(t)
	s.want(http.StatusCreated, "POST", "/books", `{"title": "Dune", "author": "Frank Herbert"}`)
	w := s.do("DELETE", "/books/1", "")
	if w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Errorf("DELETE /books/1: %d: %s", w.Code, w.Body)
	}
	s.want(http.StatusNotFound, "GET", "/books/1", "")
}

func TestUnknownBook(t *testing.T) {
	for _, target := range []string{"/books/1", "/books/-1", "/books/one", "/books/99999999999999999999"} {
		for _, method := range []string{"GET", "DELETE"} {
			newServer(t).want(http.StatusNotFound, method, target, "")
		}
	}
}

func TestAFailureOfTheStoreIsLoggedAndNotShown(t *testing.T) {
	s := newServer(t)
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	got := s.want(http.StatusInternalServerError, "POST", "/books", `{"title": "Dune", "author": "Frank Herbert"}`)
	if got["error"] != "internal error" {
		t.Errorf("the client was told %q", got["error"])
	}
	if !strings.Contains(s.log.String(), s.dir) {
		t.Errorf("the log lacks the cause: %s", s.log.String())
	}
}
