package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/git"
)

// The loop's index has no flags, which could hide what an attempt did. The user's own are remembered as the loop begins, and
// set again where it gives the index back.

// Flag is one by which git passes over a file's changes.
type Flag string

// The flags, as git update-index calls them.
const (
	SkipWorktree    Flag = "skip-worktree"
	AssumeUnchanged Flag = "assume-unchanged"
)

// Flags are those in the index, by path.
func (w *Workspace) Flags(ctx context.Context) (map[string][]Flag, error) {
	out, err := w.Repo.Output(ctx, "ls-files", "-z", "-v")
	if err != nil {
		return nil, err
	}
	return parseFlags(out), nil
}

// parseFlags reads what ls-files -v prints: a letter, a space and the path, each. A small one is assume-unchanged.
func parseFlags(out []byte) map[string][]Flag {
	flags := map[string][]Flag{}
	for _, record := range git.Records(out) {
		letter, path, _ := strings.Cut(record, " ")
		if strings.EqualFold(letter, "s") {
			flags[path] = append(flags[path], SkipWorktree)
		}
		if letter != strings.ToUpper(letter) {
			flags[path] = append(flags[path], AssumeUnchanged)
		}
	}
	return flags
}

func (w *Workspace) flagsPath() string { return filepath.Join(w.Repo.StateDir(), "flags") }

// NoteFlags remembers the flags in the index, beside those that were remembered and not set again since.
func (w *Workspace) NoteFlags(ctx context.Context) error {
	out, err := w.Repo.Output(ctx, "ls-files", "-z", "-v")
	if err != nil {
		return err
	}
	before, err := os.ReadFile(w.flagsPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the flags of the index: %w", err)
	}
	flagged := git.Records(before)
	known := len(flagged)
	for _, record := range git.Records(out) {
		if len(parseFlags([]byte(record))) > 0 && !slices.Contains(flagged[:known], record) {
			flagged = append(flagged, record)
		}
	}
	if len(flagged) == known {
		return nil
	}
	return atomicfile.Write(w.flagsPath(), ended(flagged))
}

// RestoreFlags sets the remembered flags again, at those paths that the index still has, and forgets them.
func (w *Workspace) RestoreFlags(ctx context.Context) error {
	data, err := os.ReadFile(w.flagsPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the flags of the index: %w", err)
	}
	if err := w.setFlags(ctx, parseFlags(data)); err != nil {
		return err
	}
	return os.Remove(w.flagsPath())
}

// WithFlags does something that makes the index anew, and sets the flags again that it had.
func (w *Workspace) WithFlags(ctx context.Context, do func() error) error {
	flags, err := w.Flags(ctx)
	if err != nil {
		return err
	}
	err = do()
	if again := w.setFlags(context.WithoutCancel(ctx), flags); err == nil {
		err = again
	}
	return err
}

// setFlags sets flags at those paths that the index has.
func (w *Workspace) setFlags(ctx context.Context, flags map[string][]Flag) error {
	if len(flags) == 0 {
		return nil
	}
	out, err := w.Repo.Output(ctx, "ls-files", "-z")
	if err != nil {
		return err
	}
	marked := map[Flag][]string{}
	for _, path := range git.Records(out) {
		for _, flag := range flags[path] {
			marked[flag] = append(marked[flag], path)
		}
	}
	for flag, paths := range marked {
		if err := updateIndex(ctx, w.Repo, ended(paths), "--"+string(flag)); err != nil {
			return fmt.Errorf("set the flags of the index again: %w", err)
		}
	}
	return nil
}
