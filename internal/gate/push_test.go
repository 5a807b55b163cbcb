package gate

import (
	"fmt"
	"strings"
	"testing"

	"ralph-loop/internal/exit"
)

func TestReadPushes(t *testing.T) {
	got, err := ReadPushes(strings.NewReader("refs/heads/a 1 refs/heads/b 2\n\nHEAD@{1 day ago} 3 refs/heads/c 0\n"))
	if err != nil || fmt.Sprintf("%q", got) != `[{"refs/heads/a" "1" "refs/heads/b" "2"} {"HEAD@{1 day ago}" "3" "refs/heads/c" "0"}]` {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ReadPushes(strings.NewReader("")); err != nil || len(got) != 0 {
		t.Errorf("nothing: %q, %v", got, err)
	}
	if _, err := ReadPushes(strings.NewReader("one two three\n")); exit.Code(err) != exit.Usage {
		t.Errorf("three words: %v", err)
	}
}

func FuzzReadPushes(f *testing.F) {
	f.Add("refs/heads/a 1 refs/heads/b 2\n")
	f.Add("HEAD@{1 day ago} 3 refs/heads/c 0")
	f.Fuzz(func(t *testing.T, text string) {
		pushes, err := ReadPushes(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, p := range pushes {
			if strings.ContainsAny(p.Local+p.RemoteRef+p.Remote, " \n") {
				t.Fatalf("%q", p)
			}
		}
	})
}
