#!/usr/bin/env bash
# github.com/secure-systems-lab/go-securesystemslib v0.11.0, package cjson
#
# One would expect: canonical JSON is JSON, only with one order of keys and one spelling of values, as in
#   RFC 8785. A parser reads what EncodeCanonical wrote.
# Instead: only the quote and the backslash are escaped. A newline or a tab in a text is written as it is,
#   and the result is no JSON: encoding/json refuses it. Fractions such as 1.5 are refused.
# Why it matters: metadata of TUF and in-toto is signed in this form. A program that stores or sends the canonical
#   bytes themselves, say to check a signature later, cannot read them again once a description or a
#   command has two lines. A canonical form by RFC 8785 of the same object has another hash.
# Source: cjson/canonicaljson.go, encodeCanonicalString.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/secure-systems-lab/go-securesystemslib@v0.11.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/cjson"
)

func main() {
	for _, text := range []string{"one line", "two\nlines", "a\ttab", `a "quote" and a \`} {
		encoded, err := cjson.EncodeCanonical(map[string]any{"text": text})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q: %q, a JSON parser reads it: %t\n", text, encoded, json.Valid(encoded))
	}
	_, err := cjson.EncodeCanonical(map[string]any{"share": 1.5})
	fmt.Println("1.5:", err)
}
EOF
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
"one line": "{\"text\":\"one line\"}", a JSON parser reads it: true
"two\nlines": "{\"text\":\"two\nlines\"}", a JSON parser reads it: false
"a\ttab": "{\"text\":\"a\ttab\"}", a JSON parser reads it: false
"a \"quote\" and a \\": "{\"text\":\"a \\\"quote\\\" and a \\\\\"}", a JSON parser reads it: true
1.5: Can't canonicalize floating point number '1.5'
EOF
go list -m github.com/secure-systems-lab/go-securesystemslib
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
