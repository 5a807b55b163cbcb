package checkpoint

import (
	"os"
	"path/filepath"
	"testing"

	"ralph-loop/internal/agentlog"
)

func TestTokensAnAttemptUsed(t *testing.T) {
	file := func(size int64) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	said := agentlog.Log{Usage: agentlog.Usage{Input: 900, Cached: 100, Output: 40}}
	for name, c := range map[string]struct {
		log         agentlog.Log
		outcome     string
		seconds     float64
		prompt, out int64
		want        int
		guessed     bool
	}{
		"it says so":                       {said, OutcomeOK, 9, 4000, 4000, 840, false},
		"it says so and printed much":      {said, OutcomeOK, 1, 4000, 20 << 20, 840, false},
		"a few words":                      {agentlog.Log{}, OutcomeOK, 0.2, 4000, 41, 1011, true},
		"as much as a model could write":   {agentlog.Log{}, OutcomeOK, 10, 4000, 4000, 2000, true},
		"tools that print 20 MB":           {agentlog.Log{}, OutcomeOK, 12.3, 4000, 20 << 20, 1000 + 1300, true},
		"at once":                          {agentlog.Log{}, OutcomeFailed, 0, 4000, 4000, 1000, true},
		"a whole attempt's time":           {agentlog.Log{}, OutcomeTimeout, 300, 64000, 200 << 20, 46000, true},
		"a limit costs nothing":            {agentlog.Log{}, OutcomeLimited, 9, 4000, 4000, 0, false},
		"nor does a service out of reach":  {agentlog.Log{}, OutcomeCutOff, 9, 4000, 4000, 0, false},
		"nor an agent that is not there":   {agentlog.Log{}, OutcomeNotFound, 0, 4000, 40, 0, false},
		"what a limit had used is counted": {said, OutcomeLimited, 9, 4000, 4000, 840, false},
	} {
		a := &Attempted{Outcome: c.outcome, Seconds: c.seconds, Log: file(c.out)}
		got, guessed, err := tokens(a, c.log, file(c.prompt))
		if got != c.want || guessed != c.guessed || err != nil {
			t.Errorf("%s: %d, guessed %v, %v; want %d, %v", name, got, guessed, err, c.want, c.guessed)
		}
	}
}
