package traces_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gitops-agent/internal/traces"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// BenchmarkStep measures what the engine spends on traces for a step with a call and ten reads of its task: without a collector, with one that takes every span, with
// one that refuses connections, and with one that does not answer. Spans beyond the queue are dropped.
func BenchmarkStep(b *testing.B) {
	taken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(taken.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is noticed only then
		<-r.Context().Done()
	}))
	b.Cleanup(silent.Close)
	for _, collector := range []struct{ name, url string }{{"none", ""}, {"reachable", taken.URL}, {"unreachable", closed.URL}, {"silent", silent.URL}} {
		b.Run(collector.name, func(b *testing.B) {
			r := traces.New(traces.Options{Cluster: "home"})
			if collector.url != "" {
				r.Configure(traces.Settings{Branch: "main", Collector: &traces.Collector{Endpoint: collector.url, Timeout: time.Second}})
			}
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); r.Run(ctx) }()
			const revision = "main@sha1:" + commit
			r.Poll(report.PollOutcome{Result: report.PollAccepted, Head: commit})
			step := plan.Step{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Op: cluster.OpStart, Class: guest.Live}
			b.ReportAllocs()
			for b.Loop() {
				r.StepBegun(report.StepBegun{Step: step, ID: "s1", Revision: revision})
				e := cluster.Exchange{Method: "POST", Route: "/nodes/{node}/{kind}/{vmid}/status/start", Code: "200", Endpoint: "pve1:8006", Node: "pve1", Step: "s1"}
				r.Request(e)
				e.Method, e.Route, e.UPID = "GET", "/nodes/{node}/tasks/{upid}/status", "UPID:pve1:000A:000B:6710A1B2:qmstart:201:gitops@pve!agent:"
				for range 10 {
					r.Request(e)
				}
				r.StepEnded(report.StepOutcome{Step: step, ID: "s1", Revision: revision, Result: journal.Done})
			}
			b.StopTimer()
			cancel()
			<-ended
		})
	}
}
