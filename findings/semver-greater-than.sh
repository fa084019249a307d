#!/usr/bin/env bash
# github.com/Masterminds/semver/v3 v3.5.0 (Helm, Argo CD, Flux); github.com/hashicorp/go-version v1.9.0 (Terraform) beside it
#
# One would expect: ">1.2" has every version after 1.2.0, so 1.2.5, and "<=1.2" has none after 1.2.0.
# Instead: missing parts are wildcards in Masterminds: ">1.2" begins at 1.3.0, "<=1.2" has all of 1.2, "!=1.2" leaves out
#   all of 1.2. go-version takes missing parts for zeros, so that the two disagree about 1.2.5 in every operator but
#   >= and <. "~>1.2" is below 1.3 in the first and below 2 in the second.
# Why it matters: "not the broken 1.2, only later" leaves out the repaired 1.2.1, and a range that is copied from a
#   Terraform file to a Helm chart selects other releases. Write all three parts.
# Source: constraints.go, constraintGreaterThan and constraintLessThanEqual (minorDirty, patchDirty); go-version:
#   version.go, parse pads segments with zeros, and constraint.go, constraintPessimistic.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/Masterminds/semver/v3@v3.5.0 github.com/hashicorp/go-version@v1.9.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
	"github.com/hashicorp/go-version"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	versions := []string{"1.1.9", "1.2.0", "1.2.5", "1.3.0", "2.0.0"}
	for _, text := range []string{">1.2.0", ">1.2", ">1", "<=1.2", "=1.2", "!=1.2", ">=1.2", "<1.2", "~>1.2"} {
		var masterminds, hashicorp []string
		for _, v := range versions {
			if must(semver.NewConstraint(text)).Check(semver.MustParse(v)) {
				masterminds = append(masterminds, v)
			}
			if must(version.NewConstraint(text)).Check(version.Must(version.NewVersion(v))) {
				hashicorp = append(hashicorp, v)
			}
		}
		fmt.Printf("%s\n  Masterminds: %v\n  go-version:  %v\n", text, masterminds, hashicorp)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
>1.2.0
  Masterminds: [1.2.5 1.3.0 2.0.0]
  go-version:  [1.2.5 1.3.0 2.0.0]
>1.2
  Masterminds: [1.3.0 2.0.0]
  go-version:  [1.2.5 1.3.0 2.0.0]
>1
  Masterminds: [2.0.0]
  go-version:  [1.1.9 1.2.0 1.2.5 1.3.0 2.0.0]
<=1.2
  Masterminds: [1.1.9 1.2.0 1.2.5]
  go-version:  [1.1.9 1.2.0]
=1.2
  Masterminds: [1.2.0 1.2.5]
  go-version:  [1.2.0]
!=1.2
  Masterminds: [1.1.9 1.3.0 2.0.0]
  go-version:  [1.1.9 1.2.5 1.3.0 2.0.0]
>=1.2
  Masterminds: [1.2.0 1.2.5 1.3.0 2.0.0]
  go-version:  [1.2.0 1.2.5 1.3.0 2.0.0]
<1.2
  Masterminds: [1.1.9]
  go-version:  [1.1.9]
~>1.2
  Masterminds: [1.2.0 1.2.5]
  go-version:  [1.2.0 1.2.5 1.3.0]
EOF
go list -m github.com/Masterminds/semver/v3 github.com/hashicorp/go-version
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
