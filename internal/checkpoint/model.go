// Package checkpoint holds the state of a run: the model, the two state machines, the store that never loses or mixes
// a state, the attempts, and the commit protocol. It is the only writer of progress.log and of the loop's commits.
package checkpoint

import (
	"time"

	"ralph-loop/internal/learn"
	"ralph-loop/internal/notify"
	"ralph-loop/internal/order"
	"ralph-loop/internal/spec"
)

// SchemaVersion is that of progress.log. A file with a higher one was written by a newer toolkit and is refused.
const SchemaVersion = 1

// Progress is progress.log, whole. It stays a summary: a few lines a requirement.
type Progress struct {
	Schema        int             `yaml:"schema_version"`
	Serial        int             `yaml:"serial"`                 // grows with every write: of two copies the higher one is newer
	Run           string          `yaml:"run_id"`                 // names the run in refs and trailers
	Specification string          `yaml:"specification"`          // relative to the worktree's top
	Branch        string          `yaml:"branch"`                 // full name of the run's branch; empty: a detached HEAD
	BaseCommit    string          `yaml:"base_commit"`            // HEAD as the run began
	Gated         string          `yaml:"gated,omitempty"`        // HEAD as the run was last begun or continued: the gate passed it
	Baseline      string          `yaml:"baseline"`               // what the current requirement's diff is measured against
	Iteration     int             `yaml:"iteration"`              // requirements taken up in this run
	MaxIterations int             `yaml:"max_iterations"`         //
	MaxGiven      bool            `yaml:"max_given,omitempty"`    // it is the command line's, and ralph.yaml's does not replace it
	CheckpointAt  time.Time       `yaml:"checkpoint_at"`          // of the last write, UTC
	Req           ReqProgress     `yaml:"req_progress"`           //
	Learnings     learn.Windows   `yaml:"learnings"`              //
	Cost          Cost            `yaml:"cost"`                   //
	Order         []string        `yaml:"topology_order"`         // every requirement, whatever its status
	Requirements  []*Requirement  `yaml:"requirements"`           // in topology order
	Intent        *Intent         `yaml:"intent,omitempty"`       // a commit that may or may not have been made
	Rollback      *Rollback       `yaml:"rollback,omitempty"`     // one that was begun
	LastAttempt   *AttemptOutcome `yaml:"last_attempt,omitempty"` // of the current requirement, until it is judged
	LastEvent     string          `yaml:"last_event,omitempty"`   // the last event and its requirement: said again it changes nothing
	Events        []notify.Event  `yaml:"events,omitempty"`       // that the user's commands are still to be told
	LeftTree      string          `yaml:"left_tree,omitempty"`    // what the last attempt left in the worktree
	Left          string          `yaml:"left,omitempty"`         // a commit with what the last attempt left that failed, as the loop stopped: the next one begins with it
	GivenBack     bool            `yaml:"given_back,omitempty"`   // worktree and index were cleaned as the loop stopped: what is changed there is the user's
	Limit         *Limit          `yaml:"limit,omitempty"`        // the agent is over a limit of its service, or does not reach it
	Made          *MadeInfra      `yaml:"made,omitempty"`         // the newest test infrastructure that no commit of a requirement's holds yet
	MessageHook   string          `yaml:"message_hook,omitempty"` // the commit-msg hook that was there as the loop was started, or refused a message since
	AtOnce        int             `yaml:"at_once,omitempty"`      // attempts in a row that failed at once and without work
}

// ReqProgress is the run's summary.
type ReqProgress struct {
	Completed   int       `yaml:"completed_count"` // done ones
	Total       int       `yaml:"total_count"`     //
	Current     string    `yaml:"current_req"`     // in work, else last worked on, else empty
	Status      RunStatus `yaml:"status"`          //
	InfraStatus string    `yaml:"test_infra_status,omitempty"`
}

