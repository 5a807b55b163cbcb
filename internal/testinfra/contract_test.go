package testinfra

import (
	"reflect"
	"testing"

	"ralph-loop/internal/config"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name   string
		config config.TestInfra
		tree   files
		want   bool
	}{
		{"an empty project", config.TestInfra{}, files{}, false},
		{"a framework", config.TestInfra{}, files{"package.json": `{"dependencies": {"express": "^4"}}`}, true},
		{"a client", config.TestInfra{}, files{"package.json": `{"peerDependencies": {"pg": "*"}}`}, true},
		{"a framework for development alone", config.TestInfra{}, files{"package.json": `{"devDependencies": {"express": "^4"}}`}, false},
		{"neither", config.TestInfra{}, files{"package.json": `{"dependencies": {"react": "^18", "express-rate-limit": "1"}}`}, false},
		{"a package below", config.TestInfra{}, files{"api/package.json": `{"dependencies": {"express": "^4"}}`}, false},
		{"no JSON", config.TestInfra{}, files{"package.json": `{"dependencies": {"express": `}, false},
		{"odd JSON", config.TestInfra{}, files{"package.json": `{"dependencies": ["express"]}`}, false},
		{"turned off", config.TestInfra{File: "none"}, files{"package.json": `{"dependencies": {"express": "^4"}}`}, false},
		{"configured", config.TestInfra{File: "a.go"}, files{}, true},
	} {
		contract, err := Find(c.config, c.tree)
		if err != nil || (contract != nil) != c.want {
			t.Errorf("%s: %+v, %v", c.name, contract, err)
		}
	}
	for file, want := range map[string][2]string{"a.go": {"CreateTestApp", "WithTestDB"}, "a.py": {"create_test_app", "with_test_db"}, "a.ts": {"createTestApp", "withTestDb"}} {
		c, err := Find(config.TestInfra{File: file}, files{})
		if err != nil || len(c.Exports) != 2 || c.Exports[0].Name != want[0] || c.Exports[1].Name != want[1] || !c.Configured {
			t.Errorf("%s: %+v, %v", file, c, err)
		}
	}
	own := config.Exports{{Name: "start", Meaning: "starts it"}}
	if c, err := Find(config.TestInfra{File: "a.ts", Exports: own}, files{}); err != nil || !reflect.DeepEqual(c.Exports, []config.Export(own)) {
		t.Errorf("%+v, %v", c, err)
	}
}

const both, one = "export function createTestApp() {}\nexport function withTestDb() {}", "export function createTestApp() {}"

func TestLookFindsTheHelper(t *testing.T) {
	npm := func(f files) files { f["package.json"] = `{"dependencies": {"koa": "2"}}`; return f }
	for _, c := range []struct {
		tree     files
		file     string
		complete bool
		place    string // where it is, or is to be made
	}{
		{npm(files{}), "", false, "test/test-utils.mjs"},
		{npm(files{"tsconfig.json": "{}", "tests/a.test.ts": ""}), "", false, "tests/test-utils.ts"},
		{npm(files{"tests/a.test.ts": "", "test/b": ""}), "", false, "test/test-utils.mjs"},
		{npm(files{"test-utils.mjs": both}), "test-utils.mjs", true, "test-utils.mjs"},
		{npm(files{"src/test-utils.tsx": both}), "src/test-utils.tsx", true, "src/test-utils.tsx"},
		{npm(files{"test-utils.js": one, "tests/test-utils.js": both}), "tests/test-utils.js", true, "tests/test-utils.js"},
		{npm(files{"tests/test-utils.js": one, "src/test-utils.js": one}), "src/test-utils.js", false, "src/test-utils.js"},
		{npm(files{"lib/test-utils.js": both, "test/test-utils.ts/x": both}), "", false, "test/test-utils.mjs"},
	} {
		contract, err := Find(config.TestInfra{}, c.tree)
		if err != nil {
			t.Fatal(err)
		}
		h, err := contract.Look(c.tree)
		if err != nil {
			t.Fatal(err)
		}
		place, err := contract.Place(h, c.tree)
		if h.File != c.file || h.Complete() != c.complete || place != c.place || err != nil {
			t.Errorf("%v: %+v, to be made at %q, %v", c.tree, h, place, err)
		}
	}
}
