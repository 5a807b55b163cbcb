# The recorded agent of the torture. What it does depends on the requirement and the attempt alone, and what is done in
# the end does not depend on how often it was interrupted.
cat >/dev/null
echo "$RALPH_REQ $RALPH_ATTEMPT" >>"$HOME/dispatched"

test_file() {
	mkdir -p lib t
	printf 'set -e\ntest "$(sh lib/%s.sh)" = %s\n' "$RALPH_REQ" "$RALPH_REQ" >"t/${RALPH_REQ}_test.sh"
}
code() { printf 'echo %s\n' "$RALPH_REQ" >"lib/$RALPH_REQ.sh"; }
good() {
	rm -f junk.txt UNCOVERED lib/broken.sh
	git checkout -q HEAD -- ralph.yaml 2>/dev/null
	test_file
	code
	cat >"$RALPH_REPORT" <<REPORT
status: done
agentmd_addition: $RALPH_REQ lives in lib/$RALPH_REQ.sh.
verification_summary: its test is green
learnings:
  - {text: "the library of $RALPH_REQ must be in lib/$RALPH_REQ.sh", kind: convention, evidence: t}
  - {text: "line 42 of lib/$RALPH_REQ.sh was off by one", kind: note, evidence: t}
REPORT
}
attack() { # what is not an agent's to touch
	echo 'an agent was here' >>AGENTS.md
	echo '# an agent was here' >>specification.yaml
	echo 'stolen' >untracked.txt
	rm -f 'untracked folder/notes.md' .sprint-state/ralph-loop/progress.log
	echo 'broken' >.git/ralph/progress.log
	git config user.name Agent
	printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-commit
	printf '#!/bin/sh\nexit 1\n' >.git/hooks/pre-push
	echo 'lib/*' >>.git/info/exclude
	git tag agents-own
	git stash drop -q
	git update-index --skip-worktree lib/ready.sh
	git symbolic-ref HEAD refs/heads/agents-own
}

case $RALPH_REQ.$RALPH_ATTEMPT in
REQ-001.1) # red tests
	mkdir -p t && echo 'exit 1' >"t/${RALPH_REQ}_test.sh"
	echo junk >junk.txt
	;;
REQ-002.1) test_file && code && rm "t/${RALPH_REQ}_test.sh" ;; # no tests
REQ-002.*)                                                       # commits its own work, in two pieces
	good
	git add lib && git commit -q -m 'The agent'"'"'s own commit'
	git add t && git commit -q -m 'Another one' && git tag -f agents-own
	;;
REQ-003.1) # does not parse, and attacks
	good
	echo 'if' >lib/broken.sh
	attack
	;;
REQ-003.2) # the hook refuses it
	good
	echo '# FORBIDDEN' >>"lib/$RALPH_REQ.sh"
	;;
REQ-003.3)
	good
	attack
	;;
REQ-004.1) echo 'What shall I do?' ;; # no change
REQ-004.2)                            # touches what is protected
	good
	echo 'max_iterations: 99' >>ralph.yaml
	;;
REQ-004.*) # uncovered
	good
	touch UNCOVERED
	;;
*)
	good
	exit 1 # the work is good, whatever the exit code
	;;
esac
