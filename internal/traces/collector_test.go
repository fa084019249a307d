package traces_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/traces"
	"gitops-agent/internal/traces/collectortest"
	"gitops-agent/reconcile/report"
)

const endpointProblem = "endpoint: want the address of a collector, such as https://host:4318, without user and query"

const commit = "1111111111111111111111111111111111111111"

// sent counts spans by result.
type sent struct {
	mu      sync.Mutex
	results map[traces.Result]int
}

func (s *sent) add(r traces.Result, spans int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[r] += spans
}

// refuse tells a recorder of a refusal, which is one span, and sends it.
func refuse(t *testing.T, collector traces.Collector) map[traces.Result]int {
	t.Helper()
	s := &sent{results: map[traces.Result]int{}}
	r := traces.New(traces.Options{Cluster: "home", Version: "v1.2.3", OnResult: s.add})
	collector.Timeout = 10 * time.Second
	r.Configure(traces.Settings{Branch: "main", Collector: &collector})
	r.Refused(report.Refused{Commit: commit, Reason: "unsigned", Error: "no signature", Since: time.Now()})
	ended, cancel := context.WithCancel(t.Context())
	cancel() // each batch is tried once
	r.Run(ended)
	return s.results
}

// A collector gets spans by OTLP over HTTP, with the headers that the file has at that time.
func TestCollector(t *testing.T) {
	t.Parallel()
	c := collectortest.New(t)
	headers := "# of the collector\nAuthorization: Bearer S3cret\nX-Scope-OrgID:  home\n"
	collector := traces.Collector{Endpoint: c.URL(), Headers: func() (string, error) { return headers, nil }}
	if err := collector.Check(); err != nil {
		t.Fatal(err)
	}
	if got := refuse(t, collector); got[traces.Exported] != 1 {
		t.Fatalf("got %v, want one span exported", got)
	}
	headers = "Authorization: Bearer other\n"
	collector.Endpoint += "/v1/traces"
	if got := refuse(t, collector); got[traces.Exported] != 1 {
		t.Fatalf("got %v, want one span exported", got)
	}
	h := c.Headers()
	if h[0].Get("Authorization") != "Bearer S3cret" || h[0].Get("X-Scope-OrgID") != "home" || h[1].Get("Authorization") != "Bearer other" {
		t.Errorf("got headers %v, want those of the file", h)
	}
	s := c.Spans()[0]
	if s.Name != "revision" || s.Parent != "" || !s.Failed || s.Problem != "unsigned: no signature" || s.Attributes["vcs.ref.head.revision"] != commit ||
		s.Resource["service.name"] != "gitops-agent" || s.Resource["service.version"] != "v1.2.3" || s.Resource["gitops_agent.cluster"] != "home" {
		t.Errorf("got %+v, want the refusal and who sent it", s)
	}
}

func TestAnswersOfACollector(t *testing.T) {
	t.Parallel()
	t.Run("rejects spans", func(t *testing.T) {
		t.Parallel()
		c := collectortest.New(t)
		c.Reject(1)
		if got := refuse(t, traces.Collector{Endpoint: c.URL()}); got[traces.Failed] != 1 || got[traces.Exported] != 0 {
			t.Errorf("got %v, want the span failed", got)
		}
	})
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		c := collectortest.New(t)
		for _, status := range []int{http.StatusUnauthorized, http.StatusServiceUnavailable} {
			c.Answer(status)
			if got := refuse(t, traces.Collector{Endpoint: c.URL()}); got[traces.Failed] != 1 {
				t.Errorf("%d: got %v, want the span failed", status, got)
			}
		}
	})
	for name, answer := range map[string]http.HandlerFunc{
		"empty": func(http.ResponseWriter, *http.Request) {},
		"text":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("thank you\n\xff\x0a")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			if got := refuse(t, traces.Collector{Endpoint: server.URL}); got[traces.Exported] != 1 {
				t.Errorf("got %v, want the span exported: the status says so", got)
			}
		})
	}
	t.Run("redirect", func(t *testing.T) {
		t.Parallel()
		other := collectortest.New(t)
		server := httptest.NewServer(http.RedirectHandler(other.URL()+"/v1/traces", http.StatusTemporaryRedirect))
		t.Cleanup(server.Close)
		if got := refuse(t, traces.Collector{Endpoint: server.URL}); got[traces.Failed] != 1 || len(other.Spans()) != 0 {
			t.Errorf("got %v, want nothing sent to another host", got)
		}
	})
}

func TestCollectorProblems(t *testing.T) {
	t.Parallel()
	headers := func(text string) func() (string, error) { return func() (string, error) { return text, nil } }
	for name, test := range map[string]struct {
		collector traces.Collector
		want      string
	}{
		"no endpoint":   {traces.Collector{}, endpointProblem},
		"scheme":        {traces.Collector{Endpoint: "grpc://localhost:4317"}, endpointProblem},
		"user":          {traces.Collector{Endpoint: "https://user:S3cret@tempo.test"}, endpointProblem},
		"query":         {traces.Collector{Endpoint: "https://tempo.test/?token=S3cret"}, endpointProblem},
		"authority":     {traces.Collector{Endpoint: "https://tempo.test", CAFile: "/nowhere/ca.pem"}, "open /nowhere/ca.pem: no such file or directory"},
		"header":        {traces.Collector{Endpoint: "https://tempo.test", Headers: headers("\nS3cret\n")}, `line 2: want a header such as "Authorization: Bearer …"`},
		"header name":   {traces.Collector{Endpoint: "https://tempo.test", Headers: headers("S3 cret: x\n")}, `line 1: want a header such as "Authorization: Bearer …"`},
		"header value":  {traces.Collector{Endpoint: "https://tempo.test", Headers: headers("X: S3cret\x00\n")}, `line 1: want a header such as "Authorization: Bearer …"`},
		"not encrypted": {traces.Collector{Endpoint: "http://tempo.test", Headers: headers("X: S3cret\n")}, "http would send the headers unencrypted: use https"},
		"file":          {traces.Collector{Endpoint: "https://tempo.test", Headers: func() (string, error) { return "", errors.New("no file") }}, "no file"},
	} {
		if err := test.collector.Check(); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if err := (traces.Collector{Endpoint: "http://tempo.test"}).Check(); err != nil {
		t.Errorf("got %v, want no error without headers", err)
	}
}
