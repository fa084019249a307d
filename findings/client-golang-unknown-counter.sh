#!/usr/bin/env bash
# github.com/prometheus/client_golang v1.25.0
#
# One would expect: a counter that is registered as one is a counter for every scraper, whatever format it asks for.
# Instead: OpenMetrics, for which Prometheus asks, is offered with EnableOpenMetrics alone, and in it a counter whose name does
#   not end in _total has the type "unknown". The text format calls it a counter and leaves out its exemplars, and nothing
#   warns of either.
# Why it matters: the same program shows a counter in a browser or with curl and an untyped series in Prometheus, where
#   metadata, and tools that look at types, treat it as a gauge; and exemplars that were recorded are not there by default.
# Source: promhttp/http.go, HandlerOpts.EnableOpenMetrics; prometheus/common, expfmt/openmetrics_create.go.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/prometheus/client_golang@v1.25.0 >go.log 2>&1 || { cat go.log >&2; exit 2; }
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	registry := prometheus.NewRegistry()
	for _, name := range []string{"requests", "replies_total"} {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: "A counter."})
		registry.MustRegister(c)
		c.(prometheus.ExemplarAdder).AddWithExemplar(1, prometheus.Labels{"trace": "abc"})
	}
	// What Prometheus 3 sends, without the binary format.
	const prometheus3 = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
	for _, enabled := range []bool{false, true} {
		request := httptest.NewRequest("GET", "/metrics", nil)
		request.Header.Set("Accept", prometheus3)
		reply := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: enabled}).ServeHTTP(reply, request)
		format, _, _ := strings.Cut(reply.Header().Get("Content-Type"), ";")
		fmt.Printf("EnableOpenMetrics %t: %s, exemplars: %t\n", enabled, format, strings.Contains(reply.Body.String(), "trace="))
		for line := range strings.Lines(reply.Body.String()) {
			if strings.HasPrefix(line, "# TYPE") {
				fmt.Print("  ", line)
			}
		}
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
EnableOpenMetrics false: text/plain, exemplars: false
  # TYPE replies_total counter
  # TYPE requests counter
EnableOpenMetrics true: application/openmetrics-text, exemplars: true
  # TYPE replies counter
  # TYPE requests unknown
EOF
go list -m github.com/prometheus/client_golang
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
