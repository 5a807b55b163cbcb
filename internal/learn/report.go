package learn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/excerpt"
	"ralph-loop/internal/nearest"
)

// Bounds on a report. It is an agent's text: data, whatever it says.
const (
	MaxReport       = 1 << 20 // bytes that are looked at
	mostLearnings   = 20
	mostFiles       = 5000
	maxAdditionRead = 16 << 10
	mostTries       = 20 // paragraphs that may follow a report
)

// Report is what an agent says of its attempt.
type Report struct {
	Status    string
	Files     []string // files_changed, inside the repository, with slashes
	Addition  string   // agentmd_addition, as it was written
	Summary   string   // verification_summary
	Learnings []Reported
	Touched   []Touched // touched_earlier
}

// Reported is one learning of a report.
type Reported struct {
	Text, Kind, Evidence string
	ExpiresOn            string // "", InWindow or a requirement
}

// Touched is an earlier requirement whose code the attempt changed.
type Touched struct {
	Req, Reason string
}

func (l Reported) entry(from Source) Entry {
	return Entry{Text: l.Text, Kind: l.Kind, Req: from.Req, Evidence: l.Evidence, ExpiresOn: l.ExpiresOn, Run: from.Run, Attempt: from.Attempt}
}

// ReadReport reads a report's file: the report itself, or a message that ends in one. A file that is no regular one is
// not opened. Of a large file only the end is read. An error of fs.ErrNotExist means that there is none.
func ReadReport(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(0, info.Size()-MaxReport-1)
	return io.ReadAll(io.NewSectionReader(f, from, MaxReport+1))
}

// ParseReport reads a report: a YAML document, bare or in a code fence, or the last fenced block marked
// "ralph-report" of a longer text. The warnings say what was left out and why. The error says why nothing could be
// used.
func ParseReport(data []byte) (*Report, []string, error) {
	large := len(data) > MaxReport
	if large {
		data = data[len(data)-MaxReport:]
	}
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFEFF")
	block, fenced := lastBlock(text, "ralph-report")
	switch {
	case fenced:
	case large:
		return nil, nil, fmt.Errorf("larger than %d KB, and without a block marked ralph-report at its end", MaxReport>>10)
	default:
		block = unwrapped(text)
	}
	if strings.TrimSpace(block) == "" {
		return nil, nil, errors.New("empty")
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(strings.NewReader(block)).Decode(&doc); err != nil {
		return nil, nil, fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, nil, errors.New("not a report: keys such as status and learnings are expected")
	}
	p := reportParser{report: &Report{}}
	p.top(doc.Content[0])
	return p.report, p.warnings, nil
}

// unwrapped is a report without what an agent wrote around it: a fence, or sentences before and behind. The text itself
// comes back where nothing in it is YAML with keys.
func unwrapped(text string) string {
	if mapping(text) {
		return text
	}
	for _, info := range []string{"yaml", "yml", ""} {
		if b, ok := lastBlock(text, info); ok && mapping(b) {
			return b
		}
	}
	// From the first line that begins with a key of ours, as many paragraphs as are YAML together.
	offset := 0
	for line := range strings.Lines(text) {
		if key, _, ok := strings.Cut(line, ":"); ok && slices.Contains(reportKeys, key) {
			break
		}
		offset += len(line)
	}
	for rest, tries := text[offset:], 0; rest != "" && tries < mostTries; tries++ {
		if mapping(rest) {
			return rest
		}
		rest = rest[:max(0, strings.LastIndex(strings.TrimRight(rest, "\n"), "\n\n"))]
	}
	return text
}

// mapping reports whether text is YAML with keys.
func mapping(text string) bool {
	var doc yaml.Node
	err := yaml.NewDecoder(strings.NewReader(text)).Decode(&doc)
	return err == nil && len(doc.Content) > 0 && doc.Content[0].Kind == yaml.MappingNode
}

// ReportIn is the last block marked "ralph-report" of what an agent printed.
func ReportIn(printed []byte) (report []byte, ok bool) {
	block, ok := lastBlock(strings.ReplaceAll(string(printed), "\r\n", "\n"), "ralph-report")
	return []byte(block), ok
}

// lastBlock is the content of the last closed fenced block with that info string.
func lastBlock(text, info string) (block string, ok bool) {
	var fence string // of the block we are in
	wanted, start, offset := false, 0, 0
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		run := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		if run == 0 {
			run = len(trimmed) - len(strings.TrimLeft(trimmed, "~"))
		}
		switch {
		case fence == "" && run >= 3:
			fence, wanted, start = trimmed[:run], strings.TrimSpace(trimmed[run:]) == info, offset+len(line)
		case fence != "" && run >= len(fence) && strings.TrimLeft(trimmed, fence[:1]) == "":
			if wanted {
				block, ok = text[start:offset], true
			}
			fence = ""
		}
		offset += len(line)
	}
	return block, ok
}

type reportParser struct {
	report   *Report
	warnings []string
}

func (p *reportParser) warn(n *yaml.Node, format string, args ...any) {
	const most = 50
	switch {
	case len(p.warnings) < most:
		p.warnings = append(p.warnings, fmt.Sprintf("line %d: %s", n.Line, fmt.Sprintf(format, args...)))
	case len(p.warnings) == most:
		p.warnings = append(p.warnings, "more of the same")
	}
}

var (
	reportKeys   = []string{"status", "files_changed", "agentmd_addition", "verification_summary", "learnings", "touched_earlier"}
	learningKeys = []string{"text", "kind", "evidence", "expires_on"}
	touchedKeys  = []string{"req", "reason"}
)

