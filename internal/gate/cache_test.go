package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/git"
)

func at(second int) func() time.Time {
	return func() time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
}

func TestCacheKeepsOnlyPasses(t *testing.T) {
	c := &cache{dir: filepath.Join(t.TempDir(), "cache"), now: at(0)}
	for _, r := range []Result{Pass, NotApplicable, Fail, Error} {
		in := inputs{Layer: "L1", Tree: string(r)}
		l := Layer{Name: "L1", Result: r, Summary: "s", Share: &Share{1, 2}}
		c.put(in.key(), "L1", "t", &l)
		got, ok := c.get(in.key())
		if ok != (r == Pass || r == NotApplicable) {
			t.Errorf("%s: kept %v", r, ok)
		}
		if ok && (!got.Cached || got.Share == nil || *got.Share != Share{1, 2}) {
			t.Errorf("%s: came back as %+v", r, got)
		}
	}
}

func TestDamagedEntryIsAMiss(t *testing.T) {
	c := &cache{dir: filepath.Join(t.TempDir(), "cache"), now: at(0)}
	key := inputs{Layer: "L1"}.key()
	c.put(key, "L1", "t", &Layer{Result: Pass})
	whole, err := os.ReadFile(filepath.Join(c.dir, key))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"cut":         string(whole[:len(whole)/2]),
		"empty":       "",
		"another key": strings.Replace(string(whole), key, strings.Repeat("0", 64), 1),
		"a fail":      strings.Replace(string(whole), `"result":"pass"`, `"result":"fail"`, 1),
		"newer":       strings.Replace(string(whole), `"version":1`, `"version":2`, 1),
	} {
		if data == string(whole) {
			t.Fatalf("%s: nothing changed", name)
		}
		if err := os.WriteFile(filepath.Join(c.dir, key), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.get(key); ok {
			t.Errorf("%s: taken for an answer", name)
		}
	}
}

