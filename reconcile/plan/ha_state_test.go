package plan

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// underHA is web-1 as its manifest, its entry with the HA manager and the list of guests have it.
type underHA struct {
	want   guest.HAWanted
	state  guest.RunState // of the manifest itself
	ignore []string
	entry  string // "" is an entry that was not read, and "-" none
	status guest.Status
	row    cluster.Row
	stands string
	online bool
}

func (u underHA) desired() guest.Desired {
	d := fixture.WantWeb()
	d.HA, d.State, d.Ignore = &u.want, u.state, u.ignore
	return d
}

func (u underHA) plan() Guest {
	live := fixture.LiveWeb(u.status)
	if live.HA = u.entry != "-"; live.HA && u.entry != "" {
		live.Resource = &guest.HA{State: u.entry, MaxRestart: 1, MaxRelocate: 1}
	}
	row := u.row
	row.Kind, row.VMID, row.Node, row.Status = live.Kind, live.VMID, live.Node, live.Status
	got := cluster.Snapshot{Guests: map[int]guest.Observed{201: live}, Inventory: cluster.Inventory{Rows: []cluster.Row{row}}, HAStands: u.stands}
	if !u.online {
		got.Inventory.Offline = []string{live.Node}
	}
	return New(Desired{Cluster: "home", Guests: []guest.Desired{u.desired()}, Owned: map[int]journal.Owned{201: fixture.Owned201()}}, got).Guests[0]
}

// TestSyncedUnderHAIsInTheRunStateAskedFor compares manifests with all states of the HA manager: a guest that counts as in sync is in the run state that its manifest
// asks for, whatever the manager says of it. To the manager a paused guest runs.
func TestSyncedUnderHAIsInTheRunStateAskedFor(t *testing.T) {
	t.Parallel()
	synced := 0
	for _, u := range statesUnderHA() {
		if u.want.State == "started" && u.state == guest.Stopped || u.want.State != "started" && u.want.State != "ignored" && u.state == guest.Running {
			continue // refused: states that do not agree
		}
		asked := map[string]guest.Status{"started": guest.StatusRunning, "stopped": guest.StatusStopped, "disabled": guest.StatusStopped}[u.want.State]
		if asked == "" {
			asked = map[guest.RunState]guest.Status{guest.Running: guest.StatusRunning, guest.Stopped: guest.StatusStopped}[u.state]
		}
		p := u.plan()
		if !p.Converged() {
			continue
		}
		synced++
		byManager := u.want.State != "ignored"
		switch {
		case u.entry == "" || u.entry == "-" || u.row.HAState == "error":
			t.Fatalf("got %+v in sync, want it not so", u)
		case byManager && !u.online, byManager && u.status == guest.StatusUnknown:
			t.Fatalf("got %+v in sync, want its run state unknown", u)
		case byManager && asked == guest.StatusRunning && u.status == guest.StatusStopped, byManager && asked == guest.StatusStopped && u.status != guest.StatusStopped:
			t.Fatalf("got %+v in sync, want it %s first", u, asked)
		}
	}
	if synced == 0 {
		t.Error("got no guest in sync, want some")
	}
}

// statesUnderHA returns manifests with states of the guest and of the HA manager, in all combinations.
func statesUnderHA() []underHA {
	var list []underHA
	for n, isNew := 0, true; isNew; n++ {
		rest := n
		u := underHA{
			want:   guest.HAWanted{State: digit(&rest, "started", "stopped", "disabled", "ignored")},
			state:  digit(&rest, guest.Ignored, guest.Running, guest.Stopped),
			entry:  digit(&rest, "started", "stopped", "disabled", "ignored", "enabled", "", "-"),
			status: digit(&rest, guest.StatusRunning, guest.StatusStopped, guest.StatusPaused, guest.StatusUnknown),
			stands: digit(&rest, "", "the HA manager has no active master"),
			online: digit(&rest, true, false),
		}
		u.row.HAState = digit(&rest, "", "started", "stopped", "request_start", "request_stop", "request_start_balance", "migrate", "relocate", "fence", "recovery", "freeze", "error", "ignored")
		if isNew = rest == 0; isNew {
			list = append(list, u)
		}
	}
	return list
}

// digit takes a digit from a number whose digits choose values, the last one first.
func digit[T any](number *int, values ...T) T {
	v := values[*number%len(values)]
	*number /= len(values)
	return v
}

