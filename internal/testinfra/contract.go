// Package testinfra knows the contract about a project's test infrastructure: one file, the helper, from which every
// test takes the application and the database, so that no requirement writes its own. It finds the contract, reads what
// the helper exports, and has a template for where no agent could make one.
package testinfra

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"

	"ralph-loop/internal/config"
)

// Contract is what a project agreed on.
type Contract struct {
	// Places are where the helper may lie, the likeliest first. A configured contract has one.
	Places []string
	// Exports are the names that it has to export.
	Exports []config.Export
	// Configured tells a contract of ralph.yaml from one that follows from package.json.
	Configured bool
}

// frameworks and clients are npm packages that make a project one with an application to start or a database to fill.
var (
	frameworks = []string{"express", "fastify", "koa", "hono", "@hapi/hapi", "@nestjs/core", "next", "nuxt", "@remix-run/node", "@react-router/node", "@sveltejs/kit", "astro",
		"restify", "polka", "h3", "elysia", "@adonisjs/core", "@feathersjs/feathers", "@loopback/rest", "sails", "moleculer-web", "apollo-server", "@apollo/server", "graphql-yoga", "@trpc/server", "@oakserver/oak"}
	clients = []string{"pg", "pg-promise", "postgres", "@neondatabase/serverless", "mysql", "mysql2", "mariadb", "sqlite", "sqlite3", "better-sqlite3", "@libsql/client", "mssql", "tedious", "oracledb",
		"mongodb", "mongoose", "redis", "ioredis", "cassandra-driver", "neo4j-driver", "knex", "objection", "bookshelf", "sequelize", "typeorm", "@prisma/client", "drizzle-orm", "kysely",
		"@mikro-orm/core", "slonik", "@supabase/supabase-js", "@elastic/elasticsearch", "couchbase", "nano", "rethinkdb", "arangojs"}
)

// usual are the two names, as each language spells them, with their meanings.
func usual(file string) []config.Export {
	app, db := "createTestApp", "withTestDb"
	switch path.Ext(file) {
	case ".go", ".cs":
		app, db = "CreateTestApp", "WithTestDB"
	case ".py", ".rb", ".rs", ".ex", ".exs", ".php":
		app, db = "create_test_app", "with_test_db"
	}
	return []config.Export{
		{Name: app, Meaning: "an application instance with real test dependencies"},
		{Name: db, Meaning: "the test database's life cycle, seed and cleanup"},
	}
}

// Find gives the contract of a project, nil where it has none: what ralph.yaml says, else that of a JavaScript or
// TypeScript project whose package.json, at the top of the tree, depends on a web framework or a database client. What
// only its development needs does not count.
func Find(c config.TestInfra, tree Tree) (*Contract, error) {
	switch c.File {
	case config.NoTestInfra:
		return nil, nil
	case "":
	default:
		names := []config.Export(c.Exports)
		if len(names) == 0 {
			names = usual(c.File)
		}
		return &Contract{Places: []string{c.File}, Exports: names, Configured: true}, nil
	}
	there, err := tree.Present([]string{"package.json"})
	if err != nil || len(there) == 0 {
		return nil, err
	}
	data, err := tree.Read("package.json")
	if err != nil {
		return nil, err
	}
	if !servesOrStores(data) {
		return nil, nil
	}
	contract := &Contract{Exports: usual("test-utils.ts")}
	for _, dir := range []string{"", "src", "test", "tests"} {
		for _, ext := range []string{"ts", "tsx", "js", "mjs"} {
			contract.Places = append(contract.Places, path.Join(dir, "test-utils."+ext))
		}
	}
	return contract, nil
}

// servesOrStores reports whether a package.json depends on a framework or a client. One that is no JSON does not.
func servesOrStores(data []byte) bool {
	var p map[string]json.RawMessage
	if json.Unmarshal(data, &p) != nil {
		return false
	}
	for _, key := range []string{"dependencies", "optionalDependencies", "peerDependencies"} {
		var packages map[string]json.RawMessage
		if json.Unmarshal(p[key], &packages) != nil {
			continue
		}
		for name := range packages {
			if slices.Contains(frameworks, name) || slices.Contains(clients, name) {
				return true
			}
		}
	}
	return false
}

// Ask is "1" where the project at top may have a contract, and "" where it has none for sure: that is cheaper to know.
func Ask(c config.TestInfra, top string) string {
	if c.File == config.NoTestInfra {
		return ""
	}
	if c.File == "" {
		if _, err := os.Lstat(filepath.Join(top, "package.json")); err != nil {
			return ""
		}
	}
	return "1"
}

// Helper is what a tree has of the contract.
type Helper struct {
	File    string   // the helper's path; "" where there is none
	Missing []Lack   // what it does not export, in the contract's order; all of it where there is no file
	Sources []string // the helper and the files that it exports from
	ByName  bool     // its language has no reader: the names were looked for as declarations of that name
}

// Complete reports whether the contract is fulfilled.
func (h *Helper) Complete() bool { return h.File != "" && len(h.Missing) == 0 }

// Lack is an agreed name that is not exported.
type Lack struct {
	config.Export
	Why string // where there is more to say than that
}

// String is how everybody words it: "not exported", and why.
func (l Lack) String() string {
	if l.Why == "" {
		return "not exported"
	}
	return "not exported: " + l.Why
}

// Look reads the helper in a tree. Where several files could be it, it is the first that is complete, else the first.
func (c *Contract) Look(tree Tree) (*Helper, error) {
	places, err := tree.Present(c.Places)
	if err != nil {
		return nil, err
	}
	var first *Helper
	for _, place := range places {
		h, err := c.read(place, tree)
		if err != nil {
			return nil, err
		}
		if h.Complete() {
			return h, nil
		}
		if first == nil {
			first = h
		}
	}
	if first == nil {
		first = &Helper{}
		for _, e := range c.Exports {
			first.Missing = append(first.Missing, Lack{e, "the file is not there"})
		}
	}
	return first, nil
}

func (c *Contract) read(place string, tree Tree) (*Helper, error) {
	r := &exportReader{tree: tree, modules: map[string]*module{}}
	h := &Helper{File: place}
	for _, e := range c.Exports {
		ok, why, err := r.exports(place, e.Name)
		if err != nil {
			return nil, err
		}
		if !ok {
			h.Missing = append(h.Missing, Lack{e, why})
		}
	}
	h.Sources, h.ByName = r.sources, r.byName
	return h, nil
}

// Place is where the helper is, or is to be: for a contract with several places beside the tests that the tree has.
func (c *Contract) Place(h *Helper, tree Tree) (string, error) {
	if h.File != "" || len(c.Places) == 1 {
		return cmp.Or(h.File, c.Places[0]), nil
	}
	ext := "mjs"
	there, err := tree.Present([]string{"tsconfig.json", "test/", "tests/"})
	if err != nil {
		return "", err
	}
	if slices.Contains(there, "tsconfig.json") {
		ext = "ts"
	}
	dir := "test"
	if slices.Contains(there, "tests/") && !slices.Contains(there, "test/") {
		dir = "tests"
	}
	return dir + "/test-utils." + ext, nil
}
