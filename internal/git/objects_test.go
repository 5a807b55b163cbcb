package git

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// oddNames are names that git itself takes. Some look like options, magic, quoting or shell text.
var oddNames = []string{"plain", "a b", "tab\there", "new\nline", `quo"te`, "$(touch pwned)", "-leading", "--option=x", "żółć", "日本語", "bytes\xff\xfe", "'", `back\slash`,
	"\x1b[31mred", "a => b", ":(glob)*", ":!x", "*", "?", "[a]", "{a,b}", "e\u0301", "#hash", "!not", "~", "a,b", "\x01", "trailing ", ".hidden"}

func TestHeadAndBranch(t *testing.T) {
	w := newWork(t)
	r := w.open()
	ctx := t.Context()
	// Case D18: no commit yet.
	if head := must[string](t)(r.Head(ctx)); head != "" {
		t.Errorf("an unborn branch has the commit %q", head)
	}
	if branch := must[string](t)(r.Branch(ctx)); branch != "refs/heads/main" {
		t.Errorf("on %q", branch)
	}
	w.write("a", "1\n")
	first := w.commit("one")
	w.write("a", "2\n")
	second := w.commit("two")
	if head := must[string](t)(r.Head(ctx)); head != second {
		t.Errorf("HEAD is %q, want %q", head, second)
	}
	w.git("tag", "-a", "-m", "x", "v1", first)
	w.git("tag", "a-tree", first+"^{tree}")
	for rev, want := range map[string]string{"v1": first, "HEAD^": first, first[:10]: first, "HEAD^^": "", "no-such": "", "": "", "--all": "", "-h": "", "a-tree": "", "HEAD:a": "", "x y": "", "HEAD\n": "", strings.Repeat("0", 40): ""} {
		if got := must[string](t)(r.Commit(ctx, rev)); got != want {
			t.Errorf("commit %q is %q, want %q", rev, got, want)
		}
	}
	if tree := must[string](t)(r.Tree(ctx, "v1")); tree != w.git("rev-parse", first+"^{tree}") {
		t.Errorf("the tree of v1 is %q", tree)
	}
	if tree, err := r.Tree(ctx, "--all"); err == nil {
		t.Errorf("an option is the tree %q", tree)
	}
	if yes := must[bool](t)(r.IsAncestor(ctx, first, second)); !yes {
		t.Error("the parent is no ancestor")
	}
	if yes := must[bool](t)(r.IsAncestor(ctx, second, first)); yes {
		t.Error("the child is an ancestor")
	}
	if _, err := r.IsAncestor(ctx, "no-such", first); err == nil {
		t.Error("nothing is an ancestor")
	}
	w.git("checkout", "-q", "--detach")
	if branch := must[string](t)(r.Branch(ctx)); branch != "" {
		t.Errorf("a detached HEAD is on %q", branch)
	}
}

// TestDamage: a repository that cannot be read is an error, not an empty one.
func TestDamage(t *testing.T) {
	w := newWork(t)
	w.write("a", "1\n")
	head := w.commit("one")
	r := w.open()
	object := filepath.Join(w.dir, ".git", "objects", head[:2], head[2:])
	if err := os.Remove(object); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Head(t.Context()); err == nil {
		t.Errorf("HEAD without its commit is %q", got)
	}
	write(t, filepath.Join(w.dir, ".git", "index"), "no index")
	if got, err := r.IndexTree(t.Context()); err == nil {
		t.Errorf("a damaged index is the tree %q", got)
	}
}

func TestEmptyTree(t *testing.T) {
	for format, want := range map[string]string{"sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"} {
		r := newWork(t, "--object-format="+format).open()
		if got := must[string](t)(r.EmptyTree(t.Context())); got != want {
			t.Errorf("%s: %s", format, got)
		}
		if got := must[string](t)(r.IndexTree(t.Context())); got != want {
			t.Errorf("%s: no index is the tree %s", format, got)
		}
	}
}

