package reconcile_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/event"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// results returns how the steps of an operation on a guest ended, in order.
func (l *lab) results(op cluster.Op, vmid int) []journal.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []journal.Result
	for _, s := range l.steps {
		if s.Step.Op == op && s.Step.Guest.VMID == vmid {
			list = append(list, s.Result)
		}
	}
	return list
}

// TestIncidentRetriedCloneMakesThreeGuests loses the reply to every clone call, or the calls themselves. There is always one clone, and no second
// vmid.
func TestIncidentRetriedCloneMakesThreeGuests(t *testing.T) {
	t.Parallel()
	type lost struct {
		fault pvesim.Fault
		calls int
	}
	tests := map[string]lost{
		"never_arrived": {pvesim.Fault{Kind: pvesim.DropBefore, Times: 2}, 4},
		"refused_595":   {pvesim.Fault{Kind: pvesim.ProxyStatus, Status: 595, Times: 2}, 4},
	}
	for name, fault := range lostReplies {
		fault.Times = -1
		tests[name] = lost{fault, 2}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{TaskTimes: map[string]time.Duration{"qmclone": 40 * time.Second}}, func(t *testing.T, l *lab, w *wire) {
				test.fault.Method, test.fault.Path = "POST", "/clone$"
				l.ok(l.sim.Inject(test.fault))
				l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 2Gi}")
				l.files["db.yaml"] = withoutVMID(vmYAML("db-1", 202))
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				if got := len(w.writes("/clone")); got != test.calls {
					t.Errorf("got %d clone calls, want %d", got, test.calls)
				}
				w.wantNoWrites(t)
				for _, vmid := range []int{200, 201} {
					if got := l.sim.Effects(vmid, pvesim.Cloned); got != 1 {
						t.Errorf("got %d clones of %d, want 1", got, vmid)
					}
					if got := l.results(cluster.OpCreate, vmid); test.calls == 2 && !slices.Equal(got, []journal.Result{journal.Done}) {
						t.Errorf("got results %v for %d, want it done, at the first attempt", got, vmid)
					}
				}
				if got := len(l.sim.Guests()); got != 3 {
					t.Errorf("got %+v, want the template and two clones", l.sim.Guests())
				}
			})
		})
	}
}

// TestIncidentLostWorkerReportedAsSuccess makes Proxmox lose the worker that it forks. The agent repeats a call without an effect; it does not
// repeat a create that left a partly created guest, does not count it as done, and does not write to that guest.
func TestIncidentLostWorkerReportedAsSuccess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path    string
		op      cluster.Op
		vmid    int
		before  string // the manifest to converge first
		after   string
		effect  pvesim.Op
		partial bool
	}{
		"clone":  {"/clone$", cluster.OpCreate, 201, "", vmYAML("web-1", 201), pvesim.Cloned, false},
		"config": {"/201/config$", cluster.OpConfig, 201, vmYAML("web-1", 201), vmYAML("web-1", 201, "memory: {size: 3Gi}"), pvesim.ConfigWritten, false},
		"start":  {"/status/start$", cluster.OpStart, 201, vmYAML("web-1", 201), vmYAML("web-1", 201, "state: running"), pvesim.Started, false},
		"create_container": {
			"/lxc$", cluster.OpCreate, 210, "", dnsYAML("memory: {size: 1Gi}", "state: running"), pvesim.Created, true,
		},
		"create_machine": {
			"/qemu$", cluster.OpCreate, 201, "",
			strings.Replace(vmYAML("web-1", 201, "disks: {scsi0: {storage: local, size: 4Gi}}", "state: running"), "clone: {name: tmpl-debian-12}", "blank: {}", 1),
			pvesim.Created, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				var recovered sync.Map // results of the recovered steps, by vmid
				other, settled := l.opts.Hooks.OnEvent, onOutcome(func(o report.SettledOutcome) { recovered.Store(o.Step.VMID, o.Result) })
				l.opts.Hooks.OnEvent = func(e event.Event) { other(e); settled(e) }
				if test.before != "" {
					l.files["guest.yaml"] = test.before
				}
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()
				steps := len(l.results(test.op, test.vmid))
				l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: test.path, Kind: pvesim.LostWorker}))
				l.files["guest.yaml"] = test.after
				l.push("after", alice)
				if test.partial {
					l.waitForCondition(test.vmid, string(reason.Locked), "create")
					w.wantNoWrites(t)
					if r := l.engine.Report(); r.Converged || l.sim.Effects(test.vmid, test.effect) != 0 {
						t.Errorf("got converged %t with %q, want a partly created guest reported", r.Converged, l.sim.Config(test.vmid))
					}
					synctest.Wait() // the outcome is journaled before the hook is called
					if result, _ := recovered.Load(test.vmid); result != journal.Failed || len(l.results(test.op, test.vmid)[steps:]) != 0 {
						t.Errorf("got results %v, and %v after recovery, want a failed create", l.results(test.op, test.vmid)[steps:], result)
					}
					l.ok(l.sim.RemoveGuest(test.vmid)) // a user unlocks and removes it
				}
				l.converge()
				if got := l.results(test.op, test.vmid)[steps:]; len(got) == 0 || got[len(got)-1] != journal.Done || len(got) > 1 && got[0] == journal.Done {
					t.Errorf("got results %v, want the last one done, and the first one not", got)
				}
				if got := l.sim.Effects(test.vmid, test.effect); got != 1 {
					t.Errorf("got %d times %s, want once", got, test.effect)
				}
			})
		})
	}
}

