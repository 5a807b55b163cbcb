package examples

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shells are those that the scripts are promised to run under.
var shells = map[string][]string{
	"dash":    {"dash"},
	"bash":    {"bash", "--posix"},
	"busybox": {"busybox", "sh"},
}

// stage is a repository with one file and a folder of recordings beside it.
type stage struct {
	*project
	shell      []string
	recordings string
	report     string
}

func newStage(t *testing.T, shell []string) *stage {
	t.Helper()
	p := &project{t: t, dir: t.TempDir()}
	config := filepath.Join(t.TempDir(), "hostile")
	writeFile(t, config, "[apply]\n\twhitespace = error\n[color]\n\tui = always\n[core]\n\tquotePath = true\n")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "RALPH_") {
			p.env = append(p.env, v)
		}
	}
	p.env = append(p.env, "GIT_CONFIG_GLOBAL="+config, "GIT_CONFIG_NOSYSTEM=1")
	p.git("init", "-q")
	writeFile(t, filepath.Join(p.dir, "a.txt"), "one\ntwo\nthree\n")
	dir := t.TempDir()
	return &stage{
		project:    p,
		shell:      shell,
		recordings: filepath.Join(dir, "recordings [of] an 'agent' *"),
		report:     filepath.Join(dir, "report.yaml"),
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// play calls the script; env are NAME=VALUE pairs on top of the usual ones.
func (s *stage) play(prompt string, operands []string, env ...string) (stdout, stderr string, status int) {
	s.t.Helper()
	script, err := filepath.Abs("../scripts/agents/replay")
	if err != nil {
		s.t.Fatal(err)
	}
	argv := append(append(s.shell[1:len(s.shell):len(s.shell)], script), operands...)
	cmd := exec.Command(s.shell[0], argv...)
	cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(prompt)
	cmd.Env = append(s.env[:len(s.env):len(s.env)], "RALPH_REQ=REQ-001", "RALPH_ATTEMPT=1", "RALPH_REPORT="+s.report)
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// record writes one file of a recorded attempt.
func (s *stage) record(attempt, name, text string) {
	s.t.Helper()
	writeFile(s.t, filepath.Join(s.recordings, attempt, name), text)
}

func (s *stage) file(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// Two patches of one file: only in their order do they fit.
const (
	twoToZwei = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei \n three\n"
	zweiTo二   = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-zwei \n+二\n three\n"
)

func TestReplay(t *testing.T) {
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("an attempt", func(t *testing.T) {
				s := newStage(t, shell)
				s.record("REQ-001/1", "20-b.patch", zweiTo二)
				s.record("REQ-001/1", "10-a.patch", twoToZwei)
				s.record("REQ-001/1", "report.yaml", "status: done\n")
				s.record("REQ-001/1", "transcript.txt", "完成 $(touch pwned) %s\\n\nTokens: 1.2k sent, 345 received.\n")
				// Case D16: the prompt is of any size.
				out, errs, status := s.play(strings.Repeat("prompt ", 50_000), []string{s.recordings})
				if status != 0 || errs != "" || out != "完成 $(touch pwned) %s\\n\nTokens: 1.2k sent, 345 received.\n" {
					t.Fatalf("exit %d, stdout %q, stderr %q", status, out, errs)
				}
				if got := s.file("a.txt"); got != "one\n二\nthree\n" {
					t.Errorf("a.txt: %q", got)
				}
				if report, err := os.ReadFile(s.report); err != nil || string(report) != "status: done\n" {
					t.Errorf("report: %q, %v", report, err)
				}
			})
			t.Run("taken up again", func(t *testing.T) {
				s := newStage(t, shell)
				s.record("REQ-001/1", "10-a.patch", twoToZwei)
				for range 2 { // stopped after the first patch, then after the last
					if _, errs, status := s.play("p", []string{s.recordings}); status != 0 {
						t.Fatalf("exit %d: %s", status, errs)
					}
					s.record("REQ-001/1", "20-b.patch", zweiTo二)
				}
				_, errs, status := s.play("p", []string{s.recordings})
				if status != 0 || !strings.Contains(errs, "2 of the 2 patches already") || s.file("a.txt") != "one\n二\nthree\n" {
					t.Errorf("exit %d, stderr %q, a.txt %q", status, errs, s.file("a.txt"))
				}
			})
			t.Run("a tree that it does not fit", func(t *testing.T) {
				s := newStage(t, shell)
				s.record("REQ-001/1", "10-a.patch", zweiTo二)
				s.record("REQ-001/1", "report.yaml", "status: done\n")
				_, errs, status := s.play("p", []string{s.recordings})
				if status != 3 || !strings.Contains(errs, "a.txt") {
					t.Errorf("exit %d: %s", status, errs)
				}
				if _, err := os.Stat(s.report); err == nil {
					t.Error("it reported all the same")
				}
			})
			t.Run("an agent that does nothing", func(t *testing.T) {
				s := newStage(t, shell)
				s.record("REQ-001/1", "transcript.txt", "Shall I go on?\n")
				if out, errs, status := s.play("p", nil, "RALPH_REPLAY="+s.recordings); status != 0 || out != "Shall I go on?\n" {
					t.Errorf("exit %d, stdout %q, stderr %q", status, out, errs)
				}
			})
			t.Run("ids of any kind", func(t *testing.T) {
				for id, folder := range map[string]string{
					"US-01":      "US-01",
					"1.10":       "1=2E10",
					"-x":         "-x",
					"..":         "=2E=2E",
					"a/../../b":  "a=2F=2E=2E=2F=2E=2E=2Fb",
					"需求 1":       "=E9=9C=80=E6=B1=82=201",
					"a=b_c\n":    "a=3Db=5Fc=0A",
					"$(x)`y`*\\": "=24=28x=29=60y=60=2A=5C",
				} {
					s := newStage(t, shell)
					s.record(folder+"/12", "transcript.txt", id)
					if out, errs, status := s.play("p", []string{s.recordings}, "RALPH_REQ="+id, "RALPH_ATTEMPT=12"); status != 0 || out != id {
						t.Errorf("%q: exit %d, stdout %q, stderr %q", id, status, out, errs)
					}
				}
			})
			t.Run("refusals", func(t *testing.T) {
				s := newStage(t, shell)
				s.record("REQ-001/1", "report.yaml", "status: done\n")
				here := []string{s.recordings}
				tests := []struct {
					name     string
					prompt   string
					operands []string
					env      string
					status   int
					says     string
				}{
					{"no such requirement", "p", here, "RALPH_REQ=REQ-002", 1, "nothing is recorded for REQ-002, attempt 1"},
					{"no such attempt", "p", here, "RALPH_ATTEMPT=2", 1, "nothing is recorded for REQ-001, attempt 2"},
					{"no such folder", "p", []string{"--", "-x"}, "", 1, "./-x/REQ-001/1"},
					{"an empty prompt", "", here, "", 2, "the prompt is empty"},
					{"no requirement", "p", here, "RALPH_REQ=", 2, "RALPH_REQ is not set"},
					{"an attempt that leads out", "p", here, "RALPH_ATTEMPT=../1", 2, "not a number"},
					{"no report", "p", here, "RALPH_REPORT=", 2, "RALPH_REPORT is not set"},
					{"a report without a folder", "p", here, "RALPH_REPORT=gone/report.yaml", 3, "cannot be written to gone/report.yaml"},
					{"no recordings", "p", nil, "RALPH_REPLAY=", 2, "RALPH_REPLAY"},
					{"two folders", "p", []string{"a", "b"}, "", 2, "not 2"},
					{"an option", "p", []string{"-x"}, "", 2, "there is no option -x"},
				}
				for _, tt := range tests {
					out, errs, status := s.play(tt.prompt, tt.operands, tt.env)
					if status != tt.status || out != "" || !strings.Contains(errs, tt.says) || !strings.Contains(errs, "\nhint: ") {
						t.Errorf("%s: exit %d, want %d, stdout %q, stderr %q, want %q in it", tt.name, status, tt.status, out, errs, tt.says)
					}
				}
			})
			t.Run("help", func(t *testing.T) {
				out, errs, status := newStage(t, shell).play("", []string{"--help"})
				if status != 0 || errs != "" || !strings.HasPrefix(out, "replay - ") || !strings.Contains(out, "exit status:") {
					t.Errorf("exit %d, stdout %q, stderr %q", status, out, errs)
				}
			})
		})
	}
}
