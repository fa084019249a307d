package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// webSet is a set of virtual machines with one row for each member. The cluster's range gives them their vmids.
func webSet(rows ...string) string {
	return "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestSet\nmetadata: {name: web}\nspec:\n" +
		"  virtualMachine: {node: pve1, source: {clone: {name: tmpl-debian-12}}, memory: {size: 1Gi}}\n  members:\n  - {" + strings.Join(rows, "}\n  - {") + "}\n"
}

// vmidOf returns the vmid of a guest in the report, or 0.
func (l *lab) vmidOf(label string) int {
	for _, g := range l.engine.Report().Guests {
		if g.Label() == label {
			return g.VMID
		}
	}
	return 0
}

// TestGuestSetMembersAreGuests lets the members of a set converge. A vmid belongs to the name of a member: other rows, another order of the rows and a
// file for the guest change nothing. A removed row is held like a removed file.
func TestGuestSetMembersAreGuests(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["set.yaml"] = webSet("name: web-1", "name: web-2", "name: web-3, memory: {size: 2Gi}")
		l.push("a set of three", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		vmids := map[string]int{}
		for _, name := range []string{"web-1", "web-2", "web-3"} {
			vmids[name] = l.vmidOf("VirtualMachine/" + name)
		}
		if got := l.sim.Value(vmids["web-3"], "memory"); got != "2048" || l.sim.Value(vmids["web-1"], "memory") != "1024" {
			t.Errorf("got %s MiB for web-3, want 2048 of its row, and 1024 of the set for web-1", got)
		}

		stop()
		stop = func() {}
		l.sim.ResetCounters()
		l.files["set.yaml"] = webSet("name: web-3, memory: {size: 2Gi}", "name: web-1")
		l.files["web-2.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: web-2}\n" +
			"spec: {node: pve1, source: {clone: {name: tmpl-debian-12}}, memory: {size: 1Gi}}\n"
		l.push("web-2 has a file", alice)
		stop = l.start()
		l.converge()
		time.Sleep(10 * time.Minute)
		for name, vmid := range vmids {
			if got := l.vmidOf("VirtualMachine/" + name); got != vmid || len(l.sim.Counters().Effects[vmid]) > 0 {
				t.Errorf("%s: got vmid %d and effects %v, want %d and none", name, got, l.sim.Counters().Effects[vmid], vmid)
			}
		}

		l.files["set.yaml"] = webSet("name: web-1")
		l.push("web-3 is gone", alice)
		l.digestOfHold(vmids["web-3"])
		held := l.heldStep(vmids["web-3"])
		if held.Reason != reason.Approval || l.destroyed(vmids["web-3"]) {
			t.Errorf("got %+v, want the destroy of web-3 held for an approval", held)
		}
	})
}

// TestGuestSetScope lets wanda, who may change only the guests web-*, change rows of a set that has other guests too.
func TestGuestSetScope(t *testing.T) {
	t.Parallel()
	shared := webSet("name: web-1", "name: db-1")
	tests := map[string]struct{ set, outside string }{
		"own_row":       {webSet("name: web-1, memory: {size: 4Gi}", "name: db-1"), ""},
		"new_row":       {webSet("name: web-1", "name: web-2", "name: db-1"), ""},
		"order_of_rows": {webSet("name: db-1", "name: web-1"), ""},
		"other_row":     {webSet("name: web-1", "name: db-1, memory: {size: 4Gi}"), "VirtualMachine/db-1"},
		"removed_row":   {webSet("name: web-1"), "VirtualMachine/db-1"},
		"shared_value":  {strings.Replace(shared, "1Gi", "4Gi", 1), "VirtualMachine/db-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.files["set.yaml"] = shared
				l.push("a set", alice)
				l.once()
				l.files["set.yaml"] = test.set
				l.push(name, wanda)
				refused := l.once().Source.Refused
				switch {
				case test.outside == "" && refused != nil:
					t.Errorf("got the change refused for %s, want it accepted", refused.Error)
				case test.outside != "" && (refused == nil || refused.Reason != report.RefusedScope || !strings.Contains(refused.Error, test.outside)):
					t.Errorf("got %+v, want it refused for %s", refused, test.outside)
				}
			})
		})
	}
}

