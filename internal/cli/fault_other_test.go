//go:build !linux

package cli

import "github.com/rogpeppe/go-internal/testscript"

// faults are script commands that only some systems have: none here, and the scripts that need them stop before.
var faults map[string]func(*testscript.TestScript, bool, []string)
