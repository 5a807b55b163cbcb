package cli

import "testing"

func TestGateScripts(t *testing.T) { runScripts(t, "gate") }
