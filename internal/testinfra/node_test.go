//go:build node

package testinfra

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules is where 'make test-node' installs TypeScript and the test runners, as tools/node/package-lock.json pins them.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "tools", "node", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("%v; 'make test-node' installs it, with npm", err)
	}
	return dir
}

// nodeRun runs a program of node's in dir and wants it to end well; it gives what was printed.
func nodeRun(t *testing.T, dir string, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "CI=1", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

const strict = `{"compilerOptions": {"target": "ES2022", "module": "nodenext", "strict": true, "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true,
	"verbatimModuleSyntax": true, "noUnusedLocals": true, "noUnusedParameters": true, "skipLibCheck": true, "types": ["node"], "outDir": "built", "rootDir": "."}, "include": ["test"]}`

// The templates pass a strict compiler, and their own tests pass under every runner that they are written for.
func TestNodeTemplates(t *testing.T) {
	installed := modules(t)
	bin := func(name string) string { return filepath.Join(installed, ".bin", name) }
	for _, c := range []struct {
		name  string
		place string
		tree  files
		run   [][]string
		want  string
	}{
		{"TypeScript, node --test", "test/test-utils.ts", files{"package.json": `{"type": "module"}`, "tsconfig.json": strict},
			[][]string{{bin("tsc"), "-p", "."}, {"node", "--test", "built/"}}, "- withTestDb removes the database of a test that failed"},
		{"TypeScript, CommonJS, node --test", "test/kit.ts", files{"package.json": `{"type": "commonjs"}`,
			"tsconfig.json": strings.Replace(strict, `"verbatimModuleSyntax": true, `, "", 1)},
			[][]string{{bin("tsc"), "-p", "."}, {"node", "--test", "built/"}}, "- withTestDb removes the database of a test that failed"},
		{"TypeScript, vitest", "test/test-utils.ts", files{"package.json": `{"type": "module", "devDependencies": {"vitest": "*"}}`, "tsconfig.json": strict},
			[][]string{{bin("tsc"), "-p", ".", "--noEmit"}, {bin("vitest"), "run"}}, "3 passed"},
		{"TypeScript, jest", "test/test-utils.ts", files{"package.json": `{"devDependencies": {"jest": "*"}, "jest": {"preset": "ts-jest", "testEnvironment": "node"}}`,
			"tsconfig.json": `{"compilerOptions": {"target": "ES2022", "module": "commonjs", "strict": true, "esModuleInterop": true, "skipLibCheck": true}}`},
			[][]string{{bin("jest"), "--rootDir", "."}}, "3 passed"},
		{"JavaScript, node --test", "test/test-utils.mjs", files{"package.json": `{}`}, [][]string{{"node", "--test", "test/"}}, "- withTestDb removes the database of a test that failed"},
		{"JavaScript, vitest", "test-utils.js", files{"package.json": `{"type": "module", "devDependencies": {"vitest": "*"}}`}, [][]string{{bin("vitest"), "run"}}, "3 passed"},
		{"JavaScript, mocha", "test/test-utils.mjs", files{"package.json": `{"devDependencies": {"mocha": "*"}}`}, [][]string{{bin("mocha"), "test/*.test.mjs"}}, "3 passing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(installed, filepath.Join(dir, "node_modules")); err != nil {
				t.Fatal(err)
			}
			lay(t, dir, c.tree, c.place)
			out := ""
			for _, args := range c.run {
				out = nodeRun(t, dir, nil, args...)
			}
			if !strings.Contains(out, c.want) {
				t.Errorf("%q is not in what was printed:\n%s", c.want, out)
			}
		})
	}
}

// compared says which names each module exports as a value: the TypeScript compiler knows, and of CommonJS node itself.
const compared = `
const ts = require('typescript')
const { mkdtempSync, mkdirSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const cases = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
const answers = cases.map(({ main, files }, i) => {
  const top = join(process.cwd(), 'case' + i)
  for (const name in files) {
    mkdirSync(dirname(join(top, name)), { recursive: true })
    writeFileSync(join(top, name), files[name])
  }
  if (main.endsWith('.cjs')) {
    const exported = require(join(top, main))
    return Object.getOwnPropertyNames(exported).filter((name) => exported[name] != null)
  }
  const program = ts.createProgram([join(top, main)], { allowJs: true, noLib: true, noEmit: true, jsx: ts.JsxEmit.Preserve, target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.CommonJS, moduleResolution: ts.ModuleResolutionKind.Node10, types: [] })
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(join(top, main)))
  if (!module) return []
  return checker.getExportsAndPropertiesOfModule(module).filter((symbol) => {
    let ambient = false
    for (let s = symbol; s; ) {
      // "export type" and "import type" make an alias that has a value, and gives none.
      if (s.declarations?.some((d) => ts.isTypeOnlyImportOrExportDeclaration(d))) return false
      if (!(s.flags & ts.SymbolFlags.Alias)) {
        ambient = s.valueDeclaration && (ts.getCombinedModifierFlags(s.valueDeclaration) & ts.ModifierFlags.Ambient)
        return s.flags & ts.SymbolFlags.Value && !ambient
      }
      s = checker.getImmediateAliasedSymbol(s)
    }
    return false
  }).map((s) => s.name)
})
process.stdout.write(JSON.stringify(answers))
`

// The reader of exports agrees with the TypeScript compiler and with node, where they can know: not of packages that are
// not there. The compiler does not tell that "export type *" gives no values, and what
// a condition exports is not believed here.
func TestExportsAgainstTypeScript(t *testing.T) {
	installed := modules(t)
	type question struct {
		Main  string `json:"main"`
		Files files  `json:"files"`
	}
	var questions []question
	var sources []string
	for src := range exportCases {
		if strings.Contains(src, "some-package") || strings.Contains(src, "@acme") || strings.Contains(src, "export type *") || strings.HasPrefix(src, "if ") {
			continue
		}
		main, text := "test/h.tsx", src
		if strings.Contains(src, "exports.") || strings.Contains(src, "module.exports") {
			main, text = "test/h.cjs", "var f = () => 1, c = {}, x = { exports: {} };\n"+src
		}
		tree := exportTree(main, text)
		if main == "test/h.cjs" {
			tree["test/other.js"] = "exports.a = 1\nexports.b = function b() {}"
			delete(tree, "test/other.ts")
		}
		questions, sources = append(questions, question{main, tree}), append(sources, src)
	}
	asked, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(installed, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "compare.cjs"), compared)
	var answers [][]string
	if err := json.Unmarshal([]byte(nodeRun(t, dir, asked, "node", "compare.cjs")), &answers); err != nil || len(answers) != len(questions) {
		t.Fatal(err)
	}
	for i, q := range questions {
		missing := slices.DeleteFunc([]string{"a", "b"}, func(name string) bool { return slices.Contains(answers[i], name) })
		if got := lacks(t, q.Main, q.Files, "a", "b"); got != strings.Join(missing, " ") {
			t.Errorf("%q in %s lacks %q, by TypeScript %q", sources[i], q.Main, got, strings.Join(missing, " "))
		}
	}
}
