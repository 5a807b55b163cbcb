package testcode

import (
	"slices"
	"strings"

	"ralph-loop/internal/source"
)

var (
	javaMockPackages = strings.Fields("org.mockito org.easymock org.powermock mockit io.mockk org.jmock com.github.tomakehurst.wiremock org.wiremock org.mockserver okhttp3.mockwebserver mockwebserver3 " +
		"org.springframework.boot.test.mock.mockito org.springframework.test.context.bean.override.mockito org.springframework.test.web.client.MockRestServiceServer")
	// javaMockFunctions are what those packages' static functions are called, for imports of all of them; further ones of
	// a class by its name.
	javaMockFunctions = setOf("mock spy when verify verifyNoInteractions verifyNoMoreInteractions verifyZeroInteractions doReturn doThrow doNothing doAnswer doCallRealMethod inOrder mockStatic mockConstruction reset clearInvocations lenient " +
		"createMock createNiceMock createStrictMock expectLastCall replay stubFor aResponse")
	javaMoreFunctions = map[string]map[string]bool{
		"BDDMockito": setOf("given willReturn willThrow willDoNothing willAnswer then"), "EasyMock": setOf("expect verify"), "WireMock": setOf("get post put delete verify urlEqualTo"),
	}
	javaMockAnnotations = setOf("Mock Spy InjectMocks Captor MockBean SpyBean MockitoBean MockitoSpyBean Mocked Injectable Tested Capturing TestSubject")
	javaMockRunners     = setOf("MockitoExtension MockitoJUnitRunner EasyMockExtension EasyMockRunner PowerMockRunner MockitoSettings JMockit")
)

// javaMocks finds what mocks in a file of Mockito, EasyMock, WireMock and their like: calls of what they export,
// statically imported or by a class's name, constructors of theirs, annotations with the field or parameter behind.
// MockMvc and its like run the real code, and do not count.
func javaMocks(f *source.File) Mocks {
	use := Mocks{Lines: map[int]bool{}}
	imports, wildcards := javaImports(f)
	mocking := func(name string) bool {
		full, ok := imports[name]
		return ok && isJavaMock(full) || !ok && slices.ContainsFunc(wildcards, func(class string) bool { return javaMockFunctions[name] || javaMoreFunctions[class][name] })
	}
	isClass := func(name string) bool {
		full, ok := imports[name]
		return ok && isJavaMock(full) || !ok && (name == "Mockito" || name == "BDDMockito")
	}
	for i := 0; i+1 < len(f.Code); i++ {
		if !f.Code[i].Is("@") || f.Code[i+1].Kind != source.Word {
			continue
		}
		name, end := f.Code[i+1].Text, i+1
		if end+1 < len(f.Code) && f.Code[end+1].Is("(") && f.Code[end+1].Pair > 0 {
			end = f.Code[end+1].Pair
		}
		switch {
		case javaMockAnnotations[name]:
			end = use.javaField(f, end, imports)
			use.mark(f, i, end)
			i = end
		case name == "ExtendWith" || name == "RunWith" || name == "MockitoSettings":
			for n := i + 1; n <= end; n++ {
				if javaMockRunners[f.Code[n].Text] {
					use.mark(f, i, end)
				}
			}
		}
	}
	chains(f, func(c *chain) bool {
		before := source.Token{}
		if c.from > 0 {
			before = f.Code[c.from-1]
		}
		if before.Is("import") || before.Is("static") || before.Is("@") || before.Is("package") || !c.called() {
			return false
		}
		first := c.links[0]
		if !(first.called && (mocking(first.name) || before.Is("new") && isClass(first.name)) || !first.called && isClass(first.name)) {
			return false
		}
		from := c.from
		if before.Is("new") {
			from--
		}
		use.mark(f, from, c.to)
		for _, l := range c.links {
			if l.called && (l.name == "mock" || l.name == "spy" || l.name == "mockStatic" || l.name == "createMock") && l.args+1 < len(f.Code) && f.Code[l.args+1].Kind == source.Word {
				use.Targets = append(use.Targets, Mock{f.Code[l.at].Line, f.Code[l.args+1].Text, javaOwn(imports, f.Code[l.args+1].Text)})
			}
		}
		return true
	})
	return use
}

func isJavaMock(full string) bool {
	for _, p := range javaMockPackages {
		if full == p || strings.HasPrefix(full, p+".") {
			return true
		}
	}
	return false
}

// javaField gives the end of the field or parameter behind an annotation, and notes its type.
func (u *Mocks) javaField(f *source.File, at int, imports map[string]string) int {
	for n := at + 1; n < min(at+30, len(f.Code)); n++ {
		switch t := f.Code[n]; {
		case t.Is(";"):
			return n
		case t.Is(",") || t.Is(")"):
			return n - 1
		case t.Kind == source.Word && n+1 < len(f.Code) && (f.Code[n+1].Kind == source.Word || f.Code[n+1].Is("<")) && t.Text[0] >= 'A' && t.Text[0] <= 'Z' && !f.Code[n-1].Is("@"):
			u.Targets = append(u.Targets, Mock{t.Line, t.Text, javaOwn(imports, t.Text)})
		case t.Is("("):
			if t.Pair < 0 {
				return n
			}
			n = t.Pair
		}
	}
	return at
}

// javaOwn reports whether a type is the project's own: of the file's own package, or of one that begins alike.
func javaOwn(imports map[string]string, name string) bool {
	full, ok := imports[name]
	if !ok {
		return true
	}
	two := func(s string) string {
		parts := strings.SplitN(s, ".", 3)
		return strings.Join(parts[:min(2, len(parts))], ".")
	}
	return two(full) == two(imports["package"])
}

// javaImports gives the full name behind each imported one, and under "package" the file's own; wildcards are the
// mocking classes of which all is imported.
func javaImports(f *source.File) (imports map[string]string, wildcards []string) {
	imports = map[string]string{}
	for i, t := range f.Code {
		if !t.Is("import") && !t.Is("package") {
			continue
		}
		name := ""
		for n := i + 1; n < min(i+60, len(f.Code)) && !f.Code[n].Is(";"); n++ {
			if !f.Code[n].Is("static") {
				name += f.Code[n].Text
			}
		}
		switch {
		case t.Is("package"):
			imports["package"] = name
		case strings.HasSuffix(name, ".*"):
			if class := strings.TrimSuffix(name, ".*"); isJavaMock(class) {
				wildcards = append(wildcards, class[strings.LastIndexByte(class, '.')+1:])
			}
		default:
			imports[name[strings.LastIndexByte(name, '.')+1:]] = name
		}
	}
	return imports, wildcards
}
