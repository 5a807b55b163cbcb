package testinfra

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph-loop/internal/config"
)

// lay writes what the template for a place makes into a folder that holds the tree.
func lay(t *testing.T, dir string, tree files, place string) []File {
	t.Helper()
	contract, err := Find(config.TestInfra{File: place}, tree)
	if err != nil {
		t.Fatal(err)
	}
	made, whyNot, err := contract.Template(place, tree)
	if err != nil || whyNot != "" || len(made) != 2 {
		t.Fatalf("%s: %d files, %q, %v", place, len(made), whyNot, err)
	}
	for name, text := range tree {
		write(t, filepath.Join(dir, name), text)
	}
	for _, f := range made {
		write(t, filepath.Join(dir, f.Path), string(f.Data))
	}
	h, err := contract.Look(InFolder(dir))
	if err != nil || !h.Complete() {
		t.Errorf("%s: the template does not fulfil the contract: %+v, %v", place, h, err)
	}
	return made
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// The Go template compiles, passes vet and gofmt, and its own test passes, in every kind of place.
func TestGoTemplate(t *testing.T) {
	for place, tree := range map[string]files{
		"internal/apptest/apptest.go": {"go.mod": "module m\n\ngo 1.22\n"},
		"test-kit/kit.go":             {"go.mod": "module m\n\ngo 1.22\n"},
		"helper.go":                   {"go.mod": "module m\n\ngo 1.22\n", "a.go": "// Package shop sells.\npackage shop\n", "a_test.go": "package shop_test\n"},
		"shop/helper_test.go":         {"go.mod": "module m\n\ngo 1.22\n", "shop/a.go": "package shop\n"},
	} {
		t.Run(place, func(t *testing.T) {
			dir := t.TempDir()
			made := lay(t, dir, tree, place)
			for _, line := range []string{"go vet ./...", "go test ./...", "gofmt -l ."} {
				words := strings.Fields(line)
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
				out, err := cmd.CombinedOutput()
				if err != nil || words[0] == "gofmt" && len(out) > 0 || strings.Contains(line, "test") && !strings.Contains(string(out), "ok  ") {
					t.Errorf("%s: %v\n%s\n%s", line, err, out, made[0].Data)
				}
			}
		})
	}
}

func TestScriptTemplates(t *testing.T) {
	for _, c := range []struct {
		place, packageJSON string
		own, runner, from  string
	}{
		{"test/test-utils.ts", `{}`, "test/test-utils.test.ts", "{ test } from 'node:test'", "'./test-utils.js'"},
		{"src/kit.tsx", `{"devDependencies": {"vitest": "1"}}`, "src/kit.test.ts", "{ test } from 'vitest'", "'./kit.js'"},
		{"test-utils.ts", `{"devDependencies": {"jest": "29", "mocha": "1"}}`, "test-utils.test.ts", "{ test } from '@jest/globals'", "'./test-utils'"},
		{"tests/test-utils.mjs", `{"dependencies": {"mocha": "10"}}`, "tests/test-utils.test.mjs", "{ it as test } from 'mocha'", "'./test-utils.mjs'"},
		{"test/test-utils.js", `{"dependencies": `, "test/test-utils.test.js", "{ test } from 'node:test'", "'./test-utils.js'"},
	} {
		made := lay(t, t.TempDir(), files{"package.json": c.packageJSON}, c.place)
		text := string(made[1].Data)
		if made[0].Path != c.place || made[1].Path != c.own || !strings.Contains(text, "import "+c.runner+"\n") || !strings.Contains(text, "from "+c.from+"\n") {
			t.Errorf("%s: %s\n%s", c.place, made[1].Path, text)
		}
	}
}

func TestNoTemplate(t *testing.T) {
	for _, c := range []struct {
		contract Contract
		tree     files
		whyNot   string
	}{
		{Contract{Places: []string{"a.rb"}, Exports: usual("a.rb")}, files{}, `there is no template for ".rb" files`},
		{Contract{Places: []string{"a.go"}, Exports: []config.Export{{Name: "NewApp"}}}, files{}, "the template has CreateTestApp and WithTestDB, not NewApp"},
		{Contract{Places: []string{"a.ts"}, Exports: usual("a.ts")}, files{"a.ts": "export function createTestApp() {}"}, "it is there already, and a template would overwrite it"},
	} {
		made, whyNot, err := c.contract.Template(c.contract.Places[0], c.tree)
		if whyNot != c.whyNot || made != nil || err != nil {
			t.Errorf("%v: %q, %v", c.contract.Places, whyNot, err)
		}
	}
}