func (p *reportParser) top(n *yaml.Node) {
	p.each(n, reportKeys, func(key string, v *yaml.Node) {
		switch key {
		case "status":
			p.report.Status = excerpt.Line(p.scalar(key, v), 100)
		case "agentmd_addition":
			p.report.Addition = excerpt.Cut(excerpt.Text(p.scalar(key, v)), maxAdditionRead)
		case "verification_summary":
			p.report.Summary = excerpt.Line(flat(v, 4), 2000)
		case "files_changed":
			for i, item := range p.list(key, v) {
				if i == mostFiles {
					p.warn(item, "more than %d files: the rest is left out", mostFiles)
					break
				}
				p.file(item)
			}
		case "learnings":
			for i, item := range p.list(key, v) {
				if i == mostLearnings {
					p.warn(item, "more than %d learnings: the rest is left out", mostLearnings)
					break
				}
				p.learning(item)
			}
		case "touched_earlier":
			for _, item := range p.list(key, v) {
				var t Touched
				p.each(item, touchedKeys, func(key string, v *yaml.Node) {
					if key == "req" {
						t.Req = excerpt.Line(p.scalar(key, v), 200)
					} else {
						t.Reason = excerpt.Line(p.scalar(key, v), MaxEvidence)
					}
				})
				if t.Req != "" {
					p.report.Touched = append(p.report.Touched, t)
				}
			}
		}
	})
}

func (p *reportParser) learning(n *yaml.Node) {
	var l Reported
	if n = follow(n); n.Kind == yaml.ScalarNode {
		l.Text = p.scalar("learning", n)
	} else {
		p.each(n, learningKeys, func(key string, v *yaml.Node) {
			text := p.scalar(key, v)
			switch key {
			case "text":
				l.Text = text
			case "kind":
				l.Kind = excerpt.Line(text, 100)
			case "evidence":
				l.Evidence = excerpt.Line(text, MaxEvidence)
			case "expires_on":
				l.ExpiresOn = excerpt.Line(text, 200)
			}
		})
	}
	if text, marked := Marked(l.Text); marked {
		p.warn(n, "only a person may mark a learning permanent: the mark is left out")
		l.Text = text
	}
	if len(l.Text) > MaxPattern {
		p.warn(n, "a learning of %d bytes is cut to %d", len(l.Text), MaxPattern)
	}
	if l.Text = excerpt.Line(l.Text, MaxPattern); cleaned(l.Text) == "" {
		p.warn(n, "a learning without a text is left out")
		return
	}
	p.report.Learnings = append(p.report.Learnings, l)
}

// file takes the name of a changed file, if it lies inside the repository.
func (p *reportParser) file(n *yaml.Node) {
	name := p.scalar("files_changed", n)
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	switch {
	case name == "":
	case strings.ContainsRune(name, 0), path.IsAbs(clean), clean == "..", strings.HasPrefix(clean, "../"), strings.HasPrefix(clean, "~"),
		len(clean) > 1 && clean[1] == ':' && unicode.IsLetter(rune(clean[0])):
		p.warn(n, "%q is outside the repository: left out", excerpt.Line(name, 200))
	case clean == ".git", strings.HasPrefix(clean, ".git/"), strings.HasPrefix(clean, ".sprint-state/"):
		p.warn(n, "%q is not the project's: left out", excerpt.Line(name, 200))
	default:
		p.report.Files = append(p.report.Files, clean)
	}
}

// each calls take for every known key of a mapping, and warns of the others.
func (p *reportParser) each(n *yaml.Node, known []string, take func(key string, v *yaml.Node)) {
	if n = follow(n); n.Kind != yaml.MappingNode {
		p.warn(n, "keys and values are expected here, such as %s: left out", known[0])
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		word := excerpt.Line(key, 60)
		switch {
		case seen[key]:
			p.warn(n.Content[i], "key %q stands twice: the second is left out", word)
		case !slices.Contains(known, key):
			if meant := nearest.Word(word, known); meant != "" {
				p.warn(n.Content[i], "unknown key %q: did you mean %s?", word, meant)
			} else {
				p.warn(n.Content[i], "unknown key %q", word)
			}
		default:
			take(key, n.Content[i+1])
		}
		seen[key] = true
	}
}

// list is the items of a list; one item alone is a list of one, null an empty one.
func (p *reportParser) list(key string, n *yaml.Node) []*yaml.Node {
	switch n = follow(n); {
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil
	case n.Kind == yaml.ScalarNode:
		return []*yaml.Node{n}
	}
	p.warn(n, "%s must be a list: left out", key)
	return nil
}

func (p *reportParser) scalar(key string, n *yaml.Node) string {
	switch n = follow(n); {
	case n.Kind != yaml.ScalarNode:
		p.warn(n, "%s must be a text: left out", key)
		return ""
	case n.Tag == "!!null":
		return ""
	}
	return n.Value
}

// follow is the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for range 8 {
		if n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return n
}

// flat is a value as one text, at most depth levels of it, without following aliases.
func flat(n *yaml.Node, depth int) string {
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!null" {
			return ""
		}
		return n.Value
	}
	if depth == 0 || n.Kind == yaml.AliasNode {
		return "…"
	}
	var b bytes.Buffer
	for i, c := range n.Content {
		switch {
		case i == 0:
		case n.Kind == yaml.MappingNode && i%2 == 1:
			b.WriteString(": ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(flat(c, depth-1))
		if b.Len() > 8000 {
			break
		}
	}
	return b.String()
}
