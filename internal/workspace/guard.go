package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
)

// Guard is what is not an agent's to change, as it was before the agent was let loose: where the refs point, git's settings
// and hooks, the toolkit's own state. It lies on disk while the agent runs: when this program is killed, the next one finds
// there what to put back, and which processes are still to be ended.
type Guard struct {
	Marker    string                 // that the agent's processes have
	Attempt   int                    // its number
	Refs      map[string]string      // full name → hash
	Symbolic  map[string]string      // of those that lead to another ref: which one
	Other     map[string]bool        // the branches that other worktrees have checked out
	Files     map[string]File        // absolute path → content
	Locks     []string               // git's, which were there: somebody else's
	Modules   []string               // the roots of what is guarded of submodules
	Control   map[string]*File       // what steers the loop and is in no tree, from the worktree's top; nil: nothing was there
	Folders   map[string]fs.FileMode // absolute path → permissions
	Hooks     map[string]*File       // absolute path → content, where core.hooksPath leads elsewhere; nil: nothing was there
	Roots     []string               // where the worktree and the git directories were, as roots says
	Worktrees []string               // the linked worktrees that the repository has
	Special   []string               // named pipes and their like, which were there
}

// id is the attempt's in the names of the refs that keep what it did.
func (g *Guard) id(w *Workspace) string { return fmt.Sprintf("%s-%d", w.Req, g.Attempt) }

// maxGuarded is the largest file that can be put back, in bytes; settings, hooks and state are far smaller.
const maxGuarded = 64 << 20

// maxGuardedInAll bounds the memory, in bytes: an agent may leave any number of files in the state folder.
const maxGuardedInAll = 256 << 20

// guarded are the roots of what is guarded: files, or folders with all below them. modules is Guard.Modules.
func (w *Workspace) guarded(modules []string) []string {
	common, own := w.Repo.CommonDir, w.Repo.GitDir
	roots := []string{
		filepath.Join(common, "config"), filepath.Join(common, "hooks"), filepath.Join(common, "info"),
		w.stashLog(),
		// By these git takes history for shorter than it is, and objects from elsewhere.
		filepath.Join(common, "shallow"), filepath.Join(common, "objects", "info", "alternates"), filepath.Join(common, "objects", "info", "http-alternates"),
		filepath.Join(own, "config.worktree"), filepath.Join(own, "ralph"),
		// What else lies in .sprint-state is not ours.
		w.Repo.Sprint(), BaselinePath(w.Repo), filepath.Join(filepath.Dir(w.Repo.Sprint()), ".gitignore"),
	}
	roots = append(roots, modules...)
	if own != common {
		roots = append(roots, filepath.Join(own, "info"))
	}
	return roots
}

// unguarded are the files below the roots that change for good reasons while an agent runs. A link is none by its name: a
// lock that is one, or a named pipe, would lead the next program of ours astray, or hold it up.
func (w *Workspace) unguarded(path string, kind fs.FileMode) bool {
	if path == ReportPath(w.Repo) || path == w.guardPath() {
		return true
	}
	if runs := RunsDir(w.Repo); path == runs || below(path, runs) {
		return true
	}
	name := filepath.Base(path)
	return kind.IsRegular() && (path == RunLockPath(w.Repo) || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".log") && name != StateFile || atomicfile.IsTemporary(name))
}

func below(path, dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }

// settings are what lies in a git directory and says what git does there.
var settings = []string{"config", "config.worktree", "hooks", "info"}

// modules are, of the submodules that are checked out, inner ones too, the files that name their git directories, and the
// settings in these: they decide what a checkout of their commits is.
func (w *Workspace) modules(ctx context.Context) (roots []string, err error) {
	if _, some, err := w.Repo.File(ctx, w.Baseline, ".gitmodules"); !some || err != nil {
		return nil, err
	}
	subs, err := w.Repo.Submodules(ctx, w.Baseline)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(subs)) {
		named := filepath.Join(subs[path].Top, ".git")
		if info, err := os.Lstat(named); err == nil && !info.IsDir() {
			roots = append(roots, named)
		}
		for _, name := range settings {
			roots = append(roots, filepath.Join(subs[path].GitDir, name))
		}
	}
	return roots, nil
}

func (w *Workspace) readGuarded(modules []string) (map[string]File, error) {
	files, size := map[string]File{}, int64(0)
	for _, root := range w.guarded(modules) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || w.unguarded(path, d.Type()) {
				return err
			}
			if d.IsDir() {
				if below(path, w.Repo.Sprint()) { // one may stand where the loop is about to write a file
					files[path] = File{Mode: fs.ModeDir, Unread: true}
				}
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if info.Size() > maxGuarded || size+info.Size() > maxGuardedInAll || !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
				files[path] = File{Mode: info.Mode(), Unread: true}
				return nil
			}
			size += info.Size()
			f, err := readFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			files[path] = f
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", root, err)
		}
	}
	return files, nil
}

