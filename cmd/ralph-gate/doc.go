// Ralph-gate answers whether a tree may be committed.
//
// Usage:
//
//	ralph-gate [OPTIONS] [run]
//	ralph-gate [--base REV] [--req ID] [--format text|tsv|json] diff
//	ralph-gate [--base REV] [--req ID] [--format text|tsv|json] trace
//	ralph-gate [--base REV] [--req ID] plan
//	ralph-gate infra
//	ralph-gate coverage FILE...
//	ralph-gate cache list|clear
//	ralph-gate install|uninstall|doctor
//
// It judges the tree that would be committed, the git index, never the worktree: what is not staged counts for
// nothing. The project's tools run in an exported copy of that tree. Nothing in the index, the worktree or the stash
// is written.
//
// The tree is measured against HEAD; a merge in the making against all its sides, so that what one of them has is not
// new. With nothing staged, as in CI, HEAD itself is judged, against the place where it left the target branch
// (origin/HEAD, origin/main, origin/master, main, master), else against its parent.
//
// Verbs:
//
//	run        judge, and print one line a layer as it ends; this is what happens without a verb
//	diff       what the tree adds: lines of tests, of implementation and of neither, by file
//	trace      which test covers which criterion, by the comments "@test REQ-ID" and "@covers AC-ID" in tests
//	plan       how a test file is called in the languages found, then the commands that the gate would run, one a line
//	           behind the name of its layer; a warning for each that nobody has named yet. A build file (go.mod,
//	           package.json, pyproject.toml, setup.py, Cargo.toml, pom.xml, build.gradle) tells a language too
//	infra      the contract about the test infrastructure: the helper file, a line a name that it exports, and whether
//	           the worktree lacks it; nothing where there is no contract
//	coverage   add up coverage files (Go profiles, LCOV): a line a source file, the sum last; "-" is stdin;
//	           test code is named as such and not in the sum
//	cache      list the kept answers, or clear them
//	install    put the hooks pre-commit, pre-merge-commit and pre-push where git looks for hooks; a hook that is there
//	           already is kept as NAME.before-ralph and runs first. Refused where core.hooksPath is a global setting,
//	           and where another program (husky, lefthook, pre-commit, ...) writes the hooks: it says how to go on
//	uninstall  remove the hooks that we wrote, and give back those that were there before
//	doctor     are commits and pushes judged here? git's version, the hooks, the programs, what was skipped, commands
//	           that nobody has named yet; exit 1 if something is missing
//
// Options:
//
//	--base REV      measure against this commit; the environment's RALPH_BASE does the same
//	--req ID        judge as the work on this requirement: its permissions hold, the configuration is the
//	                baseline's, and protected files may not be touched
//	--only NAMES    only these layers, separated by commas; "hook" stands for the layers that hook.layers in
//	                ralph.yaml names, for a commit in the making, and stops at the first that does not pass
//	--push REMOTE   judge what git push would send there, as git tells its hook pre-push on stdin: each commit once,
//	                against what the remote has of its history; hook.layers, stopping at the first that does not pass
//	--format F      text or json
//	--verdict FILE  write the whole verdict there as JSON, whatever is printed
//	--digest FILE   on failure, write the findings there in at most 4 KB, for the next attempt's prompt
//	-q, --quiet     print only the layers that do not pass
//	--color WHEN    auto, always or never
//	--help          this text
//	--version       the version
//
// Layers, in their order:
//
//	L0         protected files, what the gate's commands name, dependency and build folders, nested repositories, links
//	           out of the tree, files over 5 MB, keys, .env; holds a requirement's work back, a note on a person's commit
//	L1b        test lines of all added lines of code: gate.test_ratio, 40 per cent; not counted is the test infrastructure
//	           that was made for the requirement
//	mocks      test files of which more than 30 per cent mocks (gate.mock_density), without "@mock-justified: why";
//	           gate.mock_boundary: mocks of the project's own modules, databases, routers, template engines
//	integrity  tests that are gone, skipped, focused or weaker than before, new tests that cannot fail, and new
//	           comments and annotations that silence a checker; on a person's commit a new
//	           "@test-change-justified: why" serves
//	infra      the helper file of test_infra exports the agreed names, as values; a requirement's work that brings it
//	           tests them, and defines none of them elsewhere
//	trace      gate.trace: each criterion of the requirement in progress, else of those that are done, has a test that
//	           names it and is not skipped
//	scope      gate.scope: lines of earlier requirements that the requirement's work removes or rewrites
//	L1         typecheck of the whole tree (go vet), lint of the changed files (gofmt), less what the baseline has
//	L2         all tests; at least one has to run
//	L3         coverage of that very run, without what L1b calls test code: gate.coverage, 80 per cent
//	red        gate.red: the new and changed tests fail, or do not compile, on the baseline's implementation; not run
//	           for a tree that is held back anyway
//
// mocks, integrity and trace read Go, JavaScript, TypeScript, Python, Rust and Java; in other languages integrity sees
// that a test file is gone, moved out of the tests, emptied, or cut to less than half its lines of code, and new skips of
// bats, RSpec and minitest. The levels gate.mock_boundary, gate.trace, gate.scope and gate.red are off, warn (as they begin)
// or enforce; a warning changes no result. With gate.reruns a test that fails and then passes on the same tree is a pass,
// marked flaky.
//
// Each is pass, fail, not-applicable or error; an error is never a pass. Go works without configuration. For anything
// else ralph.yaml names the commands: gate.typecheck, gate.lint, gate.test, gate.test_reports (JUnit XML; TAP and the
// output of go test and of Python's unittest are recognised by themselves) and gate.coverage_files.
//
// Exit status:
//
//	0        every layer passed or has nothing to do
//	1        a layer failed
//	2        the command line is wrong
//	3        no layer failed, but one could not be decided; or there is no tree to judge
//	128+n    ended by signal n; nothing that was started is left
//
// Examples:
//
//	git add -A && ralph-gate
//	ralph-gate --base origin/main --format json | jq .result
//	ralph-gate --only L1,L2
//	ralph-gate diff
//	ralph-gate install && ralph-gate doctor
//
// The hooks obey RALPH_SKIP=1, and record each use in the git directory's ralph/skips.log. git fires none of them for
// revert, cherry-pick, rebase and am: pre-push and CI see what those made.
package main
