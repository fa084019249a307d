#!/usr/bin/env bash
# github.com/getsops/sops/v3 v3.13.3, filippo.io/age v1.3.2
#
# One would expect: SOPS with age refuses to encrypt for a post-quantum recipient (age1pq1...) and a classic one together, as
#   age does: the content is then as weak as the classic one.
# Instead: it does, without a warning. Each recipient of a file of SOPS is an age file of its own with the same data key,
#   so age never sees two recipients, and its rule does not apply.
# Why it matters: a team that moves to post-quantum keys one by one believes its files to be protected from a later
#   decryption, while each file with one classic recipient is not. Look for recipients without age1pq1 in all files, and
#   rotate the data key after the last one is removed (sops rotate).
# Source: sops, age/keysource.go, MasterKey.Encrypt (one recipient each); age, age.go, incompatible labels of recipients.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
GOBIN=$work go install github.com/getsops/sops/v3/cmd/sops@v3.13.3 >go.log 2>&1 || { cat go.log >&2; exit 2; }
GOBIN=$work go install filippo.io/age/cmd/age@v1.3.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }
GOBIN=$work go install filippo.io/age/cmd/age-keygen@v1.3.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }
./age-keygen -o classic >go.log 2>&1
./age-keygen -pq -o quantum >go.log 2>&1
classic=$(./age-keygen -y classic) quantum=$(./age-keygen -y quantum)
echo 'password: correct horse' >plain.yaml
{
  if ./age -r "$quantum" -r "$classic" plain.yaml >age.out 2>age.log; then echo 'age: encrypted'; else sed -n 's/^age: error: \([^:]*\).*/age: \1/p' age.log; fi
  ./sops encrypt --age "$quantum,$classic" plain.yaml >secret.yaml 2>sops.log && echo "sops: encrypted, $(wc -l <sops.log) lines of warnings"
  echo "recipients: $(sed -n 's/^ *\(- \)\{0,1\}recipient: \(age1\(pq1\)\{0,1\}\).*/\2/p' secret.yaml | paste -sd' ')"
  for key in classic quantum; do
    echo "decrypted with the $key key: $(SOPS_AGE_KEY_FILE=$work/$key ./sops decrypt secret.yaml)"
  done
} >got

cat >want <<'EOF'
age: incompatible recipients
sops: encrypted, 0 lines of warnings
recipients: age1pq1 age1
decrypted with the classic key: password: correct horse
decrypted with the quantum key: password: correct horse
EOF
go version -m sops | awk '$1 == "mod" || $1 == "dep" && $2 == "filippo.io/age" { print $2, $3 }'
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
