// Package web is the bookshelf's HTTP API.
package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"bookshelf/internal/shelf"
)

// API answers HTTP requests from a store.
type API struct {
	store *shelf.Store
	log   *slog.Logger
	mux   *http.ServeMux
}

// New returns the API over a store. Failures that are not the client's go to
// log; the client learns no more than that there was one.
func New(store *shelf.Store, log *slog.Logger) *API {
	a := &API{store: store, log: log, mux: http.NewServeMux()}
	a.mux.HandleFunc("GET /healthz", a.health)
	a.mux.HandleFunc("GET /books", a.list)
	a.mux.HandleFunc("POST /books", a.create)
	a.mux.HandleFunc("GET /books/{id}", a.show)
	a.mux.HandleFunc("DELETE /books/{id}", a.remove)
	return a
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mux.ServeHTTP(w, r)
}

func (a *API) health(w http.ResponseWriter, _ *http.Request) {
	a.reply(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (a *API) list(w http.ResponseWriter, _ *http.Request) {
	a.reply(w, http.StatusOK, map[string]any{"books": a.store.List()})
}

func (a *API) create(w http.ResponseWriter, r *http.Request) {
	var b shelf.Book
	if err := decode(w, r, &b); err != nil {
		a.fail(w, r, err)
		return
	}
	b, err := a.store.Add(b)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/books/%d", b.ID))
	a.reply(w, http.StatusCreated, b)
}

func (a *API) show(w http.ResponseWriter, r *http.Request) {
	id, err := pathID(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	b, err := a.store.Get(id)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	a.reply(w, http.StatusOK, b)
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) {
	id, err := pathID(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if err := a.store.Remove(id); err != nil {
		a.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// pathID reads the id in the request's path. What is not a number names no
// book, so it is answered like any other unknown id.
func pathID(r *http.Request) (int, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		return 0, shelf.ErrNotFound
	}
	return id, nil
}

// fail answers with the status that belongs to err.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var (
		invalid *shelf.InvalidError
		bad     *requestError
	)
	switch {
	case errors.As(err, &bad):
		a.reply(w, bad.status, problem{Error: bad.reason})
	case errors.As(err, &invalid):
		a.reply(w, http.StatusBadRequest, problem{Error: invalid.Error(), Field: invalid.Field})
	case errors.Is(err, shelf.ErrNotFound):
		a.reply(w, http.StatusNotFound, problem{Error: err.Error()})
	default:
		a.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		a.reply(w, http.StatusInternalServerError, problem{Error: "internal error"})
	}
}