// Cost is what the agents used, in tokens (uncached input and output).
type Cost struct {
	ReqNumber  int  `yaml:"req_number"`        // 1-based position in the run of the requirement that Tokens belongs to
	Tokens     int  `yaml:"tokens_used"`       // by that requirement
	Cumulative int  `yaml:"cumulative_tokens"` // by the run
	Threshold  int  `yaml:"threshold"`         // 0: none
	Estimated  bool `yaml:"estimated"`         // some agent did not say what it used
	Guessed    int  `yaml:"guessed,omitempty"` // of the cumulative ones: estimated
}

// Requirement is what the checkpoint knows of one requirement.
type Requirement struct {
	ID        string    `yaml:"id"`
	Status    Status    `yaml:"status"`
	Attempts  int       `yaml:"attempts"`             // charged failures, and the passing one
	Timeouts  int       `yaml:"timeouts,omitempty"`   // those of them that ran out of time
	SpecHash  string    `yaml:"spec_hash"`            // of the text that it was taken up with
	Commit    string    `yaml:"commit,omitempty"`     // where it was done
	BlockedBy []string  `yaml:"blocked_by,omitempty"` // nearest first; empty where it is blocked by its own failure
	Reason    string    `yaml:"reason,omitempty"`     // why it is blocked or skipped, or how it was done where no attempt did it
	Kept      string    `yaml:"kept,omitempty"`       // the ref with what was left of it as it was given up
	Digests   []string  `yaml:"digests,omitempty"`    // digest files of its failed attempts, below the state folder
	Tokens    int       `yaml:"tokens,omitempty"`     // used by its attempts
	Guessed   int       `yaml:"guessed,omitempty"`    // of those: estimated
	Retried   int       `yaml:"retried,omitempty"`    // of those: used before the user's last retry, which counts from there
	Seconds   float64   `yaml:"seconds,omitempty"`    // spent by its agents
	Gate      string    `yaml:"gate,omitempty"`       // figures of the last verdict on its work
	Infra     InfraWork `yaml:"infra,omitempty"`      // its test infrastructure
	Steps     Steps     `yaml:"steps,omitempty"`      // when each of the seven was last passed
	Number    int       `yaml:"number,omitempty"`     // 1-based position in the run, 0: not taken up
	Since     time.Time `yaml:"since,omitempty"`      // when its status last changed
	OnLearned string    `yaml:"on_learned,omitempty"` // how its learnings were told: called, or why that failed
}

// InfraWork is what is known of the test infrastructure where a requirement needed it.
type InfraWork struct {
	Status string `yaml:"status,omitempty"` // existing, skipped, generated, fallback
	Tries  int    `yaml:"tries,omitempty"`  // dispatches that failed
	Made   string `yaml:"made,omitempty"`   // a commit on the baseline with what was made, until the requirement's own holds it
}

// Steps are the times of the seven steps that every requirement passes, in order.
type Steps struct {
	Load       time.Time `yaml:"load,omitempty"`       // taken up, its text read
	Isolate    time.Time `yaml:"isolate,omitempty"`    // a fresh context composed for the agent
	Dispatch   time.Time `yaml:"dispatch,omitempty"`   // the agent ended, its work put in order
	Regression time.Time `yaml:"regression,omitempty"` // the gate answered, whole suite included
	Resolve    time.Time `yaml:"resolve,omitempty"`    // fixed or blocked
	Learnings  time.Time `yaml:"learnings,omitempty"`  // its report's learnings are kept
	State      time.Time `yaml:"state,omitempty"`      // cost and state recorded: nothing of it is left to do
}

// names and times of the steps, in their order.
func (s *Steps) each() []step {
	return []step{{"load", s.Load}, {"isolate", s.Isolate}, {"dispatch", s.Dispatch}, {"regression", s.Regression},
		{"resolve", s.Resolve}, {"learnings", s.Learnings}, {"state", s.State}}
}

// after is t, or the latest of the steps where the clock was set back since: they keep their order.
func (s *Steps) after(t time.Time) time.Time {
	for _, step := range s.each() {
		if step.at.After(t) {
			t = step.at
		}
	}
	return t
}

