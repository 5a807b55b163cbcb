package githooks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ralph-loop/hooks"
)

// Chained is what is put behind the name of a hook that was there before ours; ours runs it first.
const Chained = ".before-ralph"

// What stands under a hook's name.
type State string

// Only what is current or older is ours to replace or remove.
const (
	Absent  State = "absent"
	Current State = "current"
	Older   State = "older"   // ours, of another version of the toolkit
	Edited  State = "edited"  // ours, and somebody changed it
	ByHand  State = "by hand" // the toolkit's script as it stands in its folder, or a link to it: somebody put it there
	Foreign State = "foreign" // not ours
)

// Hook is one hook as it stands in a folder.
type Hook struct {
	Path    string
	State   State
	Owner   string // of a foreign one: the program that wrote it, if it is a known one
	Chained bool   // another one waits beside it for ours to run it
}

// runsTheGate reports whether the hook is the toolkit's, whole, whoever put it there.
func (h *Hook) runsTheGate() bool { return h.State == Current || h.State == Older || h.State == ByHand }

const mark = "# ralph-gate wrote this file, sha256 "

// text is the hook as it is installed: its second line holds the checksum of all the others, so that every later version
// knows what an earlier one wrote, and what somebody changed.
func text() string {
	first, rest, _ := strings.Cut(hooks.Script, "\n")
	return first + "\n" + mark + checksum(hooks.Script) + "\n" + rest
}

// look tells what stands under a hook's name.
func look(dir, name string) (Hook, error) {
	h := Hook{Path: filepath.Join(dir, name), State: Absent}
	if _, err := os.Lstat(h.Path + Chained); err == nil {
		h.Chained = true
	} else if !isNothing(err) {
		return h, fmt.Errorf("look at a hook: %w", err)
	}
	info, err := os.Lstat(h.Path)
	switch {
	case isNothing(err):
		return h, nil
	case err != nil:
		return h, fmt.Errorf("look at a hook: %w", err)
	case info.IsDir():
		return h, fmt.Errorf("look at a hook: %q is a folder", h.Path)
	}
	data, err := os.ReadFile(h.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) { // a link that leads nowhere, or in a circle
		h.State = Foreign
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("look at a hook: %w", err)
	}
	h.State = stateOf(string(data))
	if info.Mode()&fs.ModeSymlink != 0 && h.State != ByHand {
		h.State = Foreign // what we write is a file
	}
	if h.State == Foreign {
		for _, o := range owners {
			if strings.Contains(string(data), o.mark) {
				h.Owner = o.name
				break
			}
		}
	}
	return h, nil
}

// isNothing reports whether there is nothing at a path, not even a folder to hold it (/dev/null/pre-commit).
func isNothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func stateOf(data string) State {
	switch data {
	case text():
		return Current
	case hooks.Script:
		return ByHand
	}
	first, rest, _ := strings.Cut(data, "\n")
	line, rest, _ := strings.Cut(rest, "\n")
	want, ours := strings.CutPrefix(line, mark)
	if !ours {
		return Foreign
	}
	if checksum(first+"\n"+rest) != want {
		return Edited
	}
	return Older
}

func checksum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