// TestGuestSetDependencies creates a member only when the member that it depends on is there.
func TestGuestSetDependencies(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["set.yaml"] = webSet("name: web-1, vmid: 201, dependsOn: [VirtualMachine/web-2]", "name: web-2, vmid: 202")
		l.push("a set", alice)
		defer l.start()()
		l.converge()
		var order []int
		for _, step := range l.steps {
			if l.sim.Effects(step.Step.Guest.VMID, pvesim.Cloned) > 0 && !slices.Contains(order, step.Step.Guest.VMID) {
				order = append(order, step.Step.Guest.VMID)
			}
		}
		if !slices.Equal(order, []int{202, 201}) {
			t.Errorf("got the guests created in the order %v, want 202 before 201", order)
		}
	})
}

// TestGuestSetOrders runs an order about one member: it is about the guest, wherever its manifest is. An order about a guest that is no member has no effect.
func TestGuestSetOrders(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.trustOtto()
		l.files["set.yaml"] = webSet("name: web-1, vmid: 201, state: running", "name: web-2, vmid: 202, state: running")
		l.push("a set", alice)
		defer l.start()()
		l.converge()
		l.sim.ResetCounters()
		l.order("reboot VirtualMachine/web-2")
		eventually(l, "the reboot", func() bool { return l.orderOf("reboot VirtualMachine/web-2").State == journal.OrderRun })
		if l.sim.Effects(202, pvesim.Stopped) != 1 || l.sim.Effects(201, pvesim.Stopped) != 0 {
			t.Errorf("got %d and %d stops, want web-2 restarted alone", l.sim.Effects(202, pvesim.Stopped), l.sim.Effects(201, pvesim.Stopped))
		}
		l.order("reboot VirtualMachine/web")
		if o := l.orderOf("reboot VirtualMachine/web"); o.State != journal.OrderRefused {
			t.Errorf("got %s, want an order about the set refused", o.State)
		}
		l.files["set.yaml"] = webSet("name: web-1, vmid: 201, state: running")
		l.files["web-2.yaml"] = vmYAML("web-2", 202, "state: running", "memory: {size: 1Gi}")
		l.push("web-2 has a file", alice)
		l.converge()
		l.order("shutdown VirtualMachine/web-2 for=30m")
		eventually(l, "the stop", func() bool { return !l.sim.Running(202) })
		if !l.sim.Running(201) {
			t.Error("web-1 does not run, want it left alone")
		}
	})
}

// TestGuestSetGuards weakens a guard for all members by the set: it is one step about all of them. A member with a stronger guard has a step of its own, and
// a row that is removed keeps its guard.
func TestGuestSetGuards(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["set.yaml"] = webSet("name: web-1, vmid: 201", "name: web-2, vmid: 202", "name: web-3, vmid: 203, lifecycle: {destroy: deny}")
		l.push("a set", alice)
		defer l.start()()
		l.converge()
		l.files["set.yaml"] = strings.Replace(webSet("name: web-1, vmid: 201", "name: web-2, vmid: 202", "name: web-3, vmid: 203"), "memory:", "lifecycle: {destroy: allow}, memory:", 1)
		l.push("weaker for all", alice)
		digests := map[int]string{}
		for _, vmid := range []int{201, 202, 203} {
			digests[vmid] = l.digestOfHold(vmid)
			if h := l.heldStep(vmid); h.Reason != reason.Guard {
				t.Errorf("%d: got %+v, want the weaker guard held", vmid, h)
			}
		}
		if digests[201] != digests[202] || digests[201] == digests[203] {
			t.Errorf("got the digests %v, want one for web-1 and web-2, and another one for web-3", digests)
		}
		l.approve(digests[202])
		eventually(l, "the weaker guards", func() bool { return l.journal.State().Guarded[202].Destroy == "allow" })
		if g := l.journal.State().Guarded; g[201].Destroy != "allow" || g[203].Destroy != "deny" {
			t.Errorf("got the guards %q and %q, want the one of web-1 weaker and the one of web-3 as it was", g[201].Destroy, g[203].Destroy)
		}
		l.files["set.yaml"] = webSet("name: web-1, vmid: 201, lifecycle: {destroy: allow}")
		l.push("two rows less", alice)
		eventually(l, "the destroy of web-2", func() bool { return l.destroyed(202) })
		if h := l.heldStep(203); h.Reason != reason.ManifestForbids || l.destroyed(203) {
			t.Errorf("got %+v, want the destroy of web-3 denied as before", h)
		}
	})
}
