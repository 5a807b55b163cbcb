// Package config reads ralph.yaml. Every key has a default that works, so a missing file is no error; an unknown key
// is, since a misspelled threshold would guard nothing.
package config

import (
	"time"
)

// File is the name of the configuration at the worktree's top.
const File = "ralph.yaml"

// Config is ralph.yaml, whole.
type Config struct {
	Spec          string    `yaml:"spec"`
	MaxIterations int       `yaml:"max_iterations"`
	Agent         Agent     `yaml:"agent"`
	Prompt        Prompt    `yaml:"prompt"`
	Gate          Gate      `yaml:"gate"`
	Hook          Hook      `yaml:"hook"`
	TestInfra     TestInfra `yaml:"test_infra"`
	Learn         Learn     `yaml:"learn"`
	Cost          Cost      `yaml:"cost"`
	Commit        Commit    `yaml:"commit"`
	On            On        `yaml:"on"`
}

// Agent says which agent is dispatched and how long it may take.
type Agent struct {
	Name          string   `yaml:"name"`           // a file in scripts/agents
	Command       []string `yaml:"command"`        // the program and its arguments, for the agent "command"
	Timeout       Duration `yaml:"timeout"`        // wall clock of one attempt
	IdleTimeout   Duration `yaml:"idle_timeout"`   // longest silence; 0: no limit
	Attempts      int      `yaml:"attempts"`       // per requirement
	MaxTimeouts   int      `yaml:"max_timeouts"`   // so many timeouts block a requirement: it is too large
	RequireReport bool     `yaml:"require_report"` // an attempt without a report fails
	RateLimit     string   `yaml:"rate_limit"`     // wait or stop: what to do where the agent is over a limit
}

// Prompt says how a prompt is composed.
type Prompt struct {
	Lang      string `yaml:"lang"`       // en, zh, or auto: the specification's own language
	Template  string `yaml:"template"`   // a file of the project's instead of the built-in rules
	MaxTokens int    `yaml:"max_tokens"` // bound on requirement, rules and digests
	AgentsMD  string `yaml:"agents_md"`  // auto, always or never: whether AGENTS.md goes into the prompt
}

// Gate holds the thresholds and the project's own commands.
type Gate struct {
	TestRatio     int       `yaml:"test_ratio"`     // per cent of added lines that are test lines, at least
	Coverage      Coverage  `yaml:"coverage"`       // per cent of statements or lines, at least
	MockDensity   int       `yaml:"mock_density"`   // per cent of a test file's lines that mock, at most
	MockBoundary  Level     `yaml:"mock_boundary"`  // mocks of what a test should run for real
	Red           Level     `yaml:"red"`            // new tests that pass without the change
	Trace         Level     `yaml:"trace"`          // criteria that no test names
	Scope         Level     `yaml:"scope"`          // lines of earlier requirements that are changed
	Timeout       Duration  `yaml:"timeout"`        // of each command
	Reruns        int       `yaml:"reruns"`         // how often failing tests are run again
	Where         string    `yaml:"where"`          // copy or worktree: where the commands run
	Setup         []Command `yaml:"setup"`          // instead of what the lock files found bring
	Link          []string  `yaml:"link"`           // ignored files and folders that the copy links to
	Protect       []string  `yaml:"protect"`        // more globs that a requirement's work may not touch
	Typecheck     []Command `yaml:"typecheck"`      // instead of what the languages found bring
	Lint          []Command `yaml:"lint"`           //
	Test          []Command `yaml:"test"`           //
	CoverageFiles []string  `yaml:"coverage_files"` // what the test commands write: Go profiles or LCOV
	TestReports   []string  `yaml:"test_reports"`   // what the test commands write: JUnit XML
	TestGlobs     []string  `yaml:"test_globs"`     // more files that are test code
	IgnoreGlobs   []string  `yaml:"ignore_globs"`   // files that count as neither test nor implementation
}

// Hook says what the pre-commit hook runs.
type Hook struct {
	Layers []string `yaml:"layers"`
}

// TestInfra is the contract about the test infrastructure: one file from which every test takes its application and its
// database, so that no requirement writes its own.
type TestInfra struct {
	File     string  `yaml:"file"`     // where it lies; NoTestInfra: there is no contract; "": as the project's package.json has it
	Exports  Exports `yaml:"exports"`  // what it exports; none: the two usual names
	Fallback string  `yaml:"fallback"` // when no agent could make it: template, or none
}

// NoTestInfra is the TestInfra.File of a project that wants no contract.
const NoTestInfra = "none"

// Learn sizes the learnings windows and AGENTS.md.
type Learn struct {
	Window             int    `yaml:"window"`               // newest contextual learnings
	PromoteAt          int    `yaml:"promote_at"`           // so many requirements make a learning permanent
	AgentsMDMaxLines   int    `yaml:"agents_md_max_lines"`  // above it old sections are archived
	AgentsMDKeep       Months `yaml:"agents_md_keep"`       // sections younger than this stay, where there is room
	PermanentMaxTokens int    `yaml:"permanent_max_tokens"` // permanent learnings in one prompt
}

// Cost bounds the tokens that agents use; 0 is no limit.
type Cost struct {
	Threshold    int `yaml:"threshold"`
	ReqThreshold int `yaml:"req_threshold"`
}

// Commit says how the loop's commits are called.
type Commit struct {
	Subject string `yaml:"subject"` // {id} and {title} are replaced
}

// On holds the user's own commands, which are told what happened. Each reads one JSON object on its standard input.
type On struct {
	Learned      []Command `yaml:"learned"`       // a learning is new, or permanent from now on
	ReqDone      []Command `yaml:"req_done"`      // a requirement is committed
	Regression   []Command `yaml:"regression"`    // an attempt broke a test that passed on the baseline
	Blocked      []Command `yaml:"blocked"`       // a requirement is given up
	Finished     []Command `yaml:"finished"`      // the run ended, or waits for its user
	Review       []Command `yaml:"review"`        // the gate is green; what they print are findings
	ReviewBlocks bool      `yaml:"review_blocks"` // a finding fails the attempt
}

// Default is the configuration without a file.
func Default() *Config {
	return &Config{
		Spec:          "specification.yaml",
		MaxIterations: 15,
		Agent:         Agent{Timeout: Duration(300 * time.Second), Attempts: 3, MaxTimeouts: 2, RateLimit: "wait"},
		Prompt:        Prompt{Lang: "auto", MaxTokens: 16000, AgentsMD: "auto"},
		Gate: Gate{TestRatio: 40, Coverage: Coverage{Percent: 80}, MockDensity: 30, MockBoundary: Warn, Red: Warn, Trace: Warn, Scope: Warn,
			Timeout: Duration(15 * time.Minute), Where: "copy",
			Link: []string{"node_modules", ".venv", ".env"}},
		Hook:      Hook{Layers: []string{"L0", "L1", "L1b", "mocks", "integrity", "infra", "L2", "L3", "trace"}},
		TestInfra: TestInfra{Fallback: "template"},
		Learn:     Learn{Window: 3, PromoteAt: 2, AgentsMDMaxLines: 500, AgentsMDKeep: 6, PermanentMaxTokens: 800},
		Cost:      Cost{Threshold: 200000},
		Commit:    Commit{Subject: "ralph-loop: {id} - {title}"},
	}
}
