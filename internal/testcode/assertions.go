package testcode

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"

	"ralph-loop/internal/lazyregexp"
)

// counter counts the assertions of one function.
type counter struct {
	g       *goFile
	f       *Func
	testing []string // names by which a *testing.T goes here
	suite   string   // the receiver of a suite's method
	dead    bool     // what is walked over cannot be reached
	depth   int      // of conditions, loops and functions around
	own     int      // assertions found so far, to see what a loop holds
}

// count walks over a function.
func (g *goFile) count(f *ast.FuncDecl) *Func {
	c := &counter{g: g, f: &Func{Line: g.line(f), End: g.endLine(f), Text: g.text(f)}, testing: params(f.Type)}
	c.f.Free = named(f.Name.Name, "Fuzz") || f.Recv != nil
	if f.Recv != nil && len(f.Recv.List[0].Names) > 0 {
		c.suite = f.Recv.List[0].Names[0].Name
	}
	c.block(f.Body.List)
	return c.f
}

// block walks over statements; what follows a return or its like is dead.
func (c *counter) block(list []ast.Stmt) {
	before := c.dead
	for _, s := range list {
		c.walk(s)
		if c.ends(s) {
			c.dead = true
		}
	}
	c.dead = before
}

// ends reports whether nothing behind the statement is run: a return, panic, os.Exit, a skip.
func (c *counter) ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BlockStmt:
		return slices.ContainsFunc(s.List, c.ends)
	case *ast.IfStmt:
		return constant(s.Cond) == "true" && slices.ContainsFunc(s.Body.List, c.ends)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		switch base, name := callee(call); {
		case base == "" && name == "panic", base == "os" && name == "Exit", base == "runtime" && name == "Goexit":
			return true
		case c.isSkip(call):
			return true
		}
	}
	return false
}

func (c *counter) walk(n ast.Node) {
	if n == nil {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			c.block(n.List)
			return false
		case *ast.CaseClause:
			for _, x := range n.List {
				c.walk(x)
			}
			c.nested(func() { c.block(n.Body) })
			return false
		case *ast.CommClause:
			c.nested(func() { c.block(n.Body) })
			return false
		case *ast.IfStmt:
			c.ifStmt(n)
			return false
		case *ast.ForStmt:
			c.loop(n.Body, n.Cond != nil && constant(n.Cond) == "false", n.Init, n.Cond, n.Post)
			return false
		case *ast.RangeStmt:
			c.loop(n.Body, false, n.X)
			return false
		case *ast.FuncLit:
			c.funcLit(n)
			return false
		case *ast.CallExpr:
			c.call(n)
		}
		return true
	})
}

func (c *counter) nested(walk func()) {
	c.depth++
	walk()
	c.depth--
}

func (c *counter) under(dead bool, walk func()) {
	before := c.dead
	c.dead = c.dead || dead
	walk()
	c.dead = before
}

func (c *counter) ifStmt(n *ast.IfStmt) {
	if n.Init != nil {
		c.walk(n.Init)
	}
	c.walk(n.Cond)
	value := constant(n.Cond)
	if value == "true" {
		c.block(n.Body.List) // no condition at all
	} else {
		c.nested(func() { c.under(value == "false", func() { c.block(n.Body.List) }) })
	}
	if n.Else != nil {
		c.nested(func() { c.under(value == "true", func() { c.walk(n.Else) }) })
	}
}

func (c *counter) loop(body *ast.BlockStmt, dead bool, parts ...ast.Node) {
	for _, p := range parts {
		if p != nil {
			c.walk(p)
		}
	}
	before := c.own
	c.nested(func() { c.under(dead, func() { c.block(body.List) }) })
	if c.own > before {
		c.f.Loops++
	}
}

func (c *counter) funcLit(n *ast.FuncLit) {
	known := len(c.testing)
	c.testing = append(c.testing, params(n.Type)...)
	c.nested(func() { c.block(n.Body.List) })
	c.testing = c.testing[:known]
}

// failing are the methods of testing.T that fail a test.
var failing = map[string]bool{"Error": true, "Errorf": true, "Fatal": true, "Fatalf": true, "Fail": true, "FailNow": true}

var skipping = map[string]bool{"Skip": true, "Skipf": true, "SkipNow": true}

// asserting are the names by which assertion libraries and their objects usually go.
var asserting = map[string]bool{"assert": true, "require": true, "is": true, "qt": true, "td": true, "autogold": true, "snaps": true}

// asserts matches functions and methods that check, whatever they are given. check, verify and must are not among
// them: the code under test may have such names too.
var asserts = lazyregexp.New(`^(assert|Assert|expect|Expect|Eventually|Consistently)([A-Z_].*)?$`)

// assertsWithT matches helpers that check when they are given a t.
var assertsWithT = lazyregexp.New(`^(assert|require|check|verify|expect|must|ensure|want|compare|test|Assert|Require|Check|Verify|Expect|Must|Ensure|Compare|Test)([A-Z_].*)?$`)

