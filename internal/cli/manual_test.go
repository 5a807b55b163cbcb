//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manual is a program's manual page, for man(7), made from its help text: so the two cannot differ.
func manual(name, help string) string {
	var b, description strings.Builder
	paragraphs := strings.Split(strings.TrimSpace(help), "\n\n")
	_, brief, _ := strings.Cut(strings.TrimSuffix(strings.Join(strings.Fields(paragraphs[0]), " "), "."), " ")
	b.WriteString(`.TH ` + strings.ToUpper(name) + ` 1 "" "ralph-loop" "The Ralph toolkit"` + "\n.SH NAME\n" + roff(name) + ` \- ` + roff(strings.TrimPrefix(brief, "- ")) + "\n")
	heading, continued := "", false
	for _, p := range paragraphs[1:] {
		if title := strings.TrimSuffix(strings.TrimPrefix(p, "# "), ":"); title != p && !strings.Contains(p, "\n") {
			heading, continued = title, false
			if heading != "Usage" {
				b.WriteString(".SH " + strings.ToUpper(heading) + "\n")
			}
			continue
		}
		listed, block := strings.HasPrefix(p, "\t"), strings.ReplaceAll("\n"+p, "\n\t", "\n")[1:]
		out := &b
		switch {
		case heading == "" && listed, heading == "Usage" && listed:
			heading = "Usage"
			b.WriteString(".SH SYNOPSIS\n")
		case heading == "Usage":
			out = &description // what is said of the whole stands below the synopsis
		}
		if continued && !listed {
			out.WriteString(".PP\n")
		}
		continued = true
		switch {
		case listed && heading != "Usage" && heading != "Examples" && isList(block):
			for line := range strings.Lines(block) {
				term, meaning, found := cutTerm(strings.TrimSuffix(line, "\n"))
				if found {
					out.WriteString(".TP\n.B " + roff(term) + "\n")
				}
				out.WriteString(roff(meaning) + "\n")
			}
		case listed:
			out.WriteString(".nf\n.RS 4\n")
			for line := range strings.Lines(block) {
				out.WriteString(roff(strings.TrimSuffix(line, "\n")) + "\n")
			}
			out.WriteString(".RE\n.fi\n")
		default:
			for line := range strings.Lines(block) {
				out.WriteString(roff(strings.TrimSuffix(line, "\n")) + "\n")
			}
		}
	}
	page := b.String()
	if description.Len() > 0 {
		at := strings.Index(page, ".fi\n") + len(".fi\n")
		page = page[:at] + ".SH DESCRIPTION\n" + strings.TrimPrefix(description.String(), ".PP\n") + page[at:]
	}
	return page + ".SH SEE ALSO\n.BR ralph (7)\n"
}

// indented begins a line of a list in a script's help, where a package comment has a tab.
var indented = regexp.MustCompile(`(?m)^  `)

var (
	caseLabel = regexp.MustCompile(`(?m)^\t+-[-a-z=*]*( \| -[-a-z=*]*)*\)`)
	option    = regexp.MustCompile(`--[a-z][a-z-]+`)
)

// isList tells a block of lines "term  what it means" from one that is to stay as it is written.
func isList(block string) bool {
	for line := range strings.Lines(block) {
		if _, _, found := cutTerm(line); !found && !strings.HasPrefix(line, " ") {
			return false
		}
	}
	return true
}

var gap = regexp.MustCompile(`\S(  +)\S`)

// cutTerm cuts a list's line; a line that goes on with the one before has no term.
func cutTerm(line string) (term, meaning string, found bool) {
	at := gap.FindStringSubmatchIndex(line)
	if at == nil || strings.HasPrefix(line, " ") {
		return "", strings.TrimSpace(line), false
	}
	return line[:at[2]], strings.TrimSpace(line[at[3]:]), true
}

