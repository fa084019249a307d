package status_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile/report"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// unpack returns the reply to a GET request, unpacked.
func unpack(t *testing.T, handler http.Handler, path, encoding string) string {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Errorf("%s: got status %d, want 200", path, w.Code)
	}
	if (w.Header().Get("Content-Encoding") == "gzip") != (encoding == "gzip") {
		t.Errorf("%s: got encoding %q for Accept-Encoding %q", path, w.Header().Get("Content-Encoding"), encoding)
	}
	if encoding != "gzip" {
		return w.Body.String()
	}
	unpacked, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// The page is rendered once for a report, compressed or not, as long as its ages are at most five seconds old. A new report is shown at once.
func TestPageIsRenderedOnceForAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := steady()
		r.Time = time.Now()
		handler := status.Handler(status.Options{Report: func() report.Report { return r }})
		first := unpack(t, handler, "/", "")
		time.Sleep(4 * time.Second)
		if got := unpack(t, handler, "/", "gzip"); got != first {
			t.Error("got another page after 4 s, want the same bytes")
		}
		if got := unpack(t, handler, "/?refresh=off", ""); got == first || !strings.Contains(got, "paused") {
			t.Error("got the page that reloads, want the paused one")
		}
		if got := unpack(t, handler, "/guests/211", ""); !strings.Contains(got, "4 s ago") {
			t.Error("got a shared page for a selected guest, want its own")
		}
		time.Sleep(2 * time.Second)
		if got := unpack(t, handler, "/", ""); got == first || !strings.Contains(got, "6 s ago") {
			t.Error("got the old page after 6 s, want its ages to be new")
		}
		r.Cycle++
		r.Cluster = "renamed"
		for _, path := range []string{"/", "/status.json"} {
			if got := unpack(t, handler, path, "gzip"); !strings.Contains(got, "renamed") {
				t.Errorf("%s: got the old report, want the new one", path)
			}
		}
	})
}

// slowGatherer counts how often it is asked, and waits until it is released.
type slowGatherer struct {
	asked   atomic.Int64
	release chan struct{}
}

func (g *slowGatherer) Gather() ([]*dto.MetricFamily, error) {
	g.asked.Add(1)
	<-g.release
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGoCollector()) //nolint:staticcheck // any collector will do
	return registry.Gather()
}

// Scrapes that arrive while one is gathered share its result. None is refused. A later scrape is gathered again.
func TestScrapesShareOneExposition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &slowGatherer{release: make(chan struct{})}
		handler := status.Handler(status.Options{Report: steady, Gatherer: g})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				encoding := []string{"", "gzip"}[i%2]
				if got := unpack(t, handler, "/metrics", encoding); !strings.Contains(got, "go_goroutines") {
					t.Errorf("got %q, want the metrics", got)
				}
			})
		}
		synctest.Wait()
		close(g.release)
		wg.Wait()
		if got := g.asked.Load(); got != 1 {
			t.Errorf("50 scrapes at once: got %d gatherings, want 1", got)
		}
		_ = unpack(t, handler, "/metrics", "")
		if got := g.asked.Load(); got != 2 {
			t.Errorf("a scrape after them: got %d gatherings, want 2", got)
		}
	})
}
