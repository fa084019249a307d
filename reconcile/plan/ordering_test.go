package plan

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// waitingGuest describes one guest of the plan and the manifests of an ordering.
type waitingGuest struct {
	vmid      int
	wave      int
	depends   []string
	steps     []cluster.Op
	condition Condition
	observe   bool
	suspend   *guest.Suspension
	orphan    bool // no manifest names it
	stuck     bool // it failed often
}

func orderingOf(now time.Time, guests ...waitingGuest) Ordering {
	var plan Plan
	var wanted []guest.Desired
	stuck := make(map[string]bool)
	for _, g := range guests {
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: "vm-" + string(rune('a'+g.vmid)), VMID: g.vmid}
		p := Guest{Ref: ref, Wave: g.wave, Managed: !g.orphan}
		for _, op := range g.steps {
			p.Steps = append(p.Steps, Step{Guest: ref, Op: op, Wave: g.wave})
		}
		if g.condition.Type != "" {
			p.Conditions = []Condition{g.condition}
		}
		plan.Guests = append(plan.Guests, p)
		stuck[ref.Label()] = g.stuck
		if !g.orphan {
			wanted = append(wanted, guest.Desired{Ref: ref, Wave: g.wave, DependsOn: g.depends, Observe: g.observe, Suspend: g.suspend})
		}
	}
	return NewOrdering(plan, wanted, stuck, now)
}