// TestRunStateThatTheHAManagerBrings plans guests whose entries are as wanted.
func TestRunStateThatTheHAManagerBrings(t *testing.T) {
	t.Parallel()
	const stands = "the HA manager has no active master"
	started, stopped, disabled, ignored := guest.HAWanted{State: "started"}, guest.HAWanted{State: "stopped"}, guest.HAWanted{State: "disabled"}, guest.HAWanted{State: "ignored"}
	limits := guest.HAWanted{MaxRestart: new(int)}
	*limits.MaxRestart = 1
	at := func(hastate string) cluster.Row { return cluster.Row{HAState: hastate} }
	tests := map[string]struct {
		guest    underHA
		change   guest.Status // that the manager brings
		says     string       // in a condition that the guest waits
		steps    string
		unknown  reason.Name
		degraded bool
	}{
		"runs":                   {guest: underHA{want: started, entry: "started", status: guest.StatusRunning, row: at("started")}},
		"starts":                 {guest: underHA{want: started, entry: "started", status: guest.StatusStopped, row: at("started")}, change: guest.StatusRunning, says: "it waits for the HA manager to start it"},
		"starts, queued":         {guest: underHA{want: started, entry: "started", status: guest.StatusStopped, row: at("request_start")}, change: guest.StatusRunning, says: "whose state of the guest is request_start"},
		"relocated":              {guest: underHA{want: started, entry: "started", status: guest.StatusStopped, row: at("relocate")}, change: guest.StatusRunning, says: "whose state of the guest is relocate"},
		"moves online":           {guest: underHA{want: started, entry: "started", status: guest.StatusRunning, row: at("migrate")}, says: "the HA manager moves the guest"},
		"by default":             {guest: underHA{want: limits, entry: "started", status: guest.StatusStopped, row: at("started")}, change: guest.StatusRunning, says: "to start it"},
		"enabled":                {guest: underHA{want: limits, entry: "enabled", status: guest.StatusStopped, row: at("started")}, change: guest.StatusRunning, says: "to start it"},
		"shuts down":             {guest: underHA{want: stopped, entry: "stopped", status: guest.StatusRunning, row: at("request_stop")}, change: guest.StatusStopped, says: "to shut it down"},
		"shuts down, not begun":  {guest: underHA{want: stopped, entry: "stopped", status: guest.StatusRunning, row: at("started")}, change: guest.StatusStopped, says: "to shut it down"},
		"paused shuts down":      {guest: underHA{want: stopped, entry: "stopped", status: guest.StatusPaused, row: at("request_stop")}, change: guest.StatusStopped, says: "to shut it down"},
		"disabled":               {guest: underHA{want: disabled, entry: "disabled", status: guest.StatusRunning, row: at("request_stop")}, change: guest.StatusStopped, says: "to shut it down"},
		"is disabled":            {guest: underHA{want: disabled, entry: "disabled", status: guest.StatusStopped, row: at("stopped")}},
		"ignored":                {guest: underHA{want: ignored, entry: "ignored", status: guest.StatusStopped, row: at("ignored")}},
		"ignored, own state":     {guest: underHA{want: ignored, state: guest.Running, entry: "ignored", status: guest.StatusStopped, row: at("ignored")}, steps: "start"},
		"state not compared":     {guest: underHA{want: started, ignore: []string{"ha.state"}, entry: "stopped", status: guest.StatusRunning, row: at("started")}},
		"entry not compared":     {guest: underHA{want: started, ignore: []string{"ha"}, entry: "stopped", status: guest.StatusRunning, row: at("started")}},
		"entry first":            {guest: underHA{want: started, entry: "stopped", status: guest.StatusStopped, row: at("stopped")}, steps: "ha-set"},
		"removed first":          {guest: underHA{want: guest.HAWanted{Absent: true}, entry: "started", status: guest.StatusStopped, row: at("started")}, steps: "ha-remove"},
		"no step of its own":     {guest: underHA{want: started, state: guest.Running, entry: "started", status: guest.StatusStopped, row: at("started")}, change: guest.StatusRunning, says: "to start it"},
		"no shutdown of its own": {guest: underHA{want: disabled, state: guest.Stopped, entry: "disabled", status: guest.StatusRunning, row: at("request_stop")}, change: guest.StatusStopped, says: "to shut it down"},
		"own state decides":      {guest: underHA{want: limits, state: guest.Running, entry: "stopped", status: guest.StatusStopped, row: at("stopped")}, steps: "start"},
		"no master":              {guest: underHA{want: started, entry: "started", status: guest.StatusStopped, row: at("started"), stands: stands}, change: guest.StatusRunning, says: "to start it: " + stands},
		"given up":               {guest: underHA{want: started, entry: "started", status: guest.StatusStopped, row: at("error")}, degraded: true},
		"given up, repaired":     {guest: underHA{want: started, entry: "disabled", status: guest.StatusStopped, row: at("error")}, degraded: true},
		"fenced":                 {guest: underHA{want: started, entry: "started", status: guest.StatusRunning, row: at("fence")}, says: "(fence)"},
		"not read":               {guest: underHA{want: started, entry: "", status: guest.StatusRunning, row: at("started")}, unknown: reason.NotObserved},
		"unknown run state":      {guest: underHA{want: started, entry: "started", status: guest.StatusUnknown, row: at("started")}, unknown: reason.NotObserved},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.guest.online = true
			p := test.guest.plan()
			var steps, waits []string
			var unknown reason.Name
			degraded := false
			for _, s := range p.Steps {
				steps = append(steps, string(s.Op))
			}
			for _, c := range p.Conditions {
				if c.Type == WaitsFor {
					waits = append(waits, c.Message)
				}
				if c.Type == NotObserved {
					unknown = c.Reason
				}
				if c.Reason == reason.Impossible {
					t.Errorf("got %q, want nothing impossible", c.Message)
				}
				degraded = degraded || c.Type == Blocked && c.Reason == reason.HAError
			}
			if got := p.byHA(); got != test.change {
				t.Errorf("got %q to be brought about, want %q", got, test.change)
			}
			if got := strings.Join(steps, ","); got != test.steps {
				t.Errorf("got the steps %q, want %q", got, test.steps)
			}
			if len(waits) > 1 || (len(waits) == 1) != (test.says != "") || !strings.Contains(strings.Join(waits, ""), test.says) {
				t.Errorf("got %q, want one that contains %q", waits, test.says)
			}
			if unknown != test.unknown || degraded != test.degraded {
				t.Errorf("got unknown %q, given up %t, want %q and %t", unknown, degraded, test.unknown, test.degraded)
			}
			quiet := test.change == "" && test.says == "" && test.steps == "" && test.unknown == "" && !test.degraded
			if p.Converged() != quiet {
				t.Errorf("got in sync %t, want %t", p.Converged(), quiet)
			}
			if o := p.Outstanding(nil); test.change != "" && !strings.Contains(strings.Join(o.Pending, ","), keyState) {
				t.Errorf("got %v pending, want the run state among it", o.Pending)
			}
		})
	}
	t.Run("offline", func(t *testing.T) {
		p := underHA{want: started, entry: "started", status: guest.StatusRunning, row: at("started")}.plan()
		if o := p.Outstanding(nil); len(p.Conditions) != 1 || p.Conditions[0].Reason != reason.NodeOffline || len(o.Pending) > 0 {
			t.Errorf("got %+v and %v pending, want it unknown because its node is offline", p.Conditions, o.Pending)
		}
	})
}

