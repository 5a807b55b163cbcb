package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"ralph-loop/internal/run"
)

// lookup is one git that answers questions about objects for as long as its Repo is used: a program asks a dozen, and to
// start git for each would take longer than all answers. It reads refs anew with each question. It is ended when its
// input ends, which it does with this process at the latest.
type lookup struct {
	mu   sync.Mutex
	repo *Repo
	cmd  *exec.Cmd // nil: not running
	in   io.WriteCloser
	out  *bufio.Reader
}

// object is what one expression names.
type object struct {
	hash, kind string
	data       []byte
}

// ask finds what an expression of git's ("HEAD^{commit}", "REV:PATH") names. answered is false where git gave no
// answer, be it that there is no such object or that it cannot be read: the caller asks again by a call of its own, whose
// exit code tells one from the other.
func (l *lookup) ask(ctx context.Context, expression string) (o object, answered bool, err error) {
	if strings.ContainsAny(expression, "\n\r") {
		return o, false, nil // a question is a line
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return o, false, err
	}
	if l.cmd == nil && l.start() != nil {
		return o, false, nil
	}
	cmd := l.cmd
	limited, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = run.EndSession(cmd) })
	o, answered, err = l.exchange(expression)
	if stop() && err == nil {
		return o, answered, nil
	}
	l.end()
	return object{}, false, context.Cause(ctx)
}

func (l *lookup) start() error {
	r := l.repo
	cmd := exec.Command("git", append(append([]string{}, fixed...), "cat-file", "--batch")...)
	cmd.Dir, cmd.Env = r.Top, append(append([]string{}, r.environ...), plumbing...)
	run.OwnSession(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	l.cmd, l.in, l.out = cmd, in, bufio.NewReader(out)
	return nil
}

func (l *lookup) exchange(expression string) (o object, answered bool, err error) {
	if _, err := io.WriteString(l.in, expression+"\n"); err != nil {
		return o, false, err
	}
	head, err := l.out.ReadString('\n')
	if err != nil {
		return o, false, err
	}
	// "HASH KIND SIZE", or the expression and a word that says what is wrong with it.
	var size int64
	if n, _ := fmt.Sscanf(head, "%s %s %d\n", &o.hash, &o.kind, &size); n != 3 || !isHash(o.hash) || head != fmt.Sprintf("%s %s %d\n", o.hash, o.kind, size) {
		return object{}, false, nil
	}
	o.data = make([]byte, size)
	if _, err := io.ReadFull(l.out, o.data); err != nil {
		return o, false, err
	}
	_, err = l.out.Discard(1) // the newline behind it
	return o, err == nil, err
}

// blobs is Repo.Blobs through this process. served is false where it could not begin, or serves another caller.
func (l *lookup) blobs(ctx context.Context, ids []string, each func(i int, data io.Reader, size int64) error) (served bool, err error) {
	if !l.mu.TryLock() {
		return false, nil
	}
	defer l.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return true, err
	}
	if l.cmd == nil && l.start() != nil {
		return false, nil
	}
	cmd := l.cmd
	limited, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = run.EndSession(cmd) })
	for i, id := range ids {
		if _, err = io.WriteString(l.in, id+"\n"); err != nil {
			break
		}
		err = readBlob(l.out, id, func(data io.Reader, size int64) error {
			served = true
			return each(i, data, size)
		})
		if err != nil {
			break
		}
	}
	if stop() && err == nil {
		return true, nil
	}
	l.end()
	if cause := context.Cause(ctx); cause != nil {
		return true, cause
	}
	return served, err
}

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// end ends that git, if it runs.
func (l *lookup) end() {
	if l.cmd == nil {
		return
	}
	_ = l.in.Close()
	polite := time.AfterFunc(2*time.Second, func() { _ = run.EndSession(l.cmd) })
	_ = l.cmd.Wait()
	polite.Stop()
	l.cmd = nil
}

// EndLookups ends the git that serves questions about objects, until the next question. An agent must not find it.
func (r *Repo) EndLookups() {
	r.objects.mu.Lock()
	defer r.objects.mu.Unlock()
	r.objects.end()
}
