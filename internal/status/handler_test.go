package status_test

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", name, diff)
	}
}

// atNoon runs a test at the time of the sample reports.
func atNoon(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon))
		run(t)
	})
}

// optionsFor returns options that serve one report.
func optionsFor(r report.Report) status.Options {
	return status.Options{Report: func() report.Report { return r }, Version: "1.2.3"}
}

// ask sends one request to the handler of opts.
func ask(t *testing.T, opts status.Options, method, target string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	return send(t, status.Handler(opts), httptest.NewRequest(method, target, nil))
}

func send(t *testing.T, handler http.Handler, r *http.Request) (*httptest.ResponseRecorder, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w, w.Body.String()
}

func TestHandlerRoutes(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "sample_total", Help: "A sample."}))
	full := optionsFor(steady())
	full.Gatherer = registry
	full.Hint = func() { t.Error("got a hint, want none without the token") }
	full.Webhooks = []status.Webhook{secretOf(status.WebhookBearer, "secret")}
	tests := map[string]struct {
		method, target string
		status         int
		allow, kind    string
	}{
		"page":           {"GET", "/", 200, "", "text/html; charset=utf-8"},
		"page_head":      {"HEAD", "/", 200, "", "text/html; charset=utf-8"},
		"page_post":      {"POST", "/", 405, "GET, HEAD", "text/plain; charset=utf-8"},
		"json":           {"GET", "/status.json", 200, "", "application/json"},
		"json_delete":    {"DELETE", "/status.json", 405, "GET, HEAD", "text/plain; charset=utf-8"},
		"inventory":      {"GET", "/inventory.json", 200, "", "application/json"},
		"targets":        {"GET", "/targets.json", 200, "", "application/json"},
		"targets_port":   {"GET", "/targets.json?port=http", 400, "", "text/plain; charset=utf-8"},
		"health_put":     {"PUT", "/healthz", 405, "GET, HEAD", "text/plain; charset=utf-8"},
		"ready_post":     {"POST", "/readyz", 405, "GET, HEAD", "text/plain; charset=utf-8"},
		"metrics":        {"GET", "/metrics", 200, "", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"},
		"metrics_post":   {"POST", "/metrics", 405, "GET, HEAD", "text/plain; charset=utf-8"},
		"webhook_get":    {"GET", "/webhook", 405, "POST", "text/plain; charset=utf-8"},
		"webhook_bare":   {"POST", "/webhook", 401, "", "text/plain; charset=utf-8"},
		"elsewhere":      {"GET", "/index.html", 404, "", "text/plain; charset=utf-8"},
		"below_the_page": {"GET", "/x/y", 404, "", "text/plain; charset=utf-8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := ask(t, full, test.method, test.target)
			if res.Code != test.status {
				t.Errorf("got status %d, want %d", res.Code, test.status)
			}
			if got := res.Header().Get("Allow"); got != test.allow {
				t.Errorf("got Allow %q, want %q", got, test.allow)
			}
			if got := res.Header().Get("Content-Type"); got != test.kind {
				t.Errorf("got Content-Type %q, want %q", got, test.kind)
			}
			for header, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			} {
				if got := res.Header().Get(header); got != want {
					t.Errorf("got %s %q, want %q", header, got, want)
				}
			}
		})
	}
}

func TestHandlerOmitsOptionalRoutes(t *testing.T) {
	t.Parallel()
	for _, request := range []struct{ method, target string }{{"GET", "/metrics"}, {"POST", "/webhook"}, {"GET", "/webhook"}} {
		if res, _ := ask(t, optionsFor(steady()), request.method, request.target); res.Code != http.StatusNotFound {
			t.Errorf("%s %s: got status %d, want 404", request.method, request.target, res.Code)
		}
	}
}

func TestHandlerTurnsPanicInto500(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	opts := status.Options{Report: func() report.Report { panic("no report") }, Logger: textLogger(&log)}
	res, body := ask(t, opts, "GET", "/status.json")
	if res.Code != http.StatusInternalServerError || body != "internal error\n" {
		t.Errorf("got %d %q, want 500 without the cause", res.Code, body)
	}
	if !bytes.Contains(log.Bytes(), []byte(`cause="no report"`)) {
		t.Errorf("got log %q, want the cause", log.String())
	}
}

func TestHandlerKeepsGoodMetricsBesideBadOnes(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "sample_total", Help: "A sample."}), brokenCollector{})
	var log bytes.Buffer
	opts := optionsFor(steady())
	opts.Gatherer, opts.Logger = registry, textLogger(&log)
	res, body := ask(t, opts, "GET", "/metrics")
	if res.Code != http.StatusOK || !bytes.Contains([]byte(body), []byte("sample_total 0")) {
		t.Errorf("got %d %q, want the good metric", res.Code, body)
	}
	if !bytes.Contains(log.Bytes(), []byte("some metrics not gathered")) {
		t.Errorf("got log %q, want a warning", log.String())
	}
}

// brokenCollector returns an error for its metric.
type brokenCollector struct{}

func (brokenCollector) Describe(ch chan<- *prometheus.Desc) { ch <- brokenDesc }
func (brokenCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(brokenDesc, io.ErrUnexpectedEOF)
}

var brokenDesc = prometheus.NewDesc("broken", "Cannot be collected.", nil, nil)
