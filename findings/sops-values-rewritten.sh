#!/usr/bin/env bash
# github.com/getsops/sops/v3 v3.13.3
#
# One would expect: `sops decrypt` gives back the values that were encrypted; at most comments' places and
#   the indentation differ.
# Instead: a value is read as a Go value and written from it. The date 2024-01-31 comes back as a point of time,
#   the mode 0644 as 420 and 010 as 8, version 1.10 as 1.1, and a JSON number above 2^63 loses its digits.
# Why it matters: the program that reads the decrypted file sees another value than was reviewed: a date that no
#   longer parses as one, version 1.1 of a chart, a serial number that ends in zeros. Quote such values.
# Source: stores/yaml/store.go and stores/json/store.go (values by yaml.v3 and encoding/json), aes/cipher.go,
#   Encrypt: type:int, type:float and type:time.
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

printf '%s\n' 'released: 2024-01-31' 'mode: 0644' 'list: [010, 0x1F, 1_000]' 'chart: 1.10' 'quoted: "1.10"' >plain.yaml
echo '{"serial": 12345678901234567890, "ratio": 1.0}' >plain.json
for form in yaml json; do
  ./sops encrypt --age "$recipient" "plain.$form" >"secret.$form"
  ./sops decrypt "secret.$form"
done >got

cat >want <<'EOF'
released: 2024-01-31T00:00:00Z
mode: 420
list:
    - 8
    - 31
    - 1000
chart: 1.1
quoted: "1.10"
{
	"serial": 12345678901234567000,
	"ratio": 1
}
EOF
go version -m sops | awk '$1 == "mod" { print $2, $3 }'
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
