# The Ralph toolkit's targets, for a project's own Makefile:
#
#	include /usr/local/lib/ralph/ralph.mk
#
# They begin with ralph-, so that they stand in nobody's way. RALPH_BASE measures against another commit.

RALPH_GATE  := $(or $(RALPH_GATE),ralph-gate)
RALPH_ORDER := $(or $(RALPH_ORDER),ralph-order)

.PHONY: ralph-gate ralph-diff ralph-plan ralph-hooks ralph-doctor ralph-next

ralph-gate: ## judge what would be committed; in CI, with nothing staged, HEAD
	$(RALPH_GATE) run

ralph-diff: ## count what it adds: tests, implementation and the rest
	$(RALPH_GATE) diff

ralph-plan: ## the commands that the gate would run
	$(RALPH_GATE) plan

ralph-hooks: ## put the gate into git's hooks
	$(RALPH_GATE) install

ralph-doctor: ## are commits and pushes judged here?
	$(RALPH_GATE) doctor

ralph-next: ## the requirement that comes next
	@left=$$($(RALPH_ORDER) list) || exit; \
	if [ -n "$$left" ]; then $(RALPH_ORDER) next; else echo 'nothing is left: each requirement is done or skipped'; fi
