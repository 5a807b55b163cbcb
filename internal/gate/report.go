package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteText writes one layer as a person reads it: a line with its figures, then what it found.
func (l *Layer) WriteText(w io.Writer, colour bool) error {
	var b strings.Builder
	seconds := fmt.Sprintf("%.2fs", l.Seconds)
	if l.Cached {
		seconds = "cached"
	}
	fmt.Fprintf(&b, "%-9s  %s  %-70s  %s\n", l.Name, paint(l.Result, colour), short(l.Summary, 500), seconds)
	for _, f := range l.Findings {
		b.WriteString("    " + strings.ReplaceAll(clean(f.String()), "\n", "\n    ") + "\n")
	}
	if l.Dropped > 0 {
		fmt.Fprintf(&b, "    ... and %d more\n", l.Dropped)
	}
	for _, f := range l.Warnings {
		b.WriteString("    warning: " + strings.ReplaceAll(clean(f.String()), "\n", "\n    ") + "\n")
	}
	for _, note := range l.Notes {
		b.WriteString("    note: " + short(note, 1000) + "\n")
	}
	if l.Result == Fail || l.Result == Error {
		if l.Advice != "" {
			b.WriteString("    next: " + short(l.Advice, 500) + "\n")
		}
		if l.Log != "" {
			b.WriteString("    log:  " + l.Log + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func paint(r Result, colour bool) string {
	text := string(r)
	if r == NotApplicable {
		text = "n/a"
	}
	text = fmt.Sprintf("%-5s", text)
	if !colour {
		return text
	}
	codes := map[Result]string{Pass: "32", Fail: "31", Error: "35", NotApplicable: "2"}
	return "\x1b[" + codes[r] + "m" + text + "\x1b[0m"
}

// WriteJSON writes the verdict as one object and a newline.
func (v *Verdict) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
