package testinfra

import "testing"

func TestDefines(t *testing.T) {
	for _, c := range []struct {
		file, src string
		line      int
	}{
		{"a.test.ts", "import { app } from './h'\napp()", 0},
		{"a.test.ts", "describe('x', () => {\n  async function app() {}\n})", 2},
		{"a.test.ts", "\nconst app: () => App = () => new App()", 2},
		{"a.test.ts", "let app = vi.fn()", 1},
		{"a.test.ts", "const app = express()", 1},
		{"a.test.ts", "const app = function* () { return x.app }", 1},
		{"a.test.ts", "let app\nconst b = 1", 0},
		{"a.test.ts", "const { app } = require('./h'); const b = { app: 1 }", 0},
		{"a.test.ts", "const h = require('./h'), app = h.app", 0},
		{"a.test.ts", "const app = (await import('./h')).app;", 0},
		{"a.test.ts", "const app = (await import('./h'))\n  .app", 0},
		{"a.test.ts", "const app = express()\nh.app()", 1},
		{"a.test.ts", "// function app() {}\nx = 'function app() {}'\nx.app = 1", 0},
		{"a.test.ts", "class app {}", 1},
		{"a_test.go", "package a\n\nfunc app() {}", 3},
		{"a_test.go", "package a\nfunc (x X) app() {}\nfunc TestA(t *testing.T) { app := 1 }", 0},
		{"a_test.go", "package", 0},
		{"test_a.py", "from h import app\ndef test_app(): app()", 0},
		{"test_a.py", "class X:\n    def app(self): ...", 2},
		{"a.rb", "def app", 0},
	} {
		if got := Defines(c.file, []byte(c.src), "app"); got != c.line {
			t.Errorf("%s %q: line %d, want %d", c.file, c.src, got, c.line)
		}
	}
}
