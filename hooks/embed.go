// Package hooks holds the text of git's hooks as ralph-gate installs them: one script, which knows by its name what it
// is asked.
package hooks

import _ "embed"

// Script is the hook's text.
//
//go:embed pre-commit
var Script string
