package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// call is one system call that strace saw: what it does, and to which file.
var call = regexp.MustCompile(`(?:^|\s)(write|fsync|renameat2?|rename)\((?:\d+<([^>]*)>|.*?"([^"]*)".*?"([^"]*)")`)

// calls runs a program under strace and gives what it did to files below dir, in order: "write A", "fsync A",
// "rename A B". The random part of a temporary file's name is left out.
func calls(t *testing.T, w *world, dir string, args ...string) []string {
	t.Helper()
	log := filepath.Join(w.home, "strace.txt")
	cmd := exec.Command("strace", append([]string{"-f", "-y", "-s", "4096", "-e", "trace=write,fsync,rename,renameat,renameat2", "-o", log}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("strace %v: %v (strace must be installed, and allowed to trace)\n%s", args, err, out)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	random := regexp.MustCompile(`\.tmp-\d+`)
	name := func(path string) string {
		return random.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(path, dir), "/"), ".tmp")
	}
	var done []string
	for line := range strings.Lines(string(data)) {
		m := call.FindStringSubmatch(line)
		if m == nil || !strings.Contains(m[0], dir) {
			continue
		}
		what := strings.TrimSuffix(strings.TrimSuffix(m[1], "2"), "at") + " " + name(m[2])
		if m[2] == "" {
			what = "rename " + name(m[3]) + " " + name(m[4])
		}
		if len(done) == 0 || done[len(done)-1] != what { // one file may take several writes
			done = append(done, what)
		}
	}
	return done
}

// A kill loses nothing of what the kernel was given, so it cannot show that something was not forced to the disk before
// it was relied on. The order of the calls can: a temporary file is written and forced out, takes the name, and the name
// is forced out; of the state the copy first.
func TestStateReachesTheDisk(t *testing.T) {
	w := newWorld(t)
	calls(t, w, w.dir, "ralph-checkpoint", "begin")
	got := calls(t, w, w.dir, "ralph-checkpoint", "start", "REQ-001")
	var want []string
	for _, file := range []string{".sprint-state/last-req-baseline.txt", ".git/ralph/progress.log", ".sprint-state/ralph-loop/progress.log"} {
		dir, name := filepath.Split(file)
		temporary := dir + "." + name + ".tmp"
		want = append(want, "write "+temporary, "fsync "+temporary, "rename "+temporary+" "+file, "fsync "+strings.TrimSuffix(dir, "/"))
	}
	var relevant []string
	for _, c := range got {
		if strings.Contains(c, "progress.log") || strings.Contains(c, "last-req-baseline.txt") || c == "fsync .sprint-state" || c == "fsync .git/ralph" || c == "fsync .sprint-state/ralph-loop" {
			relevant = append(relevant, c)
		}
	}
	// Behind the state come the status and the summary, in the same folder.
	if len(relevant) < len(want) || strings.Join(relevant[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("the calls are\n%s\nwant at first\n%s", strings.Join(relevant, "\n"), strings.Join(want, "\n"))
	}

	// What is kept outside of it, before an agent is let loose. start has settled that there is no infrastructure to make.
	got = calls(t, w, w.dir, "sh", "-c", "echo build it | ralph-checkpoint attempt REQ-001 -- true; true")
	text := strings.Join(got, "\n")
	if !strings.Contains(text, "fsync .git/ralph/.attempt.json.tmp\nrename .git/ralph/.attempt.json.tmp .git/ralph/attempt.json\nfsync .git/ralph\n") {
		t.Errorf("what to put back was not forced out:\n%s", text)
	}
}
