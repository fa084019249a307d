package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
)

// adopted returns the manifest that adopt writes for a guest.
func (l *lab) adopted(vmid int, name string) string {
	l.Helper()
	seen, err := observe.ReadAll(l.Context(), l.cluster, []int{vmid}, nil, nil)
	l.ok(err)
	a, err := manifest.Adopt(seen.Guests[vmid], manifest.AdoptOptions{Cluster: "home", Name: name})
	l.ok(err)
	return string(a.Data)
}

// TestIncidentAdoptedGuestIsCreatedAgainEmpty adopts a guest that a user made, in a cluster whose new guests are clones. Then a user destroys the
// guest.
func TestIncidentAdoptedGuestIsCreatedAgainEmpty(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 105, Config: "name: erp\nmemory: 4096\nscsi0: local-lvm:8\n", Running: true})
		l.ok(err)
		l.files["cluster.yaml"] = clusterYAML + "  defaults: {virtualMachine: {source: {clone: {name: tmpl-debian-12}}}}\n"
		l.files["erp.yaml"] = l.adopted(105, "erp")
		l.push("take erp over", alice)
		defer l.start()()
		l.converge()
		l.ok(l.sim.RemoveGuest(105))
		eventually(t, "the report that it is gone", func() bool { return hasCondition(l.guest(l.engine.Report(), 105), plan.Blocked, reason.Impossible) })
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(105, pvesim.Cloned) + l.sim.Effects(105, pvesim.Created); got != 0 {
			t.Errorf("got %d creations, want its vmid kept free for a restore", got)
		}
	})
}
