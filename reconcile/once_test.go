package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/report"
)

// TestOnceKeepsTheCause checks that the error of a single run wraps the cluster's error, because the caller branches on the cause.
func TestOnceKeepsTheCause(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Kind: pvesim.ProxyStatus, Status: 595, Times: -1}))
		l.open()
		defer l.close()
		if _, err := l.engine.Once(l.Context()); !errors.Is(err, cluster.ErrNotReady) {
			t.Errorf("got %v, want reconcile.ErrNotReady", err)
		}
	})
}

// TestOnceFollowsDependencies checks that the end of a lane releases the guests that wait for it, also if no other lane is busy.
func TestOnceFollowsDependencies(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["a.yaml"] = vmYAML("a-1", 201, "memory: {size: 2Gi}", "state: running")
		l.files["b.yaml"] = vmYAML("b-1", 202, "memory: {size: 2Gi}", "state: running", "dependsOn: [VirtualMachine/a-1]")
		l.files["c.yaml"] = vmYAML("c-1", 203, "memory: {size: 2Gi}", "dependsOn: [VirtualMachine/b-1]")
		l.push("a chain", alice)
		l.opts.Hooks.OnReport = func(report.Report) { time.Sleep(time.Minute) } // every lane ends while the engine is busy
		if report := l.once(); !report.Converged || report.QueueDepth != 0 {
			t.Errorf("got converged %t and %d busy lanes, want a converged cluster and none", report.Converged, report.QueueDepth)
		}
	})
}
