package testinfra

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/config"
	"ralph-loop/internal/lazyregexp"
)

// The templates are programs that compile and have tests, so that what a project gets was run before.
//
//go:embed templates
var templates embed.FS

// File is one that a template makes.
type File struct {
	Path string
	Data []byte
}

// Template gives the helper for a place in a tree, and its own test. whyNot says why there is none: no template for the
// language or for the agreed names, or a file that is there already and that a template must not overwrite.
func (c *Contract) Template(place string, tree Tree) (made []File, whyNot string, err error) {
	language, ext := "", path.Ext(place)
	switch ext {
	case ".go":
		language = "golang"
	case ".ts", ".tsx", ".mts":
		language = "typescript"
	case ".js", ".mjs":
		language = "javascript"
	default:
		return nil, fmt.Sprintf("there is no template for %q files", ext), nil
	}
	for _, e := range c.Exports {
		if !slices.ContainsFunc(usual(place), func(u config.Export) bool { return u.Name == e.Name }) {
			return nil, fmt.Sprintf("the template has %s and %s, not %s", usual(place)[0].Name, usual(place)[1].Name, e.Name), nil
		}
	}
	there, err := tree.Present([]string{place})
	if err != nil {
		return nil, "", err
	}
	if len(there) > 0 {
		return nil, "it is there already, and a template would overwrite it", nil
	}
	if language == "golang" {
		made, err = goTemplate(place, tree)
	} else {
		made, err = scriptTemplate(language, place, tree)
	}
	return made, "", err
}

func goTemplate(place string, tree Tree) ([]File, error) {
	name, err := goPackage(path.Dir(place), tree)
	if err != nil {
		return nil, err
	}
	own := strings.TrimSuffix(strings.TrimSuffix(place, ".go"), "_test") + "_infra_test.go"
	return fill([]File{{place, []byte("golang/apptest.go")}, {own, []byte("golang/apptest_test.go")}},
		"Package apptest", "Package "+name, "package apptest", "package "+name)
}

// goPackage is the name of the package in a folder: of its files, else as the folder is called.
func goPackage(dir string, tree Tree) (string, error) {
	files, err := tree.List(dir)
	if err != nil {
		return "", err
	}
	for _, name := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		src, err := tree.Read(name)
		if err != nil {
			return "", err
		}
		if file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly); err == nil && !strings.HasSuffix(file.Name.Name, "_test") {
			return file.Name.Name, nil
		}
	}
	name := strings.ToLower(lazyregexp.New(`[^A-Za-z0-9]`).ReplaceAllString(path.Base(dir), ""))
	if dir == "." || name == "" || name[0] <= '9' || token.IsKeyword(name) {
		name = "apptest"
	}
	return name, nil
}

// runners are the test runners that package.json may name, with what a test imports from them, the likeliest first.
var runners = []struct{ name, imports string }{
	{"vitest", "{ test } from 'vitest'"}, {"jest", "{ test } from '@jest/globals'"}, {"mocha", "{ it as test } from 'mocha'"},
}

func scriptTemplate(language, place string, tree Tree) ([]File, error) {
	ext := map[string]string{"typescript": ".ts", "javascript": ".mjs"}[language]
	stem := strings.TrimSuffix(place, path.Ext(place))
	imported := "./" + path.Base(stem) + map[string]string{".ts": ".js", ".tsx": ".js", ".mts": ".mjs", ".js": ".js", ".mjs": ".mjs"}[path.Ext(place)]
	own := stem + ".test" + strings.TrimSuffix(path.Ext(place), "x")
	runner, err := runnerOf(tree)
	if err != nil {
		return nil, err
	}
	if strings.Contains(runner, "jest") {
		imported = strings.TrimSuffix(imported, path.Ext(imported)) // its resolver takes no .js for a .ts
	}
	return fill([]File{{place, []byte(language + "/test-utils" + ext)}, {own, []byte(language + "/test-utils.test" + ext)}},
		"{ test } from 'node:test'", runner, "'./test-utils.js'", "'"+imported+"'", "'./test-utils.mjs'", "'"+imported+"'")
}

func runnerOf(tree Tree) (string, error) {
	own := "{ test } from 'node:test'"
	there, err := tree.Present([]string{"package.json"})
	if err != nil || len(there) == 0 {
		return own, err
	}
	data, err := tree.Read("package.json")
	if err != nil {
		return "", err
	}
	var p struct{ Dependencies, DevDependencies map[string]any }
	if json.Unmarshal(data, &p) != nil {
		return own, nil
	}
	for _, r := range runners {
		if p.Dependencies[r.name] != nil || p.DevDependencies[r.name] != nil {
			return r.imports, nil
		}
	}
	return own, nil
}

// fill reads the templates whose names stand in the place of the data, and replaces words in them.
func fill(files []File, replace ...string) ([]File, error) {
	for i, f := range files {
		data, err := templates.ReadFile("templates/" + string(f.Data))
		if err != nil {
			return nil, err
		}
		files[i].Data = []byte(strings.NewReplacer(replace...).Replace(string(data)))
	}
	return files, nil
}
