package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// withoutVMID removes the vmid of a manifest, so that the vmid comes from the Cluster's range.
func withoutVMID(manifest string) string {
	before, after, _ := strings.Cut(manifest, "  vmid:")
	_, after, _ = strings.Cut(after, "\n")
	return before + after
}

// TestAssignedVMIDIsTaken uses in a manifest the vmid that was assigned to another guest.
func TestAssignedVMIDIsTaken(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = withoutVMID(vmYAML("web-1", 201))
		l.files["keep.yaml"] = vmYAML("keep-1", 209, "memory: {size: 2Gi}")
		l.push("one guest without a vmid", alice)
		defer l.start()()
		l.converge()
		l.files["db.yaml"] = vmYAML("db-1", 200)
		l.push("its vmid for another one", alice)
		if r := l.refused(); r.Reason != report.RefusedManifests || !strings.Contains(r.Error, "200") {
			t.Errorf("got reason %s: %s, want the manifests refused for vmid 200", r.Reason, r.Error)
		}
		l.ok(l.sim.Edit(209, "memory", "4096"))
		eventually(t, "the repair by the last good state", func() bool { return l.sim.Value(209, "memory") == "2048" })
	})
}

// TestSingleRunAssignsAndCreates adds a guest without a vmid and runs the agent once.
func TestSingleRunAssignsAndCreates(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = withoutVMID(vmYAML("web-1", 201, "state: running"))
		l.push("one guest without a vmid", alice)
		if r := l.once(); !r.Converged || r.QueueDepth != 0 || l.sim.Effects(200, pvesim.Cloned) != 1 {
			t.Errorf("got converged %t with %d busy lanes and %+v, want web-1 made as 200", r.Converged, r.QueueDepth, r.Guests)
		}
	})
}

// TestUnusedVMIDsAreReleased removes a manifest before its guest could be made.
func TestUnusedVMIDsAreReleased(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = withoutVMID(strings.Replace(vmYAML("web-1", 201), "tmpl-debian-12", "no-such-template", 1))
		l.push("one guest without a vmid", alice)
		defer l.start()()
		web := journal.Label{Kind: "VirtualMachine", Name: "web-1"}
		eventually(t, "a vmid", func() bool { return l.journal.State().Assigned[web] == 200 })
		delete(l.files, "web.yaml")
		l.files["db.yaml"] = withoutVMID(vmYAML("db-1", 201))
		l.push("never mind", alice)
		eventually(t, "the vmid to be free", func() bool { return l.journal.State().Assigned[web] == 0 })
		l.converge()
	})
}

// TestIncidentReusedVMIDIsDestroyedWithItsManifest replaces an owned guest by a foreign one while the agent is stopped, and removes the manifest.
func TestIncidentReusedVMIDIsDestroyedWithItsManifest(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		stop()
		l.ok(l.sim.RemoveGuest(201))
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Config: otherConfig})
		l.ok(err)
		delete(l.files, "web.yaml")
		l.push("remove", alice)
		defer l.start()()
		l.converge()
		r := l.engine.Report()
		if _, owned := l.journal.State().Owned[201]; owned || len(r.Guests) != 1 || len(r.Unmanaged) != 1 || r.Unmanaged[0].VMID != 201 {
			t.Errorf("got guests %+v and unmanaged %+v (owned %t), want 201 unmanaged and not listed as owned", r.Guests, r.Unmanaged, owned)
		}
		if l.sim.Config(201) == "" {
			t.Error("got the other guest destroyed, want it unchanged")
		}
	})
}

// TestIncidentVMIDIsTakenBeforeTheCreate lets another client use the vmid of a create first. The record of the attempt neither allows the agent to
// change that guest, nor prevents its adoption on request.
func TestIncidentVMIDIsTakenBeforeTheCreate(t *testing.T) {
	runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
		p.setHooks(hooks{write: func(call cluster.Call) {
			if call.Op == cluster.OpCreate && call.VMID == 201 {
				_, _ = l.sim.AddVM(pvesim.Guest{VMID: 201, Config: "name: dave\nmemory: 512\n"}) // succeeds once; later the guest exists
			}
		}})
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
		l.push("two guests", alice)
		defer l.start()()
		eventually(t, "the conflict", func() bool {
			r := l.engine.Report()
			return len(r.Guests) == 2 && hasCondition(l.guest(r, 201), plan.IdentityConflict, reason.DifferentGuest)
		})
		time.Sleep(10 * time.Minute)
		if got := p.count(cluster.OpConfig, 201); got != 0 {
			t.Fatalf("got %d writes to another client's guest, want none", got)
		}
		l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}", "adopt: ifUnmanaged")
		l.push("take it then", alice)
		l.converge()
		if got := l.sim.Value(201, "memory"); got != "2048" {
			t.Errorf("got memory %s after the adoption, want 2048", got)
		}
		delete(l.files, "web.yaml")
		l.push("give it up", alice)
		if l.digestOfHold(201) == "" || l.sim.Effects(201, pvesim.Destroyed) != 0 {
			t.Error("got an adopted guest destroyed, want its destroy held for an approval")
		}
	})
}
