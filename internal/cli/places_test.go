package cli

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// places runs a script's case.sh in a repository of its own and in a linked worktree of one, each time with the change
// staged and under "git commit -a", and compares what it prints with the file want. There case.sh finds the commands
//
//	baseline  commit what there is
//	counted   the lines that would be measured, as "ralph-gate --format tsv diff" prints them
//
// and the files of the script in $WORK.
const places = `
set -eu
case=$PWD/case.sh want=$PWD/want

baseline() {
	git add -A
	git commit -q --no-verify --allow-empty -m baseline
}

counted() {
	if [ "$HOW" = staged ]; then
		git add -A
		ralph-gate --format tsv diff
	else
		git add -AN :/
		# The hook sees the index that commit -a would commit.
		git commit -qam x 2>&1 || true
	fi
}

bad=0
for place in main linked; do
	for HOW in staged all; do
		mkdir -p "$WORK/.places"
		at=$WORK/.places/$place-$HOW
		git init -q "$at"
		cd "$at"
		if [ "$place" = linked ]; then
			git commit -q --allow-empty -m one
			git worktree add -q -b linked "$at-linked"
			cd "$at-linked"
		fi
		hooks=$(git rev-parse --path-format=absolute --git-path hooks)
		mkdir -p "$hooks"
		printf '#!/bin/sh\nralph-gate --format tsv diff >&2\nexit 1\n' >"$hooks/pre-commit"
		chmod +x "$hooks/pre-commit"
		(
			set -eu
			. "$case"
		) >"$at.out" 2>&1 || { echo "$place, $HOW: case.sh failed" >>"$at.out"; }
		cmp -s "$want" "$at.out" || {
			echo "in the $place worktree, $HOW:"
			diff "$want" "$at.out" || bad=1
		}
		cd "$WORK"
	done
done
exit "$bad"
`

func writePlaces(env *testscript.Env) error {
	path := filepath.Join(env.WorkDir, ".home", "places.sh")
	env.Setenv("PLACES", path)
	return os.WriteFile(path, []byte(places), 0o666)
}
