package diffstat

import (
	"path"
	"strings"
	"sync"

	"ralph-loop/internal/glob"
)

// A language says by what names its source files and its test files go.
//
// What counts, in the cases that people ask about:
//
//	a_test.go                        test
//	foo_test_helper.go               implementation: go build takes it in
//	testdata/x.go                    neither (test data): no tool compiles it
//	src/test/java/org/x/Anything.java test
//	tests/conftest.py                test
//	__tests__/anything.ts            test
//	src/a.spec.ts                    test
//	tests/fixtures/page.html         neither (markup)
type language struct {
	name    string
	sources string // extensions, or whole names, separated by spaces
	tests   string // patterns of a test file's own name
	folders string // patterns of a folder, at any depth, in which every source file is test code
	roots   string // patterns with slashes, from any folder on
}

const testFolders = "test tests"

// jvmRoots: Maven's and Gradle's source sets, and the folders of Ant's days at the top.
const jvmRoots = "**/src/test/** **/src/*Test/** **/src/test[A-Z]*/** test/** tests/**"

var languages = []language{
	// Go compiles every file that does not end in _test.go, whatever its folder is called.
	{"Go", ".go", "*_test.go", "", ""},
	{"JavaScript", ".js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte .astro",
		"*.test.* *.spec.* *.cy.* *.e2e.* *-test.* *_test.*", testFolders + " __tests__ __mocks__ spec e2e cypress playwright", ""},
	{"Python", ".py .pyi .pyx", "test_*.py *_test.py conftest.py tests.py", testFolders, ""},
	{"Rust", ".rs", "*_test.rs *_tests.rs test.rs tests.rs", "tests", ""},
	{"Java", ".java", "*Test.java *Tests.java *TestCase.java *IT.java", "", jvmRoots},
	{"Kotlin", ".kt .kts", "*Test.kt *Tests.kt *Spec.kt *IT.kt", "", jvmRoots},
	{"Scala", ".scala .sc", "*Test.scala *Tests.scala *Spec.scala *Suite.scala", "", jvmRoots},
	{"Groovy", ".groovy", "*Test.groovy *Tests.groovy *Spec.groovy", "", jvmRoots},
	{"Clojure", ".clj .cljs .cljc", "*_test.clj*", testFolders, ""},
	{"Ruby", ".rb .rake .ru .erb .haml .slim", "*_spec.rb *_test.rb test_*.rb", testFolders + " spec features", ""},
	{"C", ".c .h .cc .hh .cpp .hpp .cxx .hxx .c++ .ipp .inl .inc .m .mm .cu .cuh",
		"*_test.* *_tests.* *_unittest.* test_*.* *.test.* *Test.c* *Tests.c* *Tests.m *Tests.mm", testFolders + " unittest unittests", ""},
	{"C#", ".cs .fs .fsx .vb .razor .cshtml .xaml", "*Test.?s *Tests.?s *Test.vb *Tests.vb", testFolders + " *.Test *.Tests *.UnitTests *.IntegrationTests", ""},
	{"Swift", ".swift", "*Test.swift *Tests.swift", "Tests *Tests", ""},
	{"PHP", ".php .phtml .twig", "*Test.php *Cest.php", testFolders + " Tests", ""},
	{"shell", ".sh .bash .zsh .ksh .fish .bats .ps1 .psm1 .bat .cmd", "*_test.sh *_test.bash *-test.sh test_*.sh test-*.sh *.bats *.Tests.ps1", testFolders, ""},
	{"SQL", ".sql .psql .plsql .pls .ddl", "*_test.sql *_tests.sql test_*.sql", testFolders, ""},
	{"Perl", ".pl .pm .t .xs", "*.t", "t xt", ""},
	{"Lua", ".lua", "*_spec.lua *_test.lua test_*.lua", testFolders + " spec", ""},
	{"Elixir", ".ex .exs .eex .heex .leex", "*_test.exs test_helper.exs", "test", ""},
	{"Erlang", ".erl .hrl", "*_SUITE.erl *_tests.erl", testFolders, ""},
	{"Dart", ".dart", "*_test.dart", testFolders + " integration_test", ""},
	{"Haskell", ".hs .lhs", "*Spec.hs *Test.hs", testFolders, ""},
	{"R", ".r .R", "test-*.R test-*.r test_*.R", testFolders + " testthat", ""},
	{"Julia", ".jl", "runtests.jl *_test.jl", "test", ""},
	{"Other", ".zig .nim .d .v .sv .vhd .vhdl .ml .mli .elm .purs .lisp .lsp .cl .el .scm .ss .rkt .f .f77 .f90 .f95 .f03 .for .pas .pp .dpr .ada .adb .ads .cob .cbl " +
		".cr .gleam .hx .as .asm .s .S .awk .tcl .coffee .ls .sol .move .cairo .wat .proto .thrift .graphql .gql .nix .jsonnet .rego .tmpl .gotmpl .tpl .jinja .j2 .hbs .mustache .ejs .pug .liquid " +
		".glsl .vert .frag .hlsl .wgsl .metal .re .res .ino .pde .gd .cls .trigger .apex .abap .bas .st .vim .q .kql .stan .mojo .odin .roc .ua",
		"*_test.* *_tests.* test_*.* *.test.* *-test.* *_spec.* *.spec.*", testFolders + " spec", ""},
}

// compiled is a language as Classifier looks it up.
type compiled struct {
	tests, folders, roots []string
}

// byExtension holds every language under each of its extensions. Like others it is made when it is first asked for: most
// programs never do.
var byExtension = sync.OnceValue(func() map[string]*compiled {
	m := map[string]*compiled{}
	for _, l := range languages {
		c := &compiled{strings.Fields(l.tests), strings.Fields(l.folders), strings.Fields(l.roots)}
		for _, ext := range strings.Fields(l.sources) {
			m[ext] = c
		}
	}
	return m
})

