package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/lazyregexp"
)

// optional matches what may stand before a verb in a line of usage.
var optional = lazyregexp.New(`\[-[^\]]*\] *|\[OPTIONS\] *`)

// writeVerbHelp prints of a program's help what is about one verb: its lines of usage, what it does, its options.
func writeVerbHelp(w io.Writer, program, help string, c *urfave.Command) {
	lists := listsOf(help)
	verb := strings.Fields(c.HelpName)[1:]
	fmt.Fprint(w, "Usage:\n\n")
	for _, line := range lists["Usage"] {
		if isUsageOf(line, verb) {
			fmt.Fprintln(w, line)
		}
	}
	fmt.Fprintln(w)
	for _, line := range entry(lists["Verbs"], func(term string) bool { return term == verb[0] }) {
		fmt.Fprintln(w, line)
	}
	var options []string
	for _, f := range c.Flags {
		name := dashed(f.Names()[0])
		options = append(options, entry(lists["Options"], func(term string) bool {
			return slices.Contains(strings.Split(strings.ReplaceAll(term, ",", ""), " "), name)
		})...)
	}
	if len(options) > 0 {
		fmt.Fprintf(w, "\nOptions:\n\n%s\n", strings.Join(options, "\n"))
	}
	fmt.Fprintf(w, "\n'%s --help' is the whole manual.\n", program)
}

// listsOf are the indented lines of a help text, by the heading above them.
func listsOf(help string) map[string][]string {
	lists, heading := map[string][]string{}, ""
	for line := range strings.Lines(help) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "\t"):
			lists[heading] = append(lists[heading], line)
		case strings.HasSuffix(line, ":"):
			heading = strings.TrimSuffix(line, ":")
		}
	}
	return lists
}

// isUsageOf reports whether a line of usage is one of that verb's: "\tralph-gate cache list|clear" is of cache, and of cache
// list.
func isUsageOf(line string, verb []string) bool {
	words := strings.Fields(optional.ReplaceAllString(line, ""))[1:]
	if len(words) < len(verb) {
		return false
	}
	for i, v := range verb {
		if !slices.Contains(strings.Split(strings.Trim(words[i], "[]"), "|"), v) {
			return false
		}
	}
	return true
}

// entry are the lines of a list about the first term that is meant: its own, and the further ones below it.
func entry(list []string, meant func(term string) bool) []string {
	var found []string
	for _, line := range list {
		further := strings.HasPrefix(line, "\t ")
		if !further && len(found) > 0 {
			break
		}
		term, _, _ := strings.Cut(strings.TrimPrefix(line, "\t"), "  ")
		if further && len(found) > 0 || !further && meant(term) {
			found = append(found, line)
		}
	}
	return found
}
