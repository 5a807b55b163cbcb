package learn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"gopkg.in/yaml.v3"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
)

// StoreFile is the name of the file that holds the windows outside a run.
const StoreFile = "learnings.yaml"

const (
	lockFile  = "learnings.lock"
	lockLimit = 30 * time.Second // how long another writer is waited for

	tellingFile = "telling.lock"
	sealWord    = "# sha256 "
)

// LoadStore reads the windows from their file in dir. No file is empty windows; a damaged one is refused, since an
// empty answer would forget what was learned.
func LoadStore(dir string) (*Windows, error) {
	name := filepath.Join(dir, StoreFile)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &Windows{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the learnings: %w", err)
	}
	body, ok := unsealed(data)
	var w Windows
	if ok {
		ok = yaml.Unmarshal(body, &w) == nil
	}
	if !ok {
		return nil, exit.Fail("move it away to begin anew; what expired stays in "+HistoryFile, "%q is damaged: its last line does not fit its content", name)
	}
	return &w, nil
}

// Lock holds off every other writer of what is in dir until release is called.
func Lock(ctx context.Context, dir string) (release func(), err error) {
	return lock(ctx, dir, lockFile)
}

// LockTelling holds off every other program that tells what was learned: nobody is told twice by two at once.
func LockTelling(ctx context.Context, dir string) (release func(), err error) {
	return lock(ctx, dir, tellingFile)
}

func lock(ctx context.Context, dir, name string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	file := flock.New(filepath.Join(dir, name))
	if locked, err := file.TryLockContext(ctx, 5*time.Millisecond); err != nil || !locked {
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, exit.Fail("see which process holds it, and try again", "%q has been locked for %s", file.Path(), lockLimit)
		}
		return nil, fmt.Errorf("lock the learnings: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// UpdateStore reads the windows in dir, lets change work on them and writes them back, with every other writer held
// off. Nothing is written if change returns an error. What is on the disk is the old file or the new one, never a mix.
func UpdateStore(ctx context.Context, dir string, change func(*Windows) error) error {
	release, err := Lock(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	w, err := LoadStore(dir)
	if err != nil {
		return err
	}
	if err := change(w); err != nil {
		return err
	}
	body, err := yaml.Marshal(w)
	if err != nil {
		return fmt.Errorf("write the learnings: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(dir, StoreFile), sealed(body)); err != nil {
		return fmt.Errorf("write the learnings: %w", err)
	}
	return nil
}

// sealed adds the line that proves the text whole.
func sealed(body []byte) []byte {
	return append(body, fmt.Sprintf("%s%x\n", sealWord, sha256.Sum256(body))...)
}

// unsealed takes the seal off; ok is false if there is none, or if it does not fit.
func unsealed(data []byte) (body []byte, ok bool) {
	at := bytes.LastIndex(data, []byte("\n"+sealWord))
	if at < 0 {
		return nil, false
	}
	body = data[:at+1]
	return body, bytes.Equal(sealed(bytes.Clone(body)), data)
}
