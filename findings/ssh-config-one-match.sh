#!/usr/bin/env bash
# github.com/kevinburke/ssh_config v1.4.0, through which go-git finds hosts and ports of SSH remotes;
#   ssh of Debian beside it, tried with 1:9.2p1-2+deb12u10 (bookworm)
#
# One would expect: Get returns what `ssh -G` prints for the same file, or the default of the keyword.
# Instead: one Match block anywhere makes every lookup of the file an empty text without an error, also of keywords that have a
#   default, such as Port (GetStrict has the error). %h in HostName stays %h, and a pattern in quotes matches nothing.
#   The default of IdentityFile is ~/.ssh/identity, the key of SSH version 1.
# Why it matters: an administrator adds a Match block for another host, and a program that followed the alias `forge` asks the name
#   server for `forge`. ssh and git go on.
# Source: config.go, UserSettings.Get drops the error of GetStrict; parser.go, "Match directive parsing is unsupported".
set -euo pipefail
command -v ssh >/dev/null || { echo 'needs ssh (Debian package openssh-client)' >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/kevinburke/ssh_config@v1.4.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"
	"os"

	"github.com/kevinburke/ssh_config"
)

func main() {
	settings := ssh_config.UserSettings{}
	settings.ConfigFinder(func() string { return os.Args[1] })
	_, err := settings.GetStrict("forge", "HostName")
	fmt.Printf("%q %q, strict: %v\n", settings.Get("forge", "HostName"), settings.Get("forge", "Port"), err)
}
EOF
go build -o lookup . >go.log 2>&1 || { cat go.log >&2; exit 2; }

try() { # a name, and the text of a file
  printf '%b' "$2" >config
  printf '%s: go %s; ssh %s\n' "$1" "$(./lookup config)" \
    "$(ssh -G -F config forge | sed -n 's/^\(hostname\|port\) /\1 /p' | sort | paste -sd ' ')"
}
forge='Host forge\n  HostName git.example.org\n  Port 2222\n'
{
  try 'one host' "$forge"
  try 'with a block for another host' "${forge}Match host other.example.org\n  Port 23\n"
  try 'with a percent token' 'Host forge\n  HostName %h.example.org\n'
  try 'in quotes' 'Host "forge"\n  HostName git.example.org\n'
} >got

cat >want <<'EOF'
one host: go "git.example.org" "2222", strict: <nil>; ssh hostname git.example.org port 2222
with a block for another host: go "" "", strict: (4, 7): ssh_config: Match directive parsing is unsupported; ssh hostname git.example.org port 2222
with a percent token: go "%h.example.org" "22", strict: <nil>; ssh hostname forge.example.org port 22
in quotes: go "" "22", strict: <nil>; ssh hostname git.example.org port 22
EOF
go list -m github.com/kevinburke/ssh_config
ssh -V
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
