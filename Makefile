# The Ralph toolkit. `make` alone lists the targets.

PROGRAMS := ralph-order ralph-gate ralph-learn ralph-checkpoint
PREFIX   ?= /usr/local
DESTDIR  ?=
LIB       = $(PREFIX)/lib/ralph
MAN       = $(PREFIX)/share/man
GO       ?= go

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build the four programs into bin/
	@mkdir -p bin
	$(GO) build -trimpath -tags urfave_cli_no_docs -o bin/ ./cmd/...

.PHONY: demo
demo: build ## run the loop on the example project with the recorded agent
	@PATH="$(CURDIR)/bin:$$PATH" scripts/demo

# What tests run besides Go and git; on Linux strace too.
TEST_TOOLS = dash busybox jq $(if $(filter Linux,$(shell uname)),strace)

.PHONY: test
test: ## run all tests, in a home whose git settings hurt; what they want besides Go and git is installed, or named
	@scripts/tools $(TEST_TOOLS)
	scripts/hostile-home bin/hostile-home $(GO) test -timeout 25m ./...

.PHONY: test-node
test-node: ## run the tests that need node and npm: the templates for TypeScript and JavaScript, the reader of exports
	npm ci --prefix tools/node --ignore-scripts --no-audit --no-fund
	$(GO) test -tags node -run 'Node|TypeScript' ./internal/testinfra

.PHONY: race
race: ## run all tests with the race detector
	$(GO) test -race ./...

.PHONY: torture-short
torture-short: ## kill the loop at each of its steps, and at random, and look for damage (Linux, three minutes)
	$(GO) test -tags failpoint -count 1 -timeout 20m ./internal/failpoint ./internal/torture

.PHONY: torture
torture: ## the same until each step was killed at 20 times; writes docs/torture.md (Linux, half an hour)
	$(GO) test -tags failpoint -count 1 -timeout 2h -v -run TestRandomWalk ./internal/torture -long -limit 1h -table $(CURDIR)/docs/torture.md

.PHONY: cover
cover: build ## measure the coverage of the whole
	$(GO) test -coverpkg=./internal/... -coverprofile=coverage.out ./...
	@bin/ralph-gate coverage coverage.out | tail -n 1

.PHONY: lint
lint: ## run the linters
	scripts/lint

.PHONY: bench
bench: bench-order bench-gate bench-learn bench-tokens bench-loop ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchtime 3x ./internal/...

.PHONY: bench-order
bench-order: ## compare ralph-order with its parser, tsort and graphlib, at up to 100,000 requirements
	$(GO) test -tags bench -count 1 -run TestBenchOrder -v ./internal/order

.PHONY: bench-learn
bench-learn: ## hold ralph-learn context with 5,000 past learnings against an empty program
	$(GO) test -tags bench -count 1 -run TestBenchContext -v ./internal/learn

.PHONY: bench-tokens
bench-tokens: ## count what requirements cost in tokens, against one long conversation, by a real tokenizer
	$(GO) test -tags bench -count 1 -run TestBenchTokens -v ./examples

.PHONY: bench-loop
bench-loop: ## measure what the loop costs beside agent, tests and git, at up to 1,000 requirements (half an hour)
	$(GO) test -tags bench -count 1 -timeout 3h -run TestBenchLoop -v ./internal/cli

.PHONY: bench-gate
bench-gate: ## compare the hook with other hooks, and the counting with git's own
	$(GO) test -tags bench -count 1 -timeout 30m -run TestBenchGate -v ./internal/gate

.PHONY: gate
gate: build ## judge what would be committed, as the hook does
	bin/ralph-gate run

.PHONY: hooks
hooks: build ## make the gate this repository's own hooks
	bin/ralph-gate install

.PHONY: install
install: build ## install below PREFIX: programs in bin, the driver and its parts in lib/ralph
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(LIB)/agents" "$(DESTDIR)$(LIB)/prompt" "$(DESTDIR)$(LIB)/init" "$(DESTDIR)$(LIB)/hooks"
	install -m 755 $(addprefix bin/,$(PROGRAMS)) "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 scripts/ralph-loop scripts/ralph-prompt "$(DESTDIR)$(LIB)"
	install -m 755 scripts/agents/* "$(DESTDIR)$(LIB)/agents"
	install -m 644 scripts/prompt/* "$(DESTDIR)$(LIB)/prompt"
	install -m 644 scripts/init/* "$(DESTDIR)$(LIB)/init"
	install -m 755 hooks/pre-commit hooks/agent-pre-tool "$(DESTDIR)$(LIB)/hooks"
	for name in pre-merge-commit pre-push; do ln -sf pre-commit "$(DESTDIR)$(LIB)/hooks/$$name"; done
	install -m 644 scripts/ralph.mk "$(DESTDIR)$(LIB)"
	install -d "$(DESTDIR)$(MAN)/man1" "$(DESTDIR)$(MAN)/man7"
	install -m 644 docs/man/*.1 "$(DESTDIR)$(MAN)/man1"
	install -m 644 docs/man/ralph.7 "$(DESTDIR)$(MAN)/man7"
	for name in ralph-loop ralph-prompt; do ln -sf ../lib/ralph/$$name "$(DESTDIR)$(PREFIX)/bin/$$name"; done

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -rf "$(DESTDIR)$(LIB)"
	for name in $(PROGRAMS) ralph-loop ralph-prompt; do rm -f "$(DESTDIR)$(PREFIX)/bin/$$name" "$(DESTDIR)$(MAN)/man1/$$name.1"; done
	rm -f "$(DESTDIR)$(MAN)/man7/ralph.7"

.PHONY: clean
clean: ## remove what was built
	rm -rf bin coverage.out
