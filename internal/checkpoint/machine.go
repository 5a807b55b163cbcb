package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"ralph-loop/internal/exit"
)

// Status is where a requirement stands.
type Status string

// The states of a requirement.
const (
	Pending       Status = "pending"
	InfraCheck    Status = "test_infra_check"
	InfraDispatch Status = "test_infra_dispatch"
	InfraReady    Status = "test_infra_ready"
	InProgress    Status = "in_progress"
	Retry         Status = "retry"
	Done          Status = "done"
	Blocked       Status = "blocked"
	Skipped       Status = "skipped"
)

// Statuses are all of them, in the order of a requirement's life.
var Statuses = []Status{Pending, InfraCheck, InfraDispatch, InfraReady, InProgress, Retry, Done, Blocked, Skipped}

// Event is something that happens to a requirement.
type Event string

// The events of a requirement.
const (
	Start         Event = "start"          // its turn came
	InfraExisting Event = "infra existing" // the test helper is complete
	InfraSkipped  Event = "infra skipped"  // the project has no such contract
	InfraNeeded   Event = "infra needed"   // the helper or an agreed export is missing
	InfraMade     Event = "infra ready"    // it was generated and its own tests are green
	InfraFallback Event = "infra fallback" // the template took its place
	InfraFailed   Event = "infra failed"   // it could not be made
	Attempt       Event = "attempt"        // an agent is dispatched
	Pass          Event = "pass"           // the gate passed and the work is committed
	FailAgain     Event = "fail"           // the gate failed, attempts are left
	FailLast      Event = "fail for good"  // the gate failed on the last attempt, or the time ran out too often
	Block         Event = "block"          // it cannot be attempted
	AutoBlock     Event = "auto-block"     // an upstream requirement is blocked
	AutoUnblock   Event = "auto-unblock"   // none is any more
	DecideSkip    Event = "decide skip"    // the user's decisions
	DecideManual  Event = "decide manual"
	DecideRetry   Event = "decide retry"
	decideStop    Event = "decide stop" // this and the next move the run; a requirement only goes back
	decideBack    Event = "decide rollback"
	Interrupt     Event = "interrupt" // the run ends or is rolled back while it is in work
	Reopen        Event = "reopen"    // rolled back, or its text changed
)

// Events are all of them.
var Events = []Event{Start, InfraExisting, InfraSkipped, InfraNeeded, InfraMade, InfraFallback, InfraFailed, Attempt, Pass,
	FailAgain, FailLast, Block, AutoBlock, AutoUnblock, DecideSkip, DecideManual, DecideRetry, Interrupt, Reopen}

// requirementTable is the state machine of a requirement: what is not in it is illegal.
var requirementTable = map[Status]map[Event]Status{
	Pending:       {Start: InfraCheck, AutoBlock: Blocked},
	InfraCheck:    {InfraExisting: InProgress, InfraSkipped: InProgress, InfraNeeded: InfraDispatch, Block: Blocked, Interrupt: Pending},
	InfraDispatch: {Attempt: InfraDispatch, InfraNeeded: InfraDispatch, InfraMade: InfraReady, InfraFallback: InfraReady, InfraFailed: Blocked, Block: Blocked, Interrupt: Pending},
	InfraReady:    {Attempt: InProgress, Block: Blocked, Interrupt: Pending},
	InProgress:    {Attempt: InProgress, Pass: Done, FailAgain: Retry, FailLast: Blocked, Block: Blocked, Interrupt: Pending},
	Retry:         {Attempt: Retry, Pass: Done, FailAgain: Retry, FailLast: Blocked, Block: Blocked, Interrupt: Pending},
	Blocked:       {AutoUnblock: Pending, DecideSkip: Skipped, DecideManual: Done, DecideRetry: Pending, Reopen: Pending},
	Done:          {Reopen: Pending},
	Skipped:       {DecideRetry: Pending, Reopen: Pending},
}

// RunStatus is where a run stands.
type RunStatus string

// The states of a run; none means that there was never one.
const (
	RunNone    RunStatus = ""
	Running    RunStatus = "running"
	Completed  RunStatus = "completed"
	Partial    RunStatus = "partial"
	RunBlocked RunStatus = "blocked"
	Recovered  RunStatus = "recovered"
	RolledBack RunStatus = "rolled_back"
)

// RunStatuses are all of them.
var RunStatuses = []RunStatus{RunNone, Running, Completed, Partial, RunBlocked, Recovered, RolledBack}

// RunEvent is something that happens to a run.
type RunEvent string

// The events of a run.
const (
	RunBegin    RunEvent = "begin"    // a new run
	RunContinue RunEvent = "continue" // an open run goes on
	RunComplete RunEvent = "complete" // each requirement is done or skipped
	RunExhaust  RunEvent = "exhaust"  // max_iterations are taken up, one is ready
	RunBlock    RunEvent = "block"    // none is ready and one is blocked, or the budget is used up
	RunDecide   RunEvent = "decide"   // a decision that lets it go on
	RunStop     RunEvent = "stop"     // the user's stop
	RunRollback RunEvent = "rollback"
	RunRecover  RunEvent = "recover" // the state was made anew from the history
)

// RunEvents are all of them.
var RunEvents = []RunEvent{RunBegin, RunContinue, RunComplete, RunExhaust, RunBlock, RunDecide, RunStop, RunRollback, RunRecover}

