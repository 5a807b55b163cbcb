# The agent of the README's example: the first attempt at REQ-001 forgets the tests.
cat >/dev/null
tests() {
	cat >greet_test.go <<'EOF'
package greet

import "testing"

// @covers AC-001-01
func TestHello(t *testing.T) {
	for name, want := range map[string]string{
		"Ann": "Hello, Ann!",
	} {
		if got := Hello(name); got != want {
			t.Errorf("Hello(%q) = %q, want %q", name, got, want)
		}
	}
}
EOF
}
case $RALPH_REQ$RALPH_ATTEMPT in
REQ-0011)
	cat >greet.go <<'EOF'
// Package greet greets.
package greet

// Hello greets by name.
func Hello(name string) string { return "Hello, " + name + "!" }
EOF
	;;
REQ-0012) tests ;;
*)
	tests
	cat >greet.go <<'EOF'
// Package greet greets.
package greet

// Hello greets by name; an empty one is a stranger's.
func Hello(name string) string {
	if name == "" {
		name = "stranger"
	}
	return "Hello, " + name + "!"
}
EOF
	sed 's/"Ann": "Hello, Ann!",/"Ann": "Hello, Ann!",\
		"": "Hello, stranger!",/' greet_test.go >x && mv x greet_test.go && gofmt -w greet_test.go
	cat >>greet_test.go <<'EOF'

// @covers AC-002-01
func TestAStrangerHasAName(t *testing.T) {
	if Hello("") == "Hello, !" {
		t.Error("a stranger is greeted without a name")
	}
}
EOF
	;;
esac
case $RALPH_REQ in
REQ-001)
	cat >"$RALPH_REPORT" <<EOF
status: done
agentmd_addition: Greetings are made by Hello in greet.go.
learnings:
  - text: "Module interface: Hello(name string) string in greet.go makes every greeting."
    evidence: greet.go
EOF
	;;
*)
	cat >"$RALPH_REPORT" <<EOF
status: done
agentmd_addition: An empty name is a stranger's; greet_test.go holds a row for each kind of name.
EOF
	;;
esac
echo 'Tokens: 2.1k sent, 310 received.'
