package metrics_test

import (
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"gitops-agent/reconcile/report"
)

func TestHistogramsHaveNativeAndClassicBuckets(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	recordConvergence(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	histograms := 0
	for _, f := range families {
		if f.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		histograms++
		if h := f.GetMetric()[0].GetHistogram(); h.Schema == nil || len(h.GetBucket()) == 0 {
			t.Errorf("%s: got %v, want native and classic buckets", f.GetName(), h)
		}
	}
	if histograms == 0 {
		t.Error("got no histogram")
	}
}

func TestNativeBucketsAreBounded(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	for d := time.Nanosecond; d < 1000*time.Hour; d += d/16 + 1 {
		m.QueueWait(d)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "gitops_agent_queue_wait_seconds" {
			continue
		}
		if got := len(f.GetMetric()[0].GetHistogram().GetPositiveDelta()); got < 20 || got > 100 {
			t.Errorf("got %d native buckets, want between 20 and 100", got)
		}
		return
	}
	t.Error("got no histogram of the queue")
}

// A branch may have a longer name than an exemplar may have characters.
func TestConvergenceHasTheCommitAsExemplar(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	m.Converged(report.ConvergedOutcome{Revision: strings.Repeat("long/", 50) + "@sha1:" + commit, Total: time.Second, SinceProof: 20 * time.Second})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			for _, bucket := range metric.GetHistogram().GetBucket() {
				for _, label := range bucket.GetExemplar().GetLabel() {
					if label.GetName() != "revision" || label.GetValue() != commit {
						t.Errorf("got exemplar %v, want revision %s", label, commit)
					}
					found[f.GetName()]++
				}
			}
		}
	}
	for name, want := range map[string]int{"push_to_converged_seconds": 1, "convergence_seconds": 1, "convergence_stage_seconds": 2} {
		if got := found["gitops_agent_"+name]; got != want {
			t.Errorf("got %d exemplars of %s, want %d", got, name, want)
		}
	}
}
