package reconcile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// TestIncidentVMIDLineIsRemoved removes the vmid line of a manifest. The manifest still describes the same guest: the agent neither destroys the
// guest nor makes a second one, and refuses another manifest with its vmid.
func TestIncidentVMIDLineIsRemoved(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		manifest string
		vmid     int
		found    string // the config of a guest that existed before
	}{
		"made":          {vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}"), 201, ""},
		"made_held":     {vmYAML("web-1", 201, "state: running"), 201, ""},
		"container":     {dnsYAML("state: running", "lifecycle: {destroy: allow}"), 210, ""},
		"adopted":       {adoptedERP("adopt: ifUnmanaged", "lifecycle: {destroy: allow}"), 105, "name: erp\nmemory: 1024\nscsi0: local-lvm:8\n"},
		"adopted_power": {adoptedERP("adopt: ifUnmanaged", "state: running", "lifecycle: {destroy: allow}"), 105, "name: erp\nmemory: 1024\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				if test.found != "" {
					_, err := l.sim.AddVM(pvesim.Guest{VMID: 105, Config: test.found})
					l.ok(err)
				}
				l.files["guest.yaml"], l.files["keep.yaml"] = test.manifest, vmYAML("keep-1", 209)
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				config := l.sim.Config(test.vmid)
				l.files["guest.yaml"] = strings.Replace(withoutVMID(test.manifest), "  adopt: ifUnmanaged\n", "", 1)
				l.push("no vmid", alice)
				l.converge()
				w.wantNoWrites(t)
				if got := l.sim.Config(test.vmid); got != config || l.sim.Config(200) != "" {
					t.Errorf("got %q and a second guest %q, want only %q", got, l.sim.Config(200), config)
				}
				l.files["other.yaml"] = vmYAML("other-1", test.vmid)
				l.push("its vmid for another one", alice)
				if r := l.refused(); r.Reason != report.RefusedManifests {
					t.Errorf("got %s refused for %s, want it for the manifests", r.Commit, r.Reason)
				}
				w.wantNoWrites(t)
			})
		})
	}
}

// adoptedERP returns the manifest of a guest that existed before, erp with vmid 105. It has no source.
func adoptedERP(lines ...string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: erp}\nspec:\n  vmid: 105\n" + indented(lines)
}

// TestIncidentAssignmentIsLost damages the record that assigned a vmid, and repairs the journal as its documentation describes.
func TestIncidentAssignmentIsLost(t *testing.T) {
	runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
		l.files["auto.yaml"] = withoutVMID(vmYAML("auto", 299, "state: running", "lifecycle: {destroy: allow}"))
		l.files["keep.yaml"] = vmYAML("keep-1", 250)
		l.push("two guests", alice)
		stop := l.start()
		l.converge()
		stop()
		dir := filepath.Join(l.state, "journal")
		segments, err := filepath.Glob(filepath.Join(dir, "*.journal"))
		l.ok(err)
		flipped := 0
		for _, segment := range segments {
			content, err := os.ReadFile(segment)
			l.ok(err)
			if at := bytes.Index(content, []byte(`"assigned"`)); at >= 0 {
				content[at+2] ^= 1
				flipped++
				l.ok(os.WriteFile(segment, content, 0o600))
			}
		}
		if flipped != 1 {
			t.Fatalf("got %d records of an assignment, want one", flipped)
		}
		_, err = journal.Repair(dir)
		l.ok(err)
		w.reset()
		defer l.start()()
		l.converge()
		w.wantNoWrites(t)
		auto := journal.Label{Kind: "VirtualMachine", Name: "auto"}
		if got := l.journal.State().Assigned[auto]; got != 200 || !l.sim.Running(200) || l.sim.Config(201) != "" {
			t.Errorf("got vmid %d assigned, 200 running %t and %q as 201, want 200 as it was", got, l.sim.Running(200), l.sim.Config(201))
		}
	})
}

// TestIncidentLabelMovesToAnotherVMID gives a manifest another vmid, which needs an approval. The label of the guest with the old vmid is still in the repository, so its
// destroy needs a signature although its lifecycle allows it.
func TestIncidentLabelMovesToAnotherVMID(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		var failed atomic.Int64
		l.opts.Hooks.OnEvent = onOutcome(func(o report.StepOutcome) {
			if o.Err != nil {
				failed.Add(1)
			}
		})
		l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}", "state: running")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 231, "lifecycle: {destroy: allow}")
		l.waitForAcceptance(l.push("another vmid", alice))
		moves := l.waitForHeldGuard(201, "vmid: 201 -> 231")
		time.Sleep(10 * time.Minute)
		if l.sim.Config(231) != "" || l.guest(l.engine.Report(), 201).Sync != report.Synced {
			t.Fatal("got a second guest before the other vmid was approved, want the first one in sync")
		}
		l.waitForAcceptance(l.push(approve(moves), olga))
		l.waitForHold(201, reason.Approval)
		digest := l.digestOfHold(201)
		l.waitForCondition(201, string(plan.Orphaned), "VirtualMachine/web-1", "231")
		if got := l.sim.Effects(201, pvesim.Destroyed); got != 0 {
			t.Fatalf("got %d destroys without a signature, want none", got)
		}
		l.approve(digest)
		l.converge()
		if l.sim.Effects(201, pvesim.Destroyed) != 1 || l.sim.Config(231) == "" {
			t.Errorf("got 201 destroyed %d times and %q as 231, want one destroy, and the other guest created", l.sim.Effects(201, pvesim.Destroyed), l.sim.Config(231))
		}
		if failed.Load() > 0 {
			t.Errorf("got %d failed steps, want the approved destroy done in one step", failed.Load())
		}
	})
}
