package reconcile_test

import (
	"errors"
	"testing"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
)

// Who runs the engine once branches on why it could not do its work, so the error keeps what the cluster said.
func TestOnceKeepsTheCause(t *testing.T) {
	bubble(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("one guest", alice)
		l.ok(l.sim.Inject(pvesim.Fault{Method: "GET", Kind: pvesim.ProxyStatus, Status: 595, Times: -1}))
		l.open()
		defer l.close()
		if _, err := l.engine.Once(l.Context()); !errors.Is(err, reconcile.ErrNotReady) {
			t.Errorf("got %v, want reconcile.ErrNotReady", err)
		}
	})
}
