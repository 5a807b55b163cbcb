package diffstat

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph-loop/internal/git"
)

// work is a real repository to commit to.
type work struct {
	t    testing.TB
	dir  string
	env  []string
	repo *git.Repo
}

// hostile is a configuration in which every setting that could change a count or its form is set.
const hostile = `
[diff]
	noprefix = true
	mnemonicPrefix = true
	external = /bin/false
	relative = true
	renames = false
	renameLimit = 1
	algorithm = patience
	context = 7
	interHunkContext = 9
	ignoreSubmodules = all
	submodule = log
	suppressBlankEmpty = true
	orderFile = /dev/null
	colorMoved = zebra
	wsErrorHighlight = all
	dirstat = lines
[diff "upper"]
	textconv = tr a-z A-Z <
	command = /bin/false
	binary = true
	algorithm = patience
	wordRegex = .
[color]
	ui = always
	diff = always
[core]
	quotePath = true
	bigFileThreshold = 1
	attributesFile = ATTRIBUTES
	abbrev = 4
	pager = /bin/false
	trustctime = false
	checkStat = minimal
	fsmonitor = /bin/false
	autocrlf = true
[pager]
	diff = /bin/false
`

func newWork(t testing.TB, config string, initArgs ...string) *work {
	t.Helper()
	home := t.TempDir()
	attributes := filepath.Join(home, "attributes")
	write(t, attributes, "*.go diff=upper\n*.py -diff\n*.ts binary\n*.txt diff\n")
	write(t, filepath.Join(home, "config"), strings.ReplaceAll(config, "ATTRIBUTES", attributes))
	w := &work{t: t, dir: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "config"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org"}}
	w.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	var err error
	if w.repo, err = git.Open(t.Context(), w.dir, append(w.env, "GIT_EXTERNAL_DIFF=/bin/false", "GIT_DIFF_OPTS=-u9")); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *work) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("git %s: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func (w *work) write(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		w.t.Fatal(err)
	}
	write(w.t, full, text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tree adds everything and gives the tree's hash.
func (w *work) tree() string {
	w.t.Helper()
	w.git("add", "-A")
	return w.git("write-tree")
}

func (w *work) empty() string {
	w.t.Helper()
	id, err := w.repo.EmptyTree(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *work) measure(base, tree string, c *Classifier) *Stat {
	w.t.Helper()
	s, err := Measure(w.t.Context(), w.repo, base, tree, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// file is the entry of path and class.
func (w *work) file(s *Stat, path string, class Class) File {
	w.t.Helper()
	for _, f := range s.Files {
		if f.Path == path && f.Class == class {
			return f
		}
	}
	w.t.Fatalf("no entry for %q as %s in %+v", path, class, s.Files)
	return File{}
}

func lines(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text)
		b.WriteString(strings.Repeat("x", i%7))
		b.WriteByte('\n')
	}
	return b.String()
}
