#!/usr/bin/env bash
# github.com/evanphx/json-patch/v5 v5.9.11 (kustomize, controllers of Kubernetes)
#
# One would expect: the operation "test" of a JSON patch is what RFC 6902 says: its location must exist, numbers are
#   equal if their values are, and a patch changes nothing but what it names.
# Instead: a test for null passes where there is no such key; 1 is not 1.0 and 1e2 is not 100. Every <, > and & of the
#   document becomes an escape, also in values that the patch does not touch, and an index such as 02 or -1, which
#   RFC 6901 does not have, is an element of a list.
# Why it matters: a patch that is guarded by "is still null" is applied after the field was removed, one that is guarded by
#   a number that another program wrote fails, and sums over files change for texts with an ampersand.
#   ApplyOptions have EscapeHTML and SupportNegativeIndices for the last two.
# Source: v5/patch.go, Patch.test ("if val == nil"), lazyNode.equal (compares the bytes of scalars), ApplyWithOptions;
#   RFC 6902, sections 4 and 4.6; RFC 6901, section 4.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/evanphx/json-patch/v5@v5.9.11 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

func main() {
	document := []byte(`{"one":1,"hundred":100,"null":null,"text":"a && b","list":["x","y","z"]}`)
	for _, operation := range []string{
		`{"op":"test","path":"/null","value":null}`,
		`{"op":"test","path":"/missing","value":null}`,
		`{"op":"test","path":"/missing","value":""}`,
		`{"op":"test","path":"/one","value":1.0}`,
		`{"op":"test","path":"/hundred","value":1e2}`,
		`{"op":"remove","path":"/list/02"}`,
		`{"op":"remove","path":"/list/-1"}`,
	} {
		patch, err := jsonpatch.DecodePatch([]byte("[" + operation + "]"))
		if err != nil {
			panic(err)
		}
		result, err := patch.Apply(document)
		fmt.Printf("%s\n  %s, error %v\n", operation, result, err)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
{"op":"test","path":"/null","value":null}
  {"one":1,"hundred":100,"null":null,"text":"a \u0026\u0026 b","list":["x","y","z"]}, error <nil>
{"op":"test","path":"/missing","value":null}
  {"one":1,"hundred":100,"null":null,"text":"a \u0026\u0026 b","list":["x","y","z"]}, error <nil>
{"op":"test","path":"/missing","value":""}
  , error testing value /missing failed: test failed
{"op":"test","path":"/one","value":1.0}
  , error testing value /one failed: test failed
{"op":"test","path":"/hundred","value":1e2}
  , error testing value /hundred failed: test failed
{"op":"remove","path":"/list/02"}
  {"one":1,"hundred":100,"null":null,"text":"a \u0026\u0026 b","list":["x","y"]}, error <nil>
{"op":"remove","path":"/list/-1"}
  {"one":1,"hundred":100,"null":null,"text":"a \u0026\u0026 b","list":["x","y"]}, error <nil>
EOF
go list -m github.com/evanphx/json-patch/v5
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
