package reconcile_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/report"
)

// said collects what reports say of one guest: each condition that tells pending changes from drift with its keys, and every other word that alarms a person.
type said struct {
	mu     sync.Mutex
	vmid   int
	all    []string
	events []event.Name
}

func (k *said) report(r report.Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	add := func(text string) {
		if !slices.Contains(k.all, text) {
			k.all = append(k.all, text)
		}
	}
	for _, g := range r.Guests {
		if g.VMID != k.vmid {
			continue
		}
		for _, c := range g.Conditions {
			switch c.Type {
			case plan.Pending, plan.Drifted, plan.PendingRestart, plan.Blocked, plan.Failed:
				_, keys, _ := strings.Cut(c.Message, ": ")
				add(strings.TrimSpace(string(c.Type) + " " + keys))
			case plan.NotObserved, plan.Held, plan.IdentityConflict, plan.Suspended, plan.WaitsFor, plan.Orphaned, plan.Leftover, plan.Warned:
			}
		}
		if hasDrift := hasCondition(g, plan.Drifted, ""); hasDrift == g.DriftSince.IsZero() {
			add("an age of drift without drift, or the reverse")
		}
	}
}

func (k *said) event(e event.Event) {
	if e.Name == event.GuestDrifted || e.Name == event.GuestRepaired {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.events = append(k.events, e.Name)
	}
}

// TestWantedIsNotDrift brings a guest out of sync by what people want and by what they change in the cluster, also with both at once, and with a restart of the agent
// between the change and its discovery. Each cycle's report calls the first pending and the second drift.
func TestWantedIsNotDrift(t *testing.T) {
	t.Parallel()
	both := []event.Name{event.GuestDrifted, event.GuestRepaired}
	before := []string{"description: as it was", "tags: [web]", "memory: {size: 1Gi}", "state: running"}
	with := func(lines ...string) []string { return slices.Concat(before[1:], lines) }
	tests := map[string]struct {
		manifest []string // after the change
		edit     func(l *lab)
		want     []string
		events   []event.Name
		down     bool // only while the agent is down: it would see the edit before the commit
	}{
		"a_commit": {manifest: with("description: new"), want: []string{"Pending description"}},
		"an_edit":  {before, func(l *lab) { l.ok(l.sim.Edit(201, "description", "by hand")) }, []string{"Drifted description"}, both, false},
		"a_stop": {before, func(l *lab) {
			l.callAs("root@pam!full", "POST", "/nodes/pve1/qemu/201/status/stop", "")
			eventually(l, "the stop", func() bool { return !l.sim.Running(201) })
		}, []string{"Drifted state"}, both, false},
		"a_commit_and_an_edit":   {with("description: new"), func(l *lab) { l.ok(l.sim.Edit(201, "tags", l.marker(201)+";db")) }, []string{"Pending description", "Drifted tags"}, both, false},
		"both_of_one_key":        {with("description: new"), func(l *lab) { l.ok(l.sim.Edit(201, "description", "by hand")) }, []string{"Drifted description"}, both, true},
		"a_commit_takes_an_edit": {manifest: with("description: by hand"), edit: func(l *lab) { l.ok(l.sim.Edit(201, "description", "by hand")) }, down: true},
		"a_key_that_is_new":      {manifest: slices.Concat(before, []string{"startup: {onBoot: true}"}), want: []string{"Pending onboot"}},
		"a_commit_for_a_restart": {manifest: slices.Concat(before[:2], []string{"memory: {size: 2Gi}", "state: running"}), want: []string{"Pending memory", "PendingRestart memory"}},
		"a_stop_that_is_wanted":  {manifest: slices.Concat(before[:3], []string{"state: stopped"}), want: []string{"Pending state"}},
	}
	for name, test := range tests {
		for _, restarts := range []bool{false, true} {
			if test.down && !restarts {
				continue
			}
			t.Run(name+map[bool]string{true: "_while_the_agent_is_down"}[restarts], func(t *testing.T) {
				runLab(t, nil, func(t *testing.T, l *lab) {
					seen := &said{vmid: 201}
					l.files["web.yaml"] = vmYAML("web-1", 201, before...)
					l.push("one guest", alice)
					stop := l.start()
					l.converge()
					head := ""
					change := func() {
						if test.edit != nil {
							test.edit(l)
						}
						l.files["web.yaml"] = vmYAML("web-1", 201, test.manifest...)
						head = l.push("the change", alice)
					}
					stop()
					if restarts {
						change()
					}
					l.opts.Hooks.OnReport, l.opts.Hooks.OnEvent = seen.report, seen.event
					defer l.start()()
					if !restarts {
						l.converge()
						change()
					}
					eventually(l, "the end", func() bool {
						r := l.engine.Report()
						return r.Source.Accepted != nil && r.Source.Accepted.Commit == head && (r.Converged || len(r.OnlyRestarts()) > 0)
					})
					if got := seen.all; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(test.want))) {
						t.Errorf("got %q in the reports, want %q", got, test.want)
					}
					if !slices.Equal(seen.events, test.events) {
						t.Errorf("got events %v, want %v", seen.events, test.events)
					}
				})
			})
		}
	}
}

// TestFirstRunIsCalm creates guests from the first cycle on. No report calls one of them unknown, blocked or drifted.
func TestFirstRunIsCalm(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		seen := []*said{{vmid: 201}, {vmid: 202}, {vmid: 210}}
		l.opts.Hooks.OnReport = func(r report.Report) {
			for _, k := range seen {
				k.report(r)
			}
		}
		l.opts.Hooks.OnEvent = seen[0].event
		l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "memory: {size: 2Gi}", "disks: {scsi0: {storage: local, size: 8Gi}}")
		l.files["web-2.yaml"] = vmYAML("web-2", 202, "state: running", "dependsOn: [VirtualMachine/web-1]")
		l.files["dns.yaml"] = dnsYAML("state: running")
		l.push("three guests", alice)
		defer l.start()()
		l.converge()
		for _, k := range seen {
			if others := slices.DeleteFunc(slices.Clone(k.all), func(text string) bool { return strings.HasPrefix(text, "Pending ") || text == "Pending" }); len(others) > 0 {
				t.Errorf("guest %d: got %q in the reports, want only pending changes", k.vmid, others)
			}
			if !slices.Contains(k.all, "Pending") {
				t.Errorf("guest %d: got %q in the reports, want one of a guest that does not exist yet", k.vmid, k.all)
			}
		}
		if len(seen[0].events) > 0 {
			t.Errorf("got events %v, want no drift", seen[0].events)
		}
	})
}
