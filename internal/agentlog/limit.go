package agentlog

import (
	"strconv"
	"strings"
	"time"

	"ralph-loop/internal/lazyregexp"
)

// limits are the words by which agents and the services behind them say that there were too many requests for now. They
// are looked for in the error, or in the last lines, of a run that failed, never in the prose of one that went well.
var limits = lazyregexp.New(`(?i)` + strings.Join([]string{
	`\b(usage|rate|request|token|quota|session|weekly|daily|hourly|\d+-hour|message)[ _-]?limits?\b.{0,40}\b(reached|exceeded|hit)\b`,
	`\b(reached|exceeded|hit|over)\b.{0,40}\b(usage|rate|request|token|quota|session|weekly|daily|hourly|\d+-hour|message)[ _-]?limits?\b`,
	`\brate[ _-]?limited\b`, `\brate[ _-]?limit[ _-]?(error|exceeded)\b`,
	`\b(limit|quota) (was |is |has been )?(reached|exceeded)\b`, `\bexceeded your (current )?quota\b`, `\bhit your (\w+ )?limit\b`,
	`\btoo many requests\b`, `\bresource[ _]?exhausted\b`, `\binsufficient_quota\b`, `\boverloaded_error\b`,
	`\b(status|code|http|error)\W{1,3}(code\W{1,3})?(429|529)\b`, `(?m:^\W{0,3}429\b)`, `\b429\b.{0,40}\b(rate|limit|quota)`,
}, "|"))

// outages are the words by which agents say that they do not reach their service, or that it does not work.
var outages = lazyregexp.New(`(?i)` + strings.Join([]string{
	`\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH)\b`, `\bgetaddrinfo\b`,
	`\bwaiting for network\b`, `\bnetwork (is )?(unreachable|error)\b`, `\b(could not|failed to) (connect|resolve)\b`,
	`\bname (or service not known|does not resolve)\b`, `\bname resolution\b`, `\bconnection (failed|refused|reset|error)\b`,
	`\bfetch failed\b`, `\bservice (is )?(temporarily )?unavailable\b`, `\bbad gateway\b`, `\binternal server error\b`,
	`\b(status|code|http)\W{1,3}(code\W{1,3})?(500|502|503|504)\b`,
}, "|"))

// CutOff reports whether the text of a failed run says that the agent could not reach its service.
func CutOff(text string) bool { return outages.MatchString(text) }

// Limited reports whether the text of a failed run says that the agent is over a limit for now. until is when it may be
// asked again, seen from now; the zero time where the text does not say.
func Limited(text string, now time.Time) (limited bool, until time.Time) {
	if !limits.MatchString(text) {
		return false, time.Time{}
	}
	for _, read := range []func(string, time.Time) time.Time{epoch, iso, span, clock} {
		if t := read(text, now); !t.IsZero() {
			return true, t
		}
	}
	return true, time.Time{}
}

// LastWords is what a failed run ended with: its error and the last lines that are no events.
func (l *Log) LastWords() string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(l.Plain), "\n")
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return strings.TrimSpace(l.Error + "\n" + strings.Join(lines, "\n"))
}

// tooFar is what no limit lasts: a number that leads beyond it is no time.
const tooFar = 32 * 24 * time.Hour

// latest is the latest of the times that lie ahead, or the zero time: a log's own stamps lie behind.
func latest(times []time.Time, now time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(now) && t.Before(now.Add(tooFar)) && t.After(last) {
			last = t
		}
	}
	return last
}

var epochs = lazyregexp.New(`\b([12]\d{9})(\d{3})?\b`)

// epoch reads seconds or milliseconds since 1970, as in "usage limit reached|1796043600".
func epoch(text string, now time.Time) time.Time {
	var times []time.Time
	for _, m := range epochs.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil {
			times = append(times, time.Unix(n, 0).In(now.Location()))
		}
	}
	return latest(times, now)
}

