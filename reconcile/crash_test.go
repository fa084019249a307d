package reconcile_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
)

// crashingCluster is a cluster whose agent crashes at one point of one operation: the lane ends there and writes nothing more.
type crashingCluster struct {
	cluster.Cluster
	op      cluster.Op
	at      string       // before-call, after-call or waiting
	spared  atomic.Int32 // calls of op before the one at which the agent crashes
	crashed atomic.Bool
	doing   atomic.Bool // the call of op was dispatched
}

func (d *crashingCluster) crash() {
	d.crashed.Store(true)
	panic("the agent crashes here")
}

func (d *crashingCluster) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	if call.Op != d.op || d.crashed.Load() || d.spared.Add(-1) >= 0 {
		return d.Cluster.Do(ctx, call, check)
	}
	if d.at == "before-call" {
		d.crash()
	}
	upid, err := d.Cluster.Do(ctx, call, check)
	if d.at == "after-call" {
		d.crash()
	}
	d.doing.Store(true)
	return upid, err
}

func (d *crashingCluster) Wait(ctx context.Context, upid string) (cluster.Task, error) {
	if d.at == "waiting" && d.doing.Load() && !d.crashed.Load() {
		d.crash()
	}
	return d.Cluster.Wait(ctx, upid)
}

// TestCrashAtEveryWritePoint crashes the agent around every kind of call and starts it again on the same state. Each effect must have happened
// once, by the simulator's own count.
func TestCrashAtEveryWritePoint(t *testing.T) {
	t.Parallel()
	ops := map[string]struct {
		op      cluster.Op
		vmid    int
		effect  pvesim.Op
		prepare func(l *lab) // causes op as the next operation, after a first convergence
	}{
		"clone": {cluster.OpCreate, 202, pvesim.Cloned, func(l *lab) {
			l.files["db.yaml"] = vmYAML("db-1", 202)
			l.push("clone", alice)
		}},
		"create": {cluster.OpCreate, 210, pvesim.Created, func(l *lab) {
			l.files["dns.yaml"] = dnsYAML()
			l.push("create", alice)
		}},
		"config": {cluster.OpConfig, 201, pvesim.ConfigWritten, func(l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "memory: {size: 3Gi}", "lifecycle: {destroy: allow}")
			l.push("more memory", alice)
		}},
		"start": {cluster.OpStart, 201, pvesim.Started, func(l *lab) {
			l.files["web.yaml"] = vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}")
			l.push("start", alice)
		}},
		"destroy": {cluster.OpDestroy, 201, pvesim.Destroyed, func(l *lab) {
			delete(l.files, "web.yaml")
			l.push("destroy", alice)
		}},
	}
	for name, test := range ops {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t, newSim(t, pvesim.Options{}))
					l.files["web.yaml"] = vmYAML("web-1", 201, "lifecycle: {destroy: allow}")
					l.crashAndRecover(test.op, at, test.prepare)
					if got := l.sim.Effects(test.vmid, test.effect); got != 1 {
						t.Errorf("got %d times %s, want once; counters %v", got, test.effect, l.sim.Counters().Effects)
					}
				})
			})
		}
	}
}

// TestCrashAroundARunningGuest is the same test for operations on a running guest: the guest must run at the end, at whatever point the agent
// crashed.
func TestCrashAroundARunningGuest(t *testing.T) {
	t.Parallel()
	web := func(lines ...string) string {
		return vmYAML("web-1", 201, append(lines, "state: running", "lifecycle: {rebootPolicy: auto}")...)
	}
	ops := map[string]struct {
		op     cluster.Op
		effect pvesim.Op
		then   string // the manifest that causes op as the next operation
	}{
		"reboot":  {cluster.OpReboot, pvesim.Stopped, web("cpu: {cores: 3}")},
		"migrate": {cluster.OpMigrate, pvesim.Migrated, onNode(web(), "pve2")},
		"resize":  {cluster.OpResize, pvesim.Resized, web("disks: {scsi0: {size: 4Gi}}")},
	}
	for name, test := range ops {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
					l.files["web.yaml"] = web()
					l.crashAndRecover(test.op, at, func(l *lab) {
						l.files["web.yaml"] = test.then
						l.push("change", alice)
					})
					if got := l.sim.Effects(201, test.effect); got != 1 || !l.sim.Running(201) {
						t.Errorf("got %d times %s and running %v, want once and running", got, test.effect, l.sim.Running(201))
					}
				})
			})
		}
	}
}

// TestCrashAroundCallsToTheHAManager crashes the agent around the calls of which the HA manager makes the effect, after its delays: nothing happens twice, and nothing is lost.
func TestCrashAroundCallsToTheHAManager(t *testing.T) {
	t.Parallel()
	const stopped, started = "ha: {state: stopped}", "ha: {state: started}"
	ops := map[string]struct {
		op            cluster.Op
		before, after string // manifests
		effect        pvesim.Op
	}{
		"ha-add":  {cluster.OpHAAdd, vmYAML("web-1", 201), vmYAML("web-1", 201, started), pvesim.Started},
		"ha-set":  {cluster.OpHASet, vmYAML("web-1", 201, stopped), vmYAML("web-1", 201, started), pvesim.Started},
		"migrate": {cluster.OpMigrate, onNode(vmYAML("web-1", 201, started), "pve1"), onNode(vmYAML("web-1", 201, started), "pve2"), pvesim.Migrated},
	}
	for name, test := range ops {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			if at == "waiting" && test.op != cluster.OpMigrate {
				continue // it has no task
			}
			t.Run(name+"/"+at, func(t *testing.T) {
				runLabOfHA(t, func(t *testing.T, l *lab) {
					l.files["web.yaml"] = test.before
					time.Sleep(time.Minute) // until the list has the template
					l.crashAndRecover(test.op, at, func(l *lab) {
						l.files["web.yaml"] = test.after
						l.push("change", alice)
					})
					if got := l.sim.Effects(201, test.effect); got != 1 || !l.sim.Running(201) {
						t.Errorf("got %d times %s and running %v, want once and running", got, test.effect, l.sim.Running(201))
					}
				})
			})
		}
	}
}

