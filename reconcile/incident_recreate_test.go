package reconcile_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// creations returns how often a guest was created or cloned.
func (l *lab) creations(vmid int) int {
	return l.sim.Effects(vmid, pvesim.Created) + l.sim.Effects(vmid, pvesim.Cloned)
}

// blankYAML is the manifest of web-1, which is created with an empty disk.
func blankYAML(lines ...string) string {
	text := vmYAML("web-1", 201, append([]string{"disks: {scsi0: {storage: local-lvm, size: 4Gi}}"}, lines...)...)
	return strings.Replace(text, "source: {clone: {name: tmpl-debian-12}}", "source: {blank: {}}", 1)
}

// TestIncidentGuestDestroyedByHandIsCreatedEmpty destroys a managed guest by hand. With lifecycle.recreate: allow the agent creates the guest
// again, with approve it waits for an approval, and with deny an approval has no effect. The default is allow if every volume comes from the
// source.
func TestIncidentGuestDestroyedByHandIsCreatedEmpty(t *testing.T) {
	t.Parallel()
	const held, free = reason.Approval, reason.Name("")
	tests := map[string]struct {
		vmid     int
		manifest string
		want     reason.Name
	}{
		"machine_allow":   {201, blankYAML("lifecycle: {recreate: allow}"), free},
		"machine_approve": {201, vmYAML("web-1", 201, "lifecycle: {recreate: approve}"), held},
		"machine_deny":    {201, vmYAML("web-1", 201, "lifecycle: {recreate: deny}"), reason.ManifestForbids},
		"running":         {201, blankYAML("state: running"), held},

		"container_allow":   {210, dnsYAML("mounts: {mp0: {storage: local, size: 4Gi, path: /data}}", "lifecycle: {recreate: allow}"), free},
		"container_approve": {210, dnsYAML("lifecycle: {recreate: approve}"), held},
		"container_deny":    {210, dnsYAML("lifecycle: {recreate: deny}"), reason.ManifestForbids},

		"default_clone":             {201, vmYAML("web-1", 201), free},
		"default_clone_grown":       {201, vmYAML("web-1", 201, "disks: {scsi0: {size: 5Gi}}"), free},
		"default_clone_with_disk":   {201, vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 4Gi}}"), held},
		"default_blank":             {201, blankYAML(), held},
		"default_image":             {201, imageYAML("disks: {scsi0: {storage: local-lvm, size: 4Gi}}"), free},
		"default_image_with_disk":   {201, imageYAML("disks: {scsi0: {storage: local-lvm, size: 4Gi}, scsi1: {storage: local-lvm, size: 4Gi}}"), held},
		"default_container":         {210, dnsYAML(), free},
		"default_container_mounted": {210, dnsYAML("mounts: {mp0: {storage: local, size: 4Gi, path: /data}}"), held},
		"vmid_assigned_by_agent":    {200, strings.Replace(blankYAML(), "  vmid: 201\n", "", 1), held},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.files["guest.yaml"] = test.manifest
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				identity := l.journal.State().Owned[test.vmid].Identity
				l.sim.ResetCounters()
				l.removeByHand(test.vmid)
				if test.want == free {
					eventually(l, "the creation", func() bool { return l.creations(test.vmid) == 1 })
					l.converge()
					return
				}
				l.waitForHold(test.vmid, test.want)
				stop()
				stop = l.start()
				l.waitForHold(test.vmid, test.want)
				time.Sleep(30 * time.Minute)
				if got := l.creations(test.vmid); got != 0 {
					t.Fatalf("got %d creations of a guest that was destroyed by hand, want none", got)
				}
				if test.want != held {
					return
				}
				l.approve(l.digestOfHold(test.vmid))
				eventually(l, "the approved creation", func() bool { return l.creations(test.vmid) == 1 })
				l.converge()
				if got := l.journal.State().Owned[test.vmid]; got.Identity == identity || got.Claiming {
					t.Errorf("got record %+v, want a confirmed one with a new identity", got)
				}
				for _, order := range l.journal.State().Orders {
					if order.State != journal.OrderRun {
						t.Errorf("got the approval in state %s, want it used up", order.State)
					}
				}
				l.removeByHand(test.vmid)
				l.waitForHold(test.vmid, test.want)
				if got := l.creations(test.vmid); got != 1 {
					t.Errorf("got %d creations after the guest was destroyed a second time, want no further one", got)
				}
			})
		})
	}
}

