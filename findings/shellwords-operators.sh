#!/usr/bin/env bash
# github.com/mattn/go-shellwords v1.0.16; github.com/kballard/go-shellquote v0.0.0-20180428030007-95032a82bc51 beside it
#
# One would expect: Parse splits a command line into all its words, or returns an error for what only a shell can do.
# Instead: at the first ; & | < or > outside of quotes it stops, and returns the words before it without an
#   error, also in the middle of a word: of an address with ?a=1&b=2 the end is missing. A continued line is no
#   continued line: backslash and line break become a word that is a line break. Round brackets are the only
#   such characters with an error.
# Why it matters: commands of configuration files (EDITOR, hooks, plugins) are run with fewer arguments than
#   they have, and what is missing is what came last. Compare Parser.Position with -1, which Parse sets to where
#   it stopped.
# Source: shellwords.go, Parser.Parse: case ';', '&', '|', '<', '>' sets pos and breaks the loop.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/mattn/go-shellwords@v1.0.16 github.com/kballard/go-shellquote@v0.0.0-20180428030007-95032a82bc51 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	"github.com/kballard/go-shellquote"
	"github.com/mattn/go-shellwords"
)

func main() {
	for _, line := range []string{
		"curl https://example.com/hook?user=a&channel=b --fail",
		"notify --level>=3 --to ops",
		"jq .a|length file",
		"run one; run two",
		"run one \\\n  two",
		"run 'a & b'",
		"run (one)",
	} {
		parser := shellwords.NewParser()
		words, err := parser.Parse(line)
		fmt.Printf("%q\n  shellwords: %q, error %v, position %d\n", line, words, err, parser.Position)
		words, err = shellquote.Split(line)
		fmt.Printf("  shellquote: %q, error %v\n", words, err)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
"curl https://example.com/hook?user=a&channel=b --fail"
  shellwords: ["curl" "https://example.com/hook?user=a"], error <nil>, position 36
  shellquote: ["curl" "https://example.com/hook?user=a&channel=b" "--fail"], error <nil>
"notify --level>=3 --to ops"
  shellwords: ["notify" "--level"], error <nil>, position 14
  shellquote: ["notify" "--level>=3" "--to" "ops"], error <nil>
"jq .a|length file"
  shellwords: ["jq" ".a"], error <nil>, position 5
  shellquote: ["jq" ".a|length" "file"], error <nil>
"run one; run two"
  shellwords: ["run" "one"], error <nil>, position 7
  shellquote: ["run" "one;" "run" "two"], error <nil>
"run one \\\n  two"
  shellwords: ["run" "one" "\n" "two"], error <nil>, position -1
  shellquote: ["run" "one" "two"], error <nil>
"run 'a & b'"
  shellwords: ["run" "a & b"], error <nil>, position -1
  shellquote: ["run" "a & b"], error <nil>
"run (one)"
  shellwords: [], error invalid command line string, position 0
  shellquote: ["run" "(one)"], error <nil>
EOF
go list -m github.com/mattn/go-shellwords github.com/kballard/go-shellquote
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
