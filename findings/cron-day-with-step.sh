#!/usr/bin/env bash
# github.com/robfig/cron/v3 v3.0.1 (Kubernetes' CronJob, Argo Workflows); github.com/adhocore/gronx v1.20.4 beside it
#
# One would expect: "0 0 */2 * 1" is the same in every program that reads the five fields of cron. If both day fields
#   are restricted, one that matches is enough, so these are all Mondays and all odd days; or else, Mondays on odd days.
# Instead: both are in use. cron and gronx look whether a field *begins* with a star: */2 does, so both fields must
#   match. robfig's looks whether the field leaves out a day: */2 does, so one is enough, and */1 is a star. The
#   schedule above has 2 days of January 2026 in cron, and 18 in robfig's.
# Why it matters: the line of a crontab that is moved to a CronJob runs nine times as often, without an error, and
#   "every second day, but not at the weekend" cannot be said there.
# Source: parser.go, getRange: "if step > 1 { extra = 0 }" clears starBit; spec.go, dayMatches. Debian's cron 3.0pl1,
#   entry.c: DOM_STAR and DOW_STAR are set if the first character of the field is a star.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/robfig/cron/v3@v3.0.1 github.com/adhocore/gronx@v1.20.4 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"
	"time"

	"github.com/adhocore/gronx"
	"github.com/robfig/cron/v3"
)

// days lists the days of January 2026 on which a schedule has an event.
func days(next func(time.Time) time.Time) (out []int) {
	for t := next(time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC)); t.Year() == 2026 && t.Month() == time.January; t = next(t) {
		out = append(out, t.Day())
	}
	return out
}

func main() {
	for _, text := range []string{"0 0 13 * 5", "0 0 */2 * 1", "0 0 1-31/2 * 1", "0 0 1 * */2", "0 0 */1 * 1", "0 0 1-31 * 1"} {
		schedule, err := cron.ParseStandard(text)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n  robfig: %v\n", text, days(schedule.Next))
		fmt.Printf("  gronx:  %v\n", days(func(after time.Time) time.Time {
			next, err := gronx.NextTickAfter(text, after, false)
			if err != nil {
				panic(err)
			}
			return next
		}))
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
0 0 13 * 5
  robfig: [2 9 13 16 23 30]
  gronx:  [2 9 13 16 23 30]
0 0 */2 * 1
  robfig: [1 3 5 7 9 11 12 13 15 17 19 21 23 25 26 27 29 31]
  gronx:  [5 19]
0 0 1-31/2 * 1
  robfig: [1 3 5 7 9 11 12 13 15 17 19 21 23 25 26 27 29 31]
  gronx:  [1 3 5 7 9 11 12 13 15 17 19 21 23 25 26 27 29 31]
0 0 1 * */2
  robfig: [1 3 4 6 8 10 11 13 15 17 18 20 22 24 25 27 29 31]
  gronx:  [1]
0 0 */1 * 1
  robfig: [5 12 19 26]
  gronx:  [5 12 19 26]
0 0 1-31 * 1
  robfig: [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
  gronx:  [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
EOF
go list -m github.com/robfig/cron/v3 github.com/adhocore/gronx
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
