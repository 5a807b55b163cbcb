package cli

import "testing"

func TestPromptScripts(t *testing.T) { runScripts(t, "prompt") }