func (w *Workspace) guardPath() string { return filepath.Join(w.Repo.StateDir(), "attempt.json") }

// Remember makes a guard for the attempt of that number, whose agent's processes will have the marker, and writes it down.
func (w *Workspace) Remember(ctx context.Context, marker string, attempt int) (*Guard, error) {
	if err := w.Repo.KeepHead(); err != nil {
		return nil, err
	}
	refs, err := w.Repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	g := &Guard{Marker: marker, Attempt: attempt, Refs: refs.Hash, Symbolic: refs.Symbolic, Other: refs.Elsewhere, Locks: w.locks(), Folders: w.folders(), Worktrees: w.worktrees(), Special: w.special(), Roots: w.roots()}
	if g.Control, err = w.readControl(ctx, w.Control); err != nil {
		return nil, err
	}
	if err := w.keepControl(ctx); err != nil { // it is guarded itself
		return nil, err
	}
	if g.Modules, err = w.modules(ctx); err != nil {
		return nil, err
	}
	if g.Files, err = w.readGuarded(g.Modules); err != nil {
		return nil, err
	}
	if g.Hooks, err = w.readHooks(ctx, g.Modules); err != nil {
		return nil, err
	}
	data, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("remember what to put back: %w", err)
	}
	// It is only read by its owner, since git's settings may hold a password.
	if err := atomicfile.WritePrivate(w.guardPath(), data); err != nil {
		return nil, fmt.Errorf("remember what to put back: %w", err)
	}
	return g, nil
}

// Remembered is the guard that an attempt has written and not forgotten, since its program was killed; nil where there is
// none. A damaged one is an error: what it guarded is not known any more.
func (w *Workspace) Remembered() (*Guard, error) {
	data, err := os.ReadFile(w.guardPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what to put back: %w", err)
	}
	var g Guard
	if err := json.Unmarshal(data, &g); err != nil {
		return nil, exit.Fail("look at what the attempt left, then remove that file", "%s, which says what a killed attempt must not have changed, is damaged: %w", w.guardPath(), err)
	}
	g.rebase(w.roots())
	return &g, nil
}

// worktrees are the names of the linked worktrees.
func (w *Workspace) worktrees() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(w.Repo.CommonDir, "worktrees")) // none, mostly
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// roots are the folders that what is guarded lies in, the inner ones first.
func (w *Workspace) roots() []string {
	return []string{w.Repo.GitDir, w.Repo.CommonDir, w.Repo.Top}
}

// rebase names the files by where the roots are now: the project may have been moved since it was killed.
func (g *Guard) rebase(roots []string) {
	if len(g.Roots) != len(roots) || slices.Equal(g.Roots, roots) {
		return
	}
	moved := func(path string) string {
		for i, root := range g.Roots {
			if path == root || below(path, root) {
				return roots[i] + path[len(root):]
			}
		}
		return path
	}
	files, hooks := make(map[string]File, len(g.Files)), make(map[string]*File, len(g.Hooks))
	for path, f := range g.Files {
		files[moved(path)] = f
	}
	for path, f := range g.Hooks {
		hooks[moved(path)] = f
	}
	for i, path := range g.Locks {
		g.Locks[i] = moved(path)
	}
	for i, path := range g.Special {
		g.Special[i] = moved(path)
	}
	folders := make(map[string]fs.FileMode, len(g.Folders))
	for path, mode := range g.Folders {
		folders[moved(path)] = mode
	}
	for i, dir := range g.Modules {
		g.Modules[i] = moved(dir)
	}
	g.Files, g.Hooks, g.Folders, g.Roots = files, hooks, folders, roots
}

// Forget takes the guard off the disk: all is in order, and nobody needs it any more.
func (w *Workspace) Forget() error {
	if err := os.Remove(w.guardPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what to put back: %w", err)
	}
	failpoint.Step("remove attempt.json")
	return nil
}

