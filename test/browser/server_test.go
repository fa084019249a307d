//go:build integration

package browser

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/status"
	"gitops-agent/reconcile/report"
)

// server serves a fleet at an address of this host, as the agent does.
type server struct {
	address string // http://127.0.0.1:port

	mu     sync.Mutex
	report report.Report
}

// serve serves a fleet until the test ends.
func serve(t testing.TB, f fleet) *server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: "http://" + listener.Addr().String(), report: f.report}
	handler := status.Handler(status.Options{Report: s.newest, Values: f.values, History: f.history, Version: "1.2.3"})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- status.Serve(ctx, listener, handler, status.NewConnections(status.ConnectionOptions{}))
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *server) newest() report.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// publish changes the report, as a cycle of the engine does: readers of the old one do not see the change.
func (s *server) publish(change func(r *report.Report)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.report
	next.Guests = append([]report.Guest(nil), next.Guests...)
	next.Cycle++
	next.Time = time.Now()
	change(&next)
	s.report = next
}
