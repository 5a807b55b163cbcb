package learn

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"ralph-loop/internal/spec"
)

var (
	now    = time.Date(2026, 5, 8, 10, 30, 0, 0, time.UTC)
	limits = Limits{Window: 3, PromoteAt: 2}
)

func add(t *testing.T, w *Windows, past []HistoryEntry, e Entry) (Outcome, []HistoryEntry) {
	t.Helper()
	o, expired, err := w.Add(e, past, limits, now)
	if err != nil {
		t.Fatal(err)
	}
	return o, expired
}

// The five example sentences of the design, as they come in.
func TestExampleSentences(t *testing.T) {
	var w Windows
	var past []HistoryEntry
	say := func(req, text, what string, permanent bool) {
		t.Helper()
		o, expired := add(t, &w, past, Entry{Text: text, Req: req, Evidence: "test of " + req})
		past = append(past, expired...)
		if o.What != what || o.Permanent != permanent {
			t.Errorf("%s: %q is %+v, want %s, permanent %v", req, text, o, what, permanent)
		}
	}
	say("REQ-001", "migration files must be in src/migrations/", Added, false)
	say("REQ-001", "use bcrypt 不要使用 md5", Added, true)
	say("REQ-001", "第 42 行有个 off-by-one", Added, false)
	say("REQ-001", "项目使用 ESLint strict 模式", Added, true)
	say("REQ-003", "REQ 003 使用 Zod 验证 schema", Added, false)
	say("REQ-001", "migration files must be in src/migrations/", Repeated, false)
	say("REQ-002", "Migration files must be in `src/migrations`.", Promoted, true)
	for i := range 3 {
		say("REQ-004", fmt.Sprintf("the walk %d was long", i), Added, false)
	}
	if len(past) != 2 || past[0].Pattern != "第 42 行有个 off-by-one" || past[0].Reason != InWindow || !past[0].ExpiredAt.Equal(now) {
		t.Errorf("history %+v", past)
	}
	promoted := w.Permanent[2]
	if promoted.Rule != ByPromotion || fmt.Sprint(promoted.Reqs) != "[REQ-001 REQ-002]" || len(promoted.Evidence) != 2 {
		t.Errorf("promoted %+v", promoted)
	}
}

// A learning that expired still counts as the first report.
func TestPromotionFromHistory(t *testing.T) {
	var w Windows
	var past []HistoryEntry
	for i, text := range []string{"sort before comparing", "a b c", "d e f", "g h i"} {
		_, expired := add(t, &w, past, Entry{Text: text, Req: fmt.Sprintf("REQ-%d", i)})
		past = append(past, expired...)
	}
	o, _ := add(t, &w, past, Entry{Text: "Sort before comparing!", Req: "REQ-9"})
	if o.What != Promoted || len(w.Permanent) != 1 || fmt.Sprint(w.Permanent[0].Reqs) != "[REQ-0 REQ-9]" {
		t.Errorf("%+v, %+v", o, w.Permanent)
	}
	unproven := Unproven(&Report{Learnings: []Reported{{Text: "walk before running"}, {Text: "--"}}}, Source{Req: "REQ-1"}, nil, now)
	if len(unproven) != 1 || !unproven[0].Unproven {
		t.Fatalf("%+v", unproven)
	}
	if o, _ := add(t, &w, unproven, Entry{Text: "walk before running", Req: "REQ-2"}); o.Permanent {
		t.Error("a learning of a requirement that was never done is a proof")
	}
}

func TestIngest(t *testing.T) {
	var w Windows
	r := &Report{Learnings: []Reported{
		{Text: "one two three", ExpiresOn: "REQ-005"},
		{Text: "four five six", ExpiresOn: "REQ-001"}, // itself: has served already
		{Text: "all handlers must return JSON errors", Kind: "convention"},
		{Text: "---"},
	}}
	from := Source{Run: "run1", Req: "REQ-001", Attempt: 2}
	outcomes, expired, fresh := w.Ingest(r, from, nil, limits, now)
	if !fresh || len(outcomes) != 3 || len(expired) != 1 || expired[0].Reason != "REQ-001 done" || len(w.Contextual) != 1 || len(w.Permanent) != 1 {
		t.Fatalf("%v %+v %+v %+v", fresh, outcomes, expired, w)
	}
	if e := w.Contextual[0].Evidence[0]; e.Run != "run1" || e.Req != "REQ-001" || e.Attempt != 2 {
		t.Errorf("evidence %+v", e)
	}
	if o, e, fresh := w.Ingest(r, from, expired, limits, now); fresh || o != nil || e != nil || len(w.Contextual) != 1 {
		t.Error("the same report counted twice")
	}
	if _, _, fresh := w.Ingest(r, Source{Run: "run1", Req: "REQ-001", Attempt: 3}, nil, limits, now); !fresh {
		t.Error("another attempt's report did not count")
	}
	_, expired, _ = w.Ingest(&Report{}, Source{Req: "REQ-005", Content: []byte("x")}, nil, limits, now)
	if len(expired) != 1 || expired[0].Reason != "REQ-005 done" || expired[0].Pattern != "one two three" {
		t.Errorf("expired %+v", expired)
	}
	if _, _, fresh := w.Ingest(&Report{}, Source{Req: "REQ-005", Content: []byte("x")}, nil, limits, now); fresh {
		t.Error("the same content counted twice")
	}
	for i := range 200 {
		w.Ingest(&Report{}, Source{Run: "r", Req: fmt.Sprint(i)}, nil, limits, now)
	}
	if len(w.Reports) != mostReports {
		t.Errorf("%d reports remembered", len(w.Reports))
	}
}

