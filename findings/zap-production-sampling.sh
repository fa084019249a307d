#!/usr/bin/env bash
# go.uber.org/zap v1.28.0
#
# One would expect: zap.NewProduction() makes a logger that writes every line of the levels info and above.
# Instead: of lines with one level and message it writes the first 100 of each second, and then each hundredth. The
#   fields do not count: a thousand lines about a thousand different machines are one message. Nothing says that lines
#   are missing. Errors are dropped like any other level; zap.NewDevelopment() drops none.
# Why it matters: after an outage, when many objects fail at once, the log lacks most of them, and an audit or an
#   alert that counts lines is wrong. Config.Sampling = nil writes all lines.
# Source: config.go, NewProductionConfig (Sampling: Initial 100, Thereafter 100); zapcore/sampler.go.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get go.uber.org/zap@v1.28.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
)

// The clock of the loggers stands still: all lines are of one second.
type clock struct{}

func (clock) Now() time.Time                       { return time.Unix(0, 0) }
func (clock) NewTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }

func lines(name string, config zap.Config, write func(*zap.Logger, int)) {
	config.OutputPaths = []string{name + ".log"}
	logger, err := config.Build(zap.WithClock(clock{}))
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		write(logger, i)
	}
	text, err := os.ReadFile(name + ".log")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %d lines of 1000\n", name, strings.Count(string(text), "\n"))
}

func main() {
	one := func(l *zap.Logger, i int) { l.Info("machine failed", zap.Int("machine", i)) }
	lines("production", zap.NewProductionConfig(), one)
	lines("production, errors", zap.NewProductionConfig(), func(l *zap.Logger, i int) { l.Error("machine failed", zap.Int("machine", i)) })
	lines("production, number in the message", zap.NewProductionConfig(), func(l *zap.Logger, i int) { l.Info(fmt.Sprintf("machine %d failed", i)) })
	all := zap.NewProductionConfig()
	all.Sampling = nil
	lines("production without sampling", all, one)
	lines("development", zap.NewDevelopmentConfig(), one)
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
production: 109 lines of 1000
production, errors: 109 lines of 1000
production, number in the message: 1000 lines of 1000
production without sampling: 1000 lines of 1000
development: 1000 lines of 1000
EOF
go list -m go.uber.org/zap
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