// TestIndexTree: the tree is the index's, whatever its form and flags, and nothing of the repository is written but
// the tree itself; no hook runs.
func TestIndexTree(t *testing.T) {
	w := newWork(t)
	for i, n := range oddNames {
		w.write("d/"+n, strings.Repeat("x\n", i))
		w.write(n, "x\n")
	}
	w.commit("one")
	w.git("update-index", "--split-index")
	w.write("plain", "staged\n")
	w.git("add", "plain")
	w.write("plain", "not staged\n")
	w.write("untracked", "x\n")
	w.write("intended", "x\n")
	w.git("add", "-N", "intended")
	w.git("update-index", "--assume-unchanged", "d/plain")
	w.git("update-index", "--skip-worktree", "d/a b")
	r := w.open()
	before := files(t, filepath.Join(w.dir, ".git"))
	tree := must[string](t)(r.IndexTree(t.Context()))
	after := files(t, filepath.Join(w.dir, ".git"))
	for p := range after {
		if !strings.HasPrefix(p, "objects/") && before[p] != after[p] {
			t.Errorf("%q was written", p)
		}
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			t.Errorf("%q is gone", p)
		}
	}
	if w.ran() != "" {
		t.Errorf("hooks ran: %s", w.ran())
	}
	if want := w.git("write-tree"); tree != want {
		t.Errorf("the tree is %s, want %s", tree, want)
	}
	data, ok, err := r.File(t.Context(), tree, "plain")
	if err != nil || !ok || string(data) != "staged\n" {
		t.Errorf("plain holds %q, %v, %v", data, ok, err)
	}
	if _, ok, err := r.File(t.Context(), tree, "intended"); ok || err != nil {
		t.Errorf("what was only intended is in the tree: %v", err)
	}
}

