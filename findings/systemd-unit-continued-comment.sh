#!/usr/bin/env bash
# github.com/coreos/go-systemd/v22 v22.7.0, package unit; Debian's systemd 252 beside it
#
# One would expect: unit.Deserialize reads every unit file that systemd reads.
# Instead: a comment between continued lines, which systemd skips, ends the value there: the comment becomes
#   part of it and the rest of the value an error. A line of more than 2,047 characters is an error too;
#   systemd takes lines of up to one mebibyte.
# Why it matters: long commands with a commented list of flags are common in units of packages, and a
#   program that edits units with this library cannot read them.
# Source: unit/deserialize.go, lexOptionValue and SYSTEMD_LINE_MAX = 2048; systemd.syntax(7).
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo 'needs systemd-analyze (Debian package systemd)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/coreos/go-systemd/v22@v22.7.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

mkdir units
printf '%s\n' '[Service]' 'Type=oneshot' "ExecStart=/bin/echo one \\" "  # the second" "  two" >units/comment.service
{ printf '[Service]\nType=oneshot\nExecStart=/bin/echo '; printf 'word %.0s' $(seq 500); echo; } >units/long.service
printf '%s\n' '[Service]' 'Type=oneshot' "ExecStart=/bin/echo one \\" "  two" >units/plain.service
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"os"

	"github.com/coreos/go-systemd/v22/unit"
)

func main() {
	for _, name := range os.Args[1:] {
		file, err := os.Open("units/" + name)
		if err != nil {
			panic(err)
		}
		options, err := unit.Deserialize(file)
		fmt.Printf("go-systemd %s: %d options, error %v\n", name, len(options), err)
		for _, o := range options {
			if o.Name == "ExecStart" {
				fmt.Printf("  %q\n", o.Value)
			}
		}
	}
}
EOF
{
  go run . plain.service comment.service long.service 2>go.log || { cat go.log >&2; exit 2; }
  for name in plain comment long; do
    verdict=accepts
    systemd-analyze verify --man=no --generators=no "./units/$name.service" >"$name.log" 2>&1 || verdict="refuses: $(cat "$name.log")"
    echo "systemd $name.service: $verdict"
  done
} >got

cat >want <<'EOF'
go-systemd plain.service: 2 options, error <nil>
  "/bin/echo one \\\n  two"
go-systemd comment.service: 2 options, error unexpected newline encountered while parsing option name
  "/bin/echo one \\\n  # the second"
go-systemd long.service: 1 options, error line too long (max 2048 bytes)
systemd plain.service: accepts
systemd comment.service: accepts
systemd long.service: accepts
EOF
go list -m github.com/coreos/go-systemd/v22
systemd-analyze --version | sed -n 1p
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
