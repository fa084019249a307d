package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
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
	exists    bool
	hindrance Hindrance // of its start
	stuck     bool      // it failed often
	held      bool      // its steps are held
	notReady  string
}

func orderingOf(now time.Time, guests ...waitingGuest) Ordering {
	var plan Plan
	var wanted []guest.Desired
	stuck, notReady, held := make(map[string]bool), make(map[string]string), make(map[int]bool)
	for _, g := range guests {
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: "vm-" + string(rune('a'+g.vmid)), VMID: g.vmid}
		p := Guest{Ref: ref, Wave: g.wave, Managed: !g.orphan, Present: g.exists}
		for _, op := range g.steps {
			p.Steps = append(p.Steps, Step{Guest: ref, Op: op, Wave: g.wave})
		}
		withHindrance(p.Steps, g.hindrance, guest.Observed{})
		if g.condition.Type != "" {
			p.Conditions = []Condition{g.condition}
		}
		plan.Guests = append(plan.Guests, p)
		stuck[ref.Label()], notReady[ref.Label()], held[ref.VMID] = g.stuck, g.notReady, g.held
		if !g.orphan {
			wanted = append(wanted, guest.Desired{Ref: ref, Wave: g.wave, DependsOn: g.depends, Observe: g.observe, Suspend: g.suspend})
		}
	}
	return NewOrdering(plan, wanted, OrderingOptions{Now: now, Stuck: stuck, NotReady: notReady, Released: func(s Step) bool { return !held[s.Guest.VMID] }})
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
	blocked := func(kind ConditionType, reason reason.Name) waitingGuest {
		return a(func(g *waitingGuest) { g.condition = Condition{Type: kind, Reason: reason, Message: "the reason"} })
	}
	exists := func(g waitingGuest) waitingGuest { g.exists = true; return g }
	tests := map[string]struct {
		first waitingGuest // vm-a; vm-b starts
		wave  int          // of vm-b
		deps  []string     // of vm-b
		want  string       // part of what vm-b waits for; "" is nothing
	}{
		"alone":                      {first: steps(cluster.OpCreate)},
		"depends_on_nobody_there":    {first: steps(cluster.OpCreate), deps: onA, want: "vm-a, which does not exist yet"},
		"depends_on_stopped":         {first: steps(cluster.OpConfig, cluster.OpStart), deps: onA, want: "vm-a, which is not running yet"},
		"depends_on_drifted":         {first: steps(cluster.OpConfig), deps: onA, want: "vm-a, which has steps left: config"},
		"depends_on_stopping":        {first: steps(cluster.OpShutdown), deps: onA, want: "vm-a, which has steps left: shutdown"},
		"depends_on_ready":           {first: steps(), deps: onA},
		"depends_on_unread":          {first: blocked(NotObserved, reason.NotObserved), deps: onA, want: "vm-a, which was not read"},
		"depends_on_different_guest": {first: blocked(IdentityConflict, reason.DifferentGuest), deps: onA, want: "another guest has its vmid"},
		"depends_on_sourceless":      {first: blocked(Blocked, reason.Impossible), deps: onA, want: "the reason"},
		"depends_on_hidden":          {first: blocked(Blocked, reason.Denied), deps: onA, want: "the reason"},
		"depends_on_partly_created":  {first: blocked(Blocked, reason.Locked), deps: onA, want: "the reason"},
		"depends_on_locked":          {first: exists(blocked(Blocked, reason.Locked)), deps: onA},
		"depends_on_impossible":      {first: exists(blocked(Blocked, reason.Impossible)), deps: onA},
		"depends_on_rotated_secret":  {first: exists(blocked(Blocked, reason.Secret)), deps: onA},
		"depends_on_uncreated":       {first: blocked(Blocked, reason.Secret), deps: onA, want: "waits for a secret"},
		"depends_on_unstarted": {
			first: a(func(g *waitingGuest) {
				g.steps, g.exists, g.hindrance = []cluster.Op{cluster.OpStart}, true, Hindrance{Reason: reason.Secret, Message: "the reason"}
			}), deps: onA, want: "waits for a secret: the reason",
		},
		"depends_on_without_device": {
			first: a(func(g *waitingGuest) {
				g.steps, g.exists, g.hindrance = []cluster.Op{cluster.OpStart}, true, Hindrance{Reason: reason.Impossible}
			}), deps: onA, want: "vm-a, which is not running yet",
		},
		"hindered_start_holds_up_none": {
			first: a(func(g *waitingGuest) {
				g.steps, g.exists, g.hindrance = []cluster.Op{cluster.OpStart}, true, Hindrance{Reason: reason.NeedsRoot}
			}), wave: 1,
		},
		"start_after_config_holds_up": {
			first: a(func(g *waitingGuest) {
				g.steps, g.exists, g.hindrance = []cluster.Op{cluster.OpStart}, true, Hindrance{Reason: reason.WaitsFor, After: []Step{{Op: cluster.OpConfig}}}
			}), wave: 1, want: "wave 0 comes before wave 1",
		},
		"depends_on_held":         {first: a(func(g *waitingGuest) { g.steps, g.held = []cluster.Op{cluster.OpReboot}, true }), deps: onA, want: "vm-a, which has steps left: reboot"},
		"depends_on_stuck":        {first: a(func(g *waitingGuest) { g.steps, g.stuck = []cluster.Op{cluster.OpConfig}, true }), deps: onA, want: "vm-a, which has steps left: config"},
		"depends_on_observed":     {first: a(func(g *waitingGuest) { g.steps, g.observe = []cluster.Op{cluster.OpConfig}, true }), deps: onA},
		"depends_on_not_ready":    {first: a(func(g *waitingGuest) { g.notReady = "no answer" }), deps: onA, want: "vm-a, which is not ready: no answer"},
		"not_ready_holds_up_none": {first: a(func(g *waitingGuest) { g.notReady = "no answer" }), wave: 1},
		"depends_on_restart":      {first: blocked(PendingRestart, reason.PendingRestart), deps: onA},

		"later_wave_waits":         {first: steps(cluster.OpCreate), wave: 1, want: "wave 0 comes before wave 1"},
		"later_wave_waits_to_run":  {first: steps(cluster.OpStart), wave: 1, want: "wave 0 comes before wave 1"},
		"drift_holds_up_no_wave":   {first: steps(cluster.OpConfig), wave: 1},
		"earlier_wave_does_not":    {first: a(func(g *waitingGuest) { g.steps, g.wave = []cluster.Op{cluster.OpCreate}, 2 }), wave: 1},
		"impossible_holds_up_none": {first: blocked(Blocked, reason.Impossible), wave: 1},
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
			got := orderingOf(now, test.first, b).Waits(Step{Guest: guest.Ref{Kind: guest.VirtualMachine, Name: "vm-b", VMID: 1}, Op: cluster.OpStart, Wave: test.wave}).Message
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
	if got, want := o.Waits(Step{Guest: guest.Ref{VMID: 0}, Op: cluster.OpStart, Wave: 3}).Message, "wave -1 comes before wave 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := o.Waits(Step{Guest: guest.Ref{VMID: 1}, Op: cluster.OpStart, Wave: -1}).Message; got != "" {
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
			if got := o.Waits(Step{Guest: guest.Ref{VMID: 3}, Op: cluster.OpStart, Wave: 1}).Message; (got == "") != stuck {
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
	o := NewOrdering(plan, []guest.Desired{web, db}, OrderingOptions{})
	if got, want := o.Waits(Step{Guest: web.Ref, Op: cluster.OpCreate}).Message, "it depends on VirtualMachine/db, which does not exist yet"; got != want {
		t.Errorf("web: got %q, want %q", got, want)
	}
	if got := o.Waits(Step{Guest: db.Ref, Op: cluster.OpCreate}).Message; got != "" {
		t.Errorf("db: got %q, want nothing to wait for", got)
	}
}

// A guest behind one that will not converge soon holds up no wave. If its dependency is being changed, it does.
func TestOrderingSkipsGuestsBehindAHeldOrUnreadyGuest(t *testing.T) {
	tests := map[string]struct {
		first waitingGuest
		waits bool
	}{
		"converges": {waitingGuest{steps: []cluster.Op{cluster.OpConfig}}, true},
		"held":      {waitingGuest{steps: []cluster.Op{cluster.OpConfig}, held: true}, false},
		"stuck":     {waitingGuest{steps: []cluster.Op{cluster.OpConfig}, stuck: true}, false},
		"not_ready": {waitingGuest{notReady: "no answer"}, false},
		"ready":     {waitingGuest{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := orderingOf(time.Time{}, test.first,
				waitingGuest{vmid: 1, steps: []cluster.Op{cluster.OpCreate}, depends: []string{"VirtualMachine/vm-a"}},
				waitingGuest{vmid: 2, wave: 1, steps: []cluster.Op{cluster.OpStart}})
			if got := o.Waits(Step{Guest: guest.Ref{VMID: 2}, Op: cluster.OpStart, Wave: 1}).Message; (got != "") != test.waits {
				t.Errorf("got %q for the next wave, want it to wait: %t", got, test.waits)
			}
		})
	}
}

// A step waits for the dependencies of its guest if it creates, starts or interrupts the guest. A guest that runs is not started by the HA manager.
func TestStepNeedsDependencies(t *testing.T) {
	ha := func(op cluster.Op, state string) Step {
		return Step{Op: op, Class: guest.Live, Calls: []cluster.Call{{Op: op, Params: map[string]string{"state": state}}}}
	}
	running := func(s Step) Step { s.runs = true; return s }
	tests := map[string]struct {
		step    Step
		starts  bool
		creates bool
		needs   bool
	}{
		"create":           {Step{Op: cluster.OpCreate, Class: guest.Live}, false, true, true},
		"create_object":    {Step{Op: cluster.OpObjectAdd, Class: guest.Live}, false, true, true},
		"start":            {Step{Op: cluster.OpStart, Class: guest.Live}, true, false, true},
		"ha_started":       {ha(cluster.OpHASet, "started"), true, false, true},
		"ha_added":         {ha(cluster.OpHAAdd, ""), true, false, true},
		"ha_of_running":    {running(ha(cluster.OpHAAdd, "started")), false, false, false},
		"ha_stopped":       {ha(cluster.OpHAAdd, "stopped"), false, false, false},
		"ha_ignored":       {ha(cluster.OpHASet, "ignored"), false, false, false},
		"ha_limits":        {ha(cluster.OpHASet, ""), false, false, false},
		"rollback":         {Step{Op: cluster.OpRollback, Class: guest.Destructive}, false, false, true},
		"rollback_memory":  {Step{Op: cluster.OpRollback, Class: guest.Destructive, resumes: true}, true, false, true},
		"resume":           {Step{Op: cluster.OpResume, Class: guest.Live}, false, false, false},
		"live":             {Step{Op: cluster.OpConfig, Class: guest.Live}, false, false, false},
		"written":          {Step{Op: cluster.OpConfig, Class: guest.Restart}, false, false, false},
		"disruptive":       {Step{Op: cluster.OpConfig, Class: guest.Disruptive}, false, false, true},
		"destructive":      {Step{Op: cluster.OpConfig, Class: guest.Destructive}, false, false, true},
		"reboot":           {Step{Op: cluster.OpReboot, Class: guest.Disruptive}, false, false, true},
		"migrate_live":     {Step{Op: cluster.OpMigrate, Class: guest.Live}, false, false, false},
		"migrate_restarts": {Step{Op: cluster.OpMigrate, Class: guest.Disruptive}, false, false, true},
		"shutdown":         {Step{Op: cluster.OpShutdown, Class: guest.Disruptive}, false, false, false},
		"destroy":          {Step{Op: cluster.OpDestroy, Class: guest.Destructive}, false, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if s := test.step; s.Starts() != test.starts || s.Creates() != test.creates || s.BringsUp() != (test.starts || test.creates) || s.NeedsDependencies() != test.needs {
				t.Errorf("got starts %t, creates %t, brings up %t and needs %t, want %t, %t and %t", s.Starts(), s.Creates(), s.BringsUp(), s.NeedsDependencies(), test.starts, test.creates, test.needs)
			}
		})
	}
}

