#!/usr/bin/env bash
# go.opentelemetry.io/proto/otlp v1.7.1 with google.golang.org/protobuf v1.36.12, and go.opentelemetry.io/collector/pdata v1.71.0
#
# One would expect: OTLP's JSON is the protobuf JSON of its messages, so protojson writes and reads it; where it
#   does not fit, there is an error.
# Instead: ids of traces and spans are hexadecimal in OTLP's JSON and base64 in protojson. What protojson wrote,
#   a collector refuses. What a collector wrote, protojson reads without an error, since 32 hexadecimal
#   digits are valid base64: the trace's id then has 24 bytes instead of 16 and is another one.
# Why it matters: a receiver built on protojson stores every span under a wrong id, and no log line says so.
# Source: OTLP specification, "JSON Protobuf encoding"; protobuf encoding/protojson/decode.go, unmarshalBytes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get go.opentelemetry.io/proto/otlp@v1.7.1 go.opentelemetry.io/collector/pdata@v1.71.0 google.golang.org/protobuf@v1.36.12 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

var (
	traceID = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	spanID  = [8]byte{1, 2, 3, 4, 5, 6, 7, 8}
)

func main() {
	collected := ptrace.NewTraces()
	span := collected.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(traceID)
	span.SetSpanID(spanID)
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(collected)
	if err != nil {
		panic(err)
	}
	var read tracev1.TracesData
	err = protojson.Unmarshal(text, &read)
	fmt.Println("protojson reads a collector's JSON, error:", err)
	id := read.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceId
	fmt.Printf("id %x became %x, %d bytes\n", traceID, id, len(id))

	text, err = protojson.Marshal(&tracev1.TracesData{ResourceSpans: []*tracev1.ResourceSpans{{
		ScopeSpans: []*tracev1.ScopeSpans{{Spans: []*tracev1.Span{{TraceId: traceID[:], SpanId: spanID[:]}}}}}}})
	if err != nil {
		panic(err)
	}
	_, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	fmt.Println("a collector refuses protojson's JSON:", err != nil)
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
protojson reads a collector's JSON, error: <nil>
id 000102030405060708090a0b0c0d0e0f became d34d35d36d37d38d39d3ad3bd3cd3dd1ad1bd1cd1dd1ed1f, 24 bytes
a collector refuses protojson's JSON: true
EOF
go list -m go.opentelemetry.io/proto/otlp go.opentelemetry.io/collector/pdata google.golang.org/protobuf
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
