package githooks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
)

// Change is what Install or Uninstall did with one hook, in a word or two.
type Change struct{ Path, What string }

// Install puts the hooks where git looks for them. A hook that is there already is kept beside ours, which runs it first.
// It looks at all of them before it writes the first, and refuses where another program writes the hooks.
func Install(ctx context.Context, repo *git.Repo) ([]Change, error) {
	place, err := Find(ctx, repo)
	if err != nil {
		return nil, err
	}
	if err := place.refusal(); err != nil {
		return nil, err
	}
	var found []Hook
	for _, name := range Names {
		h, err := look(place.Dir, name)
		if err != nil {
			return nil, err
		}
		if err := h.replaceable(); err != nil {
			return nil, err
		}
		found = append(found, h)
	}
	if err := os.MkdirAll(place.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder of the hooks: %w", err)
	}
	var done []Change
	for _, h := range found {
		change := Change{h.Path, "installed"}
		switch h.State {
		case Current:
			change.What = "is up to date"
		case ByHand:
			change.What = "is there already, put there by hand"
		case Older:
			change.What = "brought up to date"
		}
		if h.State == Foreign {
			if err := os.Rename(h.Path, h.Path+Chained); err != nil {
				return done, fmt.Errorf("keep the hook that is there: %w", err)
			}
			h.Chained = true
		}
		if h.State != Current && h.State != ByHand {
			if err := atomicfile.WriteExecutable(h.Path, []byte(text())); err != nil {
				return done, fmt.Errorf("install a hook: %w", err)
			}
		}
		if h.Chained {
			change.What += "; " + filepath.Base(h.Path) + Chained + " runs first"
		}
		done = append(done, change)
	}
	return done, nil
}

// replaceable says why a hook cannot be put there, or is nil.
func (h *Hook) replaceable() error {
	switch {
	case h.State == Edited:
		return exit.Refuse("move your own lines elsewhere and remove the file, then install again", "%q is ours, but somebody changed it", h.Path)
	case h.Owner != "":
		return exit.Refuse(inOwner(h.Owner), "%q belongs to %s, which would write over ours", h.Path, h.Owner)
	case h.State == Foreign && h.Chained:
		return exit.Refuse("keep one of the two", "%q is not ours, and %s is there too", h.Path, filepath.Base(h.Path)+Chained)
	}
	return nil
}

// Uninstall removes the hooks that we wrote, and gives back the ones that were there before. It leaves what is not ours, and
// says so where it finds nothing else.
// Beside the place where git looks now it looks in the usual one, since core.hooksPath may have come later.
func Uninstall(ctx context.Context, repo *git.Repo) ([]Change, error) {
	place, err := Find(ctx, repo)
	if err != nil {
		return nil, err
	}
	dirs := []string{place.Usual}
	if place.Dir != place.Usual && place.refusal() == nil {
		dirs = append(dirs, place.Dir)
	}
	var found []Hook
	for _, dir := range dirs {
		for _, name := range Names {
			h, err := look(dir, name)
			if err != nil {
				return nil, err
			}
			if h.State == Edited {
				return nil, exit.Refuse("take your own lines out and remove the file", "%q is ours, but somebody changed it", h.Path)
			}
			found = append(found, h)
		}
	}
	var done []Change
	for _, h := range found {
		ours := h.State == Current || h.State == Older
		switch {
		case h.Chained && (ours || h.State == Absent):
			if err := os.Rename(h.Path+Chained, h.Path); err != nil {
				return done, fmt.Errorf("give a hook back: %w", err)
			}
			done = append(done, Change{h.Path, "is again what it was before"})
		case ours:
			if err := os.Remove(h.Path); err != nil {
				return done, fmt.Errorf("remove a hook: %w", err)
			}
			done = append(done, Change{h.Path, "removed"})
		case h.State == ByHand:
			done = append(done, Change{h.Path, "was put there by hand, and stays"})
		}
	}
	if len(done) == 0 {
		done = append(done, Change{place.Dir, "holds no hook of ours"})
	}
	return done, nil
}
