package gate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/agentsmd"
	"ralph-loop/internal/config"
	"ralph-loop/internal/diffstat"
	"ralph-loop/internal/glob"
	"ralph-loop/internal/lazyregexp"
)

// L0 keeps a requirement's work away from what judges it, and rubbish and secrets out of the history.

const scopeVersion = 2

// maxFile is the largest file that a requirement's work may add, in bytes.
const maxFile = 5 << 20

func (j *judge) scopeKey() inputs {
	g := j.Config.Gate
	in := inputs{Layer: "L0", Version: scopeVersion, Tree: j.Tree, Base: j.baseTree,
		Settings: []any{j.Config.Spec, g.Protect, lines(g.Typecheck), lines(g.Lint), lines(g.Test)}}
	if j.Requirement != nil {
		in.Requirement = []any{j.Requirement.Allow}
	}
	return in
}

func (j *judge) scope(ctx context.Context) (Layer, error) {
	stat, err := j.changed(ctx)
	if err != nil {
		return Layer{}, err
	}
	var found []Finding
	var suspects []diffstat.File // new content that has to be looked into
	last := ""
	for _, f := range stat.Files {
		if f.Path == last {
			continue // a second part of the same file
		}
		last = f.Path
		for _, side := range sides(f) {
			rule, why, err := j.untouchable(ctx, side)
			if err != nil {
				return Layer{}, err
			}
			if rule == "" {
				rule, why = unwanted(side)
			}
			if rule == "" {
				if (isFile(side.NewMode) || side.NewMode == modeSymlink) && side.NewBlob != side.OldBlob {
					suspects = append(suspects, side)
				}
				continue
			}
			found = append(found, Finding{Path: side.Path, Rule: rule, Message: why})
		}
	}
	more, err := j.inspect(ctx, suspects)
	if err != nil {
		return Layer{}, err
	}
	found = append(found, more...)
	slices.SortStableFunc(found, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })

	l := Layer{Result: Pass, Summary: "nothing protected is touched"}
	if len(stat.Files) == 0 {
		return Layer{Result: NotApplicable, Summary: "nothing changed"}, nil
	}
	for _, f := range found {
		switch {
		case j.Requirement == nil:
			l.Notes = append(l.Notes, f.String())
		case glob.Any(j.Requirement.Allow, f.Path):
			l.Notes = append(l.Notes, f.String()+" (allowed by the requirement)")
		default:
			l.Findings = append(l.Findings, f)
		}
	}
	switch {
	case len(l.Findings) > 0:
		l.Result = Fail
		l.Summary = fmt.Sprintf("%s that this work may not change", plural(len(l.Findings), "path"))
		l.Advice = "undo these changes; if the requirement truly needs one, its author lists the path under 'allow' in the specification"
	case len(found) > 0 && j.Requirement == nil:
		l.Summary = plural(len(found), "path") + " that a requirement's work could not change"
	case len(found) > 0:
		l.Summary = plural(len(found), "protected path") + ", allowed by the requirement"
	}
	return l, nil
}

// sides takes a rename for what it is to a protected file: its old path is gone and its new one is there.
func sides(f diffstat.File) []diffstat.File {
	if f.Status != 'R' {
		return []diffstat.File{f}
	}
	gone, come := f, f
	gone.Path, gone.From, gone.Status, gone.NewMode, gone.NewBlob = f.From, "", 'D', "", ""
	come.From, come.Status, come.OldMode, come.OldBlob = "", 'A', "", ""
	return []diffstat.File{gone, come}
}

const (
	modeGitlink = "160000"
	modeSymlink = "120000"
)

func isFile(mode string) bool { return mode == "100644" || mode == "100755" }

var (
	gitHooks = lazyregexp.New(`(^|/)(hooks|\.githooks|\.git-hooks|git-hooks)/(pre-commit|pre-merge-commit|prepare-commit-msg|commit-msg|post-commit|pre-rebase|post-checkout|post-merge|pre-push|post-rewrite|pre-auto-gc|applypatch-msg|pre-applypatch|post-applypatch)$`)
	// Tools that install or run hooks.
	hookFiles = []string{"/.husky/", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "/lefthook.yml", "/lefthook.yaml", "/.lefthook.yml", "/.lefthook/", "/.overcommit.yml"}
	// The configuration of tools that L1 to L3 may run.
	toolFiles = []string{".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json", "staticcheck.conf",
		".eslintrc*", "eslint.config.*", "tsconfig*.json", "jest.config.*", "vitest.config.*", "vite.config.*", ".mocharc*", ".nycrc*", ".c8rc*", "playwright.config.*", "biome.json", ".prettierrc*",
		"pytest.ini", "tox.ini", ".coveragerc", "setup.cfg", "mypy.ini", ".flake8", "ruff.toml", ".ruff.toml", "noxfile.py",
		"clippy.toml", ".clippy.toml", "tarpaulin.toml", "nextest.toml", "checkstyle.xml"}
)

