package testcode

import (
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	rustMockType    = lazyregexp.New(`^Mock[A-Z]\w*$`)
	rustExpectation = lazyregexp.New(`^expect_\w+$`)
	// rustMockCrates are crates of which every call mocks.
	rustMockCrates     = setOf("mockall mockall_double mockito wiremock httpmock faux mry unimock")
	rustMockAttributes = setOf("automock double faux unimock mry")
)

// rustMocks finds what mocks in a file of mockall and its like: MockX::new(), chains with expect_x(), mock! blocks,
// #[automock] and #[double], calls of the crates themselves and of mockito's servers.
func rustMocks(f *source.File) Mocks {
	use := Mocks{Lines: map[int]bool{}}
	servers := false
	for i, t := range f.Code {
		if t.Kind == source.Word && rustMockCrates[t.Text] && (i == 0 || !f.Code[i-1].Is(".")) {
			servers = true
		}
		if t.Is("#") && i+2 < len(f.Code) && f.Code[i+1].Is("[") && f.Code[i+1].Pair > 0 {
			for n := i + 2; n < f.Code[i+1].Pair && f.Code[n].Kind == source.Word || f.Code[n].Is("::"); n++ {
				if rustMockAttributes[f.Code[n].Text] {
					use.mark(f, i, f.Code[i+1].Pair)
				}
			}
		}
	}
	chains(f, func(c *chain) bool {
		if c.from > 0 && (f.Code[c.from-1].Is("use") || f.Code[c.from-1].Is("struct") || f.Code[c.from-1].Is("impl")) || !c.called() {
			return false
		}
		head := c.links[0]
		macro := head.called && f.Code[head.args-1].Is("!")
		mocks := rustMockCrates[head.name] || macro && head.name == "mock"
		for _, l := range c.links {
			switch {
			case rustMockType.MatchString(l.name) && !l.called:
				mocks = true
				use.Targets = append(use.Targets, Mock{f.Code[l.at].Line, unmocked(l.name), true})
			case l.called && l.at > c.from && rustExpectation.MatchString(l.name):
				mocks = true
			case l.called && l.name == "mock" && l.at > c.from && servers && len(c.links) > 1:
				_, isText := literal(f, l.args+1)
				mocks = mocks || isText
			}
		}
		if macro && head.name == "mock" && head.args+2 < len(f.Code) {
			at := head.args + 1
			if f.Code[at].Is("pub") {
				at++
			}
			use.Targets = append(use.Targets, Mock{f.Code[at].Line, strings.TrimSuffix(f.Code[at].Text, "<"), true})
		}
		if mocks {
			use.mark(f, c.from, c.to)
		}
		return mocks
	})
	return use
}