// TestIncidentDeniedRecreationIsApproved approves the creation of a guest whose lifecycle became deny afterwards: the approval has no effect.
func TestIncidentDeniedRecreationIsApproved(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["guest.yaml"] = blankYAML()
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		l.removeByHand(201)
		digest := l.digestOfHold(201)
		l.files["guest.yaml"] = blankYAML("lifecycle: {recreate: deny}")
		l.push("deny", alice)
		l.waitForHold(201, reason.ManifestForbids)
		l.approve(digest)
		time.Sleep(30 * time.Minute)
		if got := l.creations(201); got != 0 {
			t.Errorf("got %d creations, want none", got)
		}
	})
}

// TestFailedCreationIsRepeatedWithoutApproval fails the first creations of a guest that needs an approval to be created again. The guest
// never existed, so the agent repeats the creation without an approval.
func TestFailedCreationIsRepeatedWithoutApproval(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid     int
		manifest string
		fault    pvesim.Fault
	}{
		"machine_task":      {201, blankYAML(), pvesim.Fault{Path: "/qemu$", Kind: pvesim.TaskFails, Text: "no space"}},
		"machine_rejected":  {201, blankYAML(), pvesim.Fault{Path: "/qemu$", Kind: pvesim.ErrorText, Text: "no space"}},
		"machine_lost":      {201, blankYAML(), pvesim.Fault{Path: "/qemu$", Kind: pvesim.DropBefore, Times: 1}},
		"clone_task":        {201, vmYAML("web-1", 201, "lifecycle: {recreate: deny}"), pvesim.Fault{Path: "/clone$", Kind: pvesim.TaskFails, Text: "no space"}},
		"container_task":    {210, dnsYAML("lifecycle: {recreate: deny}"), pvesim.Fault{Path: "/lxc$", Kind: pvesim.TaskFails, Text: "no space"}},
		"container_gateway": {210, dnsYAML("lifecycle: {recreate: deny}"), pvesim.Fault{Path: "/lxc$", Kind: pvesim.ProxyStatus, Status: 595}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				test.fault.Method, test.fault.Times = "POST", cmp.Or(test.fault.Times, 2)
				l.ok(l.sim.Inject(test.fault))
				l.files["guest.yaml"] = test.manifest
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				if got := l.creations(test.vmid); got != 1 {
					t.Errorf("got %d creations, want 1", got)
				}
			})
		})
	}
}

// imageYAML is the manifest of web-1, which is created from a disk image.
func imageYAML(lines ...string) string {
	return strings.Replace(vmYAML("web-1", 201, lines...), "source: {clone: {name: tmpl-debian-12}}",
		"source: {image: {from: \"local:import/debian-12-genericcloud-amd64.qcow2\"}}", 1)
}

// removeByHand removes a guest as if a person had destroyed it.
func (l *lab) removeByHand(vmid int) {
	l.Helper()
	l.ok(l.sim.RemoveGuest(vmid))
}

// waitForHold waits until a step of a guest is held for a reason.
func (l *lab) waitForHold(vmid int, reason reason.Name) {
	l.Helper()
	eventually(l, fmt.Sprintf("a hold of %d for %s", vmid, reason), func() bool {
		for _, g := range l.engine.Report().Guests {
			if g.VMID == vmid && len(g.Held) > 0 && g.Held[0].Reason == reason && g.Sync == report.OutOfSync {
				return true
			}
		}
		return false
	})
}
