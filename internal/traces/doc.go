// Package traces tells a collector of OpenTelemetry how a commit became the state of the cluster: one trace from the first sight of the commit until every guest
// is in sync, with a span for each step and each call. docs/traces.md lists the spans.
//
// A Recorder observes what the engine reports through its hooks, and nothing in the engine knows of it. The stages:
//
//	hook ──> Recorder: which trace, which parent ──> a span that has ended ──> queue (2048 spans) ──> batches ──> Collector
//
// A hook does not wait for the collector. A span that does not fit into the queue is dropped and counted.
//
// Ids derive from the cluster, the commit and the step (ids.go). So an agent that was killed continues the traces of the process before without having
// stored anything but its journal, and a log line can name its trace before the span exists.
//
// The files, from the first that runs to the last:
//
//   - recorder.go: Recorder, its settings and its hooks; past.go: what the journal says about the processes before
//   - revision.go, step.go, repair.go, hold.go: what becomes a span; attributes.go: the names of attributes
//   - span.go, ids.go: spans as the protocol has them; log.go: the ids in log lines
//   - queue.go: the queue and the batches; collector.go: requests by OTLP over HTTP
package traces
