//go:build failpoint && linux

package torture

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// kind is what sort of damage a finding is.
type kind string

const (
	lost     kind = "lost"     // work that was committed or had to be done is not there
	repeated kind = "repeated" // a requirement was committed or dispatched again
	corrupt  kind = "corrupt"  // the state, a commit or something of the user's is not what it must be
	orphan   kind = "orphan"   // a process, a lock or a temporary file is left
)

// finding is one violation of what must always hold.
type finding struct {
	kind kind
	text string
}

func (f finding) String() string { return string(f.kind) + ": " + f.text }

// doable are the requirements that the agent does in the end; hopeless is the one that it does not. The user then skips
// it, or mends it by hand.
var doable = []string{"REQ-001", "REQ-002", "REQ-003", "REQ-005"}

const hopeless = "REQ-004"

// wanted are the requirements that end as done.
func (w *world) wanted() []string {
	if w.byHand {
		return append([]string{hopeless}, doable...)
	}
	return doable
}

// belongings are what the user owns and nobody may change: path or name to content.
func (w *world) belongings() (map[string]string, error) {
	have := map[string]string{}
	roots := []string{"untracked.txt", "untracked folder", ".env", "private", ".git/hooks", ".git/config", ".git/info", ".git/logs/refs/stash"}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join(w.repo, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, _ := filepath.Rel(w.repo, path)
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				to, err := os.Readlink(path)
				have[rel] = "link to " + to
				return err
			}
			data, err := os.ReadFile(path)
			have[rel] = fmt.Sprintf("%o %s", info.Mode().Perm()&0o111, data)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	for name, args := range map[string][]string{
		"the refs":        {"for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/other", "refs/tags", "refs/stash", "refs/remotes"},
		"the stash":       {"stash", "list", "--format=%H %gs"},
		"HEAD's branch":   {"symbolic-ref", "HEAD"},
		"the branches":    {"branch", "--format=%(refname)"},
		"the index flags": {"ls-files", "-v", "--", "lib/ready.sh", "AGENTS.md", "specification.yaml"},
	} {
		out, err := w.git(args...)
		if err != nil {
			return nil, err
		}
		have[name] = out
	}
	return have, nil
}

// commit is one of the branch's, as the check sees it.
type commit struct{ hash, tree, subject, body string }

// commits are those of the branch since the beginning, the oldest first.
func (w *world) commits() ([]commit, error) {
	out, err := w.git("log", "-z", "--reverse", "--format=%H%x01%T%x01%s%x01%B", w.base+"..refs/heads/main")
	if err != nil || out == "" {
		return nil, err
	}
	var list []commit
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		f := strings.SplitN(record, "\x01", 4)
		list = append(list, commit{f[0], f[1], f[2], f[3]})
	}
	return list, nil
}

var reqTrailer = regexp.MustCompile(`(?m)^Ralph-Req: (.*)$`)

// req is the requirement that a commit says it does, or "".
func (c commit) req() string {
	if m := reqTrailer.FindStringSubmatch(c.body); m != nil {
		return m[1]
	}
	return ""
}

