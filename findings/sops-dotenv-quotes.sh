#!/usr/bin/env bash
# github.com/getsops/sops/v3 v3.13.3
#
# One would expect: SOPS reads a file of type dotenv as a shell or docker compose does, and `sops exec-env` gives
#   the command the same environment as `set -a; . file`.
# Instead: a line is cut at its first "=" and no more. Quotes stay in the value, a comment behind a value is part
#   of it, and the variable of `export NAME=x` is called "export NAME". Only \n is replaced, inside and
#   outside of quotes.
# Why it matters: after a file moves under SOPS, every quoted password has two more characters, and the
#   exported variables are missing.
# Source: stores/dotenv/store.go, LoadPlainFile; cmd/sops/subcommand/exec/exec.go.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
GOBIN=$work go install github.com/getsops/sops/v3/cmd/sops@v3.13.3 >go.log 2>&1 || { cat go.log >&2; exit 2; }
GOBIN=$work go install filippo.io/age/cmd/age-keygen@v1.3.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }
./age-keygen -o key >go.log 2>&1
export SOPS_AGE_KEY_FILE=$work/key
recipient=$(./age-keygen -y key)

printf '%s\n' 'QUOTED="two words"' 'COMMENTED=word # why' 'export EXPORTED=word' "FOLDER='c:\\new'" >plain.env
./sops encrypt --age "$recipient" plain.env >secret.env
# shellcheck disable=SC2016  # the variables are those of the inner shell
show='printf "QUOTED <%s>\nCOMMENTED <%s>\nEXPORTED <%s>\nFOLDER <%s>\n" "$QUOTED" "$COMMENTED" "${EXPORTED-unset}" "$FOLDER"'
{
  echo 'sourced by a shell:'
  sh -c "set -a; . ./plain.env; $show"
  echo 'sops exec-env:'
  ./sops exec-env secret.env "$show"
} >got

cat >want <<'EOF'
sourced by a shell:
QUOTED <two words>
COMMENTED <word>
EXPORTED <word>
FOLDER <c:\new>
sops exec-env:
QUOTED <"two words">
COMMENTED <word # why>
EXPORTED <unset>
FOLDER <'c:
ew'>
EOF
go version -m sops | awk '$1 == "mod" { print $2, $3 }'
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