// untouchable says why f may not be touched by a requirement's work, or gives "".
func (j *judge) untouchable(ctx context.Context, f diffstat.File) (rule, why string, err error) {
	p, isNew := f.Path, f.Status == 'A'
	switch {
	case p == path.Clean(j.Config.Spec):
		return "protected", "the specification is its author's", nil
	case p == config.File:
		return "protected", "the gate's own configuration", nil
	case gitHooks.MatchString(p) || glob.Any(hookFiles, p):
		return "protected", "a git hook, or what configures one", nil
	case glob.Any(j.Config.Gate.Protect, p):
		return "protected", "protected by gate.protect", nil
	case p == ".sprint-state" || strings.HasPrefix(p, ".sprint-state/"):
		return "protected", "the toolkit's own state does not belong into the history", nil
	case p == agentsmd.Name:
		same, err := j.sameByHand(ctx, f)
		if err != nil || same {
			return "", "", err
		}
		return "protected", "AGENTS.md has one writer, the toolkit: put the addition into the report's agentmd_addition", nil
	// What follows may be created: there is nothing yet that it could weaken.
	case isNew:
		return "", "", nil
	case path.Base(p) == ".gitattributes":
		return "protected", "attributes decide how git counts and stores files", nil
	case glob.Any(toolFiles, p):
		return "protected", "the configuration of a tool that may judge the work", nil
	case slices.Contains([]string{"Makefile", "makefile", "GNUmakefile"}, path.Base(p)) && j.uses("make", "gmake"):
		return "protected", "the gate's commands run make, and this file says what that does", nil
	case path.Base(p) == "package.json" && j.uses("npm", "npx", "yarn", "pnpm", "bun"):
		keys, err := j.packageKeys(ctx, f)
		if err != nil || len(keys) == 0 {
			return "", "", err
		}
		return "protected", "the gate's commands use it: " + strings.Join(keys, ", "), nil
	case f.Class != diffstat.Test && j.named(p):
		return "protected", "the gate's commands name it: what they run would be another", nil
	}
	return "", "", nil
}

// named reports whether a command of the gate's has the path for one of its words.
func (j *judge) named(p string) bool {
	g := j.Config.Gate
	for _, c := range slices.Concat(g.Typecheck, g.Lint, g.Test) {
		for _, arg := range c.Args {
			for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>=\"'`", r) }) {
				if path.Clean(word) == p {
					return true
				}
			}
		}
	}
	return false
}

// uses reports whether a command of the gate's names one of the programs.
func (j *judge) uses(programs ...string) bool {
	g := j.Config.Gate
	for _, c := range slices.Concat(g.Typecheck, g.Lint, g.Test) {
		for _, word := range strings.FieldsFunc(c.Line, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()", r) }) {
			if slices.Contains(programs, path.Base(word)) {
				return true
			}
		}
	}
	return false
}