// suiteMethod matches testify's assertions, which a suite has as methods.
var suiteMethod = lazyregexp.New(`^(Equal|NotEqual|EqualValues|Exactly|Same|NotSame|Nil|NotNil|Empty|NotEmpty|Len|True|False|Contains|NotContains|Subset|ElementsMatch|Condition|Panics|NotPanics|NoError|Error|ErrorIs|ErrorAs|EqualError|ErrorContains|InDelta|InEpsilon|Regexp|NotRegexp|Zero|NotZero|FileExists|NoFileExists|DirExists|JSONEq|YAMLEq|Eventually|Never|Greater|GreaterOrEqual|Less|LessOrEqual|Positive|Negative|IsType|Implements|Within.*|HTTP.*|Fail|FailNow)f?$`)

func (c *counter) call(call *ast.CallExpr) {
	base, name := callee(call)
	t := slices.Contains(c.testing, base)
	switch {
	case c.isSkip(call):
		c.f.Skips = append(c.f.Skips, c.g.line(call))
		c.f.Always = c.f.Always || c.depth == 0 && !c.dead
	case t && failing[name]:
		c.assertion()
	case t && name == "Run" && len(call.Args) == 2:
		if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				c.f.Subs = append(c.f.Subs, text)
			}
		}
		if _, ok := call.Args[1].(*ast.FuncLit); !ok && !c.dead {
			c.f.Soft++ // the function may fail it
		}
	case base != "" && base == c.suite && suiteMethod.MatchString(name), asserting[base] && name != "New", asserts.MatchString(name):
		if !c.vacuous(call) {
			c.assertion()
		}
	case c.depth > 0 && (base == "" && name == "panic" || base == "log" && (name == "Fatal" || name == "Fatalf")):
		c.assertion()
	case c.given(call):
		if assertsWithT.MatchString(name) {
			c.assertion()
		} else if !c.dead && base != "gomock" {
			c.f.Soft++
		}
	}
}

func (c *counter) assertion() {
	if c.dead {
		c.f.Dead++
		return
	}
	c.f.Hard++
	c.own++
}

// isSkip matches t.Skip(...) and s.T().Skip(...).
func (c *counter) isSkip(call *ast.CallExpr) bool {
	base, name := callee(call)
	if !skipping[name] {
		return false
	}
	if slices.Contains(c.testing, base) {
		return true
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	inner, ok := sel.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	_, method := callee(inner)
	return method == "T"
}

// given reports whether one of the arguments is a T.
func (c *counter) given(call *ast.CallExpr) bool {
	return slices.ContainsFunc(call.Args, func(a ast.Expr) bool {
		switch a := a.(type) {
		case *ast.Ident:
			return slices.Contains(c.testing, a.Name)
		case *ast.CallExpr:
			_, name := callee(a)
			return name == "T" && len(a.Args) == 0
		}
		return false
	})
}

// vacuous reports whether an assertion compares constants only: it cannot fail.
func (c *counter) vacuous(call *ast.CallExpr) bool {
	some := false
	for _, a := range call.Args {
		if id, ok := a.(*ast.Ident); ok && slices.Contains(c.testing, id.Name) {
			continue
		}
		if !isConstant(a) {
			return false
		}
		some = true
	}
	return some
}

// isConstant matches literals and what is made of them only.
func isConstant(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return x.Name == "true" || x.Name == "false" || x.Name == "nil"
	case *ast.ParenExpr:
		return isConstant(x.X)
	case *ast.UnaryExpr:
		return isConstant(x.X)
	case *ast.BinaryExpr:
		return isConstant(x.X) && isConstant(x.Y)
	}
	return false
}

// constant is "true" or "false" for a condition that is always so, as far as that can be seen without its types.
func constant(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		if x.Name == "true" || x.Name == "false" {
			return x.Name
		}
	case *ast.ParenExpr:
		return constant(x.X)
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return opposite[constant(x.X)]
		}
	case *ast.BinaryExpr:
		left, right := constant(x.X), constant(x.Y)
		switch {
		case x.Op == token.LAND && (left == "false" || right == "false"):
			return "false"
		case x.Op == token.LOR && (left == "true" || right == "true"):
			return "true"
		}
		a, okA := x.X.(*ast.BasicLit)
		b, okB := x.Y.(*ast.BasicLit)
		if okA && okB && a.Kind == b.Kind {
			switch x.Op {
			case token.EQL:
				return strconv.FormatBool(a.Value == b.Value)
			case token.NEQ:
				return strconv.FormatBool(a.Value != b.Value)
			}
		}
	}
	return ""
}

var opposite = map[string]string{"true": "false", "false": "true"}

// callee names a called function: base.name(...), or name(...). base is "" too where it is more than a word.
func callee(call *ast.CallExpr) (base, name string) {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return "", fun.Name
	case *ast.SelectorExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			return id.Name, fun.Sel.Name
		}
		return "\x00", fun.Sel.Name
	}
	return "", ""
}
