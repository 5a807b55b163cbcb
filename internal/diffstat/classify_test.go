package diffstat

import (
	"strings"
	"testing"

	"ralph-loop/internal/glob"
)

func TestByName(t *testing.T) {
	// The first block is case G13.
	table := `
internal/a_test.go                      test
testdata/x.go                           other test data
foo_test_helper.go                      implementation
src/test/java/org/x/Anything.java       test
tests/conftest.py                       test
__tests__/anything.ts                   test
src/a.spec.ts                           test

main.go                                 implementation
test/helper.go                          implementation
tests/a_test.go                         test
_test.go                                test
a_test.go.md                            other documentation
vendor/x/a_test.go                      other vendored
web/node_modules/x/index.js             other vendored
src/a.ts                                implementation
src/a.test.tsx                          test
src/latest.ts                           implementation
src/contest.ts                          implementation
src/testing.ts                          implementation
e2e/login.ts                            test
src/__snapshots__/a.snap                other test data
src/a.snap                              other data
app.config.js                           other configuration
vite.config.ts                          other configuration
.eslintrc.js                            other configuration
a.min.js                                other vendored
pkg/test_a.py                           test
pkg/a_test.py                           test
pkg/attest.py                           implementation
conftest.py                             test
setup.py                                other configuration
tests/api.rs                            test
src/lib.rs                              implementation
src/tests.rs                            test
src/main/java/org/test/A.java           implementation
src/main/java/ATest.java                test
src/integrationTest/java/A.java         test
app/src/androidTest/java/A.kt           test
src/testFixtures/java/A.java            test
spec/models/user_spec.rb                test
app/models/user.rb                      implementation
Gemfile                                 other configuration
Gemfile.lock                            other lock file
src/a_unittest.cc                       test
src/a.cc                                implementation
include/a.h                             implementation
run_test.sh                             test
test/run.sh                             test
test/a.bats                             test
a.bats                                  test
deploy.sh                               implementation
tests/Unit/UserTest.php                 test
src/User.php                            implementation
Api.Tests/Users.cs                      test
Api/Users.cs                            implementation
Api/Contest.cs                          implementation
Sources/App/App.swift                   implementation
Tests/AppTests/App.swift                test
src/test/kotlin/A.kt                    test
build.gradle.kts                        other configuration
db/migrations/1.sql                     implementation
db/tests/users.sql                      test
t/basic.t                               test
test/a_test.exs                         test
mix.exs                                 other configuration
package.json                            other configuration
package-lock.json                       other lock file
sub/go.sum                              other lock file
Cargo.lock                              other lock file
LICENSE                                 other documentation
LICENSE-MIT                             other documentation
docs/a.MD                               other documentation
man/ralph.1                             other documentation
Makefile                                other configuration
Dockerfile                              other configuration
Dockerfile.dev                          other configuration
.github/workflows/ci.yml                other configuration
.gitignore                              other configuration
.go                                     other unknown kind of file
index.html                              other markup and style
a/b/style.scss                          other markup and style
logo.PNG                                other binary
a.JS                                    implementation
go                                      other unknown kind of file
a.unheard-of                            other unknown kind of file
`
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		class, reason := (*Classifier)(nil).ByName(words[0])
		if got := strings.TrimSpace(string(class) + " " + reason); got != strings.Join(words[1:], " ") {
			t.Errorf("%s is %s, want %s", words[0], got, strings.Join(words[1:], " "))
		}
	}
}

func TestGlobsOfTheProject(t *testing.T) {
	c := &Classifier{TestGlobs: []string{"checks/**", `/src/\[x].ts`, "vendor/ours_test.go"}, IgnoreGlobs: []string{"gen/", "checks/old.go"}}
	for path, want := range map[string]Class{"checks/a.go": Test, "src/[x].ts": Test, "src/x.ts": Implementation, "gen/a.go": Other, "checks/old.go": Other, "vendor/ours_test.go": Test, "a.go": Implementation} {
		if class, _ := c.ByName(path); class != want {
			t.Errorf("%s is %s, want %s", path, class, want)
		}
	}
}

// TestTablesAreSound: no name may stand in two lists, or the answer would depend on their order.
func TestTablesAreSound(t *testing.T) {
	seen := map[string]string{}
	for _, l := range languages {
		for ext := range strings.FieldsSeq(l.sources) {
			if other, ok := seen[ext]; ok {
				t.Errorf("%s belongs to %s and %s", ext, other, l.name)
			}
			seen[ext] = l.name
			if reason, ok := others()[ext]; ok {
				t.Errorf("%s belongs to %s and is %s", ext, l.name, reason)
			}
		}
		for pattern := range strings.FieldsSeq(l.tests + " " + l.folders + " " + l.roots) {
			if err := glob.Check(pattern); err != nil {
				t.Errorf("%s: %v", l.name, err)
			}
		}
	}
	names := 0
	for _, list := range otherNames {
		names += len(strings.Fields(list))
	}
	if names != len(others()) {
		t.Errorf("%d names in the lists, %d apart: one stands twice", names, len(others()))
	}
}

func TestNamedFilesAreTests(t *testing.T) {
	c := &Classifier{TestFiles: []string{"src/kit.ts", "ignored/kit.ts"}, IgnoreGlobs: []string{"ignored/"}}
	for path, want := range map[string]Class{"src/kit.ts": Test, "src/kit.tsx": Implementation, "lib/src/kit.ts": Implementation, "ignored/kit.ts": Other} {
		if got, _ := c.ByName(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