func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// Each program has a manual page that says what its help says. With -update the pages are written anew.
func TestManualPages(t *testing.T) {
	suite, err := os.ReadFile(filepath.Join("..", "..", "docs", "man", "ralph.7"))
	if err != nil {
		t.Fatal(err)
	}
	helps := map[string]string{}
	w := newWorld(t)
	for _, name := range []string{"ralph-loop", "ralph-prompt"} {
		cmd := exec.Command("sh", filepath.Join("..", "..", "scripts", name), "--help")
		cmd.Env = w.environ
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s --help: %v", name, err)
		}
		helps[name] = indented.ReplaceAllString(string(out), "\t")
		source, err := os.ReadFile(filepath.Join("..", "..", "scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		var options []string
		for _, label := range caseLabel.FindAllString(string(source), -1) {
			options = append(options, option.FindAllString(label, -1)...)
		}
		if len(options) < 5 {
			t.Errorf("%s: only the options %q were found", name, options)
		}
		for _, o := range options {
			if o != "--mode" && !strings.Contains(string(out), "  "+o) && !strings.Contains(string(out), ", "+o) {
				t.Errorf("%s --help does not name %s", name, o)
			}
		}
	}
	for name := range programs {
		doc, err := os.ReadFile(filepath.Join("..", "..", "cmd", name, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		helps[name] = helpText(string(doc))
	}
	for name, help := range helps {
		path := filepath.Join("..", "..", "docs", "man", name+".1")
		want := manual(name, help)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != want {
			t.Errorf("%s does not say what the help says: write it anew with -update", path)
		}
		for _, part := range []string{".SH NAME", ".SH SYNOPSIS", ".SH EXIT STATUS"} {
			if !strings.Contains(want, part) {
				t.Errorf("%s: no %s", path, part)
			}
		}
		if !bytes.Contains(suite, []byte(".BR "+roff(name)+" (1)")) {
			t.Errorf("ralph.7 does not name %s", name)
		}
	}
}

// Each pipeline of the suite's page runs as it stands there.
func TestSuitePagePipelines(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "man", "ralph.7"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?s)\.EX\n(.*?)\.EE\n`).FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("only %d pipelines were found", len(blocks))
	}
	w := newWorld(t)
	w.write(filepath.Join(w.dir, "specification.yaml"), `requirements:
  - {id: REQ-001, title: One, description: one, acceptance_criteria: ["it works"]}
  - {id: REQ-007, title: Seven, description: seven, acceptance_criteria: ["it works"]}
  - {id: REQ-008, title: Eight, description: eight, depends_on: [REQ-007], acceptance_criteria: ["it works"]}
`)
	w.git("commit", "-qam", "Plan")
	origin := filepath.Join(w.home, "origin.git")
	w.git("init", "-q", "--bare", origin)
	w.git("remote", "add", "origin", origin)
	w.git("config", "push.default", "current") // the home sets what is hostile
	w.git("push", "-q", "-u", "origin", "main")
	// REQ-007 fails until somebody decides about it.
	bin := filepath.Join(w.home, "bin")
	w.write(filepath.Join(bin, "codex"), "#!/bin/sh\ncat >/dev/null\n. \"$STUBS\"\n[ \"$RALPH_REQ\" = REQ-007 ] && [ ! -e \"$HOME/mended\" ] || write \"$RALPH_REQ\"\n")
	scripts, err := filepath.Abs(filepath.Join("..", "..", "scripts"))
	if err != nil {
		t.Fatal(err)
	}
	w.environ = append(w.environ, "PATH="+bin+":"+scripts+":"+os.Getenv("PATH"), "RALPH_AGENT=codex")
	if cmd, out := w.loop(); code(cmd.Run()) != 11 {
		t.Fatalf("the loop before: %s", out)
	}
	w.write(filepath.Join(w.home, "mended"), "")
	for _, block := range blocks {
		cmd := exec.Command("sh", "-ec", strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(block[1]))
		cmd.Dir, cmd.Env = w.dir, w.environ
		if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) == 0 {
			t.Errorf("%s\n%v\n%s", block[1], err, out)
		}
	}
}
