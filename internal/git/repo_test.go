package git

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// work is a real repository below a home of its own.
type work struct {
	t    *testing.T
	dir  string
	home string
	env  []string
}

// hostile is a user's configuration in which much is set that could change an answer.
const hostile = `
[core]
	hooksPath = HOOKS
	quotePath = true
	splitIndex = true
	untrackedCache = true
	fsmonitor = /bin/false
	trustctime = false
	checkStat = minimal
	pager = /bin/false
	editor = /bin/false
	abbrev = 4
	bigFileThreshold = 1
[index]
	skipHash = true
[color]
	ui = always
[log]
	showSignature = true
	decorate = full
[diff]
	external = /bin/false
	noprefix = true
[status]
	short = true
	branch = true
	relativePaths = true
[advice]
	detachedHead = true
[protocol "file"]
	allow = always
`

func newWork(t *testing.T, initArgs ...string) *work {
	t.Helper()
	// A folder with a newline in it: paths hold any byte.
	w := &work{t: t, home: t.TempDir(), dir: filepath.Join(t.TempDir(), "odd \n\"dir\xff")}
	hooks := filepath.Join(w.home, "hooks")
	write(t, filepath.Join(w.home, "config"), strings.ReplaceAll(hostile, "HOOKS", hooks))
	for _, hook := range []string{"post-index-change", "post-checkout", "pre-commit"} {
		write(t, filepath.Join(hooks, hook), "#!/bin/sh\necho "+hook+" >>'"+w.home+"/ran'\n")
		if err := os.Chmod(filepath.Join(hooks, hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_GLOBAL=" + filepath.Join(w.home, "config"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org"}
	w.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return w
}

func (w *work) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", args, err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

func (w *work) open(env ...string) *Repo {
	w.t.Helper()
	r, err := Open(w.t.Context(), w.dir, append(append([]string{}, w.env...), env...))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *work) write(path, text string) {
	w.t.Helper()
	write(w.t, filepath.Join(w.dir, path), text)
}

// commit commits everything and gives the hash.
func (w *work) commit(message string) string {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", message)
	return w.git("rev-parse", "HEAD")
}

// ran is what the user's hooks have noted.
func (w *work) ran() string {
	data, _ := os.ReadFile(filepath.Join(w.home, "ran"))
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
