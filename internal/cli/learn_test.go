package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ralph-loop/internal/learn"
)

func TestLearnScripts(t *testing.T) { runScripts(t, "learn") }

// layLearnings is the script command "learned N": N permanent learnings, and before them a pinned one, as N reports
// would have left them.
func layLearnings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: learned N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	dir := ts.MkAbs(filepath.Join(".sprint-state", "ralph-loop"))
	ts.Check(os.MkdirAll(dir, 0o777))
	since := time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)
	ts.Check(learn.UpdateStore(context.Background(), dir, func(w *learn.Windows) error {
		w.Permanent = append(w.Permanent, learn.Permanent{ID: "L-first", Pattern: "the first fact is pinned", Rule: learn.ByUser, Pinned: true, Since: since})
		for i := 1; i <= n; i++ {
			w.Permanent = append(w.Permanent, learn.Permanent{ID: fmt.Sprintf("L-%08x", i), Pattern: fmt.Sprintf("the project must know fact %d of %d", i, n),
				Rule: learn.Convention, Words: []string{"project", "must"}, Since: since})
		}
		return nil
	}))
}
