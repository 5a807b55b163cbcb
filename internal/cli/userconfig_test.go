package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// userConfig is the configuration of the user in whose home every script and every loop of these tests runs: all that a
// person may have set and that changes what git prints, how it diffs, merges, writes its index or makes a message, and
// nothing that would change what a repository of his own holds.
const userConfig = `
[init]
	defaultBranch = main
[user]
	name = Test
	email = test@example.org
[diff]
	noprefix = true
	mnemonicPrefix = true
	external = /bin/false
	relative = true
	renames = false
	renameLimit = 1
	algorithm = patience
	context = 7
	interHunkContext = 9
	ignoreSubmodules = all
	submodule = log
	suppressBlankEmpty = true
	orderFile = HOME/order
	colorMoved = zebra
	wsErrorHighlight = all
	dirstat = lines
	noIndex = true
[diff "upper"]
	textconv = tr a-z A-Z <
	command = /bin/false
	binary = true
	wordRegex = .
[color]
	ui = always
	diff = always
	branch = always
	status = always
[column]
	ui = always
[core]
	quotePath = true
	bigFileThreshold = 1
	attributesFile = HOME/attributes
	excludesFile = HOME/ignore
	abbrev = 7
	pager = /bin/false
	editor = /bin/false
	trustctime = false
	checkStat = minimal
	fsmonitor = /bin/false
	splitIndex = true
	untrackedCache = true
	commentChar = ";"
	logAllRefUpdates = always
	whitespace = trailing-space,tab-in-indent,cr-at-eol
[index]
	version = 4
	skipHash = true
	threads = true
[feature]
	manyFiles = true
[pager]
	diff = /bin/false
	log = /bin/false
[status]
	short = true
	branch = true
	showStash = true
	relativePaths = true
	showUntrackedFiles = no
	renames = copies
[log]
	decorate = full
	date = relative
	follow = true
	mailmap = false
	showSignature = true
	showRoot = false
	diffMerges = separate
[format]
	pretty = oneline
	useAutoBase = true
[commit]
	verbose = 2
	status = false
	cleanup = scissors
	template = HOME/template
[merge]
	conflictStyle = diff3
	renames = false
	verbosity = 5
[rerere]
	enabled = true
	autoUpdate = true
[trailer]
	where = start
	ifexists = replace
	ifmissing = doNothing
	separators = "=:"
[i18n]
	commitEncoding = ISO-8859-1
	logOutputEncoding = ISO-8859-1
[apply]
	ignoreWhitespace = change
[blame]
	ignoreRevsFile = HOME/revs
	coloring = highlightRecent
	showEmail = true
	date = relative
[grep]
	lineNumber = true
	patternType = perl
[submodule]
	recurse = true
[tag]
	sort = -creatordate
[versionsort]
	suffix = -rc
[gc]
	auto = 1
	autoDetach = false
[push]
	default = nothing
	followTags = true
[advice]
	detachedHead = true
[transfer]
	fsckObjects = true
[clean]
	requireForce = true
[alias]
	ls-files = "!false"
	st = status
`

// writeUserConfig gives a home that configuration, and what it names.
func writeUserConfig(home string) error {
	for name, text := range map[string]string{
		".gitconfig": strings.ReplaceAll(userConfig, "HOME", home),
		"attributes": "*.go diff=upper\n*.sh -diff\n*.ts binary\n*.py -text diff=upper\n",
		"ignore":     "*.ignored-by-the-user\n",
		"order":      "z*\n*\n",
		"template":   "; what did you do?\n",
		"revs":       "",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
