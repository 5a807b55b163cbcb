package snapshot

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph-loop/internal/git"
)

// work is a real repository with its copy.
type work struct {
	t     testing.TB
	dir   string
	cache string
	env   []string
	repo  *git.Repo
}

func newWork(t testing.TB, initArgs ...string) *work {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "config")
	write(t, config, "[core]\n\thooksPath = "+filepath.Join(home, "hooks")+"\n\tsplitIndex = true\n\tuntrackedCache = true\n\tfsmonitor = /bin/false\n\ttrustctime = false\n\tcheckStat = minimal\n"+
		"[submodule]\n\trecurse = true\n[clean]\n\trequireForce = true\n[protocol \"file\"]\n\tallow = always\n[index]\n\tskipHash = true\n")
	write(t, filepath.Join(home, "hooks", "post-checkout"), "#!/bin/sh\necho post-checkout >>'"+home+"/ran'\n")
	write(t, filepath.Join(home, "hooks", "post-index-change"), "#!/bin/sh\necho post-index-change >>'"+home+"/ran'\n")
	for _, h := range []string{"post-checkout", "post-index-change"} {
		if err := os.Chmod(filepath.Join(home, "hooks", h), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := &work{t: t, dir: filepath.Join(t.TempDir(), "work tree"), cache: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org"}}
	if err := os.Mkdir(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	w.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	w.open()
	return w
}

func (w *work) open() {
	w.t.Helper()
	var err error
	if w.repo, err = git.Open(w.t.Context(), w.dir, w.env); err != nil {
		w.t.Fatal(err)
	}
}

func (w *work) git(args ...string) string { return w.gitIn(w.dir, args...) }

func (w *work) gitIn(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Dir, cmd.Env = dir, w.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", args, err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

func (w *work) write(path, text string) {
	w.t.Helper()
	write(w.t, filepath.Join(w.dir, path), text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (w *work) tree() string {
	w.t.Helper()
	w.git("add", "-A")
	return w.git("write-tree")
}

func (w *work) copy(links ...string) *Copy {
	w.t.Helper()
	c, err := Open(w.t.Context(), w.repo, w.cache)
	if err != nil {
		w.t.Fatal(err)
	}
	c.Links = links
	w.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return c
}

func checkout(t testing.TB, c *Copy, tree string) {
	t.Helper()
	if err := c.Checkout(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
}

// exact compares the copy with what git archive makes of the tree, names, modes and contents; linked is left out.
func (w *work) exact(c *Copy, tree string, linked ...string) {
	w.t.Helper()
	fresh := w.t.TempDir()
	cmd := exec.Command("sh", "-c", `git -c core.fsmonitor=false -c core.splitIndex=false --work-tree="$1" -c core.sparseCheckout=false -c core.hooksPath=/dev/null read-tree --reset -u "$2"`, "sh", fresh, tree)
	cmd.Dir, cmd.Env = w.dir, append(w.env, "GIT_INDEX_FILE="+filepath.Join(w.t.TempDir(), "index"))
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	want, got := listing(w.t, fresh), listing(w.t, c.Dir)
	for _, l := range linked {
		if got[l] == "" {
			w.t.Errorf("%q is not linked in", l)
		}
		for p := range got {
			if p == l || strings.HasPrefix(p, l+"/") {
				delete(got, p)
			}
		}
	}
	for p, x := range want {
		if got[p] != x {
			w.t.Errorf("%q is %.100q, want %.100q", p, got[p], x)
		}
	}
	for p := range got {
		if want[p] == "" {
			w.t.Errorf("%q does not belong into the copy", p)
		}
	}
}

func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[rel] = "folder"
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			out[rel] = "link " + to
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			out[rel] = fmt.Sprintf("file %v %s", info.Mode()&0o100 != 0, data)
		default:
			out[rel] = info.Mode().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
