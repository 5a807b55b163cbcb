package agentsmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
)

// MaxSize is the largest AGENTS.md that is worked on, in bytes.
const MaxSize = 16 << 20

// File is AGENTS.md as it stands in a worktree. A symbolic link is followed, as agents follow it: the file that it
// leads to is read and written, the link stays. It must lead to a file in the same worktree.
type File struct {
	Path string // absolute, links resolved
	Rel  string // the same below the worktree's top, with slashes
	Data []byte // nil if there is no file yet
	Mode fs.FileMode
}

// Open reads AGENTS.md at the top of a worktree. That there is none is no error.
func Open(top string) (*File, error) {
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", Name, err)
	}
	f := &File{Path: filepath.Join(top, Name), Rel: Name, Mode: 0o644}
	info, err := os.Lstat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", Name, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := filepath.EvalSymlinks(f.Path)
		if err != nil {
			return nil, exit.Fail("create the file that it leads to, or remove the link", "%s is a link that leads nowhere", Name)
		}
		rel, err := filepath.Rel(top, target)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) || strings.HasPrefix(filepath.ToSlash(rel), ".git/") {
			return nil, exit.Fail("make it lead to a file of this repository", "%s is a link that leads out of the worktree, to %q", Name, target)
		}
		f.Path, f.Rel = target, filepath.ToSlash(rel)
		if info, err = os.Stat(target); err != nil {
			return nil, fmt.Errorf("read %s: %w", Name, err)
		}
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, exit.Fail("move it away", "%s is no regular file", Name)
	case info.Size() > MaxSize:
		return nil, exit.Fail("shorten it: an agent could not read it either", "%s has %d bytes, more than %d", Name, info.Size(), MaxSize)
	}
	f.Mode = info.Mode().Perm()
	if f.Data, err = os.ReadFile(f.Path); err != nil {
		return nil, fmt.Errorf("read %s: %w", Name, err)
	}
	return f, nil
}

// Write replaces the file's content, atomically, and keeps its mode. A file that its owner made read-only is not
// replaced, although a rename could.
func (f *File) Write(data []byte) error {
	if f.Data != nil {
		probe, err := os.OpenFile(f.Path, os.O_WRONLY, 0)
		if err == nil {
			err = probe.Close()
		}
		if err != nil || f.Mode&0o222 == 0 {
			return exit.Fail("chmod u+w "+f.Rel, "%s is read-only", Name)
		}
	}
	if err := atomicfile.Write(f.Path, data); err != nil {
		return err
	}
	if f.Mode != 0o644 {
		if err := os.Chmod(f.Path, f.Mode); err != nil {
			return fmt.Errorf("keep the mode of %s: %w", Name, err)
		}
		failpoint.Step("keep the mode of AGENTS.md")
	}
	f.Data = data
	return nil
}

// SaveArchive adds sections to the archive in dir, one file a month, and to its index. It comes before they are taken
// out of AGENTS.md: a crash between the two leaves a section in both places, never in none.
func SaveArchive(dir string, sections []Found) error {
	if len(sections) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("archive sections of %s: %w", Name, err)
	}
	byFile := map[string][]Found{}
	var names []string
	for _, s := range sections {
		name := s.ArchiveName()
		if byFile[name] == nil {
			names = append(names, name)
		}
		byFile[name] = append(byFile[name], s)
	}
	for _, name := range names {
		if err := extend(filepath.Join(dir, name), byFile[name], Archived); err != nil {
			return err
		}
	}
	return extend(filepath.Join(dir, ArchiveIndex), sections, Indexed)
}

func extend(path string, sections []Found, add func([]byte, []Found) []byte) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("archive sections of %s: %w", Name, err)
	}
	return atomicfile.Write(path, add(old, sections))
}
