package diffstat

import (
	"path"
	"slices"
	"strings"

	"ralph-loop/internal/glob"
)

// Class says what a line is for.
type Class string

// The three classes. Only the first two count in the ratio of tests.
const (
	Test           Class = "test"
	Implementation Class = "implementation"
	Other          Class = "other"
)

// Classifier tells test code, implementation and the rest apart by a file's name. The zero value knows the built-in
// rules only.
type Classifier struct {
	// TestGlobs are further files that are test code, whatever the built-in rules say. They are patterns of
	// package glob.
	TestGlobs []string
	// TestFiles are paths of further files that are test code.
	TestFiles []string
	// IgnoreGlobs are files that count as neither. They outrank both.
	IgnoreGlobs []string
}

// ByName classifies by the name alone; what the content may change (a generated file, a script without an extension)
// Measure adds. The reason is empty unless the class is Other.
func (c *Classifier) ByName(p string) (class Class, reason string) {
	if c != nil {
		if glob.Any(c.IgnoreGlobs, p) {
			return Other, ignored
		}
		if glob.Any(c.TestGlobs, p) || slices.Contains(c.TestFiles, p) {
			return Test, ""
		}
	}
	name := path.Base(p)
	lower := strings.ToLower(name)
	if strings.Contains(lower, ".min.") {
		return Other, vendored
	}
	for folder := range strings.SplitSeq(path.Dir(p), "/") {
		switch {
		case vendoredFolders[folder]:
			return Other, vendored
		case dataFolders[folder]:
			return Other, testData
		}
	}
	if reason, ok := others()[lower]; ok {
		return Other, reason
	}
	if glob.Any(configNames, name) {
		return Other, configuration
	}
	ext := path.Ext(name)
	lang := byExtension()[ext]
	if lang == nil {
		lang = byExtension()[strings.ToLower(ext)]
	}
	if lang != nil && ext != name {
		if lang.isTest(p) {
			return Test, ""
		}
		return Implementation, ""
	}
	if reason, ok := others()[strings.ToLower(ext)]; ok {
		return Other, reason
	}
	// README.old, LICENSE-MIT, CHANGELOG_2020
	stem := lower[:len(lower)-len(strings.TrimLeft(lower, "abcdefghijklmnopqrstuvwxyz"))]
	if others()[stem] == documentation && len(stem) < len(lower) {
		return Other, documentation
	}
	return Other, unknown
}

// ofScript is ByName for a file without a known ending that begins with "#!".
func ofScript(p string) Class {
	if byExtension()[".sh"].isTest(p) || glob.Match("test_*", path.Base(p)) || glob.Match("*_test", path.Base(p)) {
		return Test
	}
	return Implementation
}
