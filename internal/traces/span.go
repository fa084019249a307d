package traces

import (
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// span is a piece of work that has ended.
type span struct {
	name       string
	id         spanID // the zero value takes a random one
	isRequest  bool   // to another program
	begun, end time.Time
	attributes []attribute
	problem    string   // why it did not succeed; "" if it did
	cause      position // another trace that explains this one; the zero value is none
}

// encode returns the span in the form of the protocol. A span whose id is that of its parent is the root of its trace.
func (s span) encode(parent position) *tracepb.Span {
	if s.id == (spanID{}) {
		s.id = randomSpanID()
	}
	encoded := &tracepb.Span{
		TraceId: parent.trace[:], SpanId: s.id[:], Name: s.name, Kind: tracepb.Span_SPAN_KIND_INTERNAL, Attributes: s.attributes,
		StartTimeUnixNano: nano(s.begun), EndTimeUnixNano: nano(s.end),
	}
	if s.id != parent.span {
		encoded.ParentSpanId = parent.span[:]
	}
	if s.isRequest {
		encoded.Kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	if s.problem != "" {
		encoded.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: clip(s.problem)}
	}
	if !s.cause.isZero() {
		encoded.Links = []*tracepb.Span_Link{{TraceId: s.cause.trace[:], SpanId: s.cause.span[:]}}
	}
	return encoded
}

// nano returns a time in the form of the protocol.
func nano(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) } //nolint:gosec // not negative

// emit gives a span to the queue.
func (r *Recorder) emit(parent position, s span) { r.queue.add(s.encode(parent)) }
