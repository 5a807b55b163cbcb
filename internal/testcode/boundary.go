package testcode

import (
	"path"
	"strings"
	"unicode"
)

// The kinds of things that a test should run for real. Names are those of packages, without their scopes' sub-paths.
var realThings = []struct {
	what  string
	names string // of packages
	words string // that a type or module of the project's own has in its name
}{
	{"a database", "pg pg-promise postgres mysql mysql2 sqlite3 better-sqlite3 mongodb mongoose typeorm prisma @prisma/client sequelize knex drizzle-orm kysely redis ioredis objection node:sqlite " +
		"sqlalchemy psycopg psycopg2 asyncpg pymysql pymongo motor peewee aiosqlite mysqlclient django.db flask_sqlalchemy databases " +
		"github.com/DATA-DOG/go-sqlmock github.com/pashagolub/pgxmock github.com/go-redis/redismock database/sql gorm.io/gorm diesel sqlx rusqlite sea_orm",
		"database db datasource repository repo dao entitymanager jdbctemplate sessionfactory sqlsession orm"},
	{"a router", "express fastify koa @koa/router koa-router hono restify @hapi/hapi react-router react-router-dom @tanstack/react-router vue-router @angular/router next/router next/navigation " +
		"flask fastapi starlette django.urls aiohttp.web",
		"router routes"},
	{"a template engine", "ejs handlebars pug mustache nunjucks hbs eta liquidjs jinja2 mako django.template chevron html/template text/template tera askama",
		"templateengine viewresolver templater"},
}

// outside are words in the name of a module or type that stands for something outside the project, or for time and
// chance: that may be mocked.
var outside = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields("http https fetch fetcher axios request requests httpx client clients gateway api apis remote external provider webhook webhooks sdk rpc grpc " +
		"llm openai anthropic gpt ai stripe paypal twilio sendgrid mail mailer email emailer smtp sms slack telegram s3 aws gcp azure cloud " +
		"clock timer time datetime date now random rand rng secrets uuid uuids nanoid ulid socket urllib aiohttp boto3 smtplib subprocess") {
		words[w] = true
	}
	return words
}()

// crosses says what a target is that should not be mocked, or gives "".
func (t Mock) crosses() string {
	for _, r := range realThings {
		for name := range strings.FieldsSeq(r.names) {
			if rest, ok := strings.CutPrefix(t.Name, name); ok && (rest == "" || rest[0] == '/' || rest[0] == '.') {
				return r.what
			}
		}
	}
	if !t.Own {
		return ""
	}
	words := wordsOf(lastPart(t.Name))
	joined := " " + strings.Join(words, "") + " "
	for _, w := range words {
		if outside[w] {
			return ""
		}
		joined += w + " "
	}
	for _, r := range realThings {
		for w := range strings.FieldsSeq(r.words) {
			if strings.Contains(joined, w+" ") && (strings.Contains(joined, " "+w+" ") || len(w) > 4) {
				return r.what
			}
		}
	}
	return "a module of the project's own"
}

// lastPart is what a path or a dotted name ends with, without a file's ending.
func lastPart(name string) string {
	base := path.Base(name)
	if base == "index" || base == "index.js" || base == "index.ts" || base == "mod" {
		base = path.Base(path.Dir(name))
	}
	for _, ext := range []string{".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs"} {
		base = strings.TrimSuffix(base, ext)
	}
	if i := strings.LastIndexAny(base, ".:"); i >= 0 && !strings.Contains(name, "/") {
		base = base[i+1:]
	}
	return base
}

// wordsOf parts httpClient, HTTPClient, http_client and http-client into http and client.
func wordsOf(name string) []string {
	var words []string
	var word []rune
	runes := []rune(name)
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && (i > 0 && unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return words
}

// unmocked is the name of what a mock stands for: MockStore, mockStore, storeMock.
func unmocked(name string) string {
	for _, affix := range []string{"Mock", "mock"} {
		if rest, ok := strings.CutPrefix(name, affix); ok && rest != "" {
			return strings.TrimPrefix(rest, "_")
		}
	}
	return strings.TrimSuffix(name, "Mock")
}
