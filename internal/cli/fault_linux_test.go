package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// faults are script commands that bring about what a test can on this system alone.
var faults = map[string]func(*testscript.TestScript, bool, []string){
	"small-disk": smallDisk,
	"as-nobody":  asNobody,
}

// smallDisk is the script command "small-disk DIR SIZE": DIR becomes a disk of its own of that size.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: small-disk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+args[1]); err != nil {
		ts.Fatalf("mount a small disk (run this test as root, or under 'unshare --map-root-user --mount'): %v", err)
	}
	ts.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// asNobody is the script command "as-nobody CODE PROGRAM [ARG...]": one of the programs is run by a user whom root's
// rights do not help, the owner of what the script has laid so far, and must end with that exit code.
func asNobody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: as-nobody CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	work := ts.Getenv("WORK")
	place := filepath.Join(work, ".nobody")
	program := filepath.Join(place, args[1])
	if _, err := os.Lstat(program); err != nil {
		// The test binary lies in a folder of root's, and the help text may.
		self, err := os.ReadFile("/proc/self/exe")
		ts.Check(err)
		ts.Check(os.MkdirAll(filepath.Join(place, "cmd", args[1]), 0o777))
		ts.Check(os.WriteFile(program, self, 0o755))
		doc, err := os.ReadFile(filepath.Join(ts.Getenv(repositoryVariable), "cmd", args[1], "doc.go"))
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(place, "cmd", args[1], "doc.go"), doc, 0o644))
	}
	cmd := exec.Command(program, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), repositoryVariable+"="+place)
	for _, key := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	if os.Getuid() == 0 {
		for dir := work; dir != filepath.Dir(dir) && dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
			ts.Check(os.Chmod(dir, 0o755))
		}
		const nobody = 65534
		ts.Check(filepath.WalkDir(work, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, nobody, nobody)
		}))
		cmd.Env = append(cmd.Env, "TMPDIR="+work)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		ts.Fatalf("%v", err)
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", &stdout, &stderr)
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	ts.Check(os.WriteFile(filepath.Join(work, "said"), []byte(strings.TrimSuffix(stdout.String()+stderr.String(), "\n")+"\n"), 0o666))
}
