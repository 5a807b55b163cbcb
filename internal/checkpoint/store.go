package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"gopkg.in/yaml.v3"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/gate"
	"ralph-loop/internal/git"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/plainyaml"
	"ralph-loop/internal/workspace"
)

// Store keeps progress.log: one file in the worktree, where people look, and one copy under the git directory, which
// is written first and which `git clean` does not reach.
type Store struct {
	repo *git.Repo
	now  func() time.Time
}

// NewStore is the store of a worktree.
func NewStore(repo *git.Repo, now func() time.Time) *Store { return &Store{repo: repo, now: now} }

func (s *Store) path() string { return filepath.Join(s.repo.Sprint(), workspace.StateFile) }
func (s *Store) copy() string { return filepath.Join(s.repo.StateDir(), workspace.StateFile) }

// The folders in the worktree's state folder that hold a file for each attempt, and for each requirement.
const (
	digestsDir   = "digests"
	summariesDir = "summaries"
)

const sumPrefix = "# sha256: "

// encode writes the state with a last line that proves it whole: a file cut short may still be good YAML.
func encode(p *Progress) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# The state of the loop. Do not edit: the last line proves that the file is whole.\n")
	text, err := plainyaml.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	b.Write(text)
	sum := sha256.Sum256(b.Bytes())
	b.WriteString(sumPrefix + hex.EncodeToString(sum[:]) + "\n")
	return b.Bytes(), nil
}

// decode reads what encode wrote. A damaged or newer file is an error that says what is wrong.
func decode(data []byte) (*Progress, error) {
	if len(data) == 0 {
		return nil, errors.New("it is empty")
	}
	at := bytes.LastIndex(data, []byte("\n"+sumPrefix))
	if at < 0 {
		return nil, errors.New("its last line, which proves it whole, is missing")
	}
	body, last := data[:at+1], strings.TrimSuffix(string(data[at+1+len(sumPrefix):]), "\n")
	sum := sha256.Sum256(body)
	if last != hex.EncodeToString(sum[:]) {
		return nil, errors.New("its last line does not fit its content")
	}
	var p Progress
	err := plainyaml.Unmarshal(body, &p)
	version := p.Schema
	if err != nil {
		// Newer keys are known to newer programs only: the version explains them.
		var only struct {
			Schema int `yaml:"schema_version"`
		}
		if yaml.Unmarshal(body, &only) == nil {
			version = only.Schema
		}
	}
	switch {
	case version > SchemaVersion:
		return nil, fmt.Errorf("it was written by a newer toolkit (schema %d, known is %d)", version, SchemaVersion)
	case err != nil:
		return nil, fmt.Errorf("it does not fit the schema: %w", err)
	case version < 1:
		return nil, errors.New("it names no schema version")
	}
	return &p, nil
}

// read is one of the two files: nil without an error when it is not there.
func read(path string) (*Progress, []byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the state: %w", err)
	}
	defer f.Close()
	const most = 64 << 20
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, nil, fmt.Errorf("read the state: %w", err)
	}
	p, err := decode(data)
	if err != nil {
		return nil, data, exit.Fail("'ralph-checkpoint recover' takes the copy in the git directory, or what the commits prove", "%s is damaged: %w", path, err)
	}
	return p, data, nil
}

// holds reports whether the file at path has that very content: the usual case, in which one reading serves for both.
func holds(path string, data []byte) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(data)) {
		return false
	}
	other, err := os.ReadFile(path)
	return err == nil && bytes.Equal(other, data)
}

// Load is the state, or nil where there never was one. The worktree's file counts; where it was deleted (git clean) or
// is older (a crash between the two writes) the copy does. A damaged file is refused, never taken for none.
func (s *Store) Load() (*Progress, error) {
	p, data, err := read(s.path())
	if err != nil {
		return nil, err
	}
	if p != nil && holds(s.copy(), data) {
		return p, nil
	}
	c, _, copyErr := read(s.copy())
	switch {
	case p == nil && copyErr != nil:
		return nil, copyErr
	case p == nil || copyErr == nil && c != nil && c.Serial > p.Serial:
		return c, nil
	}
	return p, nil
}

