package reconcile_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
)

// TestClaimIsConfirmedWhenTheGuestIsRead restarts the agent with ownership records that no lane confirmed, as after a turn that ended early. A
// reading that shows the marker confirms them, without a write to the cluster: otherwise a later removal would be held for lack of proof.
func TestClaimIsConfirmedWhenTheGuestIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, newSim(t, pvesim.Options{}))
		l.files["cluster.yaml"], l.files["web.yaml"], l.files["dns.yaml"] = clusterYAML, vmYAML("web-1", 201), dnsYAML()
		l.push("two guests", alice)
		l.once()
		j, err := journal.Open(journal.Options{Dir: filepath.Join(l.state, "journal")})
		l.ok(err)
		uuid := j.State().Owned[201].UUID
		for _, owned := range j.State().Owned {
			owned.Claiming, owned.UUID = true, ""
			l.ok(j.Append(t.Context(), owned))
		}
		l.ok(j.Close())
		l.sim.ResetCounters()
		l.once()
		for vmid, owned := range l.journal.State().Owned {
			if owned.Claiming {
				t.Errorf("guest %d: got a record that is still claiming after the guest was read, want it confirmed", vmid)
			}
		}
		if got := l.journal.State().Owned[201].UUID; got != uuid || uuid == "" {
			t.Errorf("got uuid %q in the record, want %q", got, uuid)
		}
		if got := l.sim.Writes(); got != 0 {
			t.Errorf("got %d writes to the cluster, want none", got)
		}
	})
}