func TestUnmergedIndex(t *testing.T) {
	w := newWork(t)
	for _, path := range []string{"a", "odd\n\xff\tname", "b"} {
		w.write(path, "1\n")
	}
	w.commit("one")
	r := w.open()
	if paths := must[[]string](t)(r.Unmerged(t.Context())); len(paths) > 0 {
		t.Errorf("without a conflict: %q", paths)
	}
	w.git("checkout", "-qb", "other")
	w.write("a", "2\n")
	w.write("odd\n\xff\tname", "2\n")
	w.write("unmerged", "no conflict\n")
	w.commit("two")
	w.git("checkout", "-q", "main")
	w.write("a", "3\n")
	w.write("odd\n\xff\tname", "3\n")
	w.commit("three")
	var out bytes.Buffer
	if err := r.Porcelain(t.Context(), &out, "-c", "core.fsmonitor=false", "merge", "-q", "other"); err == nil {
		t.Fatal("there is no conflict")
	}
	if tree, err := r.IndexTree(t.Context()); err == nil {
		t.Errorf("a conflict is the tree %q", tree)
	}
	if paths := must[[]string](t)(r.Unmerged(t.Context())); !slices.Equal(paths, []string{"a", "odd\n\xff\tname"}) {
		t.Errorf("unmerged: %q", paths)
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		stamp := info.ModTime().String()
		if strings.HasPrefix(rel, "sharedindex.") {
			stamp = "" // git touches it whenever it reads it, so that it does not expire
		}
		out[filepath.ToSlash(rel)] = stamp + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFile(t *testing.T) {
	w := newWork(t)
	for _, n := range oddNames {
		w.write("d/"+n+"/"+n, n)
	}
	w.write("bin", "\x00\r\n\xff")
	w.commit("one")
	r := w.open()
	for _, n := range oddNames {
		data, ok, err := r.File(t.Context(), "HEAD", "d/"+n+"/"+n)
		if err != nil || !ok || string(data) != n {
			t.Errorf("%q holds %q, %v, %v", n, data, ok, err)
		}
	}
	if data, ok, err := r.File(t.Context(), "HEAD", "bin"); err != nil || !ok || string(data) != "\x00\r\n\xff" {
		t.Errorf("bin holds %q, %v, %v", data, ok, err)
	}
	for _, absent := range []string{"absent", "d", "d/", "d/*/pl*", "bi?", ":(glob)**", "BIN"} {
		if data, ok, err := r.File(t.Context(), "HEAD", absent); ok || err != nil {
			t.Errorf("%q holds %q, %v", absent, data, err)
		}
	}
	if _, ok, err := r.File(t.Context(), "", "bin"); ok || err != nil {
		t.Errorf("before the first commit: %v, %v", ok, err)
	}
	if _, _, err := r.File(t.Context(), "no-such", "bin"); err == nil {
		t.Error("no tree, no error")
	}
}

// store writes data into the object database and gives its hash.
func store(t *testing.T, r *Repo, data []byte) string {
	t.Helper()
	out := must[[]byte](t)(r.Input(t.Context(), data, "hash-object", "-w", "--stdin"))
	return strings.TrimSpace(string(out))
}

func TestBlobsOfAnyContent(t *testing.T) {
	w := newWork(t)
	r := w.open()
	for _, text := range []string{"", "text\n", "\x00\xff", strings.Repeat("long\n", 100_000)} {
		id := store(t, r, []byte(text))
		var back []byte
		err := r.Blobs(t.Context(), []string{id}, func(_ int, data io.Reader, size int64) (err error) {
			back, err = io.ReadAll(data)
			if size != int64(len(text)) {
				t.Errorf("the size is %d", size)
			}
			return err
		})
		if err != nil || string(back) != text {
			t.Errorf("stored %d bytes, read %d, %v", len(text), len(back), err)
		}
	}
}

// Byte for byte, whatever the attributes say, and whatever the files are called.
func TestStoreFiles(t *testing.T) {
	w := newWork(t)
	w.write(".gitattributes", "* text eol=crlf\n")
	r := w.open()
	texts, paths := []string{"one\r\ntwo\n", "", "\x00"}, []string{"a.txt", "two\nlines", "\"\\"}
	for i := range paths {
		w.write(paths[i], texts[i])
		paths[i] = filepath.Join(r.Top, paths[i])
	}
	hashes := must[[]string](t)(r.StoreFiles(t.Context(), paths))
	for i, text := range texts {
		if want := store(t, r, []byte(text)); hashes[i] != want {
			t.Errorf("%q is stored as %s, its bytes are %s", paths[i], hashes[i], want)
		}
		for _, content := range []string{text, text + "more"} {
			if holds := must[bool](t)(Holds(strings.NewReader(content), int64(len(content)), hashes[i])); holds != (content == text) {
				t.Errorf("%q is the content %q: %v", content, text, holds)
			}
		}
	}
}

func TestBlobs(t *testing.T) {
	r := newWork(t).open()
	var ids []string
	for i := range 50 {
		ids = append(ids, store(t, r, bytes.Repeat([]byte{byte(i)}, i*1000)))
	}
	err := r.Blobs(t.Context(), ids, func(i int, data io.Reader, size int64) error {
		if size != int64(i*1000) {
			t.Errorf("blob %d has %d bytes", i, size)
		}
		if i%2 == 0 { // half of them are not read to the end
			_, err := io.CopyN(io.Discard, data, size/2)
			return err
		}
		text, err := io.ReadAll(data)
		if len(text) != i*1000 || len(text) > 0 && text[0] != byte(i) {
			t.Errorf("blob %d gave %d bytes", i, len(text))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	stop := errors.New("stop")
	seen := 0
	if err := r.Blobs(t.Context(), ids, func(int, io.Reader, int64) error { seen++; return stop }); !errors.Is(err, stop) || seen != 1 {
		t.Errorf("stopped with %v after %d", err, seen)
	}
	if err := r.Blobs(t.Context(), []string{ids[0], strings.Repeat("1", 40)}, func(int, io.Reader, int64) error { return nil }); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing blob: %v", err)
	}
	if err := r.Blobs(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestRefs(t *testing.T) {
	w := newWork(t)
	head := w.commit("one")
	r := w.open()
	ctx := t.Context()
	kept := map[string]string{}
	for _, id := range []string{"REQ-001", "1.10", "a/b", "..", "@{x}", "需求", "-x", "x.lock", " ", "\xff", "a=b", ""} {
		ref := "refs/ralph/run/kind/" + RefName(id) + "x"
		if err := r.SetRef(ctx, ref, head, "kept \"it\"\nfor you"); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		kept[ref] = head
	}
	all := must[*Refs](t)(r.Refs(ctx))
	kept["refs/heads/main"] = head
	if !maps.Equal(all.Hash, kept) || all.Branch != "refs/heads/main" || len(all.Symbolic) != 0 || len(all.Elsewhere) != 0 {
		t.Errorf("refs %+v, want %v", all, kept)
	}
	delete(kept, "refs/heads/main")
	if got := must[*Refs](t)(r.Refs(ctx, "refs/ralph")).Hash; !maps.Equal(got, kept) {
		t.Errorf("below refs/ralph are %v, want %v", got, kept)
	}
	for ref := range kept {
		if err := r.SetRef(ctx, ref, "", "done"); err != nil {
			t.Error(err)
		}
	}
	if got := must[*Refs](t)(r.Refs(ctx)).Hash; len(got) != 1 {
		t.Errorf("left %v", got)
	}
	if err := r.SetRef(ctx, "refs/ralph/gone", "", "again"); err != nil {
		t.Errorf("a second deletion: %v", err)
	}
	if err := r.SetRef(ctx, "refs/bad..name", head, "x"); err == nil {
		t.Error("a bad name was taken")
	}
}

// TestRefsSay who has a branch checked out, and which ref is only another name.
func TestRefsSay(t *testing.T) {
	w := newWork(t)
	head := w.commit("one")
	w.git("branch", "idle")
	w.git("symbolic-ref", "refs/heads/alias", "refs/heads/idle")
	w.git("worktree", "add", "-q", filepath.Join(t.TempDir(), "odd\nplace"), "-b", "elsewhere")
	w.git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "detached"))
	r := w.open()
	for _, c := range []struct {
		do     []string
		branch string
	}{
		{[]string{"status"}, "refs/heads/main"},
		{[]string{"checkout", "-q", "--detach"}, ""},
		{[]string{"checkout", "-q", "--orphan", "unborn"}, "refs/heads/unborn"},
	} {
		w.git(c.do...)
		refs := must[*Refs](t)(r.Refs(t.Context()))
		if refs.Branch != c.branch {
			t.Errorf("after %v HEAD is on %q, want %q", c.do, refs.Branch, c.branch)
		}
		if want := map[string]bool{"refs/heads/elsewhere": true}; !maps.Equal(refs.Elsewhere, want) {
			t.Errorf("elsewhere is %v, want %v", refs.Elsewhere, want)
		}
		if want := map[string]string{"refs/heads/alias": "refs/heads/idle"}; !maps.Equal(refs.Symbolic, want) {
			t.Errorf("symbolic are %v, want %v", refs.Symbolic, want)
		}
		for _, name := range []string{"main", "idle", "alias", "elsewhere"} {
			if refs.Hash["refs/heads/"+name] != head {
				t.Errorf("%s is at %q", name, refs.Hash["refs/heads/"+name])
			}
		}
	}
}

func TestStage(t *testing.T) {
	w := newWork(t)
	w.write("run.sh", "old\n")
	if err := os.Chmod(filepath.Join(w.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(".gitattributes", "*.crlf text eol=crlf\n")
	w.commit("one")
	r := w.open()
	ctx := t.Context()
	for _, n := range append(oddNames, "run.sh", "x.crlf") {
		if n != "run.sh" {
			w.write(n, "")
		}
		if ok, err := r.Stage(ctx, n, []byte("new\r\n")); err != nil || !ok {
			t.Errorf("%q: %v, %v", n, ok, err)
		}
	}
	tree := must[string](t)(r.IndexTree(ctx))
	for _, n := range append(oddNames, "run.sh") {
		if data, ok, err := r.File(ctx, tree, n); err != nil || !ok || string(data) != "new\r\n" {
			t.Errorf("%q holds %q, %v, %v", n, data, ok, err)
		}
	}
	if data, _, err := r.File(ctx, tree, "x.crlf"); err != nil || string(data) != "new\n" {
		t.Errorf("the attribute was passed over: %q, %v", data, err)
	}
	if entry := w.git("ls-tree", tree, "run.sh"); !strings.HasPrefix(entry, "100755 ") {
		t.Errorf("the mode is lost: %s", entry)
	}
}

func TestStageIgnored(t *testing.T) {
	w := newWork(t)
	w.write(".gitignore", "*.log\n/out/\n")
	w.write("kept.log", "x\n")
	w.git("add", "-f", "kept.log")
	for _, n := range []string{"a.log", "out/b", "plain", "*.log"} {
		w.write(n, "x\n")
	}
	r := w.open()
	for path, want := range map[string]bool{"a.log": false, "out/b": false, "plain": true, "kept.log": true, "*.log": false} {
		got := must[bool](t)(r.Stage(t.Context(), path, []byte("new\n")))
		_, there, err := r.File(t.Context(), must[string](t)(r.IndexTree(t.Context())), path)
		if got != want || there != want || err != nil {
			t.Errorf("%q was staged: %v, and is there: %v (%v)", path, got, there, err)
		}
	}
}

func TestRefName(t *testing.T) {
	for id, want := range map[string]string{"REQ-001": "REQ-001", "1.10": "1=2E10", "a b": "a=20b", "é": "=C3=A9", "": "", "=20": "=3D20", "a/b": "a=2Fb"} {
		if got := RefName(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}

func FuzzRefName(f *testing.F) {
	f.Add("REQ-001", "1.10")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a != b && RefName(a) == RefName(b) {
			t.Errorf("%q and %q share a name", a, b)
		}
	})
}

// TestQuoteIsGits compares with git's own quoting of names.
func TestQuoteIsGits(t *testing.T) {
	w := newWork(t)
	for _, n := range oddNames {
		w.write(n, "x\n")
	}
	w.git("add", "-A")
	listed := map[string]bool{}
	for line := range strings.SplitSeq(w.git("-c", "core.quotePath=false", "ls-files"), "\n") {
		listed[line] = true
	}
	for _, n := range oddNames {
		if q := Quote(n); !listed[q] && utf8.ValidString(n) {
			t.Errorf("%q is quoted as %s, which git does not print", n, q)
		}
	}
	for n, want := range map[string]string{"": `""`, "a\u202eb": `"a\342\200\256b"`, "\u0085": `"\302\205"`, "bytes\xff": `"bytes\377"`, "\ufffd": "\ufffd", "a\r\n\t": `"a\r\n\t"`} {
		if got := Quote(n); got != want {
			t.Errorf("%q is quoted as %s, want %s", n, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\"\\\n", "b")
	f.Fuzz(func(t *testing.T, a, b string) {
		q := Quote(a)
		if strings.ContainsAny(q, "\n\t\r\x1b") || !utf8.ValidString(q) {
			t.Errorf("%q is quoted as %q", a, q)
		}
		if a != b && q == Quote(b) {
			t.Errorf("%q and %q are quoted alike", a, b)
		}
	})
}

func TestEntries(t *testing.T) {
	w := newWork(t)
	want := map[string]string{}
	for _, name := range oddNames {
		w.write("d/"+name, name)
		want["d/"+name] = "100644 blob"
	}
	w.write("run", "#!/bin/sh\n")
	w.git("add", "-A")
	w.git("update-index", "--chmod=+x", "run")
	w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	w.git("update-index", "--add", "--cacheinfo", "120000,"+w.git("rev-parse", ":run")+",link")
	want["run"], want["sub"], want["link"] = "100755 blob", "160000 commit", "120000 blob"
	tree := w.git("write-tree")
	r := w.open()
	got := map[string]string{}
	for _, e := range must[[]Entry](t)(r.Entries(t.Context(), tree)) {
		got[e.Path] = e.Mode + " " + e.Kind
		if e.Path == "run" && e.Hash != w.git("rev-parse", ":run") {
			t.Errorf("run is %s", e.Hash)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	// A hash is asked once, a name each time, and only the latest trees are kept.
	w.commit("one")
	first := len(must[[]Entry](t)(r.Entries(t.Context(), "HEAD")))
	var later []string
	for i := range maxListings + 1 {
		w.write("more", strings.Repeat("x", i))
		w.commit("two")
		later = append(later, w.git("rev-parse", "HEAD^{tree}"))
		if n := len(must[[]Entry](t)(r.Entries(t.Context(), later[i]))); n != first+1 {
			t.Errorf("tree %d has %d files, want %d", i, n, first+1)
		}
	}
	if n := len(must[[]Entry](t)(r.Entries(t.Context(), "HEAD"))); n != first+1 {
		t.Errorf("HEAD has %d files, want %d", n, first+1)
	}
	if len(r.listed.entries) != maxListings || r.listed.entries[tree] != nil {
		t.Errorf("%d trees are kept, the first one still: %v", len(r.listed.entries), r.listed.entries[tree] != nil)
	}
	if empty := must[[]Entry](t)(r.Entries(t.Context(), must[string](t)(r.EmptyTree(t.Context())))); len(empty) != 0 {
		t.Errorf("the empty tree has %v", empty)
	}
	if _, err := r.Entries(t.Context(), "--all"); err == nil {
		t.Error("an option was listed")
	}
}

// The configuration is the baseline's, wherever it is read from; while the worktree has the same no git is started for it.
func TestConfigurationOfHead(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWork(t, "--object-format="+format)
		plain := filepath.Join(t.TempDir(), "plain") // a newline in its name costs the short way
		if err := os.Rename(w.dir, plain); err != nil {
			t.Fatal(err)
		}
		w.dir = plain
		w.write("ralph.yaml", "spec: a\n")
		w.commit("one")
		for _, c := range []struct {
			worktree string
			asked    bool
		}{{"spec: a\n", false}, {"spec: b\n", true}, {"", true}} {
			w.write("ralph.yaml", c.worktree)
			r := w.open()
			data, ok, err := r.File(t.Context(), r.HeadAtOpen, "ralph.yaml")
			if string(data) != "spec: a\n" || !ok || err != nil {
				t.Errorf("%s, worktree %q: %q, %v, %v", format, c.worktree, data, ok, err)
			}
			if asked := r.objects.cmd != nil; asked != c.asked {
				t.Errorf("%s, worktree %q: git was asked: %v", format, c.worktree, asked)
			}
			r.EndLookups()
		}
		w.write("ralph.yaml", "spec: b\n")
		r := w.open()
		first := r.HeadAtOpen
		w.commit("two")
		if data, _, err := r.File(t.Context(), first, "ralph.yaml"); string(data) != "spec: a\n" || err != nil {
			t.Errorf("of the commit before: %q, %v", data, err)
		}
		w.git("rm", "-q", "ralph.yaml")
		w.commit("three")
		w.write("ralph.yaml", "spec: b\n")
		r = w.open()
		if data, ok, err := r.File(t.Context(), r.HeadAtOpen, "ralph.yaml"); ok || err != nil {
			t.Errorf("of a commit without one: %q, %v, %v", data, ok, err)
		}
	}
}

// TestFolder compares with what git lists itself.
func TestFolder(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		w := newWork(t, "--object-format="+format)
		for _, name := range oddNames {
			w.write("d/e/"+name, name)
			w.write("top "+name, name)
		}
		w.write("d/sub.c", "x")
		w.git("add", "-A")
		blob := w.git("rev-parse", ":d/sub.c")
		w.git("update-index", "--chmod=+x", "d/sub.c")
		w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", len(blob))+",d/sub")
		w.git("update-index", "--add", "--cacheinfo", "120000,"+blob+",link")
		tree := w.git("write-tree")
		r := w.open()
		for _, dir := range []string{".", "d", "d/e", "absent", "d/absent", "link", "d/sub", "d/sub.c", "d/sub.c/x"} {
			args := []string{"ls-tree", "-z", "--full-tree", tree}
			if dir != "." {
				args = append(args, "--", dir+"/")
			}
			want := must[[]Entry](t)(parseEntries(string(must[[]byte](t)(r.Output(t.Context(), args...)))))
			if dir == "d/sub" || dir == "d/sub.c" || dir == "link" {
				want = nil // git lists the thing itself for its name with a slash
			}
			if got := must[[]Entry](t)(r.Folder(t.Context(), tree, dir)); !slices.Equal(got, want) {
				t.Errorf("%s, %q: %q, want %q", format, dir, got, want)
			}
		}
		if _, err := r.Folder(t.Context(), "no-such-rev", "d"); err == nil {
			t.Error("no error for a rev that is not there")
		}
	}
}

// Submodules are found with those in them; a .git that is none, or leads back, is no submodule and no end without end.
func TestSubmodules(t *testing.T) {
	innermost := newWork(t)
	write(t, filepath.Join(innermost.dir, "deep"), "deep\n")
	innermost.git("add", "deep")
	innermost.git("commit", "-qm", "one")
	inner := newWork(t)
	inner.git("submodule", "add", "-q", innermost.dir, "deep")
	inner.git("commit", "-qm", "one")
	w := newWork(t)
	for _, name := range []string{"a/sub", "gone", "none", "back", "broken"} {
		w.git("submodule", "add", "-q", inner.dir, name)
	}
	w.git("commit", "-qm", "one")
	w.git("submodule", "update", "-q", "--init", "--recursive", "a/sub")
	w.git("submodule", "deinit", "-q", "-f", "gone")
	for _, name := range []string{"none", "back", "broken"} {
		if err := os.Remove(filepath.Join(w.dir, name, ".git")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(w.dir, "none", ".git"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.dir, "back", ".git"), "gitdir: ../.git\n")
	write(t, filepath.Join(w.dir, "broken", ".git"), "nothing\n")
	subs, err := w.open().Submodules(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(subs)); !slices.Equal(got, []string{"a/sub", "a/sub/deep"}) {
		t.Errorf("found %q", got)
	}
}
