#!/usr/bin/env bash
# github.com/sigstore/sigstore-go v1.3.0
#
# One would expect: WithSignedTimestamps(2) is met by the timestamps of two authorities, that is of two chains of
#   certificates in the trusted root.
# Instead: authorities are told apart by the text `uri` of the trusted root alone. Two authorities with own
#   roots and keys whose entries have no `uri`, or the same, count as one, and the second timestamp is a
#   "duplicate". The field is optional and no other check reads it.
# Why it matters: a private trusted root is often written without `uri`. Everything verifies until a second
#   timestamp is required; then nothing does, with a message that blames the signer.
# Source: pkg/verify/tsa.go, isDuplicateTSA.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/sigstore/sigstore-go@v1.3.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// signed is an entity with the timestamps.
type signed struct {
	*ca.TestEntity
	timestamps [][]byte
}

func (s signed) Timestamps() ([][]byte, error) { return s.timestamps, nil }

// trusted has the authorities, and nothing else.
type trusted struct {
	root.BaseTrustedMaterial
	authorities []root.TimestampingAuthority
}

func (t *trusted) TimestampingAuthorities() []root.TimestampingAuthority { return t.authorities }

// named returns the authority of the instance, with another URI.
func named(instance *ca.VirtualSigstore, uri string) root.TimestampingAuthority {
	authority := *instance.TimestampingAuthorities()[0].(*root.SigstoreTimestampingAuthority)
	authority.URI = uri
	return &authority
}

func main() {
	one, two := must(ca.NewVirtualSigstore()), must(ca.NewVirtualSigstore())
	entity := must(one.Sign("someone@example.org", "https://issuer.example.org", []byte("artifact")))
	signature := must(entity.SignatureContent()).Signature()
	both := signed{entity, [][]byte{must(one.TimestampResponse(signature)), must(two.TimestampResponse(signature))}}

	for _, uris := range [][2]string{{"https://one.example.org", "https://two.example.org"}, {"", ""}} {
		material := &trusted{authorities: []root.TimestampingAuthority{named(one, uris[0]), named(two, uris[1])}}
		for _, threshold := range []int{1, 2} {
			timestamps, err := verify.VerifySignedTimestampWithThreshold(both, material, threshold)
			fmt.Printf("two authorities with URIs %q, threshold %d: %d counted, error %v\n", uris, threshold, len(timestamps), err)
		}
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
two authorities with URIs ["https://one.example.org" "https://two.example.org"], threshold 1: 2 counted, error <nil>
two authorities with URIs ["https://one.example.org" "https://two.example.org"], threshold 2: 2 counted, error <nil>
two authorities with URIs ["" ""], threshold 1: 1 counted, error <nil>
two authorities with URIs ["" ""], threshold 2: 0 counted, error threshold not met for verified signed timestamps: 1 < 2; error: duplicate timestamps from the same authority, ignoring 
EOF
go list -m github.com/sigstore/sigstore-go
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
