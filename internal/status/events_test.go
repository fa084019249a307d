package status_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile/report"
)

// A stream names the edition of the page at once, and each newer one. There is a limit of streams, and one that ended makes room.
func TestEvents(t *testing.T) {
	t.Parallel()
	var cycle atomic.Uint64
	opts := status.Options{Streams: 1, Report: func() report.Report {
		r := steady()
		r.Cycle = cycle.Load()
		return r
	}}
	server := httptest.NewServer(status.Handler(opts))
	t.Cleanup(server.Close)
	open := func(ctx context.Context) *http.Response {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = reply.Body.Close() })
		return reply
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := open(ctx) //nolint:bodyclose // open closes it at the end of the test
	if got := first.Header.Get("Content-Type"); first.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("got %s and %q, want a stream", first.Status, got)
	}
	lines := bufio.NewScanner(first.Body)
	next := func(prefix string) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: ") {
				if !strings.HasPrefix(lines.Text(), "data: "+prefix) {
					t.Fatalf("got %q, want edition %s", lines.Text(), prefix)
				}
				return
			}
		}
		t.Fatal("the stream ended")
	}
	next("0-")
	cycle.Store(7)
	next("7-")
	second := open(t.Context()) //nolint:bodyclose // open closes it at the end of the test
	if second.StatusCode != http.StatusServiceUnavailable || second.Header.Get("Retry-After") == "" {
		t.Errorf("got %s, want the second stream refused for a while", second.Status)
	}
	cancel()
	for second.StatusCode != http.StatusOK { // until the server notices
		second = open(t.Context()) //nolint:bodyclose // open closes it at the end of the test
	}
}
