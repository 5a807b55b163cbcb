package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// start runs the service on a free port of the loopback interface and returns
// its address and a function that ends it.
func start(t *testing.T, path string) (addr string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-file", path}, in)
		in.Close()
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the service said nothing: %v", <-ended)
	}
	go io.Copy(io.Discard, lines)
	match := regexp.MustCompile(`addr=(\S+)`).FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("no address in %q", line)
	}
	return match[1], func() error { cancel(); return <-ended }
}

func TestRunKeepsBooksOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shelf.json")
	addr, end := start(t, path)
	body := strings.NewReader(`{"title": "红楼梦", "author": "曹雪芹"}`)
	res, err := http.Post("http://"+addr+"/books", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("POST /books: status %d", res.StatusCode)
	}
	if err := end(); err != nil {
		t.Fatalf("first run: %v", err)
	}

	addr, end = start(t, path)
	res, err = http.Get("http://" + addr + "/books/1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "红楼梦") {
		t.Errorf("GET /books/1 after a restart: %s", text)
	}
	if err := end(); err != nil {
		t.Fatalf("second run: %v", err)
	}
}

func TestRunShowsItsFlags(t *testing.T) {
	var out strings.Builder
	if err := run(context.Background(), []string{"-h"}, &out); err != nil || !strings.Contains(out.String(), "-file PATH") {
		t.Errorf("-h: %v: %s", err, &out)
	}
}

func TestRunRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	tests := []struct {
		name string
		args []string
	}{
		{"an unknown flag", []string{"-colour"}},
		{"a folder as the file", []string{"-file", dir}},
		{"an address in use", []string{"-addr", taken.Addr().String(), "-file", filepath.Join(dir, "s.json")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := run(context.Background(), tt.args, io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}
