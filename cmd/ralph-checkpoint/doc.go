// Ralph-checkpoint holds the state of a run: where each requirement stands, and what is allowed next.
//
// Usage:
//
//	ralph-checkpoint begin [--max-iterations N] [--branch NAME] [--resume] [--redo-changed | --keep-changed]
//	ralph-checkpoint start REQ
//	ralph-checkpoint infra REQ check|existing|skipped|needed|ready|fallback|failed
//	ralph-checkpoint attempt [--timeout D] [--agent NAME] REQ -- COMMAND [ARGUMENT...]
//	ralph-checkpoint pass [-n|--dry-run] [--digest FILE] REQ
//	ralph-checkpoint fail [--digest FILE] [--verdict FILE] REQ
//	ralph-checkpoint block [--reason TEXT] REQ
//	ralph-checkpoint decide [--to REV] REQ skip|manual|retry|stop|rollback
//	ralph-checkpoint aside
//	ralph-checkpoint cost [--summary] [--tell] REQ
//	ralph-checkpoint tell
//	ralph-checkpoint finish
//	ralph-checkpoint failures REQ
//	ralph-checkpoint status [--format text|json] [--watch]
//	ralph-checkpoint summary REQ
//	ralph-checkpoint report
//	ralph-checkpoint check
//	ralph-checkpoint recover [--accept REQ]...
//	ralph-checkpoint agents [--select NAME [-- ARGUMENT...]]
//
// The state is .sprint-state/ralph-loop/progress.log, replaced atomically at each event; a copy is kept in the git
// directory, where "git clean" does not reach. One loop works in a worktree at a time.
//
// begin refuses changes of tracked files, a specification whose finished requirements changed, and a tree that fails
// the gate. It prints the requirements that are done and whose learnings and cost are still to be recorded.
//
// start takes up a requirement that is ready and prints the number of its next attempt, and the word infra behind it where
// its test infrastructure must be seen to first. attempt runs an agent with the prompt on its stdin, ends what it leaves
// behind, puts the repository in order and builds the index. pass commits the index if the gate passes that very tree. fail
// records a failure and prints what follows, retry or blocked.
//
// infra sees to the test infrastructure before the first attempt. check looks for it in the baseline, or, once attempt has
// run an agent for it, asks the gate about what that made, and prints where this led: existing, skipped (the project has no
// contract), ready or fallback (the template of test_infra) to go on with, "needed N" for an agent's dispatch, the Nth of at
// most 3, failed for a requirement that is now blocked. These dispatches use up no attempts. The other words record what
// another driver found or did; ready and fallback are refused where the gate does not pass the index.
//
// decide carries out what the user decides about a blocked requirement: skip leaves it out, manual takes the user's own
// fix through the gate, retry gives three fresh attempts, to a skipped one too, stop ends the run, rollback goes back to
// the last commit that the gate passed (--to: further back) and ends the run. What is undone is kept under refs/ralph.
//
// aside leaves worktree and index as the user had them where a loop ends with a requirement in work: what they hold of it is
// kept under refs/ralph, and the next start goes on. An attempt that is interrupted does so itself.
//
// tell runs the commands that ralph.yaml names below "on" for what happened since the last call: requirements done,
// blocked, broken tests, the run's end. Each reads one JSON object; one that fails is a warning. pass runs those of
// on.review itself, once the gate is green; cost --tell tells at its end. docs/events.md describes them.
//
// status --watch draws the table again each second, on a terminal, until the run ends or waits for a decision.
//
// recover makes a damaged state anew: from the copy, or from the trailers of this branch's commits, which are checked. So it
// does in a fresh clone or a new worktree, where begin refuses to do again what the commits prove done.
//
// Verbs:
//
//	begin     start a run, or continue the open one
//	start     take up a requirement; prints the number of its next attempt
//	infra     see to its test infrastructure, or record what is known of it
//	attempt   run one agent, the prompt on its stdin
//	pass      commit the index as the requirement's work
//	fail      record a failed attempt; prints what follows: retry or blocked
//	block     give a requirement up
//	decide    carry out what you decide about a requirement
//	cost      settle what a requirement used; 1 where a threshold is passed
//	tell      run the commands below "on" in ralph.yaml for what happened
//	finish    end a run with nothing left to do; prints its status
//	failures  what the next attempt is told of the failed ones
//	status    where the run stands
//	summary   a requirement's execution summary
//	report    the table, and what can be decided
//	check     judge the state: a line for each thing that is wrong
//	recover   make a damaged or lost state anew
//	agents    list the agents that can be dispatched
//
// Options:
//
// Each belongs to the verb that the usage shows it with.
//
//	--max-iterations N  requirements taken up in this run at most
//	--branch NAME       work on this branch; it is made where it is not there
//	--resume            insist on an open run
//	--redo-changed      do requirements again whose text changed
//	--keep-changed      leave them done
//	--timeout D         wall clock of the attempt, as in 300s
//	--agent NAME        one that agents lists; COMMAND is then its arguments
//	-n, --dry-run       print the commit message and change nothing
//	--digest FILE       pass: write there why it was refused; fail: what the next attempt is told; "-" is stdin
//	--verdict FILE      the gate's verdict as JSON: its figures are kept, and regressions in it are told
//	--reason TEXT       why it is given up
//	--to REV            the commit to roll back to
//	--summary           print the requirement's execution summary, not its figures
//	--tell              then do what the verb tell does
//	--format F          text or json
//	--watch             draw the table again and again, on a terminal
//	--accept REQ        believe the claim of this requirement's commit
//	--select NAME       print the name of this one, or of the configured one where it is empty, if it is there
//	--help              this text
//	--version           the version
//
// Exit status:
//
//	0      done
//	1      no: an illegal event, a gate that failed, nothing to judge, a requirement over its budget
//	2      the command line is wrong
//	3      could not decide
//	11     attempt: the agent fails at once wherever it is sent; pass: a commit-msg hook refuses the message, whatever
//	       is committed, and the requirement is blocked for that
//	12     cost: the run is over its budget
//	13     attempt: the agent is over a limit of its service, for longer than is waited
//	124    the agent ran out of time and left nothing
//	128+n  ended by signal n
package main
