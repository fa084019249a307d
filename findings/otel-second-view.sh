#!/usr/bin/env bash
# go.opentelemetry.io/otel/sdk/metric v1.47.0
#
# One would expect: of two views that match an instrument, one with buckets and one with a filter of attributes, both are
#   in force, or there are two streams, as the specification says, with a warning that they conflict.
# Instead: the first one alone counts. The second is for a stream of the same name, unit, kind and description, which
#   exists, so it is left out; no function returns an error and nothing is logged. In the other order, the filter is in
#   force and the buckets are not. A counter takes a negative number, and goes down.
# Why it matters: "drop the user's name from all metrics" behind a view with buckets drops nothing, and the names
#   are in the metrics. Put everything for an instrument in one view.
# Source: sdk/metric/pipeline.go, inserter.Instrument (seen) and cachedAggregator, whose key instID has neither filter
#   nor aggregation; specification, metrics/sdk.md, "Measurement processing".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get go.opentelemetry.io/otel/sdk/metric@v1.47.0 go.opentelemetry.io/otel@v1.47.0 github.com/go-logr/logr@v1.4.4 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func measure(name string, views ...metric.View) {
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader), metric.WithView(views...)).Meter("finding")
	ctx := context.Background()
	must(meter.Float64Histogram("request.duration")).Record(ctx, 1.5, api.WithAttributes(attribute.String("user", "alice"), attribute.String("method", "GET")))
	counter := must(meter.Int64Counter("requests"))
	counter.Add(ctx, 3)
	counter.Add(ctx, -5)
	var all metricdata.ResourceMetrics
	must(0, reader.Collect(ctx, &all))
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				fmt.Printf("%s: attributes %v, %d buckets\n", name, p.Attributes.ToSlice(), len(p.BucketCounts))
			}
		case metricdata.Sum[int64]:
			fmt.Printf("%s: counter %d, monotonic %v\n", name, data.DataPoints[0].Value, data.IsMonotonic)
		}
	}
}

func main() {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Println("error:", err) }))
	otel.SetLogger(funcr.New(func(_, args string) { fmt.Println("log:", args) }, funcr.Options{Verbosity: 1}))
	buckets := metric.Stream{Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: []float64{1, 2}}}
	filter := metric.Stream{AttributeFilter: attribute.NewDenyKeysFilter("user")}
	durations, all := metric.Instrument{Name: "*.duration"}, metric.Instrument{Name: "*"}
	measure("none", func(metric.Instrument) (metric.Stream, bool) { return metric.Stream{}, false })
	measure("buckets, filter", metric.NewView(durations, buckets), metric.NewView(all, filter))
	measure("filter, buckets", metric.NewView(all, filter), metric.NewView(durations, buckets))
	both := buckets
	both.AttributeFilter = filter.AttributeFilter
	measure("both in one", metric.NewView(durations, both))
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
none: attributes [{"method":"GET"} {"user":"alice"}], 16 buckets
none: counter -2, monotonic true
buckets, filter: attributes [{"method":"GET"} {"user":"alice"}], 3 buckets
buckets, filter: counter -2, monotonic true
filter, buckets: attributes [{"method":"GET"}], 16 buckets
filter, buckets: counter -2, monotonic true
both in one: attributes [{"method":"GET"}], 3 buckets
both in one: counter -2, monotonic true
EOF
go list -m go.opentelemetry.io/otel/sdk/metric
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
