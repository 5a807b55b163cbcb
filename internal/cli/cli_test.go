package cli

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	urfave "github.com/urfave/cli/v2"

	"ralph-loop/internal/exit"
)

// demoApp has one verb that prints its operands, one that panics and one that fails as told.
func demoApp(p *Process) *urfave.App {
	return &urfave.App{
		Name: "demo",
		Commands: []*urfave.Command{
			{
				Name:  "show",
				Flags: []urfave.Flag{&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}}, &urfave.BoolFlag{Name: "z"}},
				Action: func(c *urfave.Context) error {
					ops, err := p.operands(c, "demo show A [B]", 1, 2)
					if err != nil {
						return err
					}
					_, err = p.Stdout.Write([]byte(strings.Join(ops, "|") + "\n"))
					return err
				},
			},
			{Name: "panic", Action: func(*urfave.Context) error { panic("on purpose") }},
			{Name: "no", Action: func(*urfave.Context) error { return exit.Refuse("do this", "not allowed") }},
			{Name: "silent", Action: func(*urfave.Context) error { return exit.Silent(exit.No) }},
		},
	}
}

func TestArguments(t *testing.T) {
	const doc = "// Demo shows.\n//\n//\tdemo show\npackage main\n"
	cases := []struct {
		args           string
		code           int
		stdout, stderr string // substrings; "" means that the stream stays empty
	}{
		{"show a", 0, "a\n", ""},
		{"show -q a b", 0, "a|b\n", ""},
		{"show -zq a", 0, "a\n", ""},
		{"show a -q", 2, "", `option "-q" after an operand`},
		{"show -- -q", 0, "-q\n", ""},
		{"show -- a -q", 0, "a|-q\n", ""},
		{"show a -- -q", 0, "a|-q\n", ""},
		{"show -- --", 0, "--\n", ""},
		{"show -", 0, "-\n", ""},
		{"show help", 0, "help\n", ""},
		{"show h", 0, "h\n", ""},
		{"show a,b", 0, "a,b\n", ""},
		{"show", 2, "", "an operand is missing"},
		{"show a b c", 2, "", `unexpected operand "c"`},
		{"show --nope a", 2, "", "hint: see 'demo show --help'"},
		{"--version", 0, "demo " + Version + "\n", ""},
		{"--help", 0, "Demo shows.\n\n  demo show\n", ""},
		{"panic", 3, "", "internal error: on purpose"},
		{"no", 1, "", "demo: not allowed\nhint: do this\n"},
		{"silent", 1, "", ""},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			var out, errw bytes.Buffer
			p := &Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errw}
			if code := p.run(demoApp(p), doc, strings.Fields(c.args)); code != c.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, c.code, errw.String())
			}
			check := func(stream, got, want string) {
				if (want == "") != (got == "") || !strings.Contains(got, want) {
					t.Errorf("%s is %q, want %q", stream, got, want)
				}
			}
			check("stdout", out.String(), c.stdout)
			check("stderr", errw.String(), c.stderr)
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestFullStdoutIsAnError(t *testing.T) {
	var errw bytes.Buffer
	p := &Process{Stdin: strings.NewReader(""), Stdout: fullDisk{}, Stderr: &errw}
	if code := p.run(demoApp(p), "", []string{"show", "a"}); code != exit.Error {
		t.Errorf("exit code %d, want %d", code, exit.Error)
	}
	if !strings.Contains(errw.String(), "no space left") {
		t.Errorf("stderr is %q", errw.String())
	}
}

func TestGetenvTakesTheLastOfAKey(t *testing.T) {
	p := &Process{Environ: []string{"A=1", "B=2", "A=3"}}
	got := []string{p.Getenv("A"), p.Getenv("B"), p.Getenv("C")}
	if want := []string{"3", "2", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
