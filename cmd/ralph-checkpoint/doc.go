// ralph-checkpoint holds the state of a run: where each requirement stands, and what is allowed next.
//
// Usage:
//
//	ralph-checkpoint begin [--max-iterations N] [--branch NAME] [--resume] [--redo-changed | --keep-changed]
//	ralph-checkpoint start REQ
//	ralph-checkpoint infra REQ existing|skipped|needed|ready|fallback|failed
//	ralph-checkpoint attempt [--timeout D] [--agent NAME] REQ -- COMMAND [ARGUMENT...]
//	ralph-checkpoint pass [-n|--dry-run] [--digest FILE] REQ
//	ralph-checkpoint fail [--digest FILE] REQ
//	ralph-checkpoint block [--reason TEXT] REQ
//	ralph-checkpoint decide [--to REV] REQ skip|manual|retry|stop|rollback
//	ralph-checkpoint cost REQ
//	ralph-checkpoint finish
//	ralph-checkpoint failures REQ
//	ralph-checkpoint status [--format text|json]
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
// start takes up a requirement that is ready and prints the number of its next attempt. attempt runs an agent with the
// prompt on its stdin, ends what it leaves behind, puts the repository in order and builds the index. pass commits the
// index if the gate passes that very tree. fail records a failure and prints what follows, retry or blocked.
//
// decide carries out what the user decides about a blocked requirement: skip leaves it out, manual takes the user's own
// fix through the gate, retry gives three fresh attempts, to a skipped one too, stop ends the run, rollback goes back to the last commit that
// the gate passed (--to: further back) and ends the run. What is undone is kept under refs/ralph.
//
// recover makes a damaged state anew: from the copy, or from the trailers of this branch's commits, which are checked.
//
// Exit status:
//
//	0      done
//	1      no: an illegal event, a gate that failed, nothing to judge, over the budget
//	2      the command line is wrong
//	3      could not decide
//	124    the agent ran out of time and left nothing
//	128+n  ended by signal n
package main
