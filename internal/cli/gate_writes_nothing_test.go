package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is the user's stays as it is, byte for byte and with its times, whatever the gate is asked and in whatever state
// the repository is: index, worktree, stash, refs, settings, hooks.
func TestGateWritesNothingOfTheUsers(t *testing.T) {
	states := map[string]string{
		"staged":          `printf 'b\n' >>a.sh && git add a.sh && printf 'c\n' >>a.sh`,
		"nothing staged":  `:`,
		"an old index":    `printf 'b\n' >>a.sh && git add a.sh && touch -t 200001010000 a.sh`,
		"split index":     `git update-index --split-index && printf 'b\n' >>a.sh && git add a.sh`,
		"a stash":         `printf 'b\n' >>a.sh && git stash push -q && printf 'c\n' >>a.sh && git add a.sh`,
		"sparse":          `git sparse-checkout set --no-cone /a.sh /ralph.yaml && printf 'b\n' >>a.sh && git add a.sh`,
		"flags":           `printf 'b\n' >>a.sh && git update-index --skip-worktree a.sh --assume-unchanged d/b.sh`,
		"detached":        `git checkout -q --detach && printf 'b\n' >>a.sh && git add a.sh`,
		"a merge":         `git switch -q -c side && printf 'b\n' >>a.sh && git commit -qam side && git switch -q main && printf 'c\n' >>d/b.sh && git commit -qam more && git merge -q --no-commit side`,
		"a conflict":      `git switch -q -c side && printf 'b\n' >>a.sh && git commit -qam side && git switch -q main && printf 'c\n' >>a.sh && git commit -qam more && ! git merge -q side`,
		"no commit":       `git switch -q --orphan new && printf 'b\n' >x.sh && git add x.sh`,
		"linked worktree": `git worktree add -q linked && cd linked && printf 'b\n' >>a.sh && git add a.sh`,
	}
	for name, lay := range states {
		t.Run(name, func(t *testing.T) {
			dir, home := t.TempDir(), t.TempDir()
			if err := writeUserConfig(home); err != nil {
				t.Fatal(err)
			}
			repository, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				t.Fatal(err)
			}
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"), "GIT_CONFIG_NOSYSTEM=1",
				"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), repositoryVariable + "=" + repository}
			sh := func(script string) (string, error) {
				cmd := exec.Command("sh", "-euc", script)
				cmd.Dir, cmd.Env = dir, env
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			base := `git init -q && mkdir d && printf 'a\n' >a.sh && printf 'a\n' >d/b.sh && printf 'x\n' >>.git/info/exclude &&
				printf 'gate: {coverage: 0, test: ["echo 1..1; echo ok 1"], typecheck: ["rm -rf a.sh d; true"]}\n' >ralph.yaml &&
				git add . && git commit -qm one && printf 'ignored\n' >x && printf 'untracked\n' >y`
			if out, err := sh(base + "\n" + lay); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			place := ""
			if name == "linked worktree" {
				place = "cd linked && "
			}
			before := everything(t, dir)
			for _, args := range []string{"run", "--quiet --only hook", "--format json --only L0,L1b", "diff", "plan", "doctor", "cache list", "--base HEAD diff"} {
				out, err := sh(place + "ralph-gate " + args)
				if strings.Contains(out, "internal error") {
					t.Errorf("ralph-gate %s: %v\n%s", args, err, out)
				}
				after := everything(t, dir)
				for file, what := range before {
					if after[file] != what {
						t.Errorf("ralph-gate %s changed %s:\n%.500q\nbefore:\n%.500q", args, file, after[file], what)
					}
				}
				for file := range after {
					if before[file] == "" {
						t.Errorf("ralph-gate %s made %s", args, file)
					}
				}
				before = after
			}
		})
	}
}

// everything is each file with its content, mode and time; but the toolkit's own folders, and objects, which may come.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.IsDir() && (filepath.Base(p) == "objects" || filepath.Base(p) == "ralph") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		at := info.ModTime().String()
		if strings.HasPrefix(d.Name(), "sharedindex.") {
			at = "" // whoever reads it sets it: git keeps it as long as it is in use
		}
		files[rel] = info.Mode().String() + " " + at + " " + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
