package wire

import (
	"context"
	"net/http"
	"time"

	"gitops-agent/internal/proxmox/route"
	"gitops-agent/reconcile/cluster"
)

// probeTimeout bounds one probe.
const probeTimeout = 10 * time.Second

// probe starts a read of the cluster's status from each endpoint that is down and due, in the background. It uses the credentials of req.
//
// The read needs the token, the cluster's file system and a process that answers. An endpoint that fails only other reads comes up again, but does not
// become the current endpoint by that.
func (t *Transport) probe(req *http.Request) {
	for _, at := range t.endpoints.toProbe(time.Now()) {
		t.endpoints.count(at, cluster.ExtraProbe)
		t.probes.Go(func() {
			defer t.endpoints.probed(at)
			ctx, cancel := context.WithTimeoutCause(t.life, probeTimeout, ErrTimeout)
			defer cancel()
			target := *t.endpoints.url(at)
			target.Path = route.Base + "/cluster/status"
			probe := (&http.Request{Method: http.MethodGet, URL: &target, Host: target.Host, Header: req.Header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1})
			x := &Exchange{Method: http.MethodGet, Route: route.ClusterInfo, Path: "/cluster/status"}
			a := t.attempt(ctx, probe.WithContext(ctx), x, at)
			a.judge(x, false)
			switch {
			case t.life.Err() != nil:
			case a.rank == rankValid:
				t.endpoints.succeeded(ctx, at)
			default:
				t.endpoints.failed(ctx, at, a.fault(), a.problem())
			}
		})
	}
}
