//go:build bench && unix

package gate

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	commitRounds = 41 // of every kind of hook, one after the other; the median counts
	diffRounds   = 9
)

// bench is where the repositories and the program lie.
type bench struct {
	t   *testing.T
	dir string
}

// TestBenchGate prints the tables of docs/bench-gate.md.
func TestBenchGate(t *testing.T) {
	b := &bench{t: t, dir: t.TempDir()}
	home := filepath.Join(b.dir, "home")
	b.write("home/.gitconfig", "[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n")
	goCache := strings.TrimSpace(b.run(".", "go", "env", "GOCACHE"))
	goModules := strings.TrimSpace(b.run(".", "go", "env", "GOMODCACHE"))
	for key, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": filepath.Join(home, ".cache"), "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GOCACHE": goCache, "GOMODCACHE": goModules,
		"PATH": filepath.Join(b.dir, "bin") + ":" + os.Getenv("PATH")} {
		t.Setenv(key, value)
	}
	b.run("../..", "go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-o", filepath.Join(b.dir, "bin", "ralph-gate"), "./cmd/ralph-gate")
	fmt.Printf("%s %s/%s, %d cores, %s; medians of interleaved runs. %s.\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		strings.TrimSpace(b.run(".", "git", "version")), time.Now().Format("2006-01-02"))
	b.commits()
	b.diffs()
}

func (b *bench) run(dir, name string, args ...string) string {
	b.t.Helper()
	out, err := b.try(dir, name, args...)
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return out
}

