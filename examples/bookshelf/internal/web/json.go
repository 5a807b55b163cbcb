package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// maxBody is the largest request body in bytes.
const maxBody = 1 << 20

// problem is the body of every answer that is not a success.
type problem struct {
	Error string `json:"error"`
	Field string `json:"field,omitempty"`
}

// requestError is a request that cannot be understood.
type requestError struct {
	status int
	reason string
}

func (e *requestError) Error() string {
	return e.reason
}

// decode reads the request's body, exactly one JSON value, into v.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &requestError{http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB"}
	case errors.Is(err, io.EOF):
		return &requestError{http.StatusBadRequest, "the body is empty"}
	case err != nil:
		return &requestError{http.StatusBadRequest, "the body is not a valid book: " + err.Error()}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &requestError{http.StatusBadRequest, "the body holds more than one value"}
	}
	return nil
}

// reply sends v as JSON. The status is out by the time that writing can fail,
// so a client that went away is only noted.
func (a *API) reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		a.log.Warn("sending an answer", "error", err)
	}
}
