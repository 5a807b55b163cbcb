package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ralph-loop/internal/spec"
)

// checkFinished judges a run that has ended: each requirement that was taken up left its checklist, each that is done was
// held to the whole suite, and each kept prompt told of its own requirement and of no other.
func (c *Checkpoint) checkFinished(report func(string, ...any)) error {
	if c.p.open() || c.p.Req.Status == RunNone {
		return nil
	}
	for _, r := range c.p.Requirements {
		if r.Number == 0 {
			continue // not of this run
		}
		if _, err := os.Stat(c.summaryPath(r.ID)); err != nil {
			report("%s left no checklist: %v", r.ID, err)
		}
		if r.Status == Done && !wholeSuite(r.Gate) {
			report("%s is done and its verdict %q names no run of the whole suite", r.ID, r.Gate)
		}
		if err := c.checkPrompts(r.ID, report); err != nil {
			return err
		}
	}
	return nil
}

// wholeSuite reports whether a passing verdict's figures say what L2 saw. A tree without implementation has nothing to run.
func wholeSuite(figures string) bool {
	l2 := gateFigures(figures)["L2"]
	passed, _, _ := strings.Cut(l2, " ")
	_, err := strconv.Atoi(passed)
	return err == nil || l2 == "not-applicable"
}

// checkPrompts looks at the prompts that were kept of a requirement's attempts in this run.
func (c *Checkpoint) checkPrompts(id string, report func(string, ...any)) error {
	own := c.graph.Spec().Lookup(id)
	dir := c.runDir(id)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || own == nil {
		return nil // its logs were removed, or nobody made an attempt
	}
	if err != nil {
		return fmt.Errorf("look at the attempts of %s: %w", id, err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name(), promptFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read a prompt of %s: %w", id, err)
		}
		prompt := string(data)
		if n := spec.Tokens(prompt); n > c.cfg.Prompt.MaxTokens {
			report("%s, attempt %s: its prompt of about %d tokens is beyond prompt.max_tokens %d", id, e.Name(), n, c.cfg.Prompt.MaxTokens)
		}
		if c.p.Find(id).SpecHash == own.Hash() && !strings.Contains(prompt, strings.TrimSpace(own.Source)) {
			report("%s, attempt %s: its prompt does not hold the requirement's own lines", id, e.Name())
		}
		for _, other := range c.graph.Spec().Requirements {
			text := strings.TrimSpace(other.Source)
			if other.ID != id && strings.Contains(prompt, text) && !strings.Contains(own.Source, text) {
				report("%s, attempt %s: its prompt holds the lines of %s too", id, e.Name(), other.ID)
			}
		}
	}
	return nil
}

// keepMissingSummaries writes the checklists of this run's requirements that are not there: git clean takes them away.
func (c *Checkpoint) keepMissingSummaries() error {
	for _, r := range c.p.Requirements {
		if r.Number == 0 || c.graph.Spec().Lookup(r.ID) == nil {
			continue
		}
		if _, err := os.Stat(c.summaryPath(r.ID)); err == nil {
			continue
		}
		if err := c.keepSummary(r.ID); err != nil {
			return err
		}
	}
	return nil
}
