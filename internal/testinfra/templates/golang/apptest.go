// Package apptest is the test infrastructure: every test takes its application and its database from here.
//
// It comes from a template of the Ralph toolkit and knows nothing of this project. Change it as the project needs: let
// CreateTestApp build the application's own handler, let WithTestDB open the project's own kind of database.
package apptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// CreateTestApp gives an application instance with real test dependencies: the handler, served over HTTP on a free local
// port until the test ends. The server's URL and Client are what a test needs.
func CreateTestApp(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// WithTestDB is the test database's life cycle: open is given an empty folder of its own, seed fills the database, and as
// the test ends it is closed and the folder removed. A nil seed leaves it empty. *sql.DB is a DB, and so is any client
// that can be closed.
func WithTestDB[DB io.Closer](t testing.TB, open func(folder string) (DB, error), seed func(DB) error) DB {
	t.Helper()
	db, err := open(t.TempDir())
	must(t, "open", err)
	t.Cleanup(func() { must(t, "close", db.Close()) })
	if seed != nil {
		must(t, "seed", seed(db))
	}
	return db
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s the test database: %v", what, err)
	}
}