// TestIncidentFailedTaskReportedAsSuccess makes the task of an accepted call fail repeatedly. The report contains the text of the task and is not
// converged until the task succeeds.
func TestIncidentFailedTaskReportedAsSuccess(t *testing.T) {
	t.Parallel()
	running, stopped := vmYAML("web-1", 201, "state: running", "lifecycle: {rebootPolicy: auto}"), vmYAML("web-1", 201, "state: stopped")
	tests := map[string]struct {
		path          string
		op            cluster.Op
		vmid          int
		before, after string
		effect        pvesim.Op
	}{
		"clone":    {"/clone$", cluster.OpCreate, 201, "", running, pvesim.Cloned},
		"create":   {"/lxc$", cluster.OpCreate, 210, "", dnsYAML(), pvesim.Created},
		"config":   {"/201/config$", cluster.OpConfig, 201, running, vmYAML("web-1", 201, "state: running", "cpu: {cores: 2}", "lifecycle: {rebootPolicy: auto}"), pvesim.ConfigWritten},
		"resize":   {"/201/resize$", cluster.OpResize, 201, running, vmYAML("web-1", 201, "state: running", "disks: {scsi0: {size: 8Gi}}"), pvesim.Resized},
		"start":    {"/201/status/start$", cluster.OpStart, 201, stopped, running, pvesim.Started},
		"shutdown": {"/201/status/shutdown$", cluster.OpShutdown, 201, running, stopped, pvesim.Stopped},
		"destroy":  {"/qemu/201$", cluster.OpDestroy, 201, vmYAML("web-1", 201, "lifecycle: {destroy: allow}"), "", pvesim.Destroyed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				l.rareTicks()
				l.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 1000}\n" // failed destroys count
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				if l.files["guest.yaml"] = test.before; test.before == "" {
					delete(l.files, "guest.yaml")
				}
				l.push("before", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()
				l.ok(l.sim.Inject(pvesim.Fault{Path: test.path, Kind: pvesim.TaskFails, Text: "no space left on the moon", Times: -1}))
				if l.files["guest.yaml"] = test.after; test.after == "" {
					delete(l.files, "guest.yaml")
				}
				tip := l.push("after", alice)
				l.waitForCondition(test.vmid, "no space left on the moon")
				for range 60 {
					time.Sleep(time.Minute)
					if r := l.engine.Report(); r.Converged && r.Source.Accepted.Commit == tip {
						t.Fatalf("got a converged report, want %s failed", test.op)
					}
				}
				for _, result := range l.results(test.op, test.vmid) {
					if result == journal.Done && test.before == "" {
						t.Errorf("got results %v, want none of them done", l.results(test.op, test.vmid))
					}
				}
				if got := l.sim.Effects(test.vmid, test.effect); got != 0 {
					t.Fatalf("got %d times %s, want a task that had no effect", got, test.effect)
				}
				l.sim.ClearFaults()
				eventually(l, "the next attempt", func() bool { return l.sim.Effects(test.vmid, test.effect) == 1 })
				l.converge()
			})
		})
	}
}

// TestIncidentWarningsReportedAsFailure starts a guest whose start task ends with warnings: the step is done, once, and the report contains the
// warnings.
func TestIncidentWarningsReportedAsFailure(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201, "firmware: {bios: ovmf}", "state: running")
		l.push("no disk for its variables", alice)
		defer l.start()()
		l.converge()
		warned := false
		for _, task := range l.sim.Tasks() {
			warned = warned || strings.HasPrefix(task.Exit, "WARNINGS: ")
		}
		if got := l.results(cluster.OpStart, 201); !warned || len(got) != 1 || got[0] != journal.Done {
			t.Errorf("got results %v of the start, warnings %t, want one that is done with warnings", got, warned)
		}
		l.waitForCondition(201, string(plan.Warned), "efidisk")
		g := l.guest(l.engine.Report(), 201)
		if hasCondition(g, plan.Failed, "") || g.Health != report.Healthy || l.sim.Effects(201, pvesim.Started) != 1 {
			t.Errorf("got %s with %+v after %d starts, want a healthy guest after one", g.Health, g.Conditions, l.sim.Effects(201, pvesim.Started))
		}
	})
}
