package exit

import (
	"errors"
	"fmt"
	"testing"
)

func TestCode(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err    error
		code   int
		hint   string
		silent bool
	}{
		{nil, OK, "", false},
		{cause, Error, "", false},
		{Refuse("do this", "no: %w", cause), No, "do this", false},
		{Misuse("see --help", "what?"), Usage, "see --help", false},
		{Fail("", "broken"), Error, "", false},
		{Silent(No), No, "", true},
		{fmt.Errorf("around: %w", Refuse("inner", "no")), No, "inner", false},
		{fmt.Errorf("around: %w", Silent(Timeout)), Timeout, "", true},
	} {
		if Code(c.err) != c.code || HintOf(c.err) != c.hint || IsSilent(c.err) != c.silent {
			t.Errorf("%v: code %d, hint %q, silent %t; want %d, %q, %t", c.err, Code(c.err), HintOf(c.err), IsSilent(c.err), c.code, c.hint, c.silent)
		}
	}
	if !errors.Is(Refuse("", "no: %w", cause), cause) {
		t.Error("the cause is lost")
	}
}
