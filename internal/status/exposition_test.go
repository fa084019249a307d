package status_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gitops-agent/internal/status"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// newTimes returns a histogram with classic and native buckets, whose only observation has an exemplar.
func newTimes() prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "sample_seconds", Help: "Samples.", Buckets: []float64{1, 600}, NativeHistogramBucketFactor: 1.1,
	})
	h.(prometheus.ExemplarObserver).ObserveWithExemplar(20, prometheus.Labels{"revision": "3f2a1c94"})
	return h
}

// What Prometheus asks for in its releases, and what other clients ask for.
const (
	acceptPrometheus2 = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	acceptPrometheus3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	acceptNative      = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)

func TestExpositionFormats(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(newTimes())
	handler := status.Handler(status.Options{Report: steady, Gatherer: registry})
	for name, test := range map[string]struct{ accept, kind, has, hasNot string }{
		"none":         {"", "text/plain; version=0.0.4", `sample_seconds_bucket{le="600"} 1`, "3f2a1c94"},
		"browser":      {"text/html,application/xhtml+xml,*/*;q=0.8", "text/plain; version=0.0.4", `sample_seconds_bucket{le="600"} 1`, "3f2a1c94"},
		"unknown":      {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text", "text/plain; version=0.0.4", `le="600"`, "3f2a1c94"},
		"prometheus 2": {acceptPrometheus2, "application/openmetrics-text; version=1.0.0", `sample_seconds_bucket{le="600.0"} 1 # {revision="3f2a1c94"} 20`, "gibberish"},
		"prometheus 3": {acceptPrometheus3, "application/openmetrics-text; version=1.0.0", `# {revision="3f2a1c94"} 20`, "gibberish"},
		"native":       {acceptNative, "application/vnd.google.protobuf", "3f2a1c94", "# HELP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			req.Header.Set("Accept", test.accept)
			w, body := send(t, handler, req)
			if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, test.kind) {
				t.Errorf("got Content-Type %q, want %q", got, test.kind)
			}
			if got := w.Header().Values("Vary"); !strings.Contains(strings.Join(got, ","), "Accept,") {
				t.Errorf("got Vary %q, want Accept in it", got)
			}
			if !strings.Contains(body, test.has) || strings.Contains(body, test.hasNot) {
				t.Errorf("got this, want %q and not %q:\n%s", test.has, test.hasNot, body)
			}
		})
	}
}

func TestExpositionHasNativeHistograms(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(newTimes())
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", acceptNative)
	w, body := send(t, status.Handler(status.Options{Report: steady, Gatherer: registry}), req)
	var family dto.MetricFamily
	decoder := expfmt.NewDecoder(bytes.NewReader([]byte(body)), expfmt.ResponseFormat(w.Header()))
	if err := decoder.Decode(&family); err != nil {
		t.Fatal(err)
	}
	h := family.GetMetric()[0].GetHistogram()
	if len(h.GetPositiveSpan()) != 1 || len(h.GetBucket()) == 0 {
		t.Errorf("got %v, want a histogram with native and with classic buckets", h)
	}
	if err := decoder.Decode(&family); err != io.EOF { //nolint:errorlint // the decoder returns io.EOF itself
		t.Errorf("got %v after the only metric, want the end", err)
	}
}