var isos = lazyregexp.New(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?`)

// iso reads 2026-11-30T15:00:00Z and what is near to it; without a zone it is ours.
func iso(text string, now time.Time) time.Time {
	var times []time.Time
	for _, word := range isos.FindAllString(text, -1) {
		word = word[:10] + "T" + word[11:]
		for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
			if t, err := time.ParseInLocation(layout, word, now.Location()); err == nil {
				times = append(times, t)
				break
			}
		}
	}
	return latest(times, now)
}

// asked is what comes before a time at which to ask again.
const asked = `(?:retry|again|resets?|wait|available|delay)\b`

var (
	spans = lazyregexp.New(`(?i)` + asked + `[^0-9\n]{0,25}?((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?)+)`)
	parts = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s*([a-z]+)`)
	// Without a unit only where a header has it so.
	bare = lazyregexp.New(`(?i)\bretry[-_ ]?after\W{1,4}(\d{1,6})\b`)
)

// span reads "retry after 30s", "try again in 1 hour 5 minutes", "retry-after: 30".
func span(text string, now time.Time) time.Time {
	if m := spans.FindStringSubmatch(text); m != nil {
		var sum time.Duration
		for _, p := range parts.FindAllStringSubmatch(m[1], -1) {
			n, err := strconv.ParseFloat(p[1], 64)
			one, known := units[strings.ToLower(p[2])]
			if err != nil || !known || n > 1e6 {
				break
			}
			sum += time.Duration(n * float64(one))
		}
		if sum > 0 && sum < tooFar {
			return now.Add(sum)
		}
	}
	if m := bare.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		return now.Add(time.Duration(n) * time.Second)
	}
	return time.Time{}
}

var units = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

var clocks = lazyregexp.New(`(?i)` + asked + `(?:\s*(?:at|on|:|by))?\s*(?:(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s*\d{4})?,?\s*(?:at\s*)?)?` +
	`(\d{1,2})(?::(\d\d))?(?::\d\d)?\s*([ap]\.?m\b)?\s*\(?\s*([A-Za-z]+(?:/[A-Za-z_]+)*)?`)

// clock reads "resets 3pm", "resets at 15:30 UTC", "try again at 3:05 PM", "resets Dec 2, 3pm (Europe/Berlin)". A time of
// day that has just passed is now; else it is the next one.
func clock(text string, now time.Time) time.Time {
	m := clocks.FindStringSubmatch(text)
	if m == nil || m[4] == "" && m[5] == "" {
		return time.Time{}
	}
	hour, _ := strconv.Atoi(m[3])
	minute, _ := strconv.Atoi(m[4])
	if half := strings.ToLower(m[5]); half != "" {
		if hour < 1 || hour > 12 {
			return time.Time{}
		}
		hour %= 12
		if half[0] == 'p' {
			hour += 12
		}
	}
	if hour > 23 || minute > 59 {
		return time.Time{}
	}
	zone := now.Location()
	if named, err := time.LoadLocation(m[6]); m[6] != "" && err == nil {
		zone = named
	}
	there := now.In(zone)
	year, month, day := there.Date()
	if m[1] != "" {
		named, err := time.Parse("Jan", strings.ToUpper(m[1][:1])+strings.ToLower(m[1][1:]))
		if err != nil {
			return time.Time{}
		}
		month = named.Month()
		day, _ = strconv.Atoi(m[2])
	}
	t := time.Date(year, month, day, hour, minute, 0, 0, zone)
	const justPassed = time.Hour
	switch {
	case m[1] != "" && t.Before(now.Add(-tooFar)):
		t = t.AddDate(1, 0, 0)
	case m[1] == "" && t.Before(now.Add(-justPassed)):
		t = t.AddDate(0, 0, 1)
	}
	if t.Before(now) {
		return now
	}
	if t.After(now.Add(tooFar)) {
		return time.Time{}
	}
	return t
}
