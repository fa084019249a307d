package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/plan"
)

// TestMovedDiskLeavesItsVolumeBehind moves the disk of a stopped guest to another storage. The old volume is kept, and told of.
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
		if g := l.guest(l.engine.Report(), 201); !hasCondition(g, plan.Leftover, plan.ReasonUnusedVolumes) {
			t.Errorf("got %+v, want a word on the volume that is left", g.Conditions)
		}
	})
}

// TestTemplateIsMadeOnce turns a virtual machine and a container into templates, each after an approval, since there is no way back. The
// container's task goes on behind a reply that names none.
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
				t.Errorf("got %d templated %d times, want once and without trouble", vmid, got)
			}
		}
	})
}

// TestMoveBackNeedsAnApproval has a disk moved back by hand. The next move would leave a second whole volume on its storage.
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
			t.Errorf("got %d moves, want one and the way back held", l.sim.Effects(201, pvesim.Moved))
		}
	})
}

// TestPoolThatTheTokenCannotRead keeps a guest in a pool whose members the token is not shown: it is told once, and not joined for ever.
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
			{Path: "/pool/" + intake.FloorPool, Privileges: []string{"Pool.Allocate", "Pool.Audit"}},
		})
		l.files["web.yaml"] = vmYAML("web-1", 201, "pool: prod")
		l.push("into the pool", alice)
		eventually(l, "a word on the privilege", func() bool {
			g := l.guest(l.engine.Report(), 201)
			return hasCondition(g, plan.Failed, plan.ReasonDenied) && strings.Contains(g.Conditions[len(g.Conditions)-1].Message, "Pool.Audit on /pool/prod")
		})
		l.sim.ResetCounters()
		time.Sleep(20 * time.Minute)
		if got := l.sim.Counters().Routes["PUT /pools"]; got != 0 {
			t.Errorf("got %d further calls within twenty minutes, want none", got)
		}
	})
}
