package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/git"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/run"
)

// The cache keeps passing answers, each in a file named after all that the layer looked at. A layer's version is a
// part of that: it is raised when the layer's rules change.

// inputs are everything that a layer's answer depends on.
type inputs struct {
	Layer       string
	Version     int
	Tree        string
	Base        string   `json:",omitempty"` // the baseline's tree, where the layer compares
	Others      []string `json:",omitempty"` // then also the other parents of a merge
	Settings    []any    // the configuration in force, as far as this layer reads it
	Requirement []any    `json:",omitempty"` // as far as this layer reads it
	Machine     []string
}

func (in inputs) key() string {
	// Only strings, numbers and lists of them: they cannot fail to be written.
	data, _ := json.Marshal(in)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

type cache struct {
	dir    string
	now    func() time.Time
	pruned bool // looked after in this run
}

// CacheDir is the folder of the cache.
func CacheDir(repo *git.Repo) string { return filepath.Join(repo.StateDir(), "cache") }

func newCache(repo *git.Repo, now func() time.Time) *cache {
	return &cache{dir: CacheDir(repo), now: now}
}

// CacheEntry is one kept answer.
type CacheEntry struct {
	Version int       `json:"version"`
	Key     string    `json:"key"`
	Name    string    `json:"name"` // of the layer, or of a part of one
	Tree    string    `json:"tree"`
	At      time.Time `json:"at"`
	Layer   *Layer    `json:"layer,omitempty"`
	Names   []string  `json:"names,omitempty"`    // of a test run: the tests that passed
	Old     []Finding `json:"findings,omitempty"` // of a baseline: what its tools said
	Facts   *facts    `json:"facts,omitempty"`    // of a tree and a commit: see Recall
}

const cacheVersion = 1

// read gives the entry of that key. A file that is damaged, or is another key's, is no entry.
func (c *cache) read(key string) (*CacheEntry, bool) {
	data, err := os.ReadFile(filepath.Join(c.dir, key))
	if err != nil {
		return nil, false
	}
	var e CacheEntry
	if json.Unmarshal(data, &e) != nil || e.Version != cacheVersion || e.Key != key {
		return nil, false
	}
	return &e, true
}

func (c *cache) get(key string) (Layer, bool) {
	e, ok := c.read(key)
	if !ok || e.Layer == nil || (e.Layer.Result != Pass && e.Layer.Result != NotApplicable) {
		return Layer{}, false
	}
	e.Layer.Cached = true
	return *e.Layer, true
}

// put keeps a layer's answer if it is pass or not-applicable. That it could not be kept is a note: it costs time later
// and nothing else.
func (c *cache) put(key, name, tree string, l *Layer) {
	if l.Result != Pass && l.Result != NotApplicable {
		return
	}
	kept := *l
	kept.Log = "" // it will be gone
	if err := c.write(CacheEntry{Key: key, Name: name, Tree: tree, Layer: &kept}); err != nil {
		l.Notes = append(l.Notes, "the answer could not be kept: "+err.Error())
	}
}

func (c *cache) write(e CacheEntry) error {
	e.Version, e.At = cacheVersion, c.now().UTC().Truncate(time.Second)
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, ".answer"+atomicfile.Infix)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	// No fsync: a file that a crash cuts short is no entry.
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, e.Key))
	}
	failpoint.Step("keep an answer")
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	c.prune()
	return nil
}

// The bounds of the cache. An answer is some hundred bytes, the names of a large suite's tests some hundred thousand.
const (
	maxEntries = 2000
	maxBytes   = 32 << 20
	maxAge     = 90 * 24 * time.Hour // since it was given
	pruneEvery = 24 * time.Hour      // age and size are looked at
)

// prune drops what is too old and, where the rest is too many or too much, all but the newest, down to half of each bound.
// Two at once do no harm: what one has removed the other passes over. It looks once a day, or when there are too many.
func (c *cache) prune() {
	if c.pruned {
		return
	}
	c.pruned = true
	names, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	now := c.now()
	last := filepath.Join(c.dir, ".pruned")
	if info, err := os.Stat(last); err == nil && now.Sub(info.ModTime()).Abs() < pruneEvery && len(names) <= maxEntries {
		return
	}
	type aged struct {
		path string
		at   time.Time
		size int64
	}
	var files []aged
	var size int64
	for _, n := range names {
		path := filepath.Join(c.dir, n.Name())
		info, err := n.Info()
		switch {
		case err != nil || path == last:
		case now.Sub(info.ModTime()) > maxAge:
			_ = os.Remove(path)
		default:
			files = append(files, aged{path, info.ModTime(), info.Size()})
			size += info.Size()
		}
	}
	if len(files) > maxEntries || size > maxBytes {
		slices.SortFunc(files, func(a, b aged) int { return b.at.Compare(a.at) })
		size = 0
		for i, f := range files {
			if size += f.size; i >= maxEntries/2 || size > maxBytes/2 {
				_ = os.Remove(f.path)
			}
		}
	}
	// That it cannot be noted costs time and nothing else.
	_ = os.WriteFile(last, nil, 0o644)
	_ = os.Chtimes(last, now, now)
}

