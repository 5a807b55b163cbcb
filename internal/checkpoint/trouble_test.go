package checkpoint

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph-loop/internal/exit"
)

func TestUntilNext(t *testing.T) {
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		times int
		said  time.Time
		want  time.Duration
	}{
		{1, time.Time{}, time.Minute}, {2, time.Time{}, 2 * time.Minute}, {5, time.Time{}, 16 * time.Minute},
		{6, time.Time{}, 30 * time.Minute}, {1000, time.Time{}, 30 * time.Minute},
		{1, now.Add(30 * time.Second), 31 * time.Second}, {2, now, time.Second}, {1, now.Add(-time.Hour), time.Second},
		// What was said twice in vain is not believed a third time.
		{3, now.Add(time.Second), 4 * time.Minute}, {3, now.Add(time.Hour), time.Hour + time.Second},
	} {
		if got := untilNext(tt.times, tt.said, now); got != tt.want {
			t.Errorf("time %d, said %v: %v, want %v", tt.times, tt.said, got, tt.want)
		}
	}
}

// Whatever an agent says of its limits, the loop does not ask it more than mostWaits times in a row, nor wait beyond
// maxWait for one of them.
func TestLimitsAreBounded(t *testing.T) {
	c := inState(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		c.p.Limit, c.p.AtOnce = nil, 0
		asked := 0
		for {
			a := &Attempted{Outcome: rapid.SampledFrom([]string{OutcomeLimited, OutcomeCutOff}).Draw(t, "outcome")}
			if a.Outcome == OutcomeLimited && rapid.Bool().Draw(t, "says") {
				a.until = c.now().Add(time.Duration(rapid.IntRange(-1e6, 1e6).Draw(t, "seconds")) * time.Second)
			}
			c.noteTrouble(c.p, a)
			asked++
			ctx, cancel := context.WithCancelCause(context.Background())
			woken := errors.New("woken")
			cancel(woken)
			err := c.pause(ctx, "REQ-005")
			if errors.Is(err, woken) {
				err = nil
			}
			if err != nil && (exit.Code(err) == exit.RateLimit || asked > mostWaits && exit.Code(err) == exit.Error) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if asked > mostWaits || c.p.Limit.Until.Sub(c.now()) > maxWait {
				t.Fatalf("asked %d times, waiting until %v", asked, c.p.Limit.Until)
			}
		}
	})
}

func TestTroubleIsForgotten(t *testing.T) {
	c := inState(t, nil)
	failed := &Attempted{Outcome: OutcomeFailed, Seconds: 0.2}
	for range 3 {
		c.noteTrouble(c.p, failed)
	}
	if c.p.AtOnce != 3 {
		t.Errorf("%d failures at once, want 3", c.p.AtOnce)
	}
	for _, a := range []Attempted{{Outcome: OutcomeOK}, {Outcome: OutcomeFailed, Seconds: 60}, {Outcome: OutcomeFailed, worked: true}, {Outcome: OutcomeTimeout}} {
		c.p.AtOnce, c.p.Limit = 3, &Limit{Times: 2}
		if c.noteTrouble(c.p, &a); c.p.AtOnce != 0 || c.p.Limit != nil {
			t.Errorf("%+v is one that had its chance: %d, %+v", a, c.p.AtOnce, c.p.Limit)
		}
	}
}