func TestCacheIsSafeForManyWriters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ralph", "cache")
	var wait sync.WaitGroup
	done := make(chan struct{})
	for w := range 8 {
		wait.Go(func() {
			for i := range 300 {
				c := &cache{dir: dir, now: time.Now} // as each process has one
				in := inputs{Layer: "L1", Tree: fmt.Sprint(i % 50), Version: w % 2}
				c.put(in.key(), "L1", "t", &Layer{Result: Pass, Summary: in.Tree})
				if l, ok := c.get(in.key()); ok && l.Summary != in.Tree {
					t.Errorf("%s holds %q", in.Tree, l.Summary)
				}
			}
		})
	}
	// And one that clears it meanwhile.
	cleared := make(chan error, 1)
	go func() {
		defer close(cleared)
		for {
			select {
			case <-done:
				return
			default:
				if err := clearCache(dir); err != nil {
					cleared <- err
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
	}()
	wait.Wait()
	close(done)
	if err := <-cleared; err != nil {
		t.Error(err)
	}
	c := &cache{dir: dir, now: time.Now}
	c.put(inputs{Layer: "last"}.key(), "L1", "t", &Layer{Result: Pass})
	if _, ok := c.get(inputs{Layer: "last"}.key()); !ok {
		t.Error("nothing can be kept any more")
	}
}

func TestCacheIsPruned(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	lay := func(t *testing.T, count int, size int64, age func(i int) time.Duration) (c *cache, left func() []string) {
		c = &cache{dir: t.TempDir(), now: func() time.Time { return now }}
		for i := range count {
			name := filepath.Join(c.dir, fmt.Sprintf("old%05d", i))
			if err := errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, size), os.Chtimes(name, now, now.Add(-age(i)))); err != nil {
				t.Fatal(err)
			}
		}
		return c, func() []string {
			t.Helper()
			c.put(inputs{Layer: "last"}.key(), "L1", "t", &Layer{Result: Pass})
			if _, ok := c.get(inputs{Layer: "last"}.key()); !ok {
				t.Error("the newest entry was pruned")
			}
			names, err := filepath.Glob(filepath.Join(c.dir, "old*"))
			if err != nil {
				t.Fatal(err)
			}
			return names
		}
	}
	minutes := func(i int) time.Duration { return time.Duration(i) * time.Minute }
	t.Run("by number", func(t *testing.T) {
		_, left := lay(t, maxEntries+10, 0, minutes)
		if names := left(); len(names) > maxEntries/2 || len(names) < maxEntries/2-10 || filepath.Base(names[0]) != "old00000" {
			t.Errorf("%d are left, from %s on", len(names), names[0])
		}
	})
	t.Run("by size", func(t *testing.T) {
		_, left := lay(t, 40, 1<<20, minutes)
		if names := left(); len(names) != 15 {
			t.Errorf("%d of 1 MB are left", len(names))
		}
	})
	t.Run("by age", func(t *testing.T) {
		_, left := lay(t, 10, 1, func(i int) time.Duration { return time.Duration(i) * 20 * 24 * time.Hour })
		if names := left(); len(names) != 5 { // 0 to 80 days
			t.Errorf("%d are left", len(names))
		}
	})
	t.Run("not all the time", func(t *testing.T) {
		c, left := lay(t, 1, 1, func(int) time.Duration { return 200 * 24 * time.Hour })
		stamp := filepath.Join(c.dir, ".pruned")
		if err := errors.Join(os.WriteFile(stamp, nil, 0o644), os.Chtimes(stamp, now, now.Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
		if len(left()) != 1 {
			t.Error("looked at an hour ago, and again")
		}
		now = now.Add(24 * time.Hour)
		c.pruned = false
		if len(left()) != 0 {
			t.Error("looked at a day ago, and not again")
		}
	})
}

func TestKeyDependsOnEveryInput(t *testing.T) {
	seen := map[string]bool{}
	for _, in := range []inputs{{}, {Layer: "x"}, {Version: 1}, {Tree: "x"}, {Base: "x"}, {Settings: []any{"x"}}, {Requirement: []any{[]string(nil)}}, {Machine: []string{"x"}}} {
		seen[in.key()] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d different keys of 8", len(seen))
	}
}

// TestMergesKeyHoldsHistory: where a merge's sides parted is no matter of their trees.
func TestMergesKeyHoldsHistory(t *testing.T) {
	key := func(base string, others ...string) string {
		j := &judge{Request: Request{Config: new(config.Config), Base: base, Others: others, Tree: "t"}, baseTree: "b"}
		return j.integrityKey().key()
	}
	if key("1", "o") == key("2", "o") {
		t.Error("two histories with one key")
	}
	if key("1") != key("2") {
		t.Error("without a merge the tree is all that counts")
	}
}

func TestMachineSeesToolsAndLinks(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	link := filepath.Join(dir, "linked")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(tool, "#!/bin/sh\n")
	see := func() string { return identity("tool", dir, []string{"PATH=" + dir}) + linkDigest(dir, "linked") }
	last := see()
	step := func(what string) {
		t.Helper()
		if now := see(); now == last {
			t.Errorf("not seen: %s", what)
		} else {
			last = now
		}
	}
	write(tool, "#!/bin/sh\ntrue\n")
	step("another tool")
	write(link, "A=1")
	step("a linked file that appears")
	write(link, "A=2")
	step("a linked file that changes")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(link, 0o755); err != nil {
		t.Fatal(err)
	}
	step("a folder in its place")
	write(filepath.Join(link, "x"), "1")
	step("a new entry of a linked folder")
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	step("a tool that is gone")
}

func TestLogsArePruned(t *testing.T) {
	dir := t.TempDir()
	for i := range keptLogs {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pruneLogs(dir)
	if left, _ := os.ReadDir(dir); len(left) != keptLogs/2 {
		t.Errorf("%d logs left", len(left))
	}
}

func TestScratchWithReadOnlyFoldersIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scratch")
	if err := freshScratch(dir); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "tmp", "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(deep), 0o500); err != nil {
		t.Fatal(err)
	}
	removeScratch(dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}

// A baseline that is judged for itself may have no test yet; the same tree as the result of a change may not.
func TestNothingToBreakYet(t *testing.T) {
	dir := t.TempDir()
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "XDG_CACHE_HOME="+home,
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x")
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "GOCACHE="+strings.TrimSpace(string(goCache)))
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.22\n", "a.go": "package m\n\n// A is one.\nfunc A() int { return 1 }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add .", "commit -q -m one"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	ctx := context.Background()
	repo, err := git.Open(ctx, dir, env)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := repo.Tree(ctx, head)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := repo.EmptyTree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig(ctx, repo, head, "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		base   string
		want   Result
		passes bool
	}{{head, NotApplicable, true}, {empty, Fail, false}, {head, NotApplicable, true}} {
		v, err := Run(ctx, Request{Repo: repo, Environ: env, Config: c, Base: step.base, Tree: tree, Only: []string{"L1", "L2", "L3"}, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if l := v.Layer("L2"); l == nil || l.Result != step.want || v.Passed() != step.passes {
			t.Errorf("against %.7s: %+v", step.base, v.Layers)
		}
	}
}
