// Ralph-learn keeps what earlier work taught: what the next attempt at a requirement should know.
//
// Usage:
//
//	ralph-learn add [--req ID] [--permanent] [--evidence T] TEXT
//	ralph-learn ingest --req ID [--unproven] [REPORT]
//	ralph-learn list [--all] [--format text|json]
//	ralph-learn context [--req ID] [--max-tokens N [--beside FILE]...] [--agents FILE]
//	ralph-learn context --settings
//	ralph-learn tokens FILE...
//	ralph-learn promote ID
//	ralph-learn why ID
//	ralph-learn agents check
//	ralph-learn agents append --req ID [--title T] [--stage] [TEXT]
//	ralph-learn agents archive
//	ralph-learn agents show [--max-tokens N]
//
// A learning is a sentence. It is permanent, told to every later attempt, when it states an architecture decision, a
// global convention, a module interface, a data structure or a security rule; when two requirements reported it; or
// when a person says so. Any other is contextual: the three newest are told, then it moves to the history.
//
// A text states one of these where it begins with its name ("Convention: tests are named TestX", "Module interface: ..."), or
// where its words do ("never log a password"); why names them. What speaks of one requirement, one line or one mishap does
// not. The kind in a report is only a proposal: it counts where the text speaks of that matter.
//
// Verbs:
//
//	add      take a learning in; TEXT "-" is standard input. "!permanent" before or after it is the same as --permanent
//	ingest   take in the learnings of an agent's report, once the requirement is done; those of a blocked one go into the
//	         history and prove nothing. The same report counts once. REPORT is a YAML file, or a message that ends in a
//	         fenced block marked ralph-report; "-" is standard input. Without it the report is read that is kept of the
//	         requirement's last attempt, or where the run has none $RALPH_REPORT, else
//	         .sprint-state/ralph-loop/report.yaml. A report that cannot be used is a warning
//	list     the learnings in force: id, class, requirements, text
//	context  what an attempt is told: permanent learnings within learn.permanent_max_tokens, pinned ones and security
//	         rules first, then by relevance to the requirement; and the newest contextual ones
//	tokens   the estimate of each file's tokens, a line each: four ASCII bytes or one other character; "-" is standard
//	         input
//	promote  make a learning permanent, and part of every prompt; an expired one too
//	why      why a learning is permanent, contextual or history, and who reported it
//	agents   AGENTS.md at the worktree's top, in which each requirement has a section of at most 12 lines:
//	  check    findings: markers that do not pair, a file or a section that is too long
//	  append   add the section of a requirement, or replace it: TEXT, or agentmd_addition of the report that ingest
//	           would read, and the requirement's permanent learnings. What the file says already is left out. Sections
//	           move to .sprint-state/ralph-loop/agents-archive/ when the file has more than 500 lines: those older than
//	           six months, then the oldest
//	  archive  only the moving
//	  show     a person's text whole, then the newest sections within 800 tokens, without the permanent learnings, which
//	           context prints
//	         What a person wrote is never changed. A link is followed if it leads to a file in the worktree.
//
// add, ingest and promote run the commands that ralph.yaml names as on.learned for every learning that is new, or
// permanent from now on. docs/events.md describes them.
//
// An agent at work on a requirement is refused what would change learnings or AGENTS.md: it has its report for that.
//
// An id may be shortened to its first four digits where no other begins so.
//
// Options:
//
//	--req ID         the requirement; one that the specification does not hold is refused
//	--permanent      the learning is permanent and pinned
//	--evidence T     on what grounds, such as a test or a commit
//	--unproven       the requirement was not done, whatever the run says of it
//	--all            the history too
//	--format F       text, or json: one object with a version
//	--max-tokens N   bound on all that is printed. A token is four ASCII bytes or one other character
//	--beside FILE    what that file holds is within the bound too; exit status 1 where such files alone are over it
//	--agents FILE    write there what of AGENTS.md is within the bound beside all that
//	--settings       print what ralph.yaml says of prompts, KEY=VALUE a line, for ralph-prompt
//	--title T        of the section; without it the requirement's title
//	--stage          put AGENTS.md, as it is then, into the index
//	--help           this text
//	--version        the version
//
// Options stand before operands; "--" ends them.
//
// Exit status:
//
//	0    done
//	1    no: agents check has findings; agent.require_report is set and there is no report; an agent may not do this
//	2    the command line is wrong
//	3    no answer could be found: an unknown id, a damaged file, ambiguous markers, git failed
//	128+n  ended by signal n
//
// Files:
//
//	.sprint-state/ralph-loop/learnings.yaml           the learnings in force, outside a run
//	.sprint-state/ralph-loop/learnings-history.jsonl  what expired, one JSON object a line
//	.sprint-state/ralph-loop/learnings.md             all permanent learnings, when a prompt could not hold them
//
// Examples:
//
//	ralph-learn add 'all handlers must return JSON errors'
//	ralph-learn add --req REQ-004 --evidence 'TestExport' 'the CSV writer quotes a leading ='
//	ralph-learn list --all | grep bcrypt
//	ralph-learn why L-1a2b
//	ralph-learn agents append --req REQ-004 'CSV is written by internal/export only.'
package main