// isTest reports whether the language's source file at p is test code.
func (c *compiled) isTest(p string) bool {
	name := path.Base(p)
	for _, pattern := range c.tests {
		if glob.Match(pattern, name) {
			return true
		}
	}
	for _, pattern := range c.roots {
		if glob.Match(pattern, p) {
			return true
		}
	}
	if len(c.folders) == 0 {
		return false
	}
	for folder := range strings.SplitSeq(path.Dir(p), "/") {
		for _, pattern := range c.folders {
			if glob.Match(pattern, folder) {
				return true
			}
		}
	}
	return false
}

// The reasons why lines are neither test nor implementation.
const (
	ignored       = "ignored by gate.ignore_globs"
	submodule     = "submodule"
	symbolicLink  = "symbolic link"
	lockFile      = "lock file"
	generated     = "generated"
	vendored      = "vendored"
	binary        = "binary"
	documentation = "documentation"
	data          = "data"
	testData      = "test data"
	configuration = "configuration"
	markup        = "markup and style"
	unknown       = "unknown kind of file"
)

// others gives the reason for each file that is no source code. Whole names are looked up before extensions, both in
// lower case.
var others = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for reason, names := range otherNames {
		for _, name := range strings.Fields(names) {
			m[name] = reason
		}
	}
	return m
})

var otherNames = map[string]string{
	lockFile: "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock go.sum go.work.sum cargo.lock poetry.lock pdm.lock uv.lock " +
		"pipfile.lock conda-lock.yml pixi.lock gemfile.lock composer.lock packages.lock.json project.assets.json paket.lock mix.lock rebar.lock pubspec.lock podfile.lock " +
		"cartfile.resolved package.resolved gradle.lockfile flake.lock .terraform.lock.hcl chart.lock manifest.toml module.bazel.lock stack.yaml.lock cabal.project.freeze .lock",
	documentation: "license licence copying notice authors contributors maintainers changelog changes news readme todo history codeowners patents copyright " +
		".md .mdx .markdown .rst .adoc .asciidoc .txt .text .org .tex .bib .pod .rdoc .textile .wiki .1 .2 .3 .4 .5 .6 .7 .8 .pdf .doc .docx .odt .rtf",
	data: ".json .jsonl .ndjson .json5 .csv .tsv .psv .xml .xsd .xsl .xslt .svg .parquet .avro .sqlite .db .dat .data .golden .snap .approved .out .log .po .pot .mo .xliff .xlf .strings .resx " +
		".ipynb .geojson .kml .gpx .pem .crt .cer .key .pub .asc .sig .patch .diff .dic .aff .arb .har .ics .vcf .obj .stl .gltf .plist .storyboard .xib .txtar .sum .map .properties",
	configuration: ".yaml .yml .toml .ini .cfg .conf .config .env .envrc .editorconfig .gitignore .gitattributes .gitmodules .mailmap .dockerignore .npmrc .nvmrc .npmignore .prettierrc .prettierignore " +
		".eslintrc .eslintignore .babelrc .browserslistrc .stylelintrc .flake8 .pylintrc .coveragerc .rubocop.yml .clang-format .clang-tidy .bazelrc .bazelversion .tool-versions .python-version .ruby-version " +
		"package.json tsconfig.json jsconfig.json composer.json deno.json deno.jsonc .jsonc " +
		"dockerfile containerfile makefile gnumakefile justfile procfile vagrantfile jenkinsfile brewfile gemfile podfile cartfile appfile fastfile pipfile rakefile " +
		"build.bazel module.bazel .bazel .bzl meson.build meson_options.txt cmakelists.txt .cmake .mk .mak .am .ac .m4 configure.ac .in .ninja " +
		"go.mod go.work cargo.toml setup.py setup.cfg requirements.txt constraints.txt pom.xml .gradle .gradle.kts build.gradle.kts settings.gradle.kts build.sbt .sbt .csproj .fsproj .vbproj .vcxproj .sln .slnx .props .targets .nuspec " +
		".gemspec .podspec mix.exs rebar.config .cabal stack.yaml pubspec.yaml .service .timer .socket .desktop .rules .pc .spec .reg .tf .hcl .tfvars .pbxproj .xcconfig .entitlements .lock.hcl",
	markup: ".html .htm .xhtml .css .scss .sass .less .styl .postcss",
	binary: ".png .jpg .jpeg .gif .webp .avif .bmp .ico .icns .tif .tiff .psd .ai .woff .woff2 .ttf .otf .eot .mp3 .mp4 .m4a .wav .ogg .flac .avi .mov .webm .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .jar .war .class " +
		".so .dylib .dll .exe .a .o .lib .wasm .pyc .bin .iso .deb .rpm .apk .dmg",
}

// configNames are configuration that is written in a programming language.
var configNames = []string{"*.config.js", "*.config.ts", "*.config.mjs", "*.config.cjs", "*.config.mts", "*.config.cts", ".*rc.js", ".*rc.cjs", ".*rc.mjs", "Dockerfile.*", "*.Dockerfile", "requirements-*.txt", "requirements_*.txt", ".env.*"}

// vendoredFolders hold other people's code wherever they stand.
var vendoredFolders = map[string]bool{"vendor": true, "node_modules": true, "third_party": true, "bower_components": true, "Pods": true, "Carthage": true, ".yarn": true, ".venv": true, "site-packages": true}

// dataFolders hold what tests read, which no tool compiles.
var dataFolders = map[string]bool{"testdata": true, "__snapshots__": true, "__fixtures__": true}
