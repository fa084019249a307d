#!/usr/bin/env bash
# github.com/go-git/go-git/v5 v5.19.3, package plumbing/format/gitignore, which Flux uses for .sourceignore, too;
#   git of Debian beside it, tried with 1:2.39.5-0+deb12u3 (bookworm)
#
# One would expect: a file is ignored by the package if `git check-ignore` says so.
# Instead: `[!a]`, which in git is every character but a, is `!` or `a`: the opposite. And `!docs/`, which in git only keeps the folder
#   itself from being ignored, takes everything below it back, also what a pattern of names ignores.
# Why it matters: of `log.[!0]`, which should keep the newest log alone, the newest is the one that is left out; and `*.log` with
#   `!docs/` puts docs/build.log into the artifact. Write `[^a]`, which both read alike, and repeat `*.log` after it.
# Source: pattern.go, Match is filepath.Match for each part, whose classes know only ^, and returns the decision of a folder's pattern for
#   the paths below it.
set -euo pipefail
command -v git >/dev/null || { echo 'needs git' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod GIT_CONFIG_GLOBAL=/dev/null
go mod init finding >go.log 2>&1
go get github.com/go-git/go-git/v5@v5.19.3 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

func main() {
	file, _ := os.Open(".gitignore")
	var patterns []gitignore.Pattern
	for lines := bufio.NewScanner(file); lines.Scan(); {
		patterns = append(patterns, gitignore.ParsePattern(lines.Text(), nil))
	}
	if gitignore.NewMatcher(patterns).Match(strings.Split(os.Args[1], "/"), false) {
		fmt.Print("ignored")
	} else {
		fmt.Print("kept")
	}
}
EOF
go build -o match . >go.log 2>&1 || { cat go.log >&2; exit 2; }

git init -q .
try() { # patterns, and paths
  printf '%b' "$1" >.gitignore
  for path in $2; do
    git=kept
    git check-ignore -q "$path" && git=ignored
    printf '%s: %s: git %s, go-git %s\n' "$1" "$path" "$git" "$(./match "$path")"
  done
}
mkdir docs
touch log.0 log.1 docs/build.log build.log
{
  try 'log.[!0]' 'log.0 log.1'
  try 'log.[^0]' 'log.0 log.1'
  try '*.log' 'build.log docs/build.log'
  try '*.log\n!docs/' 'build.log docs/build.log'
  try '!docs/\n*.log' 'build.log docs/build.log'
} >got

cat >want <<'EOF'
log.[!0]: log.0: git kept, go-git ignored
log.[!0]: log.1: git ignored, go-git kept
log.[^0]: log.0: git kept, go-git kept
log.[^0]: log.1: git ignored, go-git ignored
*.log: build.log: git ignored, go-git ignored
*.log: docs/build.log: git ignored, go-git ignored
*.log\n!docs/: build.log: git ignored, go-git ignored
*.log\n!docs/: docs/build.log: git ignored, go-git kept
!docs/\n*.log: build.log: git ignored, go-git ignored
!docs/\n*.log: docs/build.log: git ignored, go-git ignored
EOF
go list -m github.com/go-git/go-git/v5
git --version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
