//go:build failpoint && linux

package torture

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutant is the toolkit with one of its protections taken out: a line of a source file is another one in this build.
type mutant struct {
	file, line, instead string
	killAt              string // the step at which the loop is killed; "": it is not
	wanted              kind   // the finding that must come of it
	says                string
}

// The torture is worth something only if it finds what it is there to find.
func TestMutantsAreFound(t *testing.T) {
	for name, m := range map[string]mutant{
		"without the intent record": {
			file: "checkpoint/commit.go", line: "p.Intent = intent", instead: "_ = intent",
			killAt: "ralph-checkpoint pass: git commit", wanted: repeated, says: "the agent was called for REQ-001, which was committed",
		},
		"without the folding of an agent's commits": {
			file: "workspace/refs.go", line: `w.pointRef(ctx, w.headRef(), w.Baseline, "")`, instead: `w.pointRef(ctx, w.headRef(), map[bool]string{true: w.Baseline, false: head}[head == ""], "")`,
			wanted: corrupt, says: "is none of the loop's",
		},
		"without close-on-exec": {
			file: "checkpoint/runlock_unix.go", line: "syscall.CloseOnExec(LockDescriptor)", instead: "_ = LockDescriptor",
			killAt: "ralph-checkpoint cost: write ralph/progress.log", wanted: orphan, says: "the run lock is held",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := newWorld(t.TempDir(), m.build(t))
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			s := newStory(w)
			k := &ticks{killed: map[string]bool{}}
			err = s.tell(func() disturbance {
				return disturbance{atStep: func(step string) victims {
					if step != m.killAt || k.once(step) == nobody {
						return nobody
					}
					return everybody
				}}
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(s.found, func(f finding) bool { return f.kind == m.wanted && strings.Contains(f.text, m.says) }) {
				t.Errorf("found %v, want %s: %s\n%s", s.found, m.wanted, m.says, s.log())
			}
		})
	}
}

// build builds the mutant, in which the source file has another content.
func (m mutant) build(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(source, []byte(m.line)); n != 1 {
		t.Fatalf("%s holds %q %d times", m.file, m.line, n)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{changed: bytes.Replace(source, []byte(m.line), []byte(m.instead), 1), overlay: list} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "bin")
	if err := build(bin, "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	return bin
}