type step struct {
	name string
	at   time.Time
}

// Intent says which commit is about to be made, so that a crash cannot hide whether it was.
type Intent struct {
	Req     string `yaml:"req"`
	Parent  string `yaml:"parent"`
	Tree    string `yaml:"tree"`
	Message string `yaml:"message"`
	Gate    string `yaml:"gate"`
	Review  string `yaml:"review,omitempty"` // findings that become a learning
}

// MadeInfra is test infrastructure that an agent or a template made, and that was green.
type MadeInfra struct {
	Commit string `yaml:"commit"` // on the baseline of its time
	Req    string `yaml:"req"`    // whom it was made for
	Word   string `yaml:"word"`   // ready, or fallback
}

// Rollback says where a rollback that was begun leads, so that a crash cannot leave the branch moved and the state not.
type Rollback struct {
	Req    string   `yaml:"req"`          // whose decision it was
	Head   string   `yaml:"head"`         // where the branch was
	Target string   `yaml:"target"`       // where it goes
	To     string   `yaml:"to,omitempty"` // how the user named that
	Undone []string `yaml:"undone"`       // requirements whose commits lie between
}

// AttemptOutcome is how the last dispatch ended; the gate alone says whether its work is good.
type AttemptOutcome struct {
	Req     string `yaml:"req"`
	Number  int    `yaml:"number"`           // of the attempt, from 1
	Outcome string `yaml:"outcome"`          // ok, failed, timeout, crash, rate-limited, cut-off
	Changed bool   `yaml:"changed"`          // it left work to judge
	Digest  string `yaml:"digest,omitempty"` // what went wrong, where there is nothing to judge
	Aside   bool   `yaml:"aside,omitempty"`  // a start put that aside; the next call for this attempt puts it back
}

// Limit is how long an agent cannot be asked.
type Limit struct {
	Times  int       `yaml:"times"`             // in a row that it could not work
	Until  time.Time `yaml:"until,omitempty"`   // when to ask again
	Said   string    `yaml:"said"`              // why, in the agent's words
	CutOff bool      `yaml:"cut_off,omitempty"` // it did not reach its service; else that refused for now
	Worked bool      `yaml:"worked,omitempty"`  // and left work before it
}

// Find is the entry of a requirement, or nil.
func (p *Progress) Find(id string) *Requirement {
	for _, r := range p.Requirements {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Counts are how many requirements stand where; each is counted once.
type Counts struct{ Total, Done, Pending, Blocked, Skipped int }

// Counts counts.
func (p *Progress) Counts() Counts {
	c := Counts{Total: len(p.Requirements)}
	for _, r := range p.Requirements {
		switch r.Status {
		case Done:
			c.Done++
		case Skipped:
			c.Skipped++
		case Blocked:
			c.Blocked++
		default:
			c.Pending++
		}
	}
	return c
}

// States are the requirements' states as ralph-order understands them.
func (p *Progress) States() order.States {
	states := order.States{}
	for _, r := range p.Requirements {
		s := order.State{Phase: string(r.Status), Commit: r.Commit, BlockedBy: r.BlockedBy, Reason: r.Reason, Attempts: r.Attempts}
		switch r.Status {
		case Done:
			s.Status = spec.Done
		case Skipped:
			s.Status = spec.Skipped
		case Blocked:
			s.Status = spec.Blocked
		case Pending:
			s.Status = spec.Pending
		default:
			s.Status = spec.InProgress
		}
		states[r.ID] = s
	}
	return states
}

// recount brings the derived figures in line with the requirements.
func (p *Progress) recount() {
	c := p.Counts()
	p.Req.Completed, p.Req.Total = c.Done, c.Total
}

// Working is the id of the requirement in work, or "".
func (p *Progress) Working() string {
	if r := p.Find(p.Req.Current); r != nil && r.working() {
		return r.ID
	}
	return ""
}
