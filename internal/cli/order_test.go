package cli

import "testing"

func TestOrderScripts(t *testing.T) { runScripts(t, "order") }
