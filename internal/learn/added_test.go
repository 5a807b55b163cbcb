package learn

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// remembered is a memory as it comes from the disk.
func remembered(t interface{ Fatal(...any) }, w *Windows, past []HistoryEntry) Memory {
	data, err := yaml.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var read Windows
	if err := yaml.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	m := Memory{Windows: &read}
	for _, e := range past {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		m.History = append(append(m.History, line...), '\n')
	}
	return m
}

var sentences = []string{"use bcrypt", "the walk was long", "migrations are in src/migrations", "tests are slow", "项目使用 ESLint strict 模式", "the lint is strict", "port 8080 is taken", "caches are cold"}

// Whatever reports brought before: what a person adds and promotes meanwhile is told from everything else.
func TestOnlyAddedKnowsAPersonsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Windows
		var past []HistoryEntry
		text := rapid.SampledFrom(sentences)
		req := rapid.SampledFrom([]string{"REQ-1", "REQ-2", "REQ-3"})
		for n := range rapid.IntRange(0, 12).Draw(t, "reports") {
			r := &Report{Learnings: []Reported{{Text: text.Draw(t, "reported"), Evidence: fmt.Sprint("seen ", n)}}}
			outcomes, gone, _ := w.Ingest(r, Source{Run: "R", Req: req.Draw(t, "of"), Attempt: n + 1}, past, limits, now)
			w.Announce("REQ-1", outcomes...)
			past = append(past, gone...)
		}
		before := remembered(t, &w, past)
		for range rapid.IntRange(0, 8).Draw(t, "words") {
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 && len(past) > 0 {
				outcome, _ := w.Promote(rapid.SampledFrom(past).Draw(t, "which").ID, past, now)
				w.Announce("", outcome)
				continue
			}
			e := Entry{Text: text.Draw(t, "added"), Req: req.Draw(t, "for"), Evidence: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "why"), Pinned: rapid.Bool().Draw(t, "pinned")}
			outcome, gone, err := w.Add(e, past, limits, now)
			if err != nil {
				t.Fatal(err)
			}
			w.Announce(e.Req, outcome)
			past = append(past, gone...)
		}
		after := remembered(t, &w, past)
		if !OnlyAdded(before, after) {
			t.Fatalf("refused:\n%+v\n%+v", before.Windows, after.Windows)
		}
		if len(after.Windows.Contextual) > 0 && len(after.History) == len(before.History) {
			forged := remembered(t, &w, past)
			forged.Windows.Contextual[0].Evidence = append(forged.Windows.Contextual[0].Evidence, Evidence{Req: "REQ-9", Run: "R", Attempt: 1})
			if OnlyAdded(before, forged) {
				t.Fatal("evidence of a report that never came was let pass")
			}
		}
	})
}

// Each kind of change that nobody's word makes.
func TestOnlyAddedRefuses(t *testing.T) {
	var w Windows
	var past []HistoryEntry
	for i, text := range []string{"use bcrypt 不要使用 md5", "the walk was long", "tests are slow", "port 8080 is taken", "caches are cold"} {
		_, gone, _ := w.Ingest(&Report{Learnings: []Reported{{Text: text, Evidence: "seen"}}}, Source{Run: "R", Req: "REQ-1", Attempt: i + 1}, past, limits, now)
		past = append(past, gone...)
	}
	if len(w.Permanent) != 1 || len(w.Contextual) != 3 || len(past) != 1 {
		t.Fatalf("the case is another one: %+v", w)
	}
	before := remembered(t, &w, past)
	if !OnlyAdded(before, remembered(t, &w, past)) {
		t.Fatal("no change is refused")
	}
	entry := func(c Contextual) string {
		line, _ := json.Marshal(HistoryEntry{Contextual: c, ExpiredAt: now, Reason: InWindow})
		return string(line) + "\n"
	}
	for name, spoil := range map[string]func(*Memory){
		"a permanent one is gone":      func(m *Memory) { m.Windows.Permanent = nil },
		"one is reworded":              func(m *Memory) { m.Windows.Permanent[0].Pattern = "use md5" },
		"its rule is another":          func(m *Memory) { m.Windows.Permanent[0].Rule = ByUser },
		"its requirement is another":   func(m *Memory) { m.Windows.Permanent[0].Reqs[0] = "REQ-2" },
		"its evidence is gone":         func(m *Memory) { m.Windows.Permanent[0].Evidence = nil },
		"a contextual one is gone":     func(m *Memory) { m.Windows.Contextual = m.Windows.Contextual[1:] },
		"a contextual one is reworded": func(m *Memory) { m.Windows.Contextual[0].Pattern = "tests are fast" },
		"it ends earlier":              func(m *Memory) { m.Windows.Contextual[0].ExpiresOn = "REQ-2" },
		"it is of another requirement": func(m *Memory) { m.Windows.Contextual[0].Req = "REQ-2" },
		"it is permanent without a rule": func(m *Memory) {
			c := m.Windows.Contextual[0]
			m.Windows.Permanent = append(m.Windows.Permanent, Permanent{ID: c.ID, Pattern: c.Pattern, Evidence: c.Evidence, Rule: ByPage})
		},
		"a report counts as read":  func(m *Memory) { m.Windows.Reports = append(m.Windows.Reports, "R/REQ-2/1") },
		"a report is forgotten":    func(m *Memory) { m.Windows.Reports = m.Windows.Reports[1:] },
		"news of what nobody said": func(m *Memory) { m.Windows.Untold = append(m.Windows.Untold, Untold{ID: "L-1", Pattern: "buy it"}) },
		"a new one claims a report": func(m *Memory) {
			m.Windows.Contextual = append(m.Windows.Contextual, Contextual{ID: "L-1", Pattern: "new", ExpiresOn: InWindow, Evidence: []Evidence{{Req: "REQ-2", Run: "R", Attempt: 1}}})
		},
		"the history is gone":             func(m *Memory) { m.History = nil },
		"the history is another":          func(m *Memory) { m.History[10] ^= 1 },
		"the history has rubbish":         func(m *Memory) { m.History = append(m.History, "x\n"...) },
		"the history claims an unproven":  func(m *Memory) { m.History = append(m.History, `{"id":"L-1","pattern":"x","unproven":true}`+"\n"...) },
		"the history has another's words": func(m *Memory) { c := w.Contextual[0]; c.Pattern = "x"; m.History = append(m.History, entry(c)...) },
	} {
		m := remembered(t, &w, past)
		m.History = slices.Clone(m.History)
		if spoil(&m); OnlyAdded(before, m) {
			t.Errorf("%s: let pass", name)
		}
	}
}

// An entry that a crash cut short is still followed by whole ones.
func TestOnlyAddedAfterACutLine(t *testing.T) {
	dir := t.TempDir()
	cut := []byte(`{"id":"L-1","patt`)
	if err := os.WriteFile(filepath.Join(dir, HistoryFile), cut, 0o666); err != nil {
		t.Fatal(err)
	}
	var w Windows
	add(t, &w, nil, Entry{Text: "one"})
	before := remembered(t, &w, nil)
	before.History = cut
	gone := w.shrink(0, now)
	if err := AppendHistory(dir, gone); err != nil {
		t.Fatal(err)
	}
	after := remembered(t, &w, nil)
	var err error
	if after.History, err = os.ReadFile(filepath.Join(dir, HistoryFile)); err != nil {
		t.Fatal(err)
	}
	if !OnlyAdded(before, after) {
		t.Error("refused")
	}
}
