//go:build bench && unix

package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// encodings are those of count-tokens. The tables are by the first.
var encodings = []string{"o200k_base", "cl100k_base"}

// spent is what one requirement costs, in tokens.
type spent struct {
	own        int // its own lines of the specification
	first      int // the prompt of its first attempt
	prompts    int // of all its attempts
	digests    int // what the gate said of the failed ones
	transcript int // what the agent printed in all of them
}

// TestBenchTokens prints the tables of docs/bench-tokens.md, and fails where a goal does not hold.
func TestBenchTokens(t *testing.T) {
	p, _ := newDemo(t)
	b := &bench{t: t, p: p, dir: t.TempDir(), counter: filepath.Join(t.TempDir(), "count-tokens")}
	if out, err := exec.Command("go", "build", "-C", filepath.Join("..", "tools"), "-o", b.counter, "./count-tokens").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	example := b.example()
	grown := b.grown(100)

	fmt.Printf("\nTokenizer: %s of github.com/tiktoken-go/tokenizer %s.\n", encodings[0], b.version())
	fmt.Printf("\n## A generated specification of 100 requirements\n")
	b.table(grown, []int{3, 5, 10, 50, 100})
	fmt.Printf("\n## The example's nine requirements, as the demo went\n")
	b.table(example, []int{3, 5, 9, 10, 50, 100})
	b.parts()
}

type bench struct {
	t       *testing.T
	p       *project // the demo's, with the programs
	dir     string   // for texts to count
	counter string
	texts   []string // their files
	rows    []part   // what a prompt is made of, at some requirements
}

// part is a prompt taken apart.
type part struct {
	name                                   string
	frame, learnings, agents, whole, own   string
	frames, learned, agentsMD, beside, all []int // tokens by encoding
}

// version is the tokenizer's.
func (b *bench) version() string {
	out, err := exec.Command("go", "list", "-C", filepath.Join("..", "tools"), "-m", "-f", "{{.Version}}", "github.com/tiktoken-go/tokenizer").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// count is how many tokens each text has.
func (b *bench) count(encoding string, texts ...string) []int {
	b.t.Helper()
	args := []string{encoding}
	for i, text := range texts {
		name := filepath.Join(b.dir, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			b.t.Fatal(err)
		}
		args = append(args, name)
	}
	out, err := exec.Command(b.counter, args...).Output()
	if err != nil {
		b.t.Fatal(err)
	}
	var counts []int
	for field := range strings.FieldsSeq(string(out)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.t.Fatal(err)
		}
		counts = append(counts, n)
	}
	return counts
}

