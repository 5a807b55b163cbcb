package testcode

import (
	"strings"

	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/source"
)

var (
	// pyMockLibraries are modules of which every name mocks.
	pyMockLibraries = strings.Fields("unittest.mock mock pytest_mock responses requests_mock respx httpretty flexmock mockito aioresponses pytest_httpx doublex mox")
	// pyFixtures are parameters by which pytest hands a test its mocks.
	pyFixtures = setOf("mocker class_mocker module_mocker package_mocker session_mocker requests_mock httpx_mock respx_mock aioresponses")
	// pyAsserts are methods that only mocks have.
	pyAsserts  = lazyregexp.New(`^assert_(called|called_once|called_with|called_once_with|any_call|has_calls|not_called|awaited\w*|any_await|has_awaits|not_awaited)$`)
	pySettings = setOf("return_value side_effect")
	pyState    = setOf("call_count call_args call_args_list mock_calls method_calls await_count await_args")
	// pyReplaces are calls whose first argument is what is replaced; of the keywords spec and autospec too.
	pyReplaces = setOf("patch object dict multiple create_autospec spy setattr delattr")
)

// pythonMocks finds what mocks in a file of unittest.mock, pytest-mock and their like. Counted whole are
//
//   - calls of what a mocking library exports, decorators among them, and of pytest's fixtures for mocks,
//   - monkeypatch.setattr and delattr,
//   - in a file that knows a mocking library: x.return_value = ..., x.side_effect = ..., what asks a mock for its calls.
func pythonMocks(f *source.File) Mocks {
	use := Mocks{Lines: map[int]bool{}}
	imports := pyImports(f)
	knows := false
	for _, name := range imports {
		knows = knows || isMockLibrary(name)
	}
	for i, t := range f.Code {
		if t.Kind == source.Word && pyFixtures[t.Text] && i > 0 && (f.Code[i-1].Is("(") || f.Code[i-1].Is(",")) {
			knows = true
		}
	}
	chains(f, func(c *chain) bool {
		if i := c.from; i > 0 && (f.Code[i-1].Is("import") || f.Code[i-1].Is("from") || f.Code[i-1].Is("def") || f.Code[i-1].Is("class")) {
			return false
		}
		if !pyMocks(f, c, imports, knows) {
			return false
		}
		use.mark(f, c.from, c.to)
		for _, l := range c.links {
			if l.called && (pyReplaces[l.name] || l.at == c.from && strings.HasSuffix(imports[l.name], ".patch")) {
				use.pyTarget(f, l, imports)
			}
		}
		return true
	})
	return use
}

func isMockLibrary(qualified string) bool {
	for _, lib := range pyMockLibraries {
		if qualified == lib || strings.HasPrefix(qualified, lib+".") {
			return true
		}
	}
	return false
}

func pyMocks(f *source.File, c *chain, imports map[string]string, knows bool) bool {
	head := c.head()
	full := imports[head]
	for _, l := range c.links[1:min(4, len(c.links))] { // no library's name has more parts
		full += "." + l.name
	}
	switch {
	case c.called() && (imports[head] != "" && isMockLibrary(full) || pyFixtures[head]):
		return true
	case head == "monkeypatch" && len(c.links) > 1 && (c.links[1].name == "setattr" || c.links[1].name == "delattr"):
		return c.links[1].called
	case !knows:
		return false
	}
	for i, l := range c.links[1:] {
		switch {
		case l.called && pyAsserts.MatchString(l.name), pyState[l.name]:
			return true
		case pySettings[l.name] && (i == len(c.links)-2 && c.to+1 < len(f.Code) && f.Code[c.to+1].Is("=") || i < len(c.links)-2):
			return true
		}
	}
	return false
}

// pyTarget notes what the first argument of a call names: a dotted name in a string, or something imported.
func (u *Mocks) pyTarget(f *source.File, l link, imports map[string]string) {
	at := l.args + 1
	name, ok := literal(f, at)
	if !ok && at < len(f.Code) && f.Code[at].Kind == source.Word {
		name = imports[f.Code[at].Text]
	}
	if !strings.Contains(name, ".") {
		return
	}
	u.Targets = append(u.Targets, Mock{f.Code[l.at].Line, name, pyOwn(name)})
}

// pyOwn reports whether a dotted name leads to the project's own code: not to the standard library or a package that is
// known to stand for something outside, and no part of it does ("app.payments.requests.get" replaces requests).
func pyOwn(name string) bool {
	parts := strings.Split(name, ".")
	for _, p := range parts {
		if outside[p] || pyForeign[p] {
			return false
		}
	}
	return true
}

// pyForeign are modules of the standard library and of others that tests patch.
var pyForeign = setOf("os sys io builtins shutil pathlib tempfile json logging time datetime random secrets uuid socket ssl urllib http smtplib subprocess threading multiprocessing asyncio signal platform getpass zoneinfo calendar " +
	"requests httpx aiohttp urllib3 boto3 botocore openai anthropic stripe twilio sendgrid slack_sdk google azure paramiko kafka pika celery sentry_sdk freezegun")

// pyImports gives the dotted name behind each name that the file imports.
func pyImports(f *source.File) map[string]string {
	imports := map[string]string{}
	code := f.Code
	for i := 0; i < len(code); i++ {
		if !code[i].First || !code[i].Is("import") && !code[i].Is("from") {
			continue
		}
		prefix := ""
		from := code[i].Is("from")
		end := i + 1
		for end < len(code) && !code[end].First {
			end++
		}
		at := i + 1
		if from {
			for at < end && !code[at].Is("import") {
				prefix += code[at].Text
				at++
			}
			at++
		}
		for at < end {
			name := ""
			for at < end && (code[at].Kind == source.Word && code[at].Text != "as" || code[at].Is(".")) {
				name += code[at].Text
				at++
			}
			local := name
			if !from {
				local, _, _ = strings.Cut(name, ".")
			}
			switch {
			case at+1 < end && code[at].Is("as"):
				imports[code[at+1].Text] = dotted(prefix, name)
				at += 2
			case name != "" && from:
				imports[local] = dotted(prefix, name)
			case name != "": // import a.b makes a known
				imports[local] = local
			default:
				at++
			}
		}
		i = end - 1
	}
	return imports
}

func dotted(prefix, name string) string {
	if prefix == "" || strings.HasSuffix(prefix, ".") {
		return prefix + name
	}
	return prefix + "." + name
}
