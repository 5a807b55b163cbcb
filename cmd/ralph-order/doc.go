// Ralph-order says which requirement of a specification comes next, and why.
//
// Usage:
//
//	ralph-order [--all] [--format text|tsv|json|dot|mermaid] [-z] [list] [SPEC]
//	ralph-order next   [--format text|tsv|json] [-z] [SPEC]
//	ralph-order ready  [--format text|tsv|json] [-z] [SPEC]
//	ralph-order layers [--format text|tsv|json] [SPEC]
//	ralph-order check  [SPEC]
//	ralph-order why REQ [SPEC]
//	ralph-order show [--format text|yaml|json] REQ [SPEC]
//
// SPEC is a specification; "-" is standard input. Without it $RALPH_SPEC is read, else specification.yaml.
//
// The order is that of layers: a layer is the requirements whose dependencies all lie in earlier layers. Within a
// layer the lower priority number comes first, requirements without a priority last, then the order of the file. It
// is made from all requirements, so it does not change as work gets done.
//
// Verbs:
//
//	list    the requirements in order, without those that are done or skipped
//	next    the id of the requirement to work on now
//	ready   all requirements that could be worked on now: each dependency is done or skipped
//	layers  all requirements, each behind the number of its layer
//	check   nothing, if the specification is sound; warnings go to standard error
//	why     why a requirement is next, waits, is blocked or done
//	show    one requirement; --format yaml prints its own lines of the file, verbatim
//
// Options:
//
//	--all          list: those that are done or skipped too
//	--format F     text (columns id, priority, status, title), tsv (the same columns, separated by tabs), json (one
//	               object with a version), dot and mermaid (the whole graph, coloured by status); show: text, yaml, json
//	-z             only ids, each followed by a NUL byte, for xargs -0
//	--help         this text
//	--version      the version
//
// Options stand before operands; "--" ends them. A specification named like a verb is written ./list.
//
// Exit status:
//
//	0    yes, or done
//	1    no: next or ready found nothing to work on; standard error says whether all is complete, or what is blocked
//	2    the command line is wrong
//	3    the specification cannot be read or used; each problem stands on standard error as FILE:LINE:COL: MESSAGE
//	128+n  ended by signal n
//
// Examples:
//
//	ralph-order                                  # the queue
//	ralph-order why REQ-004                      # what does it wait for?
//	ralph-order check && git commit specification.yaml
//	ralph-order list --format tsv | awk -F'\t' '$2 == 1 { print $1 }'
//	ralph-order ready -z | xargs -0 -n1 ralph-order show --
//	ralph-order list --format dot | dot -Tsvg > order.svg
package main