// In every world in which each step is released and nothing is stuck, a step goes on: the order is free of cycles. What waits names something that is not done.
func TestOrderComesToItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var guests []waitingGuest
		for i := range rapid.IntRange(1, 8).Draw(t, "guests") {
			g := waitingGuest{vmid: i, wave: rapid.IntRange(0, 2).Draw(t, "wave"), steps: []cluster.Op{rapid.SampledFrom([]cluster.Op{cluster.OpCreate, cluster.OpStart, cluster.OpReboot}).Draw(t, "op")}}
			for on := range i {
				if rapid.Bool().Draw(t, "depends") {
					g.depends = append(g.depends, "VirtualMachine/vm-"+string(rune('a'+on)))
					g.wave = max(g.wave, guests[on].wave) // as the manifests are checked
				}
			}
			guests = append(guests, g)
		}
		for left := len(guests); left > 0; {
			o, before := orderingOf(time.Time{}, guests...), left
			for i := range guests {
				g := &guests[i]
				if len(g.steps) == 0 {
					continue
				}
				ref := guest.Ref{Kind: guest.VirtualMachine, Name: "vm-" + string(rune('a'+g.vmid)), VMID: g.vmid}
				why := o.Waits(Step{Guest: ref, Op: g.steps[0], Class: guest.Disruptive, Wave: g.wave}).Message
				if why == "" {
					g.steps = nil
					left--
					continue
				}
				named := slices.ContainsFunc(g.depends, func(on string) bool { return strings.Contains(why, on) })
				if !named && !strings.Contains(why, "comes before wave") {
					t.Fatalf("%s waits: %s, which is neither a dependency nor a wave", ref, why)
				}
			}
			if left == before {
				t.Fatalf("got %+v, of which each waits", guests)
			}
		}
	})
}
