package reconcile_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/journal"
)

// TestRolloutAsksPrometheus changes machines as long as a query passes. After the second batch a service is down: no machine of the third one is changed,
// and an order continues when it is up again.
func TestRolloutAsksPrometheus(t *testing.T) {
	const query = `min(up{job="web"})`
	var watched atomic.Pointer[fleet]
	var repaired, asked atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // outside of the bubble: its goroutines wait for the network
		up := 1
		if f := watched.Load(); f != nil && len(f.changed()) > 1 && !repaired.Load() {
			up = 0
		}
		asked.Store(asked.Load() || r.URL.Path == "/api/v1/query" && r.URL.Query().Get("query") == query)
		_, _ = fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "%d"]}]}}`, up)
	}))
	t.Cleanup(server.Close)
	allow, err := health.ParseAllow([]string{strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	rollout := fmt.Sprintf("  rollout: {canary: 1, maxUnavailable: 2, failAfter: 2m, health: {prometheus: {server: %q, query: %q}}}\n", server.URL, query)
	runLab(t, []labOption{func(o *reconcile.Options) { o.Health.Allow = allow }}, func(t *testing.T, l *lab) {
		f := startFleet(l, 6, rollout)
		defer func() { f.stops() }()
		watched.Store(f)
		f.class("2Gi", rollout)
		revision := f.push("more memory", alice)
		r := f.waitForRollout(journal.RolloutFailed, 2)
		if !strings.Contains(r.Why, "query of "+server.URL+": 1 of 1 values are 0") || !asked.Load() {
			t.Errorf("got %q, want the query named", r.Why)
		}
		if got := f.changed(); !slices.Equal(got, upTo(3)) {
			t.Errorf("got %v changed, want the machines of two batches", got)
		}
		repaired.Store(true)
		f.order("promote Rollout/web revision=" + revision)
		f.converge()
		if got := f.changed(); !slices.Equal(got, upTo(6)) || f.rollout().State != journal.RolloutDone {
			t.Errorf("got %v changed and %+v, want all and the rollout done", got, f.rollout())
		}
	})
}
