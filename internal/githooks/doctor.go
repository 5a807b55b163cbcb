package githooks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/git"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/run"
)

// Line is one thing that Doctor looked at.
type Line struct {
	Topic string
	Text  string
	Wrong bool // it keeps the gate from judging
}

// Doctor tells whether what is committed and pushed here is judged, and what is not. environ is the caller's; tools are
// the programs that the gate's commands for this tree begin with.
func Doctor(ctx context.Context, repo *git.Repo, environ, tools []string) ([]Line, error) {
	lines, err := gitLines(ctx, repo)
	if err != nil {
		return nil, err
	}
	place, err := Find(ctx, repo)
	if err != nil {
		return nil, err
	}
	more, err := place.lines()
	if err != nil {
		return nil, err
	}
	lines = append(lines, more...)
	gate := "ralph-gate"
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, "RALPH_GATE="); ok && v != "" {
			gate = v
		}
	}
	for _, name := range append([]string{gate}, tools...) {
		lines = append(lines, program(name, repo.Top, environ))
	}
	skipped, err := skips(repo)
	if err != nil {
		return nil, err
	}
	return append(lines, skipped,
		Line{Topic: "no hook", Text: "git fires none for revert, cherry-pick, rebase and am, nor for anything with --no-verify;"},
		Line{Topic: "", Text: "pre-push judges what they made, unless it is pushed with --no-verify too: CI has the last word"}), nil
}

var number = lazyregexp.New(`(\d+)\.(\d+)`)

func gitLines(ctx context.Context, repo *git.Repo) ([]Line, error) {
	version, err := repo.Line(ctx, "version")
	if err != nil {
		return nil, err
	}
	version = strings.TrimPrefix(version, "git version ")
	line := Line{Topic: "git", Text: version}
	m := number.FindStringSubmatch(version)
	if m == nil {
		return []Line{line}, nil
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2])
	if major < 2 || major == 2 && minor < 34 {
		line.Text, line.Wrong = version+": 2.34 or newer is needed", true
	}
	return []Line{line}, nil
}

// lines tell of the folder and of each hook in it.
func (p *Place) lines() ([]Line, error) {
	at := Line{Topic: "hooks", Text: p.Dir}
	if p.Scope != "" {
		at.Text += fmt.Sprintf(" (core.hooksPath, %s setting in %s)", p.Scope, strings.TrimPrefix(p.Origin, "file:"))
	}
	lines := []Line{at}
	refused := p.refusal()
	var found []Hook
	for _, name := range Names {
		h, err := look(p.Dir, name)
		if err != nil {
			return nil, err
		}
		refused = cmp.Or(refused, h.replaceable())
		if h.State == Foreign && h.Owner == "" {
			h.Owner = p.owner()
		}
		found = append(found, h)
	}
	// What install would refuse is not advised.
	wanted := false
	install := func(found, does string) string {
		wanted = true
		if refused != nil {
			return found
		}
		return found + ": ralph-gate install" + does
	}
	for i, name := range Names {
		lines = append(lines, p.line(name, found[i], install))
	}
	if wanted && refused != nil {
		lines = append(lines, Line{Topic: "install", Text: "refused here: " + refused.Error() + "; " + exit.HintOf(refused), Wrong: true})
	}
	if p.Dir != p.Usual {
		for _, name := range Names {
			if h, err := look(p.Usual, name); err == nil && h.runsTheGate() {
				lines = append(lines, Line{Topic: "", Text: "git passes over ours in " + p.Usual + ": core.hooksPath leads elsewhere", Wrong: true})
				break
			}
		}
	}
	return lines, nil
}

// line tells of one hook. install words the advice to install, behind what was found.
func (p *Place) line(name string, h Hook, install func(found, does string) string) Line {
	line := Line{Topic: name}
	ours := h.runsTheGate()
	switch {
	case ours && !isExecutable(h.Path):
		line.Text, line.Wrong = "installed, but not executable: git passes it over", true
	case h.State == Current:
		line.Text = "installed"
	case h.State == ByHand:
		line.Text = "put there by hand"
	case h.State == Older:
		line.Text = install("installed by another version", " brings it up to date")
	case h.State == Edited:
		line.Text, line.Wrong = "ours, but somebody changed it: remove it and install again", true
	case p.namesTheGate(name, h):
		line.Text = "not ours, but ralph-gate is named there"
	case h.State == Foreign && h.Chained:
		line.Text, line.Wrong = "not ours any more: something wrote over it", true
	case h.Owner != "":
		line.Text, line.Wrong = "belongs to "+h.Owner+": "+inOwner(h.Owner), true
	case h.State == Foreign:
		line.Text, line.Wrong = install("not ours", " has it run first"), true
	default:
		line.Text, line.Wrong = install("absent", ""), true
	}
	if h.Chained && ours {
		line.Text += "; " + name + Chained + " runs first"
	}
	return line
}

// namesTheGate reports whether somebody's own hook, or what its owner reads, names the gate.
func (p *Place) namesTheGate(name string, h Hook) bool {
	if h.State != Foreign {
		return false
	}
	files := []string{h.Path}
	switch h.Owner {
	case "pre-commit", "prek":
		files = append(files, filepath.Join(p.top, ".pre-commit-config.yaml"))
	case "lefthook":
		files = append(files, filepath.Join(p.top, "lefthook.yml"))
	case "husky":
		files = append(files, filepath.Join(p.top, ".husky", name))
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("ralph-gate")) {
			return true
		}
	}
	return false
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

func program(name, dir string, environ []string) Line {
	path, err := run.LookPath(name, dir, environ)
	if err != nil {
		return Line{Topic: filepath.Base(name), Text: "not found on PATH", Wrong: true}
	}
	return Line{Topic: filepath.Base(name), Text: path}
}

// skips tells how often the gate was switched off.
func skips(repo *git.Repo) (Line, error) {
	data, err := os.ReadFile(filepath.Join(repo.StateDir(), "skips.log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Line{}, fmt.Errorf("read what was skipped: %w", err)
	}
	list := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(data) == 0 {
		return Line{Topic: "skipped", Text: "never (RALPH_SKIP=1)"}, nil
	}
	times := "once"
	if len(list) > 1 {
		times = fmt.Sprintf("%d times", len(list))
	}
	last := strings.ReplaceAll(list[len(list)-1], "\t", " ")
	return Line{Topic: "skipped", Text: fmt.Sprintf("%s (RALPH_SKIP=1), the last time: %s", times, last)}, nil
}
