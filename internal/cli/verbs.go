package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/nearest"
)

// noVerb refuses a command line whose first operand is none of the verbs there, or that has none.
func noVerb(c *urfave.Context) error {
	of := ""
	if c.Command.Name != c.App.Name {
		of = " of " + c.Command.Name
	}
	if !c.Args().Present() {
		return exit.Misuse(verbsFor(c, ""), "a verb%s is missing", of)
	}
	word := c.Args().First()
	return exit.Misuse(verbsFor(c, word), "unknown verb %q%s", word, of)
}

// verbsFor is the hint for a word that is no verb: the one that was probably meant, and all there are.
func verbsFor(c *urfave.Context, word string) string {
	var verbs []string
	for _, v := range c.Command.Subcommands {
		verbs = append(verbs, v.Name)
	}
	meant := nearest.Word(word, verbs)
	if meant != "" {
		meant = fmt.Sprintf("did you mean %q? ", meant)
	}
	last := len(verbs) - 1
	return fmt.Sprintf("%sthe verbs are %s and %s; see '%s --help'", meant, strings.Join(verbs[:last], ", "), verbs[last], c.App.Name)
}
