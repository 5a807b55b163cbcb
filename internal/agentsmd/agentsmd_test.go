package agentsmd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ralph-loop/internal/spec"
)

func day(text string) time.Time {
	t, err := time.Parse(dateForm, text)
	if err != nil {
		panic(err)
	}
	return t
}

func section(id string) Section {
	return Section{ID: id, Title: "Tags on a book", Date: day("2026-05-08"), Addition: "Tags of " + id + " are stored sorted in `internal/shelf`.", Learnings: []string{"rule of " + id}}
}

func must(t *testing.T, data []byte, s Section) []byte {
	t.Helper()
	out, err := Append(data, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// remove takes one section out, as Archive does.
func remove(data []byte, id string) ([]byte, error) {
	sections, err := Sections(data)
	return without(data, sections, func(f Found) bool { return f.ID == id }), err
}

func TestAppendToNothing(t *testing.T) {
	got := string(must(t, nil, section("REQ-001")))
	want := `<!-- ralph-loop:begin REQ-001 2026-05-08 +0 -->
## ralph-loop: [REQ-001 Tags on a book] (auto-added)
Tags of REQ-001 are stored sorted in ` + "`internal/shelf`" + `.
- Learned: rule of REQ-001
<!-- ralph-loop:end REQ-001 -->
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	found, err := Sections([]byte(got))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	f := found[0]
	if f.ID != "REQ-001" || f.Title != "Tags on a book" || !f.Date.Equal(day("2026-05-08")) || f.Lines != 5 || f.Line != 1 || len(f.Learnings) != 1 || f.Learnings[0] != "rule of REQ-001" {
		t.Errorf("found %+v", f)
	}
}

// Case L1: whatever a person's file ends in, its bytes stay and come back.
func TestHandWrittenBytesStay(t *testing.T) {
	for _, old := range []string{
		"", "\n", "\n\n", "x", "x\n", "x\n\n", "x\r\n", "x\r\n\r\n", "x\r", "a\r\nb", "a\r\nb\nc\r\nd", "\uFEFF", "\uFEFFx", "# T\n\n- a\n",
		"x\xff\xfey\n", "---\nfront: 1\n---\n", "```\nopen fence", "tail \t", strings.Repeat("long ", 1<<16),
	} {
		data := []byte(old)
		for range 2 {
			for _, id := range []string{"REQ-001", "REQ-002", "书 1.10 -->", "REQ-001"} {
				data = must(t, data, section(id))
				if !bytes.HasPrefix(data, []byte(old)) || string(Strip(data)) != old {
					t.Fatalf("%.40q: after %s the hand-written part is %.60q", old, id, Strip(data))
				}
			}
		}
		if found, err := Sections(data); err != nil || len(found) != 3 {
			t.Fatalf("%.40q: %d sections, %v", old, len(found), err)
		}
		if strings.Contains(old, "\r\n") && !strings.Contains(old, "\n\n") && strings.Count(old, "\n") == strings.Count(old, "\r\n") && bytes.Contains(bytes.ReplaceAll(data, []byte("\r\n"), nil), []byte("\n")) {
			t.Errorf("%.40q: line ends are mixed now", old)
		}
		for _, id := range []string{"REQ-002", "REQ-001", "书 1.10 -->"} {
			var err error
			if data, err = remove(data, id); err != nil {
				t.Fatal(err)
			}
		}
		if string(data) != old {
			t.Errorf("%.40q: after all sections are out it is %.60q", old, data)
		}
	}
}

// Case L1: ambiguous markers are refused, with their lines.
func TestAmbiguousMarkers(t *testing.T) {
	const begin, end = "<!-- ralph-loop:begin REQ-001 2026-05-08 +0 -->\n", "<!-- ralph-loop:end REQ-001 -->\n"
	for _, c := range []struct{ name, data, want string }{
		{"no end", "a\n" + begin + "b\n", "line 2: a section of \"REQ-001\" that does not end"},
		{"no begin", "a\nb\n" + end, "line 3: the end of a section that does not begin"},
		{"end before begin", end + begin, "line 1: the end of a section that does not begin; line 2: a section of \"REQ-001\" that does not end"},
		{"two pairs", begin + end + begin + end, "line 3: a second section of \"REQ-001\", the first is in line 1"},
		{"in each other", begin + begin + end, "line 2: a section begins inside the one of line 1"},
		{"another's end", begin + "<!-- ralph-loop:end REQ-002 -->\n", "line 2: the end of \"REQ-002\" in the section of \"REQ-001\", line 1"},
		{"changed by hand", "<!--ralph-loop: begin REQ-001 -->\n", "line 1: a marker that was changed by hand"},
		{"text behind", begin + strings.TrimSuffix(end, "\n") + "mine\n", "line 2: a marker that was changed by hand"},
		{"no day", "<!-- ralph-loop:begin REQ-001 2026-13-41 +0 -->\n" + end, "line 1: a marker with an id or a date that is none"},
	} {
		for _, data := range []string{c.data, strings.ReplaceAll(c.data, "\n", "\r\n")} {
			_, err := Append([]byte(data), section("REQ-009"))
			var ambiguous *AmbiguousError
			if !errors.As(err, &ambiguous) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
			if string(Strip([]byte(data))) != data {
				t.Errorf("%s: stripped", c.name)
			}
		}
	}
}

func TestNotText(t *testing.T) {
	for _, data := range []string{"\xff\xfea\x00", "a\x00b"} {
		if _, err := Append([]byte(data), section("REQ-001")); err == nil {
			t.Errorf("%q was taken for text", data)
		}
	}
}

// The agent's words are data: nothing in them changes the page's structure or passes for a marker.
func TestAdditionIsDefused(t *testing.T) {
	for _, c := range []struct{ name, addition, want string }{
		{"heading", "# Big\ntext", "**Big**\ntext"},
		{"heading with a closing row", "## Big ##", "**Big**"},
		{"empty heading", "##\ntext", "text"},
		{"underlined heading", "Big\n===\nSmall\n---\ntext", "Big\nSmall\ntext"},
		{"rules", "a\n* * *\n___\nb", "a\nb"},
		{"markers", "<!-- ralph-loop:end REQ-001 -->\nx", "\\<\\!-- ralph-loop end REQ-001 --\\>\nx"},
		{"markers in a line", "see <!-- Ralph-Loop: begin x -->", "see <\\!-- ralph-loop begin x --\\>"},
		{"html", "<details>\n<script>", "\\<details>\n\\<script>"},
		{"open fence", "text\n```go\ncode", "text\ncode"},
		{"whole fence", "```go\ncode\n```", "```go\ncode\n```"},
		{"fence closed by another", "````\ncode\n```", "code"},
		{"terminal", "\x1b[31mred\x1b[0m\x00\x07", "red"},
		{"bullets", "- a\n\n- b", "- a\n- b"},
		{"not ours", "- Learned: forged", "* Learned: forged"},
		{"twice", "Same thing.\n- same thing", "Same thing."},
		{"chinese", "标签已排序。", "标签已排序。"},
		{"nothing", " \n\t\n", ""},
	} {
		got := strings.Join(tidy(c.addition, map[string]bool{}), "\n")
		if got != c.want {
			t.Errorf("%s: tidy(%q) = %q, want %q", c.name, c.addition, got, c.want)
		}
	}
}

func TestSectionIsBounded(t *testing.T) {
	s := section("REQ-001")
	s.Title = strings.Repeat("long title ", 1000) + "]\n<!-- x"
	s.Addition = "```\n" + strings.Repeat(strings.Repeat("word ", 200)+"a\n", 3) + "```\n"
	for i := range 5000 {
		s.Addition += fmt.Sprintf("line %d\n", i)
		s.Learnings = append(s.Learnings, fmt.Sprintf("learning %d", i))
	}
	out := must(t, nil, s)
	found, err := Sections(out)
	if err != nil || len(found) != 1 || found[0].Lines > MaxLines || len(out) > MaxLines*(maxLineBytes+20) {
		t.Fatalf("%d lines, %d bytes, %v\n%s", found[0].Lines, len(out), err, out)
	}
	if len(found[0].Learnings) != mostLearned {
		t.Errorf("%d learnings kept, want %d", len(found[0].Learnings), mostLearned)
	}
	if bytes.Contains(out, []byte("```")) {
		t.Errorf("a fence was cut in two:\n%s", out)
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	old := []byte("# Rules\n\n- Standard library only.\n")
	s := section("REQ-001")
	s.Addition, s.Learnings = "Standard library only\nTags are sorted.", []string{"Tags are sorted", "ids start at 1"}
	out := must(t, old, s)
	if n := bytes.Count(bytes.ToLower(out), []byte("standard library only")); n != 1 {
		t.Errorf("said %d times:\n%s", n, out)
	}
	s2 := section("REQ-002")
	s2.Addition, s2.Learnings = "tags are sorted", []string{"ids start at 1"}
	if again := must(t, out, s2); !bytes.Equal(again, out) {
		t.Errorf("a section without news was added:\n%s", again)
	}
	s.Addition, s.Learnings = "", nil
	if again := must(t, out, s); !bytes.Equal(again, old) {
		t.Errorf("a section that says nothing any more stayed:\n%s", again)
	}
}

func TestReplaceInPlace(t *testing.T) {
	data := must(t, must(t, []byte("top\n"), section("REQ-001")), section("REQ-002"))
	data = append(data, "\nbelow\n"...)
	s := section("REQ-001")
	s.Addition, s.Date = "New words.", day("2026-06-01")
	out := must(t, data, s)
	if !bytes.Contains(out, []byte("New words.")) || bytes.Contains(out, []byte("Tags of REQ-001")) || string(Strip(out)) != "top\n\nbelow\n" {
		t.Errorf("replaced:\n%s", out)
	}
	if bytes.Index(out, []byte("begin REQ-001")) > bytes.Index(out, []byte("begin REQ-002")) {
		t.Error("the section moved")
	}
}

func TestArchive(t *testing.T) {
	data := []byte("# Mine\n")
	for i, d := range []string{"2025-01-05", "2026-03-01", "2025-01-20", "2026-05-01"} {
		s := section(fmt.Sprintf("REQ-%03d", i+1))
		s.Date = day(d)
		data = must(t, data, s)
	}
	ids := func(found []Found) (out []string) {
		for _, f := range found {
			out = append(out, f.ID)
		}
		return out
	}
	now := day("2026-05-08")
	for _, c := range []struct {
		max  int
		want string
	}{
		{500, "[]"},
		{25, "[]"},
		{24, "[REQ-001 REQ-003]"}, // both are older than 6 months
		{12, "[REQ-001 REQ-003 REQ-002]"},
		{1, "[REQ-001 REQ-003 REQ-002]"}, // the newest stays
	} {
		out, moved, err := Archive(data, c.max, 6, now)
		if err != nil || fmt.Sprint(ids(moved)) != c.want {
			t.Errorf("over %d lines: moved %v, %v; want %s (the file has %d)", c.max, ids(moved), err, c.want, CountLines(data))
		}
		if string(Strip(out)) != "# Mine\n" {
			t.Errorf("the hand-written part is %q", Strip(out))
		}
	}
	if _, moved, err := Archive([]byte(strings.Repeat("mine\n", 600)), 500, 6, now); err != nil || moved != nil {
		t.Errorf("moved %v, %v", moved, err)
	}
	_, moved, _ := Archive(data, 12, 6, now)
	first := Archived(nil, moved)
	if again := Archived(first, moved); !bytes.Equal(first, again) {
		t.Error("archived twice")
	}
	if index := string(Indexed(Indexed(nil, moved), moved)); index != "# Sections moved out of AGENTS.md\n\n"+
		"- 2025-01-05 [REQ-001 Tags on a book](2025-01-ralph-loop-entries.md)\n"+
		"- 2025-01-20 [REQ-003 Tags on a book](2025-01-ralph-loop-entries.md)\n"+
		"- 2026-03-01 [REQ-002 Tags on a book](2026-03-ralph-loop-entries.md)\n" {
		t.Errorf("index:\n%s", index)
	}
}

func TestShow(t *testing.T) {
	data := []byte("\uFEFF# Mine\r\n\r\nStandard library only.\r\n")
	for i := range 60 {
		s := section(fmt.Sprintf("REQ-%03d", i))
		s.Date = day("2026-01-01").AddDate(0, 0, i)
		data = must(t, data, s)
	}
	got, err := Show(data, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, "# Mine\n\nStandard library only.\n\n## ralph-loop: [REQ-059 ") || strings.Contains(got, "<!--") || strings.Contains(got, "\r") {
		t.Errorf("shown:\n%s", got)
	}
	if !strings.Contains(got, "older sections are in AGENTS.md)") || len(got) > 4*ShownTokens+400 {
		t.Errorf("%d bytes shown", len(got))
	}
	// What the prompt says elsewhere is not said again, nor a heading over nothing.
	two := must(t, must(t, nil, section("REQ-001")), Section{ID: "REQ-002", Title: "x", Date: day("2026-05-08"), Learnings: []string{"rule <!-- 2"}})
	if got, err := Show(two, 0, []string{"rule of REQ-001", "rule <!-- 2"}); err != nil || got != "## ralph-loop: [REQ-001 Tags on a book] (auto-added)\nTags of REQ-001 are stored sorted in `internal/shelf`.\n" {
		t.Errorf("shown %q, %v", got, err)
	}
	small, err := Show([]byte(strings.Repeat("a line of mine\n", 1000)), 100, nil)
	if err != nil || len(small) > 440 || !strings.HasSuffix(small, "(cut here; AGENTS.md has more: read it)\n") {
		t.Errorf("%d bytes: %q, %v", len(small), small, err)
	}
	if none, err := Show(nil, 0, nil); none != "" || err != nil {
		t.Errorf("%q, %v", none, err)
	}
}

// Everything outside our sections is byte-identical after any sequence of operations, a person's edits in between
// included.
func TestOutsideBytesAlways(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "# h", "\n", "\r\n", "\r", " ", "```", "书", "\xff", "<!-- note -->", "- Learned: x", "\uFEFF"}), 0, 8).Draw(t, "parts"), "")
	})
	id := rapid.SampledFrom([]string{"REQ-001", "REQ-002", "a b%", "书/1", "-->"})
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(text.Draw(t, "file"))
		theirs := Strip(data)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				s := Section{ID: id.Draw(t, "id"), Title: text.Draw(t, "title"), Date: day("2026-01-01").AddDate(0, rapid.IntRange(0, 12).Draw(t, "month"), 0),
					Addition: text.Draw(t, "addition"), Learnings: []string{text.Draw(t, "learning")}}
				data, err = Append(data, s)
			case 2:
				data, err = remove(data, id.Draw(t, "id"))
			case 3:
				data, _, err = Archive(data, rapid.IntRange(1, 20).Draw(t, "lines"), 6, day("2026-12-01"))
			case 4:
				// A person writes at the end; below a section that is a line of its own.
				more := text.Draw(t, "more")
				data = append(bytes.Clone(data), more...)
				theirs = Strip(data)
			}
			if err != nil {
				t.Fatalf("%v in\n%q", err, data)
			}
			if got := Strip(data); !bytes.Equal(got, theirs) {
				t.Fatalf("hand-written bytes\n%q became\n%q in\n%q", theirs, got, data)
			}
			if _, err := Sections(data); err != nil {
				t.Fatalf("%v in\n%q", err, data)
			}
		}
	})
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("a\r\n<!-- ralph-loop:begin REQ-001 2026-05-08 +1 -->\r\n<!-- ralph-loop:end REQ-001 -->"), "# x\n<!-- y", "t]")
	f.Fuzz(func(t *testing.T, old []byte, addition, title string) {
		out, err := Append(old, Section{ID: "REQ-001", Title: title, Date: day("2026-05-08"), Addition: addition, Learnings: []string{addition}})
		if err != nil {
			return
		}
		if !bytes.Equal(Strip(out), Strip(old)) {
			t.Errorf("%q became %q", Strip(old), Strip(out))
		}
		found, err := Sections(out)
		if err != nil {
			t.Errorf("%v in %q", err, out)
		}
		for _, s := range found {
			if s.ID == "REQ-001" && (s.Lines > MaxLines || !utf8.ValidString(s.Text)) {
				t.Errorf("section %q", s.Text)
			}
		}
	})
}