// example is what the demo's requirements cost in the order in which they were first taken up.
func (b *bench) example() []spent {
	state := filepath.Join(b.p.dir, ".sprint-state", "ralph-loop")
	var order []string
	for _, a := range queue {
		if !slices.Contains(order, a.req) {
			order = append(order, a.req)
		}
	}
	var all []spent
	for _, id := range order {
		var s spent
		counts := b.count(encodings[0], b.p.run("ralph-order", "show", "--format", "yaml", id))
		s.own = counts[0]
		for n := 1; ; n++ {
			prompts, err := filepath.Glob(filepath.Join(state, "runs", "*", id, strconv.Itoa(n), "prompt.txt"))
			if err != nil {
				b.t.Fatal(err)
			}
			if len(prompts) == 0 {
				break
			}
			digest, _ := os.ReadFile(filepath.Join(state, "digests", fmt.Sprintf("%s-%d.txt", id, n))) // none where it passed
			counts := b.count(encodings[0], b.read(prompts[0]), b.read(filepath.Join(filepath.Dir(prompts[0]), "agent.log")), string(digest))
			if n == 1 {
				s.first = counts[0]
			}
			s.prompts, s.transcript, s.digests = s.prompts+counts[0], s.transcript+counts[1], s.digests+counts[2]
		}
		all = append(all, s)
	}
	return all
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

// grown takes a generated specification through the real prompt, learnings and AGENTS.md, one requirement after the other;
// the recorded agent's transcripts, in turn, are the cost. Nothing is built and no gate runs.
func (b *bench) grown(n int) []spent {
	p := *b.p
	p.dir = filepath.Join(b.t.TempDir(), "grown")
	script, err := filepath.Abs(filepath.Join("..", "scripts", "ralph-prompt"))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.CopyFS(p.dir, os.DirFS("bookshelf")); err != nil {
		b.t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
	write("specification.yaml", generated(n))
	p.run("git", "init", "-q", "-b", "main")
	p.run("git", "config", "user.name", "Bench")
	p.run("git", "config", "user.email", "bench@example.org")
	p.run("git", "add", "-A")
	p.run("git", "commit", "-qm", "The bookshelf, before the loop")
	var transcripts []string
	for i := range 9 {
		files, err := filepath.Glob(filepath.Join("recorded-agent", fmt.Sprintf("REQ-%03d", i+1), "*", "transcript.txt"))
		if err != nil || len(files) == 0 {
			b.t.Fatalf("no transcript of %d, %v", i+1, err)
		}
		text := ""
		for _, f := range files {
			text += b.read(f)
		}
		transcripts = append(transcripts, text)
	}
	var texts []string
	for i := 1; i <= n; i++ {
		id := fmt.Sprintf("REQ-%03d", i)
		own, prompt := p.run("ralph-order", "show", "--format", "yaml", id), p.run(script, id)
		texts = append(texts, own, prompt, transcripts[(i-1)%len(transcripts)])
		if i == 1 || i == 10 || i == n {
			b.take(&p, fmt.Sprintf("requirement %d", i), id, own, prompt)
		}
		if i == n {
			write("ralph.yaml", b.read(filepath.Join(p.dir, "ralph.yaml"))+"\nprompt: {lang: zh}\n")
			b.take(&p, fmt.Sprintf("requirement %d, Chinese template", i), id, own, p.run(script, id))
			break
		}
		write("report.yaml", report(i))
		p.run("ralph-learn", "ingest", "--req", id, "report.yaml")
		p.run("ralph-learn", "agents", "append", "--stage", "--req", id, addition(i))
		p.run("git", "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("ralph-loop: %s - %s", id, title(i)))
	}
	counts := b.count(encodings[0], texts...)
	var all []spent
	for c := range slices.Chunk(counts, 3) {
		all = append(all, spent{own: c[0], first: c[1], prompts: c[1], transcript: c[2]})
	}
	return all
}

// The generated texts are as long as real ones: a requirement of 180 tokens, three learnings of a report, two lines for
// AGENTS.md.
func generated(n int) string {
	var b strings.Builder
	b.WriteString("specification:\n  requirements:\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "    - id: REQ-%03d\n      title: %q\n      description: |\n", i, title(i))
		fmt.Fprintf(&b, "        A reader of the %s sees what %s holds, in the order in which it was added, and can ask for a part of it.\n", thing(i), thing(i+7))
		fmt.Fprintf(&b, "        Whatever is not known there is refused with a message that names the field.\n")
		if i > 1 {
			fmt.Fprintf(&b, "      depends_on: [REQ-%03d]\n", i-1)
		}
		fmt.Fprintf(&b, "      acceptance_criteria:\n")
		for k, text := range []string{"An empty %s gives an empty list, never null.", "A %s that is not there gives 404 and the text that it is not known.",
			"Two requests at once leave the %s whole.", "The %s survives a restart of the server."} {
			fmt.Fprintf(&b, "        - id: AC-%03d-%02d\n          criteria: %q\n", i, k+1, fmt.Sprintf(text, thing(i)))
		}
		fmt.Fprintf(&b, "      priority: %d\n", i%4)
	}
	return b.String()
}

func thing(i int) string {
	first := []string{"shelf", "loan", "author", "series", "review", "branch", "reader", "order", "label", "index"}
	second := []string{"list", "card", "queue", "journal", "map", "page", "table", "archive", "feed", "ledger"}
	return first[i%10] + " " + second[i/10%10]
}

func title(i int) string { return fmt.Sprintf("Show the %s in parts (%d)", thing(i), i) }

func report(i int) string {
	name := strings.ReplaceAll(thing(i), " ", "_")
	return fmt.Sprintf(`status: done
learnings:
  - {text: "Data structure: the table %s has the columns id, added_at and revision, and is read only through internal/shelf/%s.go", kind: data, evidence: internal/shelf/%s.go}
  - {text: "the first page of the %s was off by one before its test asked for the second", evidence: TestPages%d}
  - {text: "number %d was slow until the sort was done once", evidence: BenchmarkSort%d}
`, name, name, name, thing(i), i, i, i)
}

func addition(i int) string {
	name := strings.ReplaceAll(thing(i), " ", "_")
	return fmt.Sprintf("The %s is kept by `internal/shelf/%s.go`; `internal/web/%s.go` only turns requests into calls of it.\nIts tests start with `new%d` in `internal/shelf/%s_test.go`.", thing(i), name, name, i, name)
}

// take keeps a prompt in its parts.
func (b *bench) take(p *project, name, id, own, prompt string) {
	x := part{name: name, whole: prompt, own: own, learnings: p.run("ralph-learn", "context", "--req", id), agents: p.run("ralph-learn", "agents", "show")}
	x.frame = prompt
	for _, text := range []string{own, x.learnings, x.agents} {
		if text != "" && !strings.Contains(x.frame, strings.TrimSpace(text)) {
			b.t.Fatalf("%s: the prompt does not hold\n%s\nbut\n%s", name, text, prompt)
		}
		x.frame = strings.Replace(x.frame, strings.TrimSpace(text), "", 1)
	}
	for _, encoding := range encodings {
		n := b.count(encoding, x.frame, x.learnings, x.agents, x.whole, x.own)
		x.frames, x.learned, x.agentsMD = append(x.frames, n[0]), append(x.learned, n[1]), append(x.agentsMD, n[2])
		x.all, x.beside = append(x.all, n[3]), append(x.beside, n[3]-n[4])
	}
	b.rows = append(b.rows, x)
}

// sizes are the tokens that a requirement's own text and its transcript have together; 0: as they are.
var sizes = []int{0, 5_000, 20_000, 100_000}

// table prints what n requirements cost in one conversation and by this toolkit. Where there are more than were measured,
// those are counted again from the first.
func (b *bench) table(all []spent, ns []int) {
	fmt.Printf("\n| requirements | ceiling | as recorded: one conversation | this toolkit | a requirement | saving | at 5,000 | at 20,000 | at 100,000 |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, n := range ns {
		ceiling := 1 - 2/float64(n+1)
		fmt.Printf("| %d | %.1f %% ", n, 100*ceiling)
		for _, size := range sizes {
			conversation, ours, history := 0, 0, 0
			for i := range n {
				s := all[i%len(all)]
				if size > 0 { // one attempt, whatever the agent had to try in it
					s.prompts, s.digests, s.transcript = s.first, 0, size-s.own
				}
				// A conversation is told the rules once, then each requirement's own text and each failure; every
				// requirement pays for all that was said before it.
				said := s.own + s.digests + s.transcript
				if i == 0 {
					said += s.first - s.own
				}
				history += said
				conversation += history
				ours += s.prompts + s.transcript
			}
			saving := 1 - float64(ours)/float64(conversation)
			if size == 0 {
				fmt.Printf("| %d | %d | %d | %.1f %% ", conversation, ours, ours/n, 100*saving)
				continue
			}
			fmt.Printf("| %.1f %% ", 100*saving)
			published := map[int]float64{3: 0.40, 5: 0.50, 10: 0.67}[n]
			if size == 5_000 && saving < published {
				b.t.Errorf("%d requirements of %d tokens: %.1f %% saved, %.0f %% wanted", n, size, 100*saving, 100*published)
			}
			if size >= 20_000 && saving < 0.95*ceiling {
				b.t.Errorf("%d requirements of %d tokens: %.1f %% saved, less than 0.95 of the ceiling", n, size, 100*saving)
			}
		}
		fmt.Println("|")
	}
}

// parts prints what a prompt is made of, and holds it against the bounds.
func (b *bench) parts() {
	fmt.Printf("\n## A prompt of the generated specification\n\n| prompt of | encoding | frame | learnings | AGENTS.md | all but the requirement's own text | whole |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, x := range b.rows {
		for i, encoding := range encodings {
			fmt.Printf("| %s | %s | %d | %d | %d | %d | %d |\n", x.name, encoding, x.frames[i], x.learned[i], x.agentsMD[i], x.beside[i], x.all[i])
			if x.frames[i] > 700 {
				b.t.Errorf("%s, %s: a frame of %d tokens, at most 700 wanted", x.name, encoding, x.frames[i])
			}
			if x.beside[i] > 2500 && i == 0 {
				b.t.Errorf("%s, %s: %d tokens beside the requirement, at most 2,500 wanted", x.name, encoding, x.beside[i])
			}
		}
	}
}
