package learn

import "testing"

func same(a, b string) bool { return wordingOf(a).same(wordingOf(b)) }

func TestSame(t *testing.T) {
	merge := [][2]string{
		{"migration files must be in src/migrations/", "Migration files must be in `src/migrations`."},
		{"migration files must be in src/migrations/", "migrations live in src/migrations/"},
		{"use bcrypt 不要使用 md5", "Use bcrypt, 不要使用 md5！"},
		{"tests need a real store in t.TempDir()", "Tests must always use a real store in t.TempDir()"},
		{"迁移文件必须放在 src/migrations/ 下", "迁移文件要放在 src/migrations"},
		{"所有接口都返回 JSON 错误对象", "接口返回 JSON 错误对象"},
		{"never log the session token", "don't log session tokens"},
		{"数据库测试不要使用 mock", "数据库测试禁止使用 mock"},
		{"The store's lock is held while writing", "the store’s lock is held while writing"},
		{"Use real SQLite in tests, not mocks", "Tests must use a real SQLite database instead of mocks"},
		{"API errors are returned as JSON with a code field", "All API errors should be returned as JSON objects with a `code` field"},
		{"CSV 导出的列顺序固定，新列只能加在末尾", "CSV 导出的列顺序是固定的，新的列只能加在末尾"},
		{"会话令牌不得写入日志", "不要把会话令牌写入日志"},
		{"", ""},
	}
	apart := [][2]string{
		{"use bcrypt", "use argon2"},
		{"the server listens on port 8080", "the server listens on port 8081"},
		{"never log passwords", "log passwords"},
		{"使用 bcrypt 存储密码", "不要使用 bcrypt 存储密码"},
		{"GET /books returns 200", "POST /books returns 200"},
		{"book ids start at 1", "book revisions start at 1"},
		{"the books table has a unique index on isbn", "the authors table has a unique index on isbn"},
		{"use strict mode", "use strict mode in tests"},
		{"tests use a real store", "tests use a fake clock"},
		{"写入前要加锁", "读取前要加锁"},
		{"CSV 导出的列顺序固定", "CSV 导出的行顺序固定"},
		{"用户列表按注册时间排序，新用户在最前面", "订单列表按创建时间排序，新订单在最前面"},
		{"会话令牌不得写入日志", "会话令牌要写入日志"},
		{"note number 17 of the storm", "note number 18 of the storm"},
		{"migration files must be in src/migrations/", "migration files must be in db/migrations/"},
		{"REQ-001 handles the login form", "REQ-002 handles the login form"},
		{"use", "must"},
		{"books are sorted by id", ""},
	}
	for _, p := range merge {
		if !same(p[0], p[1]) || !same(p[1], p[0]) {
			t.Errorf("must merge: %q and %q: %v / %v", p[0], p[1], wordingOf(p[0]).words, wordingOf(p[1]).words)
		}
	}
	for _, p := range apart {
		if same(p[0], p[1]) || same(p[1], p[0]) {
			t.Errorf("must not merge: %q and %q: %v / %v", p[0], p[1], wordingOf(p[0]).words, wordingOf(p[1]).words)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		text, kind string
		rule       string // "": contextual
	}{
		// The five example sentences of the design.
		{"migration files must be in src/migrations/", "", ""},
		{"use bcrypt 不要使用 md5", "", Security},
		{"第 42 行有个 off-by-one", "", ""},
		{"项目使用 ESLint strict 模式", "", Convention},
		{"REQ 003 使用 Zod 验证 schema", "", ""},

		{"all handlers must return JSON errors", "", Convention},
		{"all tests passed", "", ""},
		{"hashPassword() 返回 bcrypt hash", "", Interface},
		{"Store.Get(id) returns ErrNotFound for an unknown id", "", Interface},
		{"User model 包含 email (unique), password_hash", "", Data},
		{"we decided to keep the rules in internal/shelf; internal/web is a thin layer", "", Architecture},
		{"the password field test was flaky", "", ""},
		{"store.go:42 panics without a lock", "", ""},
		{"REQ-002 的密码必须加密", "", ""},
		{"the tests take long", "security", ""},
		{"TLS between the services", "", ""},
		{"TLS between the services", "security", Security},
		{"sort before comparing", "permanent", ""},
		{"不得在日志中输出明文密码", "", Security},
		{"分层架构：handler 不得直接访问数据库", "", Architecture},
		{"books 表的 isbn 字段是唯一的", "", Data},

		// A label says it.
		{"Module interface: Hello(name string) string in greet.go makes every greeting", "", Interface},
		{"The module interface is Hello(name string) string in greet.go", "", Interface},
		{"Convention: tests are named TestX", "", Convention},
		{"**Convention**: tests are named TestX", "", Convention},
		{"[Architecture decision] : rules live in internal/shelf", "", Architecture},
		{"Data structure: a shelf, sorted by id", "", Data},
		{"Security: cookies are HttpOnly", "", Security},
		{"架构决策：规则都在 internal/shelf", "", Architecture},
		{"全局约定：测试函数名以 Test 开头", "", Convention},
		{"模块接口：Hello(name) 生成问候语", "", Interface},
		{"数据结构：标签已排序且不重复", "", Data},
		{"安全：Cookie 设为 HttpOnly 属性", "", Security},
		// What is a security rule is one under any name; else the label counts.
		{"Convention: never log a password in clear", "", Security},
		{"Data structure: a layer is a list of tiles", "", Data},
		// A name of something is no mishap.
		{"Module interface: Store returns shelf.ErrNotFound, API.fail turns it into 404", "", Interface},
		// A label saves nothing that speaks of one place, one requirement or one mishap, or that says nothing.
		{"Convention: REQ-003 uses Zod for its schema", "", ""},
		{"Security: the token check in auth.go:42 was slow", "", ""},
		{"Module interface: the test of Open was flaky again", "", ""},
		{"Security: forgot to escape the title", "", ""},
		{"全局约定：第 42 行有个 off-by-one", "", ""},
		{"Security: none", "", ""},
		{"Convention:", "", ""},
		{"Architecture decision: no changes were made", "", ""},
		{"安全：不适用", "", ""},
		// Other words before a colon are no label.
		{"Tip: tests are named TestX", "", ""},
		{"Data: the walk over the list took long", "", ""},
		{"API: the walk over the list took long", "api", ""},
		{"the ISBN column, 13 digits", "", ""},
		{"the ISBN column, 13 digits", "data", Data},
		{"Code that tests conventions: it is slow", "", ""},
		{"A shelf interface: the walk was long", "", ""},
	} {
		got := Classify(c.text, c.kind)
		if got.Rule != c.rule || got.Permanent != (c.rule != "") {
			t.Errorf("Classify(%q, %q) = %+v, want rule %q", c.text, c.kind, got, c.rule)
		}
		if got.Permanent && len(got.Words) == 0 {
			t.Errorf("Classify(%q): no word named", c.text)
		}
	}
}
