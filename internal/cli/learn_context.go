package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/atomicfile"
	"ralph-loop/internal/exit"
	"ralph-loop/internal/learn"
	"ralph-loop/internal/spec"
	"ralph-loop/internal/testinfra"
)

// context prints what the next attempt is told of what was learned, and writes what of AGENTS.md has room beside it.
func (l *learnProgram) context(c *urfave.Context) error {
	const usage = "ralph-learn context [--req ID] [--max-tokens N [--beside FILE]... ] [--agents FILE] | --settings"
	if _, err := l.operands(c, usage, 0, 0); err != nil {
		return err
	}
	if c.Bool("settings") && c.NumFlags() > 1 {
		return exit.Misuse("leave the others out", "--settings stands alone")
	}
	if c.IsSet("beside") && !c.IsSet("max-tokens") {
		return exit.Misuse("give --max-tokens too", "--beside without a bound")
	}
	place, err := l.learnPlace(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("settings") {
		return l.settings(c, place)
	}
	r, err := place.requirement(c.Context, c.String("req"))
	if err != nil {
		return err
	}
	room, besides := c.Int("max-tokens"), c.StringSlice("beside")
	for _, name := range besides {
		data, err := l.readInput(c.Context, name, maxCounted)
		if err != nil {
			return fmt.Errorf("read what is within the bound too: %w", err)
		}
		room -= spec.Tokens(string(data))
	}
	if room < 0 && len(besides) > 0 {
		return exit.Refuse("ralph-learn tokens FILE... counts each", "%d tokens too many stand beside it", -room)
	}
	w, err := place.windows()
	if err != nil {
		return err
	}
	bounded := c.IsSet("max-tokens")
	text := ""
	if !bounded || room > 0 {
		if text, err = place.learnings(w, r, room); err != nil {
			return err
		}
	}
	if name := c.String("agents"); name != "" {
		if err := place.writeAgents(l.abs(name), w, bounded, room-spec.Tokens(text)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(l.Stdout, text)
	return err
}

// maxCounted is the most of a file whose tokens are counted, in bytes.
const maxCounted = 1 << 30

// learnings is what an attempt at r, nil for none, is told, within most tokens; 0 is no bound.
func (l *learnPlace) learnings(w *learn.Windows, r *spec.Requirement, most int) (string, error) {
	about := ""
	if r != nil {
		about = r.Source
	}
	chosen := w.Context(about, l.config.Learn.PermanentMaxTokens, most)
	page := filepath.Join(l.repo.Sprint(), pageFile)
	if chosen.LeftOut > 0 {
		// Written when a prompt names it, so that it is there and whole whatever an agent did to it.
		if old, err := os.ReadFile(page); err != nil || string(old) != w.Page() {
			if err := atomicfile.Replace(page, []byte(w.Page())); err != nil {
				return "", err
			}
		}
	}
	return chosen.Text(".sprint-state/ralph-loop/" + pageFile), nil
}

// writeAgents writes AGENTS.md as a prompt holds it into a file, empty where there is no room.
func (l *learnPlace) writeAgents(name string, w *learn.Windows, bounded bool, room int) error {
	text := ""
	if !bounded || room > 0 {
		file, err := agentsmd.Open(l.repo.Top)
		if err != nil {
			return err
		}
		if text, err = shownAgents(file, w, max(room, 0)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		return fmt.Errorf("write what of AGENTS.md has room: %w", err)
	}
	return nil
}

// settings prints what scripts/ralph-prompt must know, KEY=VALUE a line.
func (l *learnProgram) settings(c *urfave.Context, place *learnPlace) error {
	prompt := place.config.Prompt
	if prompt.Lang == "auto" {
		var err error
		if prompt.Lang, err = place.language(c.Context); err != nil {
			return err
		}
	}
	if prompt.Template != "" && !filepath.IsAbs(prompt.Template) {
		prompt.Template = filepath.Join(place.repo.Top, prompt.Template)
	}
	if strings.ContainsAny(prompt.Template, "\n\r") {
		return exit.Fail("rename the file", "prompt.template %q holds a line break", prompt.Template)
	}
	coverage := place.config.Gate.Coverage.String()
	switch c := place.config.Gate.Coverage; {
	case c.NoDecrease:
	case c.Percent > 0:
		coverage += " %"
	case prompt.Lang == "zh":
		coverage = "不要求"
	default:
		coverage = "not asked for"
	}
	_, err := fmt.Fprintf(l.Stdout, "lang=%s\nmax_tokens=%d\nagents_md=%s\ntemplate=%s\ntest_ratio=%d\ncoverage=%s\nmock_density=%d\ntest_infra=%s\n",
		prompt.Lang, prompt.MaxTokens, prompt.AgentsMD, prompt.Template, place.config.Gate.TestRatio, coverage, place.config.Gate.MockDensity, testinfra.Ask(place.config.TestInfra, place.repo.Top))
	return err
}

// language is the one that the specification is written in. To take a large one apart is dear, and one in plain ASCII
// without an escape tells at once.
func (l *learnPlace) language(ctx context.Context) (string, error) {
	data, err := l.p.readInput(ctx, l.specPath(), spec.MaxSize)
	if err != nil {
		return "", err
	}
	if !bytes.ContainsFunc(data, func(r rune) bool { return r >= utf8.RuneSelf || r == '\\' || r == 0 }) {
		return learn.Language(""), nil
	}
	s, err := l.specification(ctx)
	if err != nil {
		return "", err
	}
	return learn.Language(texts(s)), nil
}

// texts are the words of a specification, without its keys and ids.
func texts(s *spec.Spec) string {
	var b strings.Builder
	for _, r := range s.Requirements {
		b.WriteString(r.Title + "\n" + r.Description + "\n")
		for _, c := range r.Criteria {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}