// ListCache gives the kept answers, the newest first.
func ListCache(repo *git.Repo) ([]CacheEntry, error) {
	c := newCache(repo, nil)
	names, err := os.ReadDir(c.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("list the cache: %w", err)
	}
	var list []CacheEntry
	for _, n := range names {
		if e, ok := c.read(n.Name()); ok && e.Layer != nil {
			list = append(list, *e)
		}
	}
	slices.SortFunc(list, func(a, b CacheEntry) int {
		if d := b.At.Compare(a.At); d != 0 {
			return d
		}
		return strings.Compare(a.Name+a.Key, b.Name+b.Key)
	})
	return list, nil
}

// ClearCache forgets all kept answers.
func ClearCache(repo *git.Repo) error {
	if err := clearCache(newCache(repo, nil).dir); err != nil {
		return exit.Fail("check who owns that folder", "clear the cache: %w", err)
	}
	return nil
}

func clearCache(dir string) error {
	err := os.RemoveAll(dir)
	for range 100 { // another gate may be writing
		if err == nil || errors.Is(err, fs.ErrPermission) {
			break
		}
		time.Sleep(5 * time.Millisecond)
		err = os.RemoveAll(dir)
	}
	return err
}

// machine is what the tools themselves are: each program's real path, size, inode and time, and the settings of the
// go command that change what it builds. Asking a tool for its version would take longer than the whole answer.
func (j *judge) machine(commands ...[]string) []string {
	var out []string
	seen := map[string]bool{}
	for _, args := range commands {
		for _, name := range programsOf(args) {
			if !seen[name] {
				seen[name] = true
				out = append(out, j.lookedAt("program "+name, func() string { return identity(name, j.Repo.Top, j.Environ) }))
			}
		}
	}
	for _, kv := range j.Environ {
		key, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(key, "GO") || strings.HasPrefix(key, "CGO_") || key == "CC" || key == "CXX" {
			out = append(out, kv)
		}
	}
	slices.Sort(out)
	for _, link := range j.Config.Gate.Link {
		out = append(out, j.lookedAt("link "+link, func() string { return linkDigest(j.Repo.Top, link) }))
	}
	return out
}

// lookedAt is what look gives, looked at once until a tool is run, which may change anything: several layers ask for the
// same, and node_modules may be large.
func (j *judge) lookedAt(what string, look func() string) string {
	text, ok := j.seen[what]
	if !ok {
		if j.seen == nil {
			j.seen = map[string]string{}
		}
		text = look()
		j.seen[what] = text
	}
	return text
}

var (
	assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=[^\s'"` + "`" + `$\\]*$`)
	plainWord  = lazyregexp.New(`^[A-Za-z0-9_./+@-]+$`)
)

// shellWords are those that sh itself understands, or that it need not look for on PATH.
var shellWords = strings.Fields(`. [ alias break case cd command continue do echo eval exec exit export false for if kill
	printf pwd read readonly return set shift test time times trap true type ulimit umask unalias unset until wait while`)

// programsOf are the programs that a command surely runs: its first word, and the first word of a line for sh where that
// names one.
func programsOf(args []string) []string {
	if len(args) != 3 || args[0] != "sh" || args[1] != "-c" {
		return args[:1]
	}
	words := strings.Fields(args[2])
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || !plainWord.MatchString(words[0]) || slices.Contains(shellWords, words[0]) {
		return []string{"sh"}
	}
	return []string{"sh", words[0]}
}

func identity(name, dir string, environ []string) string {
	path, err := run.LookPath(name, dir, environ)
	if err != nil {
		return name + " not found"
	}
	info, err := os.Stat(path)
	if err != nil {
		return name + " not found"
	}
	return fmt.Sprintf("%s %s %d %d %d", name, path, info.Size(), inode(info), info.ModTime().UnixNano())
}

// linkDigest tells whether a linked file or folder changed: a file by its content, a folder by its own and its
// entries' times. Deeper edits inside node_modules are not seen; package managers change the top.
func linkDigest(top, name string) string {
	path := filepath.Join(top, filepath.FromSlash(name))
	info, err := os.Stat(path)
	if err != nil {
		return name + " absent"
	}
	h := sha256.New()
	if !info.IsDir() {
		data, err := os.ReadFile(path)
		if err != nil {
			return name + " unreadable " + info.ModTime().String()
		}
		h.Write(data)
		return name + " " + hex.EncodeToString(h.Sum(nil))
	}
	fmt.Fprintln(h, inode(info), info.ModTime().UnixNano())
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if i, err := e.Info(); err == nil {
			fmt.Fprintf(h, "%q %d %d\n", e.Name(), i.Size(), i.ModTime().UnixNano())
		}
	}
	return name + " " + hex.EncodeToString(h.Sum(nil))
}
