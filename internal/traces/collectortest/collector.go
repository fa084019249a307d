// Package collectortest is a collector of OpenTelemetry for tests: it takes spans by OTLP over HTTP on a loopback address.
package collectortest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that the collector has received.
type Span struct {
	Trace, ID, Parent string // in hex; Parent is "" for a root
	Name              string
	Begun, End        time.Time
	Attributes        map[string]any // string, int64, bool or []string
	Resource          map[string]any
	Problem           string   // of the status error; "" for another status
	Failed            bool     // the status is error
	Links             []string // traces, in hex
	Arrived           time.Time
}

// Collector receives spans. Create it with New.
type Collector struct {
	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	spans   []Span
	bytes   []byte
	headers []http.Header
	status  int
	reject  int64
	changed chan struct{}
	hold    chan struct{}
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{t: t, status: http.StatusOK, changed: make(chan struct{}, 1)}
	c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() { c.Answer(http.StatusOK); c.server.Close() })
	return c
}

// URL returns the address without a path.
func (c *Collector) URL() string { return c.server.URL }

// Answer makes the collector answer with a status from now on. Requests that hang are answered too.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
	if c.hold != nil {
		close(c.hold)
		c.hold = nil
	}
}

// Hang makes the collector not answer until Answer is called.
func (c *Collector) Hang() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold == nil {
		c.hold = make(chan struct{})
	}
}

// Reject makes the collector say that it did not take so many spans of each request.
func (c *Collector) Reject(spans int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reject = spans
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	hold := c.hold
	c.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	if c.status != http.StatusOK {
		w.WriteHeader(c.status)
		return
	}
	var request collectorpb.ExportTraceServiceRequest
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &request) != nil {
		c.t.Errorf("got %s %s with %s, want spans by OTLP", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.bytes = append(c.bytes, body...)
	c.add(&request)
	reply, _ := proto.Marshal(&collectorpb.ExportTraceServiceResponse{PartialSuccess: &collectorpb.ExportTracePartialSuccess{RejectedSpans: c.reject}})
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(reply)
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *Collector) add(request *collectorpb.ExportTraceServiceRequest) {
	now := time.Now()
	for _, of := range request.GetResourceSpans() {
		resource := values(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(),
					Begun: at(s.GetStartTimeUnixNano()), End: at(s.GetEndTimeUnixNano()), Attributes: values(s.GetAttributes()), Resource: resource,
					Problem: s.GetStatus().GetMessage(), Failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, Arrived: now,
				}
				for _, l := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
}

func at(nano uint64) time.Time { return time.Unix(0, int64(nano)) } //nolint:gosec // a time of this century

func values(attributes []*commonpb.KeyValue) map[string]any {
	found := make(map[string]any, len(attributes))
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			found[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			found[a.GetKey()] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			found[a.GetKey()] = v.BoolValue
		case *commonpb.AnyValue_ArrayValue:
			var texts []string
			for _, e := range v.ArrayValue.GetValues() {
				texts = append(texts, e.GetStringValue())
			}
			found[a.GetKey()] = texts
		}
	}
	return found
}

// Spans returns what the collector has received, in the order of arrival.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Bytes returns the bodies of all requests that were taken.
func (c *Collector) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bytes)
}

// Headers returns the headers of all requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// Until waits until the spans satisfy a condition, and returns them. The test fails if they do not within 30 seconds.
func (c *Collector) Until(what string, holds func([]Span) bool) []Span {
	c.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		if spans := c.Spans(); holds(spans) {
			return spans
		}
		select {
		case <-c.changed:
		case <-limit:
			c.t.Fatalf("got no %s within 30 s, but %+v", what, c.Spans())
		}
	}
}

// Find returns the spans with a name.
func Find(spans []Span, name string) []Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return s.Name != name })
}