// runTable is the state machine of a run. An open run (running, blocked, recovered) is continued, one that ended
// (completed, partial, rolled_back) is followed by a new one, unless the user decides that something of it is to be done.
var runTable = map[RunStatus]map[RunEvent]RunStatus{
	RunNone:    {RunBegin: Running, RunRecover: Recovered},
	Running:    {RunContinue: Running, RunComplete: Completed, RunExhaust: Partial, RunBlock: RunBlocked, RunDecide: Running, RunStop: Partial, RunRollback: RolledBack, RunRecover: Recovered},
	RunBlocked: {RunContinue: Running, RunComplete: Completed, RunExhaust: Partial, RunBlock: RunBlocked, RunDecide: Running, RunStop: Partial, RunRollback: RolledBack, RunRecover: Recovered},
	Recovered:  {RunContinue: Running, RunComplete: Completed, RunExhaust: Partial, RunBlock: RunBlocked, RunDecide: Running, RunStop: Partial, RunRollback: RolledBack, RunRecover: Recovered},
	Completed:  {RunBegin: Running, RunDecide: Running, RunRollback: RolledBack, RunRecover: Recovered},
	Partial:    {RunBegin: Running, RunDecide: Running, RunRollback: RolledBack, RunRecover: Recovered},
	RolledBack: {RunBegin: Running, RunRollback: RolledBack, RunRecover: Recovered},
}

// move applies an event to a requirement, or refuses it and names the legal ones.
func (r *Requirement) move(e Event) error {
	to, ok := requirementTable[r.Status][e]
	if !ok || (e == AutoUnblock && len(r.BlockedBy) == 0) || (r.Status == Blocked && len(r.BlockedBy) > 0 && (e == DecideManual || e == DecideRetry)) {
		return exit.Refuse(wayTo(r, e), "%s is %s: %q is not possible", r.ID, r.describe(), e)
	}
	r.Status = to
	return nil
}

// describe is the status with its cause where it is another requirement.
func (r *Requirement) describe() string {
	if r.Status == Blocked && len(r.BlockedBy) > 0 {
		return "blocked by " + r.BlockedBy[0]
	}
	return string(r.Status)
}

// wayTo is a hint for who asked for an event that is not possible: for a decision, how to get there; else the legal events.
func wayTo(r *Requirement, e Event) string {
	what, decided := strings.CutPrefix(string(e), "decide ")
	id := operand(r.ID)
	switch {
	case !decided || len(r.BlockedBy) > 0:
	case r.working():
		return fmt.Sprintf("'ralph-checkpoint block %s' gives it up, then 'ralph-loop decide %s %s'", id, id, what)
	case r.Status == Pending && e == DecideSkip:
		return "give it 'status: skipped' in the specification and commit that: the next start leaves it out"
	case r.Status == Pending && e == DecideManual:
		return "give it 'status: done' in the specification and commit that with your work: the next start takes your word"
	case r.Status == Pending:
		return "nothing is to be retried: 'ralph-loop' takes it up in its turn"
	case r.Status == Skipped:
		return fmt.Sprintf("'ralph-loop decide %s retry' takes the skip back", id)
	}
	return legal(r)
}

func legal(r *Requirement) string {
	if r.Status == Blocked && len(r.BlockedBy) > 0 {
		cause := r.BlockedBy[len(r.BlockedBy)-1]
		return fmt.Sprintf("decide about %s, which blocks it, or skip %s", cause, r.ID)
	}
	var names []string
	for _, e := range Events {
		// Only what is blocked from upstream can be freed from there: that case is behind us. Nobody reopens by command.
		if _, ok := requirementTable[r.Status][e]; ok && e != AutoUnblock && e != Reopen {
			names = append(names, string(e))
		}
	}
	if len(names) == 0 {
		return "'ralph-loop --redo-changed' does it again once its text changed"
	}
	return "possible now: " + strings.Join(names, ", ")
}

// move applies an event to the run, or refuses it and names the legal ones.
func (p *Progress) move(e RunEvent) error {
	to, ok := runTable[p.Req.Status][e]
	if !ok {
		var names []string
		for _, known := range RunEvents {
			if _, ok := runTable[p.Req.Status][known]; ok {
				names = append(names, string(known))
			}
		}
		hint := "possible now: " + strings.Join(names, ", ")
		switch {
		case e == RunStop:
			hint = "it has ended; 'ralph-loop' begins a new one"
		case e == RunDecide:
			hint = "'ralph-loop' begins a new one, which takes decisions"
		}
		what := string(p.Req.Status)
		if what == "" {
			what = "not begun"
		}
		return exit.Refuse(hint, "the run is %s: %q is not possible", what, e)
	}
	p.Req.Status = to
	return nil
}

// open reports whether the run can be continued.
func (p *Progress) open() bool {
	return slices.Contains([]RunStatus{Running, RunBlocked, Recovered}, p.Req.Status)
}

// failed reports whether the requirement is blocked by its own failure.
func (r *Requirement) failed() bool { return r.Status == Blocked && len(r.BlockedBy) == 0 }

// working reports whether the requirement is being worked on.
func (r *Requirement) working() bool {
	return slices.Contains([]Status{InfraCheck, InfraDispatch, InfraReady, InProgress, Retry}, r.Status)
}
