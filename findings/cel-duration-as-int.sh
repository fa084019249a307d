#!/usr/bin/env bash
# cel.dev/cel-go v0.32.0
#
# One would expect: int() of a duration is in seconds, since int() of a timestamp is, and since string() of a
#   duration is ("5400s").
# Instead: int(timestamp) is seconds and int(duration) is nanoseconds. The accessors differ from each other,
#   too: of a duration getSeconds() is the whole, of a timestamp the part of the minute.
# Why it matters: `int(now) - int(started) > int(duration('1h'))` compiles, and is false for the next
#   114,000 years: a rule that never fires. Compare durations as durations: `now - started > duration('1h')`.
# Source: common/types/duration.go, Duration.ConvertToType (IntType: int64 of the time.Duration);
#   common/types/timestamp.go has Unix().
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get cel.dev/cel-go@v0.32.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	"cel.dev/cel-go/cel"
)

func main() {
	env, err := cel.NewEnv()
	if err != nil {
		panic(err)
	}
	for _, expression := range []string{
		`int(timestamp('1970-01-01T01:30:00Z'))`,
		`int(duration('1h30m'))`,
		`string(duration('1h30m'))`,
		`int(timestamp('2026-01-02T00:00:00Z')) - int(timestamp('2026-01-01T00:00:00Z')) > int(duration('1h'))`,
		`timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') > duration('1h')`,
		`timestamp('1970-01-01T01:30:05Z').getSeconds()`,
		`duration('1h30m5s').getSeconds()`,
	} {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			panic(issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			panic(err)
		}
		value, _, err := program.Eval(map[string]any{})
		fmt.Println(expression, "=", value, err)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
int(timestamp('1970-01-01T01:30:00Z')) = 5400 <nil>
int(duration('1h30m')) = 5400000000000 <nil>
string(duration('1h30m')) = 5400s <nil>
int(timestamp('2026-01-02T00:00:00Z')) - int(timestamp('2026-01-01T00:00:00Z')) > int(duration('1h')) = false <nil>
timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') > duration('1h') = true <nil>
timestamp('1970-01-01T01:30:05Z').getSeconds() = 5 <nil>
duration('1h30m5s').getSeconds() = 5405 <nil>
EOF
go list -m cel.dev/cel-go
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