// TestOthersWaitForTheHAManager plans web-1, which the HA manager brings to its run state, beside app-1, which starts or stops.
func TestOthersWaitForTheHAManager(t *testing.T) {
	t.Parallel()
	const stands = "the HA manager has no active master"
	web := func(want, entry, hastate string, status guest.Status) underHA {
		return underHA{want: guest.HAWanted{State: want}, entry: entry, status: status, row: cluster.Row{HAState: hastate}, online: true}
	}
	starting := web("started", "started", "started", guest.StatusStopped)
	standing := starting
	standing.stands = stands
	app := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "app-1", VMID: 202}, Wave: 1}
	depends := func(d guest.Desired) guest.Desired {
		d.DependsOn, d.Wave = []string{"VirtualMachine/web-1"}, 0
		return d
	}
	start := Step{Guest: app.Ref, Op: cluster.OpStart, Wave: 1}
	tests := map[string]struct {
		web  underHA
		app  guest.Desired
		want string // in what the start of app-1 waits for; "" if it does not wait
	}{
		"depends on a guest that starts":      {starting, depends(app), "VirtualMachine/web-1, which is not running yet: it waits for the HA manager to start it"},
		"depends on a guest without a master": {standing, depends(app), "it waits for the HA manager to start it: " + stands},
		"depends on a guest that runs":        {web("started", "started", "started", guest.StatusRunning), depends(app), ""},
		"depends on a guest that shuts down":  {web("stopped", "stopped", "request_stop", guest.StatusRunning), depends(app), "which is still running: it waits for the HA manager to shut it down"},
		"depends on a guest that is given up": {web("started", "started", "error", guest.StatusStopped), depends(app), "which is not running: the HA manager has given it up"},
		"given up while it runs":              {web("started", "started", "error", guest.StatusRunning), depends(app), ""},
		"wave after a guest that starts":      {starting, app, "wave 0 comes before wave 1"},
		"wave after one without a master":     {standing, app, ""},
		"wave after a guest that is given up": {web("started", "started", "error", guest.StatusStopped), app, ""},
		"wave after a guest that shuts down":  {web("stopped", "stopped", "request_stop", guest.StatusRunning), app, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waiting := start
			waiting.Wave = test.app.Wave
			p := Plan{Guests: []Guest{test.web.plan(), {Ref: app.Ref, Wave: test.app.Wave, Managed: true, Present: true, Steps: []Step{waiting}}}}
			o := NewOrdering(p, []guest.Desired{test.web.desired(), test.app}, OrderingOptions{Now: time.Unix(0, 0)})
			if got := o.Waits(waiting).Message; (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("a dependent shuts down first", func(t *testing.T) {
		t.Parallel()
		db := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "db-1", VMID: 203}}
		stop := Step{Guest: db.Ref, Op: cluster.OpShutdown}
		dependent := web("stopped", "stopped", "request_stop", guest.StatusRunning)
		d := dependent.desired()
		d.DependsOn = []string{db.Label()}
		p := Plan{Guests: []Guest{dependent.plan(), {Ref: db.Ref, Managed: true, Present: true, Steps: []Step{stop}}}}
		want := "VirtualMachine/web-1 depends on it, and has to stop first: the HA manager shuts it down"
		if got := NewOrdering(p, []guest.Desired{d, db}, OrderingOptions{Now: time.Unix(0, 0)}).Waits(stop).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