// PutInOrder restores what differs from the guard, and says each difference. What was found in its place is kept under a
// ref, since it may be the user's own edit. ours gives, of the guarded files as they were and are, those that may differ:
// the loop's own programs wrote them meanwhile. Files come before refs: git must not be called with an agent's settings.
func (w *Workspace) PutInOrder(ctx context.Context, g *Guard, ours func(was, now map[string]File) map[string]bool) error {
	if err := w.PutBackModes(g); err != nil {
		return err
	}
	if err := w.DropLinks(); err != nil {
		return err
	}
	notes, err := w.dropLocks(w.guardPath(), g.Locks)
	if err != nil {
		return err
	}
	special, err := w.dropSpecial(g)
	if err != nil {
		return err
	}
	notes = append(notes, special...)
	for _, name := range w.worktrees() {
		if !slices.Contains(g.Worktrees, name) {
			notes = append(notes, fmt.Sprintf("a linked worktree %q was added and is left; 'git worktree list' shows where, 'git worktree remove' takes it away", name))
		}
	}
	mended, err := w.Repo.Mend(w.Branch, w.Baseline)
	if err != nil {
		return err
	}
	for _, name := range mended {
		notes = append(notes, fmt.Sprintf(".git/%s was damaged, and is mended", name))
	}
	stashLog, _ := os.ReadFile(w.stashLog()) // as the attempt left it; where there is none, the ref is kept as any other
	found, fileNotes, err := w.restoreFiles(g, ours)
	if err != nil {
		return err
	}
	hooks, hookNotes, err := w.restoreHooks(g)
	if err != nil {
		return err
	}
	maps.Copy(found, hooks)
	stashNotes, err := w.keepStashes(ctx, g, stashLog)
	if err != nil {
		return err
	}
	operations, err := w.endOperations(ctx, g.id(w))
	if err != nil {
		return err
	}
	notes = slices.Concat(notes, fileNotes, hookNotes, stashNotes, operations)
	refNotes, err := w.restoreRefs(ctx, g)
	if err != nil {
		return err
	}
	control, controlNotes, err := w.restoreControl(ctx, g.Control)
	if err != nil {
		return err
	}
	untracked, untrackedNotes, err := w.restoreUntracked(ctx)
	if err != nil {
		return err
	}
	protected, protectedNotes, err := w.restoreProtected(ctx)
	if err != nil {
		return err
	}
	notes = slices.Concat(notes, refNotes, controlNotes, untrackedNotes, protectedNotes)
	for _, more := range []map[string]File{control, untracked, protected} {
		for path, f := range more {
			found["worktree/"+path] = f
		}
	}
	if len(found) > 0 {
		ref, err := w.keepFiles(ctx, "found", g.id(w), found, "what an attempt had put in the place of protected files")
		if err != nil {
			return err
		}
		notes = append(notes, "what was found there is kept under "+ref)
	}
	slices.Sort(notes)
	for _, note := range notes {
		w.Say("put in order: %s", note)
	}
	return nil
}

// restoreFiles puts the guarded files back. It gives what it found in their place, by its name in a tree, and a line for
// each.
func (w *Workspace) restoreFiles(g *Guard, ours func(was, now map[string]File) map[string]bool) (found map[string]File, notes []string, err error) {
	found = map[string]File{}
	now, err := w.readGuarded(g.Modules)
	if err != nil {
		return nil, nil, err
	}
	allowed := ours(g.Files, now)
	for path, f := range now {
		was, known := g.Files[path]
		switch {
		case known && was.Unread && was.Mode.IsDir() == f.Mode.IsDir():
			continue
		case known && !was.Unread && !f.Unread && was.Same(f):
			continue
		case allowed[path]:
			continue
		case known && !was.Unread:
			err = was.Put(path)
		default:
			err = os.RemoveAll(path) // with its folder it may be gone already
			failpoint.Step("remove a file that was not there")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("put back %s: %w", path, err)
		}
		// An agent that runs the gate by itself fills its cache. The answers are not believed, and it did no wrong.
		if below(path, filepath.Join(w.Repo.GitDir, "ralph", "cache")) {
			continue
		}
		if !f.Unread {
			found[w.treeName(path)] = f
		}
		if !known {
			notes = append(notes, fmt.Sprintf("%s was created and is taken away", w.nameOf(path)))
		} else {
			notes = append(notes, fmt.Sprintf("%s was changed and is put back", w.nameOf(path)))
		}
	}
	for path, was := range g.Files {
		if _, ok := now[path]; ok || was.Mode.IsDir() {
			continue
		}
		if was.Unread {
			notes = append(notes, fmt.Sprintf("%s is gone, and was not kept: too large, or no file", w.nameOf(path)))
			continue
		}
		if err := was.Put(path); err != nil {
			return nil, nil, fmt.Errorf("put back %s: %w", path, err)
		}
		notes = append(notes, fmt.Sprintf("%s was deleted and is put back", w.nameOf(path)))
	}
	return found, notes, nil
}

// nameOf is how a file of ours or of git is called in notes.
func (w *Workspace) nameOf(path string) string {
	if rel, err := filepath.Rel(filepath.Dir(w.Repo.Sprint()), path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(filepath.Join(".sprint-state", rel))
	}
	for _, dir := range []string{w.Repo.GitDir, w.Repo.CommonDir} {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return ".git/" + filepath.ToSlash(rel)
		}
	}
	if rel, err := filepath.Rel(w.Repo.Top, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// treeName is the same name as a path in a tree, where git allows no ".git".
func (w *Workspace) treeName(path string) string {
	return strings.ReplaceAll(strings.TrimLeft(w.nameOf(path), "./"), "/.git", "/git")
}
