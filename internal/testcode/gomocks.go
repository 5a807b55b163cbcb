package testcode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"

	"ralph-loop/internal/lazyregexp"
)

// mockPackages are libraries whose every call is a mock. Calls of net/http/httptest, iotest or sqlite are not: they
// run the real code.
var mockPackages = []string{
	"go.uber.org/mock", "github.com/golang/mock", "github.com/stretchr/testify/mock", "github.com/vektra/mockery",
	"github.com/gojuno/minimock", "github.com/matryer/moq", "github.com/maxbrunsfeld/counterfeiter", "github.com/petergtz/pegomock", "github.com/ovechkin-dm/mockio",
	"github.com/DATA-DOG/go-sqlmock", "github.com/pashagolub/pgxmock", "github.com/go-redis/redismock", "github.com/jarcoal/httpmock", "github.com/h2non/gock", "gopkg.in/h2non/gock.v1",
	"bou.ke/monkey", "github.com/bouk/monkey", "github.com/agiledragon/gomonkey", "github.com/bytedance/mockey", "github.com/undefinedlabs/go-mpatch", "github.com/prashantv/gostub",
}

// goMocks finds what mocks in a Go test file.
func goMocks(name string, src []byte) (Mocks, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return Mocks{}, err
	}
	m := &mockLines{fset: fset, Mocks: Mocks{Lines: map[int]bool{}}, packages: map[string]bool{}, types: map[string]bool{}}
	m.find(file)
	return m.Mocks, nil
}

type mockLines struct {
	Mocks
	fset     *token.FileSet
	packages map[string]bool // local names of mocking libraries
	testify  bool            // the file knows testify's mock package
	types    map[string]bool // mock types of this file
}

// mockTypeName matches mockStore, MockStore, storeMock, but neither Mockery nor mocking.
var mockTypeName = lazyregexp.New(`^(mock|Mock)([A-Z0-9_].*)?$|[a-z0-9]Mock$`)

// newMock matches a generated constructor.
var newMock = lazyregexp.New(`^[Nn]ewMock[A-Z0-9_]`)

func (m *mockLines) find(file *ast.File) {
	for _, spec := range file.Imports {
		m.importOf(spec)
	}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, s := range g.Specs {
				m.typeOf(s.(*ast.TypeSpec))
			}
		}
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && m.types[receiver(f)] {
			m.mark(f)
			continue
		}
		ast.Inspect(d, m.inspect)
	}
}

func (m *mockLines) importOf(spec *ast.ImportSpec) {
	full, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return
	}
	name := packageName(full)
	mocks := name == "mocks" || name == "mock" || strings.HasPrefix(name, "mock_")
	for _, p := range mockPackages {
		mocks = mocks || full == p || strings.HasPrefix(full, p+"/")
	}
	m.testify = m.testify || full == "github.com/stretchr/testify/mock"
	if spec.Name != nil {
		name = spec.Name.Name
	}
	if mocks {
		m.packages[name] = true
		m.target(spec, full, false)
	}
}

// target notes what is mocked at n.
func (m *mockLines) target(n ast.Node, name string, own bool) {
	m.Targets = append(m.Targets, Mock{m.fset.Position(n.Pos()).Line, name, own})
}

var version = lazyregexp.New(`^v[0-9]+$`)

// packageName is the usual name of the package at an import path.
func packageName(full string) string {
	name := path.Base(full)
	if version.MatchString(name) {
		name = path.Base(path.Dir(full))
	}
	name, _, _ = strings.Cut(name, ".v")
	return strings.TrimPrefix(name, "go-")
}

// typeOf marks a declaration of a mock.
func (m *mockLines) typeOf(t *ast.TypeSpec) {
	mocks := mockTypeName.MatchString(t.Name.Name)
	if s, ok := t.Type.(*ast.StructType); ok {
		for _, field := range s.Fields.List {
			embedded := field.Type
			if star, ok := embedded.(*ast.StarExpr); ok {
				embedded = star.X
			}
			if sel, ok := embedded.(*ast.SelectorExpr); ok && len(field.Names) == 0 && sel.Sel.Name == "Mock" {
				if p, ok := sel.X.(*ast.Ident); ok && m.packages[p.Name] {
					mocks = true
				}
			}
		}
	}
	if mocks {
		m.types[t.Name.Name] = true
		m.mark(t)
		if name := unmocked(t.Name.Name); name != t.Name.Name {
			m.target(t, name, true)
		}
	}
}

// receiver is the name of the type that a method belongs to, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	id, ok := t.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

func (m *mockLines) inspect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if m.chain(n) {
			m.mark(n)
			return false // it is whole
		}
	case *ast.CompositeLit:
		if id, ok := n.Type.(*ast.Ident); ok && m.types[id.Name] {
			m.mark(n)
		}
	}
	return true
}

// verifying are methods by which mocks are asked what was called.
var verifying = map[string]bool{"AssertExpectations": true, "AssertExpectationsForObjects": true, "AssertNumberOfCalls": true, "AssertCalled": true, "AssertNotCalled": true, "ExpectationsWereMet": true}

// behaving are methods that follow On("Name") in a chain and nothing else.
var behaving = map[string]bool{"Return": true, "Once": true, "Twice": true, "Times": true, "Maybe": true, "Panic": true, "WaitUntil": true, "After": true, "Run": true}

// chain walks down a.B(...).C(...) from its last call to its first.
func (m *mockLines) chain(call *ast.CallExpr) bool {
	behaves := false
	for {
		fun := call.Fun
		if index, ok := fun.(*ast.IndexExpr); ok { // f[T](...)
			fun = index.X
		}
		if id, ok := fun.(*ast.Ident); ok {
			return m.constructs(id)
		}
		sel, ok := fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		name := sel.Sel.Name
		switch {
		case name == "EXPECT" && len(call.Args) == 0, verifying[name], m.constructs(sel.Sel):
			return true
		case name == "On" && len(call.Args) > 0 && (m.testify || behaves):
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				return true
			}
		}
		behaves = behaves || behaving[name]
		x := sel.X
		for {
			if inner, ok := x.(*ast.SelectorExpr); ok { // mocks.X.Y()
				x = inner.X
				continue
			}
			break
		}
		switch x := x.(type) {
		case *ast.Ident:
			return m.packages[x.Name]
		case *ast.CallExpr:
			call = x
		default:
			return false
		}
	}
}

// constructs reports whether a function of that name makes a mock.
func (m *mockLines) constructs(id *ast.Ident) bool {
	if !newMock.MatchString(id.Name) {
		return false
	}
	m.target(id, id.Name[len("NewMock"):], true)
	return true
}

// mark counts every line from the node's first to its last.
func (m *mockLines) mark(n ast.Node) {
	for line := m.fset.Position(n.Pos()).Line; line <= m.fset.Position(n.End()-1).Line; line++ {
		m.Lines[line] = true
	}
}