func TestPromoteByPerson(t *testing.T) {
	var w Windows
	o, _ := add(t, &w, nil, Entry{Text: "short rows"})
	if got, ok := w.Promote(o.ID, nil, now); !ok || got.What != Promoted || len(w.Contextual) != 0 || !w.Permanent[0].Pinned {
		t.Errorf("%+v %v %+v", got, ok, w)
	}
	if got, ok := w.Promote(o.ID, nil, now); !ok || got.What != Repeated {
		t.Errorf("%+v %v", got, ok)
	}
	if _, ok := w.Promote("L-none", nil, now); ok {
		t.Error("an unknown id was promoted")
	}
	marked, _ := add(t, &w, nil, Entry{Text: "deep walks", Pinned: true})
	if !marked.Permanent || w.Permanent[1].Rule != ByUser {
		t.Errorf("%+v %+v", marked, w.Permanent)
	}
}

// Case L2: whatever is put in, the windows stay bounded, the text valid.
func TestBounds(t *testing.T) {
	var w Windows
	long := "---\n```\n# Use bcrypt\n" + strings.Repeat("👩‍👩‍👧", 10000) + "\x1b[31m\xff"
	o, _ := add(t, &w, nil, Entry{Text: long, Evidence: long})
	if len(o.Pattern) > MaxPattern || !utf8.ValidString(o.Pattern) || strings.ContainsAny(o.Pattern, "\n\x1b") || !strings.HasSuffix(o.Pattern, "👩‍👩‍👧 …") {
		t.Errorf("pattern %q", o.Pattern)
	}
	for i := range 50 {
		add(t, &w, nil, Entry{Text: "never store a password", Req: fmt.Sprintf("REQ-%d", i), Evidence: "e"})
	}
	p := w.Permanent[len(w.Permanent)-1]
	if len(p.Evidence) != mostProofs || p.Evidence[0].Req != "REQ-0" || p.Evidence[mostProofs-1].Req != "REQ-49" || len(p.Reqs) != 50 {
		t.Errorf("%d proofs of %d requirements: %+v", len(p.Evidence), len(p.Reqs), p.Evidence)
	}
	for _, text := range []string{"", " \n", "- ", "### - * ", "…", "'--"} {
		if _, _, err := w.Add(Entry{Text: text}, nil, limits, now); err != ErrEmpty {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestContext(t *testing.T) {
	var w Windows
	for i := range 5000 {
		w.Permanent = append(w.Permanent, Permanent{ID: fmt.Sprint(i), Pattern: fmt.Sprintf("the widget number %d is blue and has a name of its own", i), Rule: Convention, Reqs: []string{"REQ-001"}})
	}
	w.Permanent[7] = Permanent{ID: "7", Pattern: "never log a token", Rule: Security}
	w.Permanent[9] = Permanent{ID: "9", Pattern: "ask first", Rule: ByUser, Pinned: true}
	w.Permanent[11].Pattern = "books are in internal/shelf/store.go, sorted by id"
	w.Contextual = []Contextual{{ID: "a", Pattern: "old"}, {ID: "b", Pattern: "new", Req: "REQ-002"}}
	s := w.Context("title: sort the books of internal/shelf/store.go", 800, 0)
	text := s.Text("all.md")
	if n := spec.Tokens(text); n > 900 || n < 700 {
		t.Errorf("%d tokens", n)
	}
	if !strings.HasPrefix(text, "Permanent:\n- never log a token (security)\n- ask first\n- books are in internal/shelf/store.go, sorted by id (REQ-001)\n- the widget") {
		t.Errorf("begins %q", text[:200])
	}
	if !strings.Contains(text, fmt.Sprintf("\n%d more in all.md: ", 5000-len(s.Permanent))) || !strings.HasSuffix(text, "\n- old\n- new (REQ-002)\n") {
		t.Errorf("ends %q", text[len(text)-200:])
	}
	if again := w.Context("title: sort the books of internal/shelf/store.go", 800, 0).Text("all.md"); again != text {
		t.Error("not the same every time")
	}
	if page := w.Page(); strings.Count(page, "\n- ") != 5000 || !strings.HasPrefix(page, "# Permanent learnings: 5000\n") {
		t.Errorf("page %.100q", page)
	}

	// Everything marked important stays bounded too.
	for i := range w.Permanent {
		w.Permanent[i].Rule = Security
	}
	if n := spec.Tokens(w.Context("", 800, 0).Text("f")); n > alwaysFactor*800+100 {
		t.Errorf("%d tokens of security rules", n)
	}
	if n := spec.Tokens(w.Context("", 800, 300).Text("f")); n > 400 {
		t.Errorf("%d tokens within 300", n)
	}
	if text := (&Windows{}).Context("x", 800, 0).Text("f"); text != "" {
		t.Errorf("nothing to tell is %q", text)
	}
}

func TestWhyAndResolve(t *testing.T) {
	w := Windows{
		Permanent:  []Permanent{{ID: "L-11112222", Pattern: "p", Rule: ByPromotion, Reqs: []string{"REQ-1", "REQ-2"}, Since: now}},
		Contextual: []Contextual{{ID: "L-11113333", Pattern: "c", ExpiresOn: "REQ-5", Since: now, Evidence: []Evidence{{Req: "REQ-1", Run: "r", Attempt: 2, At: now, Text: "T"}}}},
	}
	past := []HistoryEntry{{Contextual: Contextual{ID: "L-44445555", Pattern: "h"}, ExpiredAt: now, Reason: "REQ-3 done"},
		{Contextual: Contextual{ID: "L-66667777", Pattern: "u"}, Unproven: true}}
	for in, want := range map[string]string{"L-1111": "", "L-11112": "L-11112222", "L-4444": "L-44445555", "L-444": "", "L-": "", "x": "", "L-66667777": "L-66667777"} {
		if got := w.Resolve(in, past); got != want {
			t.Errorf("Resolve(%q) = %q, want %q", in, got, want)
		}
	}
	for id, want := range map[string]string{
		"L-11112222": "L-11112222 is permanent since 2026-05-08: p\n2 requirements reported it: REQ-1, REQ-2.\n",
		"L-11113333": "L-11113333 is contextual since 2026-05-08: c\nNot permanent: it states no architecture decision, global convention, module interface, data structure or security rule, and only REQ-1 reported it (2 make it permanent).\nWhat would be: a rule or a lasting fact under its kind's name, such as \"Convention: tests are named TestX\". 'ralph-learn promote L-11113333' makes it so as it is.\nIt expires when REQ-5 is done, or behind 3 newer ones.\n- 2026-05-08, REQ-1, attempt 2 of run r: T\n",
		"L-44445555": "L-44445555 is history, it left the window on 2026-05-08: REQ-3 done: h\n",
		"L-66667777": "L-66667777 is history, it never counted: its requirement was not done: u\n",
	} {
		if got, ok := w.Why(id, past, limits); !ok || got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if !Classify(wouldBe, "").Permanent {
		t.Errorf("%q is not permanent", wouldBe)
	}
	if _, ok := w.Why("L-0", past, limits); ok {
		t.Error("an unknown id has a reason")
	}
}

// Whatever comes in: no two learnings in force have one id, none says what another says, the window is bounded, and
// nothing that expired is lost.
func TestWindowsAlways(t *testing.T) {
	words := rapid.SampledFrom([]string{"use", "bcrypt", "never", "src/a.go", "迁移文件", "项目使用", "sort", "books", "42", "the", "-"})
	rapid.Check(t, func(t *rapid.T) {
		var w Windows
		var past []HistoryEntry
		known := map[string]bool{}
		for range rapid.IntRange(1, 25).Draw(t, "entries") {
			e := Entry{Text: strings.Join(rapid.SliceOfN(words, 0, 5).Draw(t, "words"), " "), Req: rapid.SampledFrom([]string{"", "REQ-1", "REQ-2"}).Draw(t, "req"),
				ExpiresOn: rapid.SampledFrom([]string{"", "REQ-2"}).Draw(t, "expires")}
			o, expired, err := w.Add(e, past, limits, now)
			if err == nil {
				known[o.ID] = true
			}
			past = append(past, expired...)
			if rapid.IntRange(0, 5).Draw(t, "done") == 0 {
				past = append(past, w.Done("REQ-2", now)...)
			}
		}
		if len(w.Contextual) > limits.Window {
			t.Fatalf("%d in the window", len(w.Contextual))
		}
		ids := w.ids(nil)
		slices.Sort(ids)
		if len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Fatalf("ids %v", ids)
		}
		for id := range known {
			if !slices.Contains(w.ids(past), id) {
				t.Fatalf("%s is lost", id)
			}
		}
		data, err := yaml.Marshal(&w)
		var again Windows
		if err != nil || yaml.Unmarshal(data, &again) != nil || fmt.Sprint(again.ids(nil)) != fmt.Sprint(w.ids(nil)) {
			t.Fatalf("%s does not come back: %v", data, err)
		}
	})
}

// Case L3, in one process.
func TestStoreConcurrently(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := UpdateStore(context.Background(), dir, func(w *Windows) error {
				_, _, err := w.Add(Entry{Text: fmt.Sprintf("note %d", i)}, nil, Limits{Window: 100, PromoteAt: 2}, now)
				return err
			}); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	w, err := LoadStore(dir)
	if err != nil || len(w.Contextual) != 20 {
		t.Errorf("%d entries, %v", len(w.Contextual), err)
	}
}

// A store that is cut anywhere is refused, never believed (case C2, of the learnings' own file).
func TestStoreIsWholeOrRefused(t *testing.T) {
	dir := t.TempDir()
	if err := UpdateStore(context.Background(), dir, func(w *Windows) error {
		_, _, err := w.Add(Entry{Text: "use bcrypt\nalways", Req: "REQ-1"}, nil, limits, now)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, StoreFile)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(name, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if w, err := LoadStore(dir); err == nil {
			t.Fatalf("cut at %d of %d: believed: %+v", n, len(whole), w)
		}
	}
	if err := UpdateStore(context.Background(), dir, func(*Windows) error { return nil }); err == nil {
		t.Error("a damaged store was written over")
	}
}

func TestLockIsWaitedForAndGivenUp(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, dir); err == nil {
		t.Error("locked twice")
	}
	release()
	again, err := Lock(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	if past, spoiled, err := ReadHistory(dir); past != nil || spoiled != 0 || err != nil {
		t.Errorf("no file: %v %d %v", past, spoiled, err)
	}
	entry := func(id string, unproven bool) HistoryEntry {
		return HistoryEntry{Contextual: Contextual{ID: id, Pattern: "<p> & \u2028 书", Since: now}, ExpiredAt: now, Reason: InWindow, Unproven: unproven}
	}
	if err := AppendHistory(dir, []HistoryEntry{entry("L-1", false), entry("L-2", true)}); err != nil {
		t.Fatal(err)
	}
	// A crash in the middle of a line spoils that line and no other.
	name := filepath.Join(dir, HistoryFile)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(data, data[:20]...), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := AppendHistory(dir, []HistoryEntry{entry("L-1", true), entry("L-2", false), entry("L-3", false)}); err != nil {
		t.Fatal(err)
	}
	if err := AppendHistory(dir, nil); err != nil {
		t.Fatal(err)
	}
	past, spoiled, err := ReadHistory(dir)
	if err != nil || spoiled != 1 || len(past) != 3 || past[0].Unproven || past[1].Unproven || past[2].Pattern != "<p> & \u2028 书" {
		t.Errorf("%+v, %d, %v", past, spoiled, err)
	}
	// Only its end is read.
	big := strings.Repeat(`{"id":"L-9","pattern":"`+strings.Repeat("x", 1000)+`"}`+"\n", 20000)
	if err := os.WriteFile(name, []byte(big), 0o666); err != nil {
		t.Fatal(err)
	}
	if past, spoiled, err := ReadHistory(dir); len(past) != 1 || spoiled != 0 || err != nil {
		t.Errorf("%d, %d, %v", len(past), spoiled, err)
	}
}

func TestLanguage(t *testing.T) {
	for text, want := range map[string]string{
		"": "en", "Sort the books": "en", "创建 User Model 和数据库迁移": "zh", "实现密码加密工具函数": "zh",
		"Filter the list (按条件导出) by tag and author and by year": "en", "本を並べる": "en", "42": "en",
	} {
		if got := Language(text); got != want {
			t.Errorf("Language(%q) = %q, want %q", text, got, want)
		}
	}
}
