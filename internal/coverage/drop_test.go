package coverage

import (
	"fmt"
	"strings"
	"testing"
)

func TestDrop(t *testing.T) {
	var d Data
	if err := d.Read(strings.NewReader("SF:a.js\nDA:1,1\nDA:2,0\nend_of_record\nSF:b.rs\nDA:1,0\nDA:5,1\nDA:6,0\nDA:9,1\nend_of_record\n")); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(d.Drop("b.rs", Span{4, 6}, Span{20, 30})), "{b.rs 1 2}"; got != want {
		t.Errorf("took %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(d.Drop("a.js"), d.Drop("c.js"), d.Files()), "{a.js 1 2} {c.js 0 0} [{b.rs 1 2}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