func (b *bench) try(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = b.at(dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// at is a path below the bench's folder; ".." and "." are this package's.
func (b *bench) at(path string) string {
	if strings.HasPrefix(path, ".") {
		return path
	}
	return filepath.Join(b.dir, path)
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	full := b.at(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o777); err != nil {
		b.t.Fatal(err)
	}
}

// kinds are the hooks that are compared, and how each is laid; the programs of others where they are installed. Theirs run
// "true".
var kinds = []struct {
	name, needs string
	lay         func(b *bench, repo string)
}{
	{"no hook", "", func(*bench, string) {}},
	{"sh -c true", "", func(b *bench, repo string) { b.write(repo+"/.git/hooks/pre-commit", "#!/bin/sh\nexec sh -c true\n") }},
	{"ralph-gate, cached", "", func(b *bench, repo string) { b.run(repo, "ralph-gate", "install") }},
	{"husky", "husky", func(b *bench, repo string) {
		b.run(repo, "husky")
		b.write(repo+"/.husky/pre-commit", "true\n")
	}},
	{"lefthook", "lefthook", func(b *bench, repo string) {
		b.write(repo+"/lefthook.yml", "pre-commit: {commands: {nothing: {run: 'true'}}}\n")
		b.run(repo, "lefthook", "install")
	}},
	{"prek", "prek", func(b *bench, repo string) {
		b.write(repo+"/.pre-commit-config.yaml", idleHook)
		b.run(repo, "prek", "install")
	}},
	{"pre-commit", "pre-commit", func(b *bench, repo string) {
		b.write(repo+"/.pre-commit-config.yaml", idleHook)
		b.run(repo, "pre-commit", "install")
	}},
}

const idleHook = `repos:
  - repo: local
    hooks:
      - {id: nothing, name: nothing, entry: "true", language: system, always_run: true, pass_filenames: false}
`

// commits compares whole commits.
func (b *bench) commits() {
	fmt.Printf("| files | hook | git commit, median | over sh -c true | fastest | over sh -c true | CPU time, median | over sh -c true |\n|---|---|---|---|---|---|---|---|\n")
	for _, files := range []int{10, 20_000} {
		var names, repos []string
		for _, k := range kinds {
			if k.needs != "" {
				if _, err := exec.LookPath(k.needs); err != nil {
					continue
				}
			}
			repo := fmt.Sprintf("%d %s", files, k.name)
			b.project(repo, files)
			k.lay(b, repo)
			names, repos = append(names, k.name), append(repos, repo)
			if k.name == "ralph-gate, cached" {
				b.refuses(repo)
			}
			// The tree is committed once, which also judges it, and taken back; from then on the index is the same.
			b.run(repo, "git", "commit", "-qm", "first")
			b.run(repo, "git", "reset", "-q", "--soft", "HEAD~")
		}
		took, worked := make([][]time.Duration, len(repos)), make([][]time.Duration, len(repos))
		for range commitRounds {
			for i, repo := range repos {
				cmd := exec.Command("git", "commit", "-qm", "x")
				cmd.Dir = b.at(repo)
				begun := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.t.Fatalf("%s: %v\n%s", repo, err, out)
				}
				took[i] = append(took[i], time.Since(begun))
				worked[i] = append(worked[i], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
				b.run(repo, "git", "reset", "-q", "--soft", "HEAD~")
			}
		}
		raw, rawFastest, rawWork := median(took[1]), slices.Min(took[1]), median(worked[1])
		for i, name := range names {
			m, fastest, cpu := median(took[i]), slices.Min(took[i]), median(worked[i])
			fmt.Printf("| %d | %s | %s | %s | %s | %s | %s | %s |\n", files, name, ms(m), ms(m-raw), ms(fastest), ms(fastest-rawFastest), ms(cpu), ms(cpu-rawWork))
			if over := m - raw; name == "ralph-gate, cached" && over > 10*time.Millisecond {
				b.t.Errorf("%d files: %s over sh -c true", files, over)
			}
		}
		b.refuses(repos[2])
	}
	fmt.Println()
}

// project lays a repository with that many files, one change staged.
func (b *bench) project(repo string, files int) {
	b.t.Helper()
	for i := range files {
		b.write(fmt.Sprintf("%s/d%d/file%d.txt", repo, i%100, i), fmt.Sprintf("text %d\n", i))
	}
	b.write(repo+"/ralph.yaml", "gate: {coverage: 0, test: [\"sh a_test.sh\"]}\n")
	b.write(repo+"/a.sh", "echo a\n")
	b.write(repo+"/a_test.sh", "sh a.sh && printf '1..1\\nok 1\\n'\n")
	b.run(".", "git", "init", "-q", b.at(repo))
	b.run(repo, "git", "add", "-A")
	b.run(repo, "git", "commit", "-qm", "one")
	b.write(repo+"/a.sh", "echo a\necho b\n")
	b.write(repo+"/a_test.sh", "sh a.sh &&\nprintf '1..1\\nok 1\\n'\n")
	b.run(repo, "git", "add", "-A")
}

// refuses makes sure that the very program that is so fast refuses a bad commit.
func (b *bench) refuses(repo string) {
	b.t.Helper()
	good, err := os.ReadFile(b.at(repo + "/a_test.sh"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(repo+"/a_test.sh", "echo 1..1\necho not ok 1\nexit 1\n")
	b.run(repo, "git", "add", "a_test.sh")
	if out, err := b.try(repo, "git", "commit", "-qm", "bad"); err == nil || !strings.Contains(out, "L2         fail") {
		b.t.Fatalf("a bad commit: %v\n%s", err, out)
	}
	b.write(repo+"/a_test.sh", string(good))
	b.run(repo, "git", "add", "a_test.sh")
}

// diffs compares counting with git's own, first as it is before a commit: the worktree holds what was staged. The goals are
// for that. Then with files that lie nowhere but in the objects, and with edited files.
func (b *bench) diffs() {
	fmt.Printf("| change | files in the worktree | objects | ralph-gate diff | git diff-index --numstat | ratio | goal |\n|---|---|---|---|---|---|---|\n")
	const repo = "diff"
	b.write(repo+"/README.md", "one\n")
	b.run(".", "git", "init", "-q", b.at(repo))
	b.run(repo, "git", "add", "-A")
	b.run(repo, "git", "commit", "-qm", "one")
	b.lines(repo, "line", 1)
	b.compare(repo, "new files", "as staged", "loose", 2.0)
	b.withoutFiles(repo, func() { b.compare(repo, "new files", "none", "loose", 0) })
	b.run(repo, "git", "repack", "-qad")
	b.compare(repo, "new files", "as staged", "packed", 1.2)
	b.withoutFiles(repo, func() { b.compare(repo, "new files", "none", "packed", 0) })
	b.run(repo, "git", "commit", "-qm", "two")
	b.lines(repo, "other", 2)
	b.compare(repo, "edited files", "as staged", "loose", 0)
	b.run(repo, "git", "repack", "-qad")
	b.compare(repo, "edited files", "as staged", "packed", 0)
}

const (
	diffFiles = 10_000
	diffLines = 100
)

// lines writes and stages files of which every so many lines are like those of another call with other words.
func (b *bench) lines(repo, words string, every int) {
	b.t.Helper()
	for i := range diffFiles {
		var text bytes.Buffer
		for line := range diffLines * every {
			if line%every == 0 {
				fmt.Fprintf(&text, "line %d of file %d, as long as code has it\n", line/every, i)
			} else {
				fmt.Fprintf(&text, "%s %d of file %d, as long as code has it\n", words, line, i)
			}
		}
		b.write(fmt.Sprintf("%s/d%d/e%d/f%d%s", repo, i%40, i%400, i, []string{".go", "_test.go", ".ts", ".py", ".md"}[i%5]), text.String())
	}
	b.run(repo, "git", "add", "-A")
	b.run(repo, "git", "write-tree")
}

// withoutFiles calls do while the worktree is empty.
func (b *bench) withoutFiles(repo string, do func()) {
	b.t.Helper()
	b.run(repo, "sh", "-c", "mkdir ../aside && mv d* ../aside")
	do()
	b.run(repo, "sh", "-c", "mv ../aside/* . && rmdir ../aside")
}

// compare prints a row. A goal of 0 is none.
func (b *bench) compare(repo, change, worktree, objects string, goal float64) {
	b.t.Helper()
	var ours, theirs []time.Duration
	for range diffRounds {
		begun := time.Now()
		out := b.run(repo, "ralph-gate", "--format", "json", "diff")
		ours = append(ours, time.Since(begun))
		if n, all := strings.Count(out, `"path"`), fmt.Sprintf(`"added": %d`, diffLines); n != diffFiles || strings.Count(out, all) != n {
			b.t.Fatalf("%d files", n)
		}
		begun = time.Now()
		out = b.run(repo, "git", "diff-index", "--cached", "--numstat", "-z", "-M", "-l0", "HEAD")
		theirs = append(theirs, time.Since(begun))
		if n := strings.Count(out, "\x00"); n != diffFiles {
			b.t.Fatalf("%d files", n)
		}
	}
	ratio, wanted := float64(median(ours))/float64(median(theirs)), "-"
	if goal > 0 {
		wanted = fmt.Sprintf("%.1f", goal)
	}
	fmt.Printf("| %s | %s | %s | %s | %s | %.2f | %s |\n", change, worktree, objects, ms(median(ours)), ms(median(theirs)), ratio, wanted)
	if goal > 0 && ratio > goal {
		b.t.Errorf("%s, %s: %.2f times git's own time", change, objects, ratio)
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
