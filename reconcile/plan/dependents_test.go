package plan

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// fallingGuest is a guest that may be stopped or destroyed.
type fallingGuest struct {
	vmid    int
	name    string
	on      string // labels of its dependencies, with spaces between them
	op      cluster.Op
	removed bool // no manifest names it
	kept    bool // its manifest keeps the agent from the step
	observe bool
	unread  bool
	deny    bool // its last manifest had destroy: deny
}

func fallingOrder(guests ...fallingGuest) (Ordering, map[int]Step) {
	var p Plan
	var wanted []guest.Desired
	steps, kept, remembered := make(map[int]Step), make(map[int]bool), make(map[int]journal.Guarded)
	for _, g := range guests {
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: g.name, VMID: g.vmid}
		planned := Guest{Ref: ref, Managed: !g.removed}
		if g.op != "" {
			steps[g.vmid] = Step{Guest: ref, Op: g.op, Class: guest.Disruptive, Calls: []cluster.Call{{Op: g.op, Params: map[string]string{"state": "stopped"}}}}
			planned.Steps = []Step{steps[g.vmid]}
		}
		if g.unread {
			planned.Conditions = []Condition{{Type: NotObserved, Reason: reason.NotObserved}}
		}
		p.Guests = append(p.Guests, planned)
		kept[g.vmid] = g.kept
		if g.removed {
			guards := journal.Guarded{VMID: g.vmid, Rules: journal.GuardRules{DependsOn: g.on}}
			if g.deny {
				guards.Destroy = string(guest.Deny)
			}
			remembered[g.vmid] = guards
			continue
		}
		wanted = append(wanted, guest.Desired{Ref: ref, State: guest.Stopped, DependsOn: strings.Fields(g.on), Observe: g.observe})
	}
	return NewOrdering(p, wanted, OrderingOptions{Remembered: remembered, Kept: func(s Step) bool { return kept[s.Guest.VMID] }}), steps
}

// A guest is stopped or destroyed after the guests that depend on it, as far as these shall be down too.
func TestDependentsFirst(t *testing.T) {
	const db, app = "VirtualMachine/db", "VirtualMachine/app"
	stop := func(vmid int, name, on string) fallingGuest {
		return fallingGuest{vmid: vmid, name: name, on: on, op: cluster.OpShutdown}
	}
	destroy := func(vmid int, name, on string) fallingGuest {
		return fallingGuest{vmid: vmid, name: name, on: on, op: cluster.OpDestroy, removed: true}
	}
	with := func(g fallingGuest, change func(*fallingGuest)) fallingGuest { change(&g); return g }
	tests := map[string]struct {
		guests []fallingGuest
		want   string // what guest 1 waits for
	}{
		"alone":                 {[]fallingGuest{stop(1, "db", "")}, ""},
		"both_stop":             {[]fallingGuest{stop(1, "db", ""), stop(2, "app", db)}, app + " depends on it, and has to stop first"},
		"by_ha":                 {[]fallingGuest{with(stop(1, "db", ""), func(g *fallingGuest) { g.op = cluster.OpHASet }), with(stop(2, "app", db), func(g *fallingGuest) { g.op = cluster.OpHASet })}, app + " depends on it, and has to stop first"},
		"dependent_stays":       {[]fallingGuest{stop(1, "db", ""), {vmid: 2, name: "app", on: db, op: cluster.OpConfig}}, ""},
		"dependent_is_down":     {[]fallingGuest{stop(1, "db", ""), {vmid: 2, name: "app", on: db}}, ""},
		"dependent_unread":      {[]fallingGuest{stop(1, "db", ""), {vmid: 2, name: "app", on: db, unread: true}}, app + " depends on it, and was not read, so it may still run"},
		"dependent_observed":    {[]fallingGuest{stop(1, "db", ""), with(stop(2, "app", db), func(g *fallingGuest) { g.observe = true })}, ""},
		"both_destroyed":        {[]fallingGuest{destroy(1, "db", ""), destroy(2, "app", db)}, app + " depends on it, and has to be destroyed first"},
		"destroy_denied":        {[]fallingGuest{destroy(1, "db", ""), with(destroy(2, "app", db), func(g *fallingGuest) { g.kept = true })}, ""},
		"removed_unread":        {[]fallingGuest{destroy(1, "db", ""), with(destroy(2, "app", db), func(g *fallingGuest) { g.op, g.unread = "", true })}, app + " depends on it, and was not read, so it may still run"},
		"removed_denied_unread": {[]fallingGuest{destroy(1, "db", ""), with(destroy(2, "app", db), func(g *fallingGuest) { g.op, g.unread, g.deny = "", true, true })}, ""},
		"stop_after_a_destroy":  {[]fallingGuest{stop(1, "db", ""), destroy(2, "app", db)}, app + " depends on it, and has to be destroyed first"},
		"of_an_earlier_guest":   {[]fallingGuest{destroy(1, "db", ""), stop(2, "app", db), {vmid: 3, name: "db"}}, ""},
		"cycle_of_revisions":    {[]fallingGuest{destroy(1, "db", app), destroy(2, "app", db)}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, steps := fallingOrder(test.guests...)
			if got := o.Waits(steps[1]).Message; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever depends on what, also on guests of earlier revisions, one guest that shall be down never waits, and all are down in the end.
func TestDependentsNeverWaitForEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 6
		name := rapid.IntRange(1, most)
		var guests []fallingGuest
		for vmid := range rapid.IntRange(1, most).Draw(t, "guests") {
			g := fallingGuest{
				vmid: vmid + 1, name: fmt.Sprint("vm-", name.Draw(t, "name")), removed: true,
				op: rapid.SampledFrom([]cluster.Op{cluster.OpShutdown, cluster.OpDestroy}).Draw(t, "op"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "dependencies") {
				g.on += fmt.Sprint(" VirtualMachine/vm-", name.Draw(t, "on"))
			}
			guests = append(guests, g)
		}
		for len(guests) > 0 {
			o, steps := fallingOrder(guests...)
			var left []fallingGuest
			for _, g := range guests {
				if o.Waits(steps[g.vmid]) != (Wait{}) {
					left = append(left, g)
				}
			}
			if len(left) == len(guests) {
				t.Fatalf("got %+v, of which each waits for another one", guests)
			}
			guests = left
		}
	})
}
