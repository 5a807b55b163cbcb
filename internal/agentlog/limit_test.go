package agentlog

import (
	"testing"
	"time"
)

func TestLimited(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, berlin)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, berlin) }
	var unsaid time.Time
	for text, want := range map[string]time.Time{
		"usage limit reached, resets 3pm":                                                  at(30, 15, 0),
		"5-hour limit reached ∙ resets 3:30pm":                                             at(30, 15, 30),
		"You've hit your limit · resets 3am (UTC)":                                         at(31, 4, 0),
		"You've hit your usage limit. Try again at 3:05 PM.":                               at(30, 15, 5),
		"You've hit your usage limit, try again at Dec 2nd, 2026 9:15 AM.":                 time.Date(2026, 12, 2, 9, 15, 0, 0, berlin),
		"weekly limit reached, resets Dec 3, 8am":                                          time.Date(2026, 12, 3, 8, 0, 0, 0, berlin),
		"usage limit reached, resets at 15:30":                                             at(30, 15, 30),
		"usage limit reached, resets at 1:50pm":                                            now, // it has just passed
		"usage limit reached, resets 9am":                                                  at(31, 9, 0),
		"usage limit reached, resets at 16:00 UTC":                                         at(30, 17, 0),
		"AI usage limit reached|1796047200":                                                at(30, 15, 0),
		`{"error":"rate_limit_error","reset":1796047200000}`:                               at(30, 15, 0),
		"429 Too Many Requests\nretry-after: 30":                                           now.Add(30 * time.Second),
		"rate limit exceeded, retry after 30s":                                             now.Add(30 * time.Second),
		"Rate limit reached for model. Please try again in 1m26.4s.":                       now.Add(86400 * time.Millisecond),
		"rate limited: try again in 2 hours, 5 minutes and 3 seconds":                      now.Add(2*time.Hour + 5*time.Minute + 3*time.Second),
		"Quota exceeded. Your quota will reset after 3h21m5s.":                             now.Add(3*time.Hour + 21*time.Minute + 5*time.Second),
		`"status": "RESOURCE_EXHAUSTED", "retryDelay": "34s"`:                              now.Add(34 * time.Second),
		"2026-11-30T13:59:00+01:00 rate limit exceeded until 2026-11-30T15:00:00Z, resets": at(30, 16, 0),
		"rate limit exceeded, retry at 2026-11-30 18:00":                                   at(30, 18, 0),
		"unexpected status 429 from the service":                                           unsaid,
		"429 {\"type\":\"error\"}":                                                         unsaid,
		"HTTP 429":                                                                         unsaid,
		"Error: Rate limited":                                                              unsaid,
		"usage limit reached, resets 27:00":                                                unsaid,
		"usage limit reached, resets 13pm":                                                 unsaid,
		"usage limit reached, resets in 900 days":                                          unsaid,
		"usage limit reached, resets 3 march":                                              unsaid,
	} {
		limited, until := Limited(text, now)
		if !limited || !until.Equal(want) {
			t.Errorf("%q: limited %t, until %v; want %v", text, limited, until, want)
		}
	}
	for _, text := range []string{
		"", "the test of the limiter fails: got 200, want 429", "4290 files", "line 429: syntax error", "no limit is set",
		"unexpected status 401 Unauthorized: invalid_api_key", "retry after 30s", "resets 3pm", "limits.go:12: reached",
	} {
		if limited, until := Limited(text, now); limited || !until.IsZero() {
			t.Errorf("%q: limited %t, until %v; it is none", text, limited, until)
		}
	}
}

func TestCutOff(t *testing.T) {
	for _, text := range []string{
		"Reconnecting... waiting for network (Connection failed: error sending request)", "getaddrinfo ENOTFOUND api.example.org",
		"Error: connect ECONNREFUSED 127.0.0.1:1", "TypeError: fetch failed", "Temporary failure in name resolution",
		"unexpected status 503 Service Unavailable", "failed to lookup address information: Name does not resolve",
	} {
		if !CutOff(text) {
			t.Errorf("%q: the service was not reached", text)
		}
	}
	for _, text := range []string{"", "unexpected status 401 Unauthorized", "503 files", "port 500 is free", "the test of the network fails"} {
		if CutOff(text) {
			t.Errorf("%q: that is no outage", text)
		}
	}
}

// Only the end of a log counts: an agent may have written much about limits before.
func TestLastWords(t *testing.T) {
	l := Log{Error: "status 401", Plain: "usage limit reached\na\nb\nc\nd\ne\n"}
	if got := l.LastWords(); got != "status 401\na\nb\nc\nd\ne" {
		t.Errorf("%q", got)
	}
}

func FuzzLimited(f *testing.F) {
	f.Add("usage limit reached, resets Dec 3, 8:15am (Europe/Berlin)")
	f.Add("rate limit exceeded, retry after 1h30m and 5 s; 2026-11-30T15:00:00Z 1796047200")
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		limited, until := Limited(text, now)
		if !until.IsZero() && (!limited || until.Before(now) || until.After(now.Add(tooFar))) {
			t.Errorf("%q: limited %t, until %v", text, limited, until)
		}
	})
}