// packageKeys are the keys of package.json that steer tests, types and lint and that the change alters. New scripts
// are free, but for the ones that npm runs around an existing one.
func (j *judge) packageKeys(ctx context.Context, f diffstat.File) ([]string, error) {
	before, after, err := j.contents(ctx, f)
	if err != nil {
		return nil, err
	}
	var old, now map[string]json.RawMessage
	if json.Unmarshal(before, &old) != nil {
		return nil, nil // there was nothing that a tool could have used
	}
	if err := json.Unmarshal(after, &now); err != nil {
		return []string{"it is no longer JSON"}, nil
	}
	var keys []string
	for _, key := range []string{"jest", "vitest", "mocha", "nyc", "c8", "ava", "tap", "eslintConfig", "prettier", "babel"} {
		if old[key] != nil && !sameJSON(old[key], now[key]) {
			keys = append(keys, key)
		}
	}
	var oldScripts, newScripts map[string]json.RawMessage
	_ = json.Unmarshal(old["scripts"], &oldScripts) // absent or odd: no scripts
	_ = json.Unmarshal(now["scripts"], &newScripts)
	for name, text := range oldScripts {
		if !sameJSON(text, newScripts[name]) {
			keys = append(keys, "scripts."+name)
		}
		for _, around := range []string{"pre" + name, "post" + name} {
			if oldScripts[around] == nil && newScripts[around] != nil {
				keys = append(keys, "scripts."+around)
			}
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// sameByHand reports whether both sides of an AGENTS.md are equal once the toolkit's own sections are taken out.
func (j *judge) sameByHand(ctx context.Context, f diffstat.File) (bool, error) {
	if f.NewMode != "" && !isFile(f.NewMode) {
		return false, nil
	}
	before, after, err := j.contents(ctx, f)
	if err != nil {
		return false, err
	}
	return bytes.Equal(agentsmd.Strip(before), agentsmd.Strip(after)), nil
}

// contents are both sides of a file; an absent one is empty.
func (j *judge) contents(ctx context.Context, f diffstat.File) (before, after []byte, err error) {
	read := func(blob string) (data []byte, err error) {
		if blob == "" {
			return nil, nil
		}
		err = j.Repo.Blobs(ctx, []string{blob}, func(_ int, r io.Reader, _ int64) error {
			data, err = io.ReadAll(io.LimitReader(r, maxFile))
			return err
		})
		return data, err
	}
	if before, err = read(f.OldBlob); err != nil {
		return nil, nil, err
	}
	after, err = read(f.NewBlob)
	return before, after, err
}

var (
	leftovers = map[string]string{
		"node_modules": "a dependency folder", "bower_components": "a dependency folder", "jspm_packages": "a dependency folder", ".yarn-cache": "a cache folder",
		".venv": "a dependency folder", "venv": "a dependency folder", "site-packages": "a dependency folder", ".eggs": "a build folder",
		"__pycache__": "a cache folder", ".pytest_cache": "a cache folder", ".mypy_cache": "a cache folder", ".ruff_cache": "a cache folder", ".tox": "a cache folder", ".nox": "a cache folder",
		".gradle": "a cache folder", ".next": "a build folder", ".nuxt": "a build folder", ".turbo": "a cache folder", ".parcel-cache": "a cache folder",
		".cache": "a cache folder", ".nyc_output": "a cache folder", ".terraform": "a cache folder", ".DS_Store": "a file of the desktop's",
	}
	keyNames  = []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.p12", "*.pfx", "*.jks", "*.ppk"}
	envSample = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema"}
)

// unwanted says why a new path does not belong into the history, or gives "".
func unwanted(f diffstat.File) (rule, why string) {
	if f.OldMode == modeGitlink || f.NewMode == modeGitlink {
		switch {
		case f.Status == 'A':
			return "nested repository", "a repository inside the repository: its files would not be in the commit"
		case f.Status != 'D':
			return "submodule", "the submodule points to another commit, which others may not have"
		}
	}
	if f.Status != 'A' {
		return "", ""
	}
	for name := range strings.SplitSeq(f.Path, "/") {
		if what := leftovers[name]; what != "" {
			return "not source", fmt.Sprintf("%s: ignore it (.gitignore) instead of adding it", what)
		}
	}
	name := path.Base(f.Path)
	if (name == ".env" || strings.HasPrefix(name, ".env.")) && !slices.Contains(envSample, name) {
		return "secret", "an .env file holds secrets and this machine's settings"
	}
	if glob.Any(keyNames, name) {
		return "secret", "a private key, by its name"
	}
	return "", ""
}

// inspect looks at new content: its size, whether it holds a private key, and where a link leads.
func (j *judge) inspect(ctx context.Context, files []diffstat.File) ([]Finding, error) {
	var blobs []string
	for _, f := range files {
		blobs = append(blobs, f.NewBlob)
	}
	var found []Finding
	err := j.Repo.Blobs(ctx, blobs, func(i int, data io.Reader, size int64) error {
		if files[i].NewMode == modeSymlink {
			target, err := io.ReadAll(io.LimitReader(data, 4096))
			if leadsOut(files[i].Path, string(target)) {
				found = append(found, Finding{Path: files[i].Path, Rule: "link", Message: fmt.Sprintf("a link that leads out of the tree, to %q", target)})
			}
			return err
		}
		if size > maxFile {
			found = append(found, Finding{Path: files[i].Path, Rule: "too large",
				Message: fmt.Sprintf("%.1f MB: files over %d MB stay in the history for ever", float64(size)/(1<<20), maxFile>>20)})
			return nil
		}
		line, err := privateKey(data)
		if line > 0 {
			found = append(found, Finding{Path: files[i].Path, Line: line, Rule: "secret", Message: "a private key"})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look into the changed files: %w", err)
	}
	return found, nil
}

// leadsOut reports whether a link at p leads to a place that no tree can hold.
func leadsOut(p, target string) bool {
	if strings.HasPrefix(target, "/") {
		return true
	}
	at := path.Join(path.Dir(p), target)
	return at == ".." || strings.HasPrefix(at, "../") || at == ".git" || strings.HasPrefix(at, ".git/")
}

var (
	keyBegin = lazyregexp.New(`^-----BEGIN (RSA |EC |DSA |OPENSSH |ENCRYPTED )?PRIVATE KEY-----\s*$|^-----BEGIN PGP PRIVATE KEY BLOCK-----\s*$`)
	keyBody  = lazyregexp.New(`^[A-Za-z0-9+/=]{32,}\s*$|^(Proc-Type|DEK-Info|Version|Comment): `)
)

// privateKey gives the line at which a private key begins, or 0. The words alone, as in a program that looks for
// keys, are none: a line of the key itself must follow.
func privateKey(data io.Reader) (int, error) {
	r := bufio.NewReaderSize(data, 4<<10)
	begun := false
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		if begun && keyBody.Match(line) {
			return number - 1, nil
		}
		begun = keyBegin.Match(line)
		for err == bufio.ErrBufferFull {
			_, err = r.ReadSlice('\n')
		}
		if err == io.EOF {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
