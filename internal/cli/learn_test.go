package cli

import "testing"

func TestLearnScripts(t *testing.T) { runScripts(t, "learn") }