// Update is one read-modify-write under the write lock. change gets the present state, or nil, and gives the next one;
// an error leaves everything as it was.
func (s *Store) Update(ctx context.Context, change func(*Progress) (*Progress, error)) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := s.Load()
	if err != nil {
		return err
	}
	next, err := change(p)
	if err != nil {
		return err
	}
	return s.write(next)
}

// UpdateLearnings lets change work on the learnings of the run; ran is false where there never was one. ingested is the
// requirement whose report it takes in, or "": that step is recorded with it.
func (s *Store) UpdateLearnings(ctx context.Context, ingested string, change func(*learn.Windows) error) (ran bool, err error) {
	if !s.exists() {
		return false, nil
	}
	gone := false
	err = s.Update(ctx, func(p *Progress) (*Progress, error) {
		if gone = p == nil; gone { // moved away meanwhile
			return nil, errNoRun()
		}
		// Taken in again after it is settled, by hand perhaps, it stays settled.
		if r := p.Find(ingested); r != nil && (r.Status == Done && r.Steps.State.IsZero() || r.failed() && r.Steps.Learnings.IsZero()) {
			r.Steps.Learnings = r.Steps.after(s.now().UTC().Truncate(time.Second))
		}
		return p, change(&p.Learnings)
	})
	if gone {
		return false, nil
	}
	return true, err
}

// exists reports whether there is a state that Load would give, or refuse. It makes nothing, as the lock would.
func (s *Store) exists() bool {
	for _, path := range []string{s.path(), s.copy()} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// RecordTold records of a requirement how its learnings were told to on.learned: problem is why that failed, or "". One
// that failed once is not called well by the next.
func (s *Store) RecordTold(ctx context.Context, id, problem string) error {
	result := called
	if problem != "" {
		result = notCalled + problem
	}
	if p, err := s.Load(); err != nil || p == nil || p.Find(id) == nil {
		return err
	}
	return s.Update(ctx, func(p *Progress) (*Progress, error) {
		if r := p.Find(id); r != nil && (r.OnLearned == "" || r.OnLearned == called) {
			r.OnLearned = result
		}
		return p, nil
	})
}

// What a requirement's OnLearned says of the commands that were told its learnings.
const (
	called    = "called"
	notCalled = "failed: " // with why behind it
)

// lock takes the write lock, waiting for at most a minute.
func (s *Store) lock(ctx context.Context) (func(), error) {
	if err := os.MkdirAll(s.repo.StateDir(), 0o777); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	l := flock.New(filepath.Join(s.repo.StateDir(), "write.lock"))
	if ok, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return nil, fmt.Errorf("wait for the write lock: %w", err)
	}
	return func() { _ = l.Unlock() }, nil
}

// sweep removes what killed writers left half-written in the state folders. With the run lock and both locks of the
// learnings held nobody else writes there.
func (s *Store) sweep(ctx context.Context) error {
	sprint := s.repo.Sprint()
	if _, err := os.Lstat(sprint); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	release, err := learn.Lock(ctx, sprint)
	if err != nil {
		return err
	}
	defer release()
	for _, dir := range []string{s.repo.StateDir(), gate.CacheDir(s.repo), filepath.Dir(sprint), sprint, filepath.Join(sprint, digestsDir), filepath.Join(sprint, summariesDir)} {
		if err := atomicfile.Sweep(dir); err != nil {
			return err
		}
	}
	return nil
}

// write stores p as the next state: the copy first, then the worktree's file.
func (s *Store) write(p *Progress) error {
	p.Schema = SchemaVersion
	p.Serial++
	p.CheckpointAt = s.now().UTC().Truncate(time.Second)
	p.recount()
	data, err := encode(p)
	if err != nil {
		return err
	}
	if err := s.EnsureSprint(); err != nil {
		return err
	}
	if err := atomicfile.Write(s.copy(), data); err != nil {
		return err
	}
	return atomicfile.Write(s.path(), data)
}

// EnsureSprint makes the worktree's state folder, hidden from git by a .gitignore that hides itself too.
func (s *Store) EnsureSprint() error {
	top := filepath.Dir(s.repo.Sprint())
	if err := os.MkdirAll(s.repo.Sprint(), 0o777); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	ignore := filepath.Join(top, ".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return atomicfile.Write(ignore, []byte("*\n"))
}