// check looks at a world whose loop has ended for whatever must always hold, and does not.
func (w *world) check() ([]finding, error) {
	var all []finding
	for _, look := range []func() ([]finding, error){w.checkHistory, w.checkTrees, w.checkAgentsFile, w.checkBelongings, w.checkState, w.checkRemains} {
		found, err := look()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// checkHistory: every requirement is committed once.
func (w *world) checkHistory() (found []finding, err error) {
	list, err := w.commits()
	if err != nil {
		return nil, err
	}
	times := map[string]int{}
	for _, c := range list {
		times[c.req()]++
		if c.req() == "" {
			found = append(found, finding{corrupt, fmt.Sprintf("commit %.10s %q is none of the loop's", c.hash, c.subject)})
		}
	}
	for _, req := range w.wanted() {
		switch n := times[req]; {
		case n == 0:
			found = append(found, finding{lost, req + " has no commit"})
		case n > 1:
			found = append(found, finding{repeated, fmt.Sprintf("%s is committed %d times", req, n)})
		}
	}
	if times[hopeless] > 0 && !w.byHand {
		found = append(found, finding{corrupt, hopeless + " is committed, though no attempt at it is good"})
	}
	return found, nil
}

// checkTrees: the tree of every commit is green, and the one that it says was judged.
func (w *world) checkTrees() (found []finding, err error) {
	list, err := w.commits()
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if !strings.Contains(c.body, "\nRalph-Tree: "+c.tree+"\n") {
			found = append(found, finding{corrupt, fmt.Sprintf("commit %.10s has another tree than was judged", c.hash)})
		}
		dir := filepath.Join(w.dir, "checkout")
		script := `rm -rf "$1" && mkdir "$1" && git archive "$2" | tar -x -C "$1" && cd "$1" && sh run-tests.sh && for f in lib/*.sh; do sh -n "$f" || exit 1; done`
		if out, err := w.command("sh", "-c", script, "sh", dir, c.hash).CombinedOutput(); err != nil {
			found = append(found, finding{corrupt, fmt.Sprintf("the tree of commit %.10s %q is red: %v\n%s", c.hash, c.subject, err, out)})
		}
	}
	out, err := w.command("git", "fsck", "--strict", "--no-dangling").CombinedOutput()
	if err != nil {
		found = append(found, finding{corrupt, fmt.Sprintf("git fsck: %v\n%s", err, out)})
	}
	return found, nil
}

var section = regexp.MustCompile(`(?m)^## ralph-loop: \[(REQ-\d+) `)

// checkAgentsFile: what a person wrote is there byte for byte, and one section for each requirement.
func (w *world) checkAgentsFile() (found []finding, err error) {
	was, err := os.ReadFile(filepath.Join("testdata", "project", "AGENTS.md"))
	if err != nil {
		return nil, err
	}
	now, err := os.ReadFile(filepath.Join(w.repo, "AGENTS.md"))
	if err != nil {
		return []finding{{lost, err.Error()}}, nil
	}
	if !bytes.HasPrefix(now, was) {
		found = append(found, finding{corrupt, fmt.Sprintf("the hand-written part of AGENTS.md is changed:\n%s", now)})
	}
	times := map[string]int{}
	for _, m := range section.FindAllSubmatch(now, -1) {
		times[string(m[1])]++
	}
	for _, req := range doable {
		if times[req] != 1 {
			found = append(found, finding{corrupt, fmt.Sprintf("AGENTS.md has %d sections of %s", times[req], req)})
		}
	}
	if len(times) > len(doable) || bytes.Contains(now, []byte("an agent was here")) {
		found = append(found, finding{corrupt, fmt.Sprintf("AGENTS.md holds what it must not:\n%s", now)})
	}
	return found, nil
}

// checkBelongings: the user's things are byte-equal, and the worktree is clean beside them.
func (w *world) checkBelongings() (found []finding, err error) {
	now, err := w.belongings()
	if err != nil {
		return nil, err
	}
	for name, was := range w.user {
		if is, ok := now[name]; !ok {
			found = append(found, finding{lost, "the user's " + name + " is gone"})
		} else if is != was {
			found = append(found, finding{corrupt, fmt.Sprintf("the user's %s is\n%q\nand was\n%q", name, is, was)})
		}
	}
	for name, is := range now {
		if _, ok := w.user[name]; !ok {
			found = append(found, finding{corrupt, fmt.Sprintf("%s was not there before: %q", name, is)})
		}
	}
	status, err := w.git("status", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	if status != "?? untracked folder/\x00?? untracked.txt\x00" {
		found = append(found, finding{corrupt, fmt.Sprintf("git status says %q", status)})
	}
	return found, nil
}

// checkState: `ralph-checkpoint check` has nothing to say, and each requirement stands where it must.
func (w *world) checkState() (found []finding, err error) {
	if out, err := w.command("ralph-checkpoint", "check").CombinedOutput(); err != nil || len(out) > 0 {
		state, _ := os.ReadFile(filepath.Join(w.repo, ".sprint-state", "ralph-loop", "progress.log"))
		found = append(found, finding{corrupt, fmt.Sprintf("ralph-checkpoint check: %v\n%s\n%s", err, out, state)})
	}
	out, err := w.command("ralph-checkpoint", "status").CombinedOutput()
	if err != nil {
		return append(found, finding{corrupt, fmt.Sprintf("ralph-checkpoint status: %v\n%s", err, out)}), nil
	}
	for _, req := range append([]string{hopeless}, doable...) {
		want := "done"
		if req == hopeless && !w.byHand {
			want = "skipped"
		}
		if !regexp.MustCompile(`(?m)^` + req + ` .*\b` + want + `\b`).Match(out) {
			found = append(found, finding{lost, fmt.Sprintf("%s is not %s:\n%s", req, want, out)})
		}
	}
	return found, nil
}

// checkRemains: no process, no lock and no half-written file is left.
func (w *world) checkRemains() (found []finding, err error) {
	for _, p := range w.quiet(5 * time.Second) {
		found = append(found, finding{orphan, fmt.Sprintf("process %d (%s) lives", p.pid, p.name)})
	}
	err = filepath.WalkDir(w.repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := d.Name()
		lock := strings.HasSuffix(name, ".lock") && !slices.Contains([]string{"write.lock", "learnings.lock"}, name)
		if lock || strings.Contains(name, ".tmp-") || name == "attempt.json" {
			found = append(found, finding{orphan, strings.TrimPrefix(path, w.repo) + " is left"})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The kernel's locks: whoever comes next gets them.
	for _, name := range []string{".git/ralph/driver", ".git/ralph/write.lock", ".sprint-state/ralph-loop/learnings.lock"} {
		f, err := os.Open(filepath.Join(w.repo, name))
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			found = append(found, finding{orphan, fmt.Sprintf("%s is held: %v", name, err)})
		}
		_ = f.Close()
	}
	return found, nil
}

// dispatched is how often the agent was called for each requirement.
func (w *world) dispatched() (map[string]int, error) {
	data, err := os.ReadFile(filepath.Join(w.home, "dispatched"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	times := map[string]int{}
	for line := range strings.Lines(string(data)) {
		req, _, _ := strings.Cut(line, " ")
		times[req]++
	}
	return times, nil
}
