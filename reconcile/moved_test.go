package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/writer"
)

// TestMovedDiskLeavesItsVolumeBehind moves the disk of a stopped guest to another storage. The agent keeps the old volume and reports it.
func TestMovedDiskLeavesItsVolumeBehind(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {storage: local, size: 1Gi}}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 1Gi}}")
		l.push("another storage", alice)
		l.converge()
		if config := l.sim.Config(201); !strings.Contains(config, "scsi1: local-lvm:") || !strings.Contains(config, "unused0: local:") {
			t.Errorf("got config %q, want the disk on local-lvm and its old volume kept", config)
		}
		if g := l.guest(l.engine.Report(), 201); !hasCondition(g, plan.Leftover, reason.LeftOver) {
			t.Errorf("got %+v, want a condition with the kept volume", g.Conditions)
		}
	})
}

// TestTemplateIsMadeOnce converts a virtual machine and a container to templates, each after an approval, because the conversion cannot be undone.
// The container's task continues after a reply that contains no task.
func TestTemplateIsMadeOnce(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"], l.files["dns.yaml"] = vmYAML("web-1", 201), dnsYAML()
		l.push("two guests", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"], l.files["dns.yaml"] = vmYAML("web-1", 201, "template: true"), dnsYAML("template: true")
		l.push("two templates", alice)
		l.approve(l.digestOfHold(201))
		l.approve(l.digestOfHold(210))
		l.converge()
		for _, vmid := range []int{201, 210} {
			if got := l.sim.Effects(vmid, pvesim.Templated); got != 1 || hasCondition(l.guest(l.engine.Report(), vmid), plan.Failed, "") {
				t.Errorf("got %d templated %d times, want once and without a failure", vmid, got)
			}
		}
	})
}

// TestMoveBackNeedsAnApproval moves a disk back to its first storage. The move would leave a second complete volume on a storage, so it needs an
// approval.
func TestMoveBackNeedsAnApproval(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {storage: local, size: 1Gi}}")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {storage: local-lvm, size: 1Gi}}")
		l.push("another storage", alice)
		l.converge()
		l.files["web.yaml"] = vmYAML("web-1", 201, "disks: {scsi1: {storage: local, size: 1Gi}}")
		l.push("and back", alice)
		if l.digestOfHold(201) == "" || l.sim.Effects(201, pvesim.Moved) != 1 {
			t.Errorf("got %d moves, want one, and the second move held", l.sim.Effects(201, pvesim.Moved))
		}
	})
}

// TestPoolThatTheTokenCannotRead adds a guest to a pool whose members the token cannot read: the agent reports this once, and does not repeat the
// call without end.
func TestPoolThatTheTokenCannotRead(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.sim.AddPool("prod", "", 201)
		l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{
			{Path: "/", Role: "PVEAuditor"},
			{Path: "/vms", Role: "PVEVMAdmin"},
			{Path: "/pool/prod", Privileges: []string{"Pool.Allocate"}},
			{Path: "/pool/" + writer.Pool, Privileges: []string{"Pool.Allocate", "Pool.Audit"}},
		})
		l.files["web.yaml"] = vmYAML("web-1", 201, "pool: prod")
		l.push("into the pool", alice)
		eventually(l, "a condition with the privilege", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return hasCondition(g, plan.Failed, reason.Denied) && strings.Contains(g.Conditions[len(g.Conditions)-1].Message, "Pool.Audit on /pool/prod")
		})
		l.sim.ResetCounters()
		time.Sleep(20 * time.Minute)
		if got := l.sim.Counters().Routes["PUT /pools"]; got != 0 {
			t.Errorf("got %d further calls within twenty minutes, want none", got)
		}
	})
}