func TestOrdering(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	onA := []string{"VirtualMachine/vm-a"}
	a := func(change func(*waitingGuest)) waitingGuest {
		g := waitingGuest{}
		change(&g)
		return g
	}
	steps := func(ops ...cluster.Op) waitingGuest { return a(func(g *waitingGuest) { g.steps = ops }) }
	blocked := func(kind ConditionType, reason ConditionReason) waitingGuest {
		return a(func(g *waitingGuest) { g.condition = Condition{Type: kind, Reason: reason, Message: "the reason"} })
	}
	tests := map[string]struct {
		first waitingGuest // vm-a; vm-b starts
		wave  int          // of vm-b
		deps  []string     // of vm-b
		want  string       // part of what vm-b waits for; "" is nothing
	}{
		"alone":                      {first: steps(cluster.OpCreate)},
		"depends_on_nobody_there":    {first: steps(cluster.OpCreate), deps: onA, want: "vm-a, which does not exist yet"},
		"depends_on_stopped":         {first: steps(cluster.OpConfig, cluster.OpStart), deps: onA, want: "vm-a, which is not running yet"},
		"depends_on_drifted":         {first: steps(cluster.OpConfig), deps: onA},
		"depends_on_stopping":        {first: steps(cluster.OpShutdown), deps: onA},
		"depends_on_ready":           {first: steps(), deps: onA},
		"depends_on_unread":          {first: blocked(NotObserved, ReasonNotObserved), deps: onA, want: "vm-a, which was not read"},
		"depends_on_different_guest": {first: blocked(IdentityConflict, ReasonDifferentGuest), deps: onA, want: "another guest has its vmid"},
		"depends_on_sourceless":      {first: blocked(Blocked, ReasonNoSource), deps: onA, want: "the reason"},
		"depends_on_hidden":          {first: blocked(Blocked, ReasonHidden), deps: onA, want: "the reason"},
		"depends_on_partly_created":  {first: blocked(Blocked, ReasonPartlyCreated), deps: onA, want: "the reason"},
		"depends_on_locked":          {first: blocked(Blocked, ReasonLocked), deps: onA},
		"depends_on_restart":         {first: blocked(PendingRestart, ReasonPendingRestart), deps: onA},

		"later_wave_waits":         {first: steps(cluster.OpCreate), wave: 1, want: "wave 0 comes before wave 1"},
		"later_wave_waits_to_run":  {first: steps(cluster.OpStart), wave: 1, want: "wave 0 comes before wave 1"},
		"drift_holds_up_no_wave":   {first: steps(cluster.OpConfig), wave: 1},
		"earlier_wave_does_not":    {first: a(func(g *waitingGuest) { g.steps, g.wave = []cluster.Op{cluster.OpCreate}, 2 }), wave: 1},
		"impossible_holds_up_none": {first: blocked(Blocked, ReasonNoSource), wave: 1},
		"observed_holds_up_none":   {first: a(func(g *waitingGuest) { g.steps, g.observe = []cluster.Op{cluster.OpStart}, true }), wave: 1},
		"orphan_holds_up_none":     {first: a(func(g *waitingGuest) { g.steps, g.orphan = []cluster.Op{cluster.OpStart}, true }), wave: 1},
		"suspended_holds_up_none": {
			first: a(func(g *waitingGuest) {
				g.steps, g.suspend = []cluster.Op{cluster.OpStart}, &guest.Suspension{Reason: "repair"}
			}), wave: 1,
		},
		"stuck_holds_up_none":  {first: a(func(g *waitingGuest) { g.steps, g.stuck = []cluster.Op{cluster.OpCreate}, true }), wave: 1},
		"stuck_is_depended_on": {first: a(func(g *waitingGuest) { g.steps, g.stuck = []cluster.Op{cluster.OpCreate}, true }), deps: onA, want: "vm-a, which does not exist yet"},
		"suspended_no_more": {
			first: a(func(g *waitingGuest) {
				g.steps, g.suspend = []cluster.Op{cluster.OpStart}, &guest.Suspension{Until: now}
			}), wave: 1, want: "wave 0",
		},
		"suspended_is_depended_on": {
			first: a(func(g *waitingGuest) {
				g.steps, g.suspend = []cluster.Op{cluster.OpStart}, &guest.Suspension{Reason: "repair"}
			}), deps: onA,
			want: "vm-a, which is not running yet",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := waitingGuest{vmid: 1, wave: test.wave, depends: test.deps, steps: []cluster.Op{cluster.OpStart}}
			got := orderingOf(now, test.first, b).Waits(Step{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "vm-b", VMID: 1}, Op: cluster.OpStart, Wave: test.wave})
			if got == "" != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Other waves wait for the lowest wave with work, whatever the order of the plan.
func TestOrderingWaitsForTheLowestWave(t *testing.T) {
	o := orderingOf(time.Time{},
		waitingGuest{vmid: 0, wave: 3, steps: []cluster.Op{cluster.OpStart}}, waitingGuest{vmid: 1, wave: -1, steps: []cluster.Op{cluster.OpCreate}}, waitingGuest{vmid: 2, wave: 1, steps: []cluster.Op{cluster.OpStart}})
	if got, want := o.Waits(Step{Guest: guest.Ref{VMID: 0}, Wave: 3}), "wave -1 comes before wave 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := o.Waits(Step{Guest: guest.Ref{VMID: 1}, Wave: -1}); got != "" {
		t.Errorf("got %q for the lowest wave, want nothing to wait for", got)
	}
}

// A guest that depends on an idle guest is idle too, however long the chain of dependencies.
func TestOrderingSkipsGuestsBehindAStuckGuest(t *testing.T) {
	for name, stuck := range map[string]bool{"stuck": true, "on_its_way": false} {
		t.Run(name, func(t *testing.T) {
			o := orderingOf(time.Time{},
				waitingGuest{vmid: 0, steps: []cluster.Op{cluster.OpCreate}, stuck: stuck},
				waitingGuest{vmid: 1, steps: []cluster.Op{cluster.OpCreate}, depends: []string{"VirtualMachine/vm-a"}},
				waitingGuest{vmid: 2, steps: []cluster.Op{cluster.OpCreate}, depends: []string{"VirtualMachine/vm-b"}},
				waitingGuest{vmid: 3, wave: 1, steps: []cluster.Op{cluster.OpStart}})
			if got := o.Waits(Step{Guest: guest.Ref{VMID: 3}, Wave: 1}); (got == "") != stuck {
				t.Errorf("got %q for the next wave, want it to wait: %t", got, !stuck)
			}
		})
	}
}

// In a preview several guests may have no vmid yet: each guest waits for its own dependencies, and never for itself.
func TestOrderingDistinguishesGuestsWithoutVMID(t *testing.T) {
	web := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web"}, DependsOn: []string{"VirtualMachine/db"}}
	db := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db"}}
	var plan Plan
	for _, d := range []guest.Desired{web, db} {
		plan.Guests = append(plan.Guests, Guest{Ref: d.Ref, Managed: true, Steps: []Step{{Guest: d.Ref, Op: cluster.OpCreate}}})
	}
	o := NewOrdering(plan, []guest.Desired{web, db}, nil, time.Time{})
	if got, want := o.Waits(Step{Guest: web.Ref, Op: cluster.OpCreate}), "it depends on VirtualMachine/db, which does not exist yet"; got != want {
		t.Errorf("web: got %q, want %q", got, want)
	}
	if got := o.Waits(Step{Guest: db.Ref, Op: cluster.OpCreate}); got != "" {
		t.Errorf("db: got %q, want nothing to wait for", got)
	}
}
