#!/usr/bin/env bash
# github.com/rogpeppe/go-internal v1.16.0, package testscript
#
# One would expect: `stdout '^$'` in a script passes only if the command printed nothing.
# Instead: it passes for every output that ends in a newline, so for nearly every output. It fails only
#   for output without a final newline. `! stdout .` is what tests for no output.
# Why it matters: scripts that are to prove that a command is silent pass for nearly every output.
# Source: testscript/cmd.go, scriptMatch: the pattern is compiled as `(?m)` + pattern, and in that mode
#   `^$` matches the empty line behind the last newline.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/rogpeppe/go-internal@v1.16.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

mkdir script
printf '%s\n' 'exec echo hello' "stdout '^\$'" >script/line.txt
printf '%s\n' 'exec printf hello' "stdout '^\$'" >script/no-newline.txt
printf '%s\n' 'exec true' "stdout '^\$'" >script/nothing.txt
printf '%s\n' 'exec echo hello' '! stdout .' >script/line-not-dot.txt
printf '%s\n' 'exec true' '! stdout .' >script/nothing-not-dot.txt
cat >script_test.go <<'EOF'
package finding

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "script"})
}
EOF
go test -c -o scripts.test . >go.log 2>&1 || { cat go.log >&2; exit 2; }
for name in line no-newline nothing line-not-dot nothing-not-dot; do
  verdict=passes
  ./scripts.test -test.run "^TestScript\$/^$name\$" >"$name.log" 2>&1 || verdict=fails
  echo "$name: $verdict"
done >got

cat >want <<'EOF'
line: passes
no-newline: fails
nothing: passes
line-not-dot: fails
nothing-not-dot: passes
EOF
go list -m github.com/rogpeppe/go-internal
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
