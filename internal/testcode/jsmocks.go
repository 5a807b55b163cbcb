package testcode

import (
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	// jsMockLibraries are modules of which every import mocks.
	jsMockLibraries = setOf("sinon ts-sinon testdouble nock proxyquire rewiremock mockery jest-mock jest-mock-extended vitest-mock-extended ts-mockito jest-when vitest-when jest-fetch-mock vitest-fetch-mock fetch-mock " +
		"axios-mock-adapter moxios msw msw/node @golevelup/ts-jest jest-mock-axios aws-sdk-client-mock mock-require esmock ts-mock-imports")
	// jsTestRunners are modules of which only these names do.
	jsTestRunners   = setOf("vitest @jest/globals node:test bun:test")
	jsMockObjects   = setOf("jest vi vitest mock spyOn")
	jsGlobalObjects = setOf("jest vi sinon")
	// jsNoMock are methods of those objects that replace no code: clocks, settings, the real module.
	jsNoMock = lazyregexp.New(`^(use(Fake|Real)Timers|setSystemTime|getMockedSystemTime|getRealSystemTime|advanceTimers\w*|run(All|Only)\w*|clearAllTimers|getTimerCount|isFakeTimers|setTimeout|setConfig|resetConfig|retryTimes|now|getSeed|timers|waitFor|waitUntil|importActual|requireActual|resetModules|isolateModules\w*|dynamicImportSettled|stubEnv|unstubAllEnvs|replaceProperty|match)$`)
	// jsMockMethod are methods that only a mock has, and the assertions that question one.
	jsMockMethod = lazyregexp.New(`^(mock(Clear|Reset|Restore|Implementation|ImplementationOnce|ReturnThis|ReturnValue|ReturnValueOnce|ResolvedValue|ResolvedValueOnce|RejectedValue|RejectedValueOnce|ThrowValue|ThrowValueOnce|Name)|` +
		`toHaveBeen(Nth|Last)?Called\w*|toBeCalled\w*|(last|nth)(Called|Returned)With|toHave(Nth|Last)?Returned\w*|toReturn(With|Times)?|toHave(Nth|Last)?Resolved\w*|calledOnceWith\w*|calledWithExactly|callsFake|resolvesArg|yieldsAsync)$`)
	jsMockState = lazyregexp.New(`^(calls|results|instances|contexts|lastCall|invocationCallOrder|settledResults|callCount)$`)
	// jsReplaces are methods whose first argument is what is replaced.
	jsReplaces = setOf("mock doMock unstable_mockModule setMock module mockModule replace replaceEsm spyOn stub spy createStubInstance method mocked createMockFromModule genMockFromModule registerMock proxyquire esmock mockDeep createMock")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// javaScriptMocks finds what mocks in a file of jest, vitest, sinon and their like. Counted whole are
//
//   - calls on jest, vi, sinon, node:test's mock, and on what mocking libraries export, fake clocks aside,
//   - chains with a method that only mocks have (mockReturnValue, ...), and assertions on mocks (toHaveBeenCalled, ...).
func javaScriptMocks(f *source.File) Mocks {
	use := Mocks{Lines: map[int]bool{}}
	imports := jsImports(f)
	chains(f, func(c *chain) bool {
		if !jsMocks(c, imports) {
			return false
		}
		use.mark(f, c.from, c.to)
		for _, l := range c.links {
			if l.called && (jsReplaces[l.name] || l.at == c.from && jsMockLibraries[imports[l.name].module]) {
				use.jsTarget(f, l, imports)
			}
		}
		return true
	})
	return use
}

func jsMocks(c *chain, imports map[string]jsImport) bool {
	if !c.called() {
		return len(c.links) > 2 && hasState(c)
	}
	head := c.head()
	from := imports[head]
	object := jsGlobalObjects[head] && from.module == "" || jsMockLibraries[from.module] || jsTestRunners[from.module] && jsMockObjects[from.name]
	if object && !(len(c.links) > 1 && jsNoMock.MatchString(c.links[1].name)) {
		return true
	}
	for i, l := range c.links[1:] {
		if l.called && jsMockMethod.MatchString(l.name) {
			return true
		}
		// t.mock.fn() of node:test
		if l.called && c.links[i].name == "mock" && (l.name == "fn" || l.name == "method" || l.name == "module" || l.name == "getter" || l.name == "setter") {
			return true
		}
	}
	return hasState(c)
}

// hasState reports f.mock.calls and its like.
func hasState(c *chain) bool {
	for i, l := range c.links[1:] {
		if c.links[i].name == "mock" && i > 0 && jsMockState.MatchString(l.name) {
			return true
		}
	}
	return false
}

// mark counts the lines of the tokens from first to last.
func (u *Mocks) mark(f *source.File, first, last int) {
	for line := f.Code[first].Line; line <= f.Code[last].Last; line++ {
		u.Lines[line] = true
	}
}

// jsTarget notes what the first argument of a call names: a module, or what was imported from one.
func (u *Mocks) jsTarget(f *source.File, l link, imports map[string]jsImport) {
	at := l.args + 1
	if at+2 < len(f.Code) && f.Code[at].Is("import") { // vi.mock(import("./x"))
		at += 2
	}
	line := f.Code[l.at].Line
	if module, ok := literal(f, at); ok {
		u.Targets = append(u.Targets, Mock{line, module, isOwnModule(module)})
		return
	}
	if at < len(f.Code) && f.Code[at].Kind == source.Word {
		if from := imports[f.Code[at].Text]; from.module != "" {
			u.Targets = append(u.Targets, Mock{line, from.module, isOwnModule(from.module)})
		}
	}
}

// isOwnModule reports a path, or one of the usual short names for the top of the project.
func isOwnModule(module string) bool {
	for _, p := range []string{"./", "../", "@/", "~/", "#/", "src/", "$lib/"} {
		if strings.HasPrefix(module, p) {
			return true
		}
	}
	return module == "." || module == ".."
}

// jsImport is where a name comes from.
type jsImport struct{ module, name string } // name: as the module calls it; "default", "*"

// jsImports reads import ... from "m" and const ... = require("m").
func jsImports(f *source.File) map[string]jsImport {
	imports := map[string]jsImport{}
	code := f.Code
	for i := range code {
		switch {
		case code[i].Is("import"):
			end := i + 1
			for end < len(code) && end < i+500 && code[end].Kind != source.String && !code[end].Is(";") && !code[end].Is("(") && !(end > i+1 && code[end].Is("import")) {
				end++
			}
			if module, ok := literal(f, end); ok {
				bindings(code[i+1:end], module, imports)
			}
		case code[i].Is("require") && i+2 < len(code) && code[i+1].Is("("):
			module, ok := literal(f, i+2)
			if !ok || i < 2 || !code[i-1].Is("=") {
				continue
			}
			from := i - 2
			if code[from].Is("}") && code[from].Pair >= 0 {
				from = code[from].Pair
			}
			bindings(code[from:i-1], module, imports)
		}
	}
	return imports
}

// bindings reads what stands between import and from: a, * as b, {c, d as e, f: g}.
func bindings(code []source.Token, module string, imports map[string]jsImport) {
	inBraces, name := false, "default"
	for i := 0; i < len(code); i++ {
		t := code[i]
		next := func(text string) bool { return i+2 < len(code) && code[i+1].Is(text) }
		switch {
		case t.Is("{"):
			inBraces = true
		case t.Is("*"):
			name = "*"
		case t.Kind != source.Word || t.Text == "from" || t.Text == "as" || t.Text == "type" && !next("as"):
		case next("as") || inBraces && next(":"):
			imports[code[i+2].Text] = jsImport{module, t.Text}
			i += 2
		case inBraces:
			imports[t.Text] = jsImport{module, t.Text}
		default:
			imports[t.Text] = jsImport{module, name}
		}
	}
}