// Whatever a file holds, its sections are pieces of it in their order, and without them no marker is left.
func FuzzSections(f *testing.F) {
	whole, err := Append([]byte("# Mine\r\n"), Section{ID: "书 1.10 -->", Title: "t", Date: day("2026-05-08"), Addition: "a\n- b"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("\uFEFF<!-- ralph-loop:begin a 2026-05-08 +99 -->\n- Learned: x\n<!-- ralph-loop:end a -->\n\n\n<!-- ralph-loop:begin b 2026-05-08 +2 -->\r\n<!-- ralph-loop:end b -->"))
	f.Add([]byte("<!-- ralph-loop:begin %zz 2026-05-08 +1 -->\n<!--ralph-loop:end a-->\n<!-- ralph-loop:begin a 2026-99-08 +1 -->"))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := Sections(data)
		if err != nil {
			var ambiguous *AmbiguousError
			if !errors.As(err, &ambiguous) || len(ambiguous.Problems) == 0 || !bytes.Equal(Strip(data), data) {
				t.Fatalf("%v", err)
			}
			return
		}
		at, seen := 0, map[string]bool{}
		for _, s := range found {
			if s.parted < at || s.start < s.parted || s.end <= s.start || s.Text != string(data[s.start:s.end]) || seen[s.ID] {
				t.Fatalf("section %+v after byte %d", s, at)
			}
			at, seen[s.ID] = s.end, true
		}
		hand := Strip(data)
		if left, err := Sections(hand); err != nil || len(left) > 0 || len(hand) > len(data) {
			t.Errorf("%q without its sections is %q: %v", data, hand, err)
		}
		shown, err := Show(data, 500, nil)
		if err != nil || !utf8.ValidString(shown) || spec.Tokens(shown) > 500 {
			t.Errorf("%d tokens shown, %v", spec.Tokens(shown), err)
		}
	})
}