// crashAndRecover lets the agent converge, crash at one point of an operation that prepare causes, and converge after another start.
func (l *lab) crashAndRecover(op cluster.Op, at string, prepare func(l *lab)) {
	l.Helper()
	l.files["cluster.yaml"] = clusterYAML
	l.files["keep.yaml"] = vmYAML("keep-1", 209)
	l.push("first", alice)
	if r := l.once(); !r.Converged {
		l.Fatalf("got %+v, want a first convergence", r)
	}
	prepare(l)
	l.sim.ResetCounters()
	d := &crashingCluster{Cluster: l.cluster, op: op, at: at}
	l.opts.Cluster = d
	stop := l.start()
	l.recoverFrom(&d.crashed, stop, time.Minute)
}

// recoverFrom ends the agent after its crash, lets it converge after another start, and go on for a while. Afterwards no step is open.
func (l *lab) recoverFrom(crashed *atomic.Bool, stop func(), after time.Duration) {
	l.Helper()
	eventually(l, "the crash", crashed.Load)
	stop()
	l.opts.Cluster = l.cluster
	stop = l.start()
	l.converge()
	time.Sleep(after)
	if open := l.journal.State().Open; len(open) != 0 {
		l.Errorf("got open steps %+v after recovery, want none", open)
	}
	stop()
	if v := l.sim.Violations(); len(v) != 0 {
		l.Errorf("got violations %v, want none", v)
	}
}

// TestUnknownOutcomes gives a call no reply, or a reply of the proxy, after the call took effect: the agent reads the guest and does not repeat the
// call.
func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	faults := map[string]pvesim.Fault{
		"dropped": {Kind: pvesim.DropAfter},
		"596":     {Kind: pvesim.ProxyStatus, Status: 596, AfterActing: true},
		"garbage": {Kind: pvesim.InvalidJSON, AfterActing: true},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				fault.Method, fault.Path = "POST", "/qemu/9000/clone$"
				l.ok(l.sim.Inject(fault))
				l.files["web.yaml"] = vmYAML("web-1", 201)
				l.push("clone", alice)
				defer l.start()()
				l.converge()
				if got := l.sim.Effects(201, pvesim.Cloned); got != 1 {
					t.Errorf("got %d clones, want 1", got)
				}
				if got := l.sim.Counters().Routes["POST /nodes/{node}/qemu/{vmid}/clone"]; got != 1 {
					t.Errorf("got %d clone calls, want 1", got)
				}
			})
		})
	}
}

func TestPartlyCreatedGuestIsReported(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/lxc$", Kind: pvesim.LostWorker}))
		l.files["dns.yaml"] = dnsYAML()
		l.push("create", alice)
		defer l.start()()
		eventually(t, "the condition", func() bool {
			for _, g := range l.engine.Report().Guests {
				for _, c := range g.Conditions {
					if c.Reason == reason.Locked {
						return true
					}
				}
			}
			return false
		})
		time.Sleep(time.Hour)
		if got := l.sim.Counters().Routes["POST /nodes/{node}/lxc"]; got != 1 {
			t.Errorf("got %d creates over a half-made guest, want 1", got)
		}
	})
}

func TestOrderIsSpentOnce(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("first", alice)
		defer l.start()()
		l.converge()
		for range 2 {
			l.push("Look\n\nGitops-Approve: 00000000000000000000000000000000\n", olga)
		}
		l.converge()
		time.Sleep(time.Minute)
		for _, o := range l.journal.State().Orders {
			if o.State != journal.OrderSeen {
				t.Errorf("got order %s of nothing held, want it seen", o.State)
			}
		}
		if got := len(l.journal.State().Orders); got != 2 {
			t.Errorf("got %d orders, want 2", got)
		}
	})
}

// TestOrdersBeforeALostStateAreVoid deletes the state directory. An approval that was signed before the new state began must not release anything,
// because it may have been spent.
func TestOrdersBeforeALostStateAreVoid(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = vmYAML("web-1", 201)
		l.push("first", alice)
		l.push("Approve\n\nGitops-Approve: 00000000000000000000000000000000\n", olga)
		time.Sleep(time.Minute)
		l.state = t.TempDir()
		l.open()
		l.close()
		l.push("Approve\n\nGitops-Approve: 11111111111111111111111111111111\n", olga)
		defer l.start()()
		l.converge()
		states := map[string]journal.OrderState{}
		for _, o := range l.journal.State().Orders {
			states[o.Order] = o.State
		}
		want := map[string]journal.OrderState{
			"Gitops-Approve: 00000000000000000000000000000000": journal.OrderExpired,
			"Gitops-Approve: 11111111111111111111111111111111": journal.OrderSeen,
		}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("orders differ (-want +got):\n%s", diff)
		}
	})
}
