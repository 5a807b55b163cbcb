package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"ralph-loop/internal/exit"
)

// Without these git takes a folder for no repository at all.
var needed = []string{"refs", "objects"}

// headOf is where KeepHead keeps HEAD, from a git directory.
var headOf = filepath.Join("ralph", "HEAD")

// KeepHead keeps what HEAD is: an agent that damages it leaves no repository that could be opened and asked.
func (r *Repo) KeepHead() error {
	data, err := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	if err == nil && isHead(data) {
		err = os.WriteFile(filepath.Join(r.GitDir, headOf), data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep HEAD: %w", err)
	}
	return nil
}

// Mend makes git take the git directories for a repository again, where HEAD or a folder that it needs is damaged. branch is
// the ref that HEAD led to, or "" and hash. mended are the names of what was not as it must be.
func (r *Repo) Mend(branch, hash string) (mended []string, err error) {
	for _, name := range needed {
		dir := filepath.Join(r.CommonDir, name)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			continue
		}
		_ = os.Remove(dir)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, fmt.Errorf("mend the repository: %w", err)
		}
		mended = append(mended, name)
	}
	if headIsWhole(r.GitDir) {
		return mended, nil
	}
	text := hash
	if branch != "" {
		text = "ref: " + branch
	}
	head := filepath.Join(r.GitDir, "HEAD")
	if err := os.RemoveAll(head); err != nil {
		return nil, fmt.Errorf("mend the repository: %w", err)
	}
	if err := os.WriteFile(head, []byte(text+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("mend the repository: %w", err)
	}
	return append(mended, "HEAD"), nil
}

// whyDamaged says what is wrong with the repository above dir, where a loop had worked in it, and how to mend it; nil where
// nothing is seen.
func whyDamaged(dir string) error {
	own := gitDirAbove(dir)
	if _, err := os.Lstat(filepath.Join(own, headOf)); own == "" || err != nil {
		return nil
	}
	common := own
	if text, err := os.ReadFile(filepath.Join(own, "commondir")); err == nil {
		common = strings.TrimSpace(string(text))
		if !filepath.IsAbs(common) {
			common = filepath.Join(own, common)
		}
	}
	var wrong, mend []string
	for _, name := range needed {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			wrong, mend = append(wrong, name), append(mend, "mkdir -p "+shellWord(filepath.Join(common, name)))
		}
	}
	if !headIsWhole(own) {
		wrong, mend = append(wrong, "HEAD"), append(mend, setHead(own))
	}
	if len(wrong) == 0 {
		return nil
	}
	return exit.Fail(strings.Join(mend, " && ")+", then start again", "the git repository %q is damaged: %s", own, strings.Join(wrong, " and "))
}

// setHead is the command that makes HEAD what KeepHead kept. It says what that is: it may be a branch of long ago.
func setHead(own string) string {
	text := "ref: refs/heads/BRANCH"
	if data, err := os.ReadFile(filepath.Join(own, headOf)); err == nil && isHead(data) {
		if line := strings.TrimSpace(string(data)); !strings.ContainsFunc(line, unicode.IsControl) {
			text = line
		}
	}
	head := filepath.Join(own, "HEAD")
	set := "echo " + shellWord(text) + " >" + shellWord(head)
	if info, err := os.Lstat(head); err == nil && !info.Mode().IsRegular() {
		set = "rm -r " + shellWord(head) + " && " + set
	}
	return set
}

// headIsWhole reports whether git takes a directory's HEAD for one.
func headIsWhole(dir string) bool {
	head := filepath.Join(dir, "HEAD")
	if to, err := os.Readlink(head); err == nil {
		return strings.HasPrefix(to, "refs/")
	}
	data, err := os.ReadFile(head)
	return err == nil && isHead(data)
}

func isHead(data []byte) bool {
	if ref, ok := bytes.CutPrefix(data, []byte("ref:")); ok {
		return bytes.HasPrefix(bytes.TrimLeft(ref, " \t\n\v\f\r"), []byte("refs/"))
	}
	return isHash(strings.TrimSpace(string(data)))
}

// gitDirAbove is the git directory of the worktree that dir lies in, as git looks for it; "" is none.
func gitDirAbove(dir string) string {
	for {
		at := filepath.Join(dir, ".git")
		if info, err := os.Lstat(at); err == nil {
			if info.IsDir() {
				return at
			}
			text, _ := os.ReadFile(at)
			at = strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:"))
			if !filepath.IsAbs(at) {
				at = filepath.Join(dir, at)
			}
			return at
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// shellWord is a path as one word of a shell's.
func shellWord(path string) string {
	if !strings.ContainsAny(path, " \t\n'\"\\$`*?[](){}<>|&;~#!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
