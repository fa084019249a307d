package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// storedThenFailed makes the next config call of a container store the change and answer 500, as Proxmox does if applying the change fails.
func (l *lab) storedThenFailed(vmid int) {
	l.Helper()
	l.ok(l.sim.Inject(pvesim.Fault{
		Method: "PUT", Path: "/config$", VMID: vmid, Kind: pvesim.ErrorText, Text: "Device /dev/null does not exist", AfterActing: true,
	}))
}

// afterCall runs a function after each call of the agent, before the agent gets the reply.
type afterCall struct {
	cluster.Cluster
	then func(cluster.Call)
}

func (a afterCall) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	upid, err := a.Cluster.Do(ctx, call, check)
	a.then(call)
	return upid, err
}

// TestIncidentStoredChangeIsReportedAsFailed adopts a container whose config call stores the change and answers 500. The agent reads the container
// and finds the change: the step is done, the record is confirmed, and a later removal, which an approval has allowed, needs no further one.
func TestIncidentStoredChangeIsReportedAsFailed(t *testing.T) {
	runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
		var results []journal.Result
		l.opts.Hooks.OnEvent = onOutcome(func(o report.StepOutcome) {
			if o.Step.Op == cluster.OpConfig {
				results = append(results, o.Result)
			}
		})
		_, err := l.sim.AddCT(pvesim.Guest{VMID: 210, Config: "hostname: dns-1\nmemory: 512\nrootfs: local-lvm:8\n"})
		l.ok(err)
		l.files["keep.yaml"] = vmYAML("keep-1", 209)
		l.files["dns.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Container\nmetadata: {name: dns-1}\nspec:\n  vmid: 210\n" +
			indented([]string{"adopt: ifUnmanaged", "memory: {size: 1Gi}", "lifecycle: {destroy: allow}"})
		l.storedThenFailed(210)
		l.push("take dns over", alice)
		defer l.start()()
		l.converge()
		if owned := l.journal.State().Owned[210]; owned.Claiming || l.sim.Value(210, "memory") != "1024" {
			t.Errorf("got record %+v and memory %s, want the record confirmed and the memory written", owned, l.sim.Value(210, "memory"))
		}
		if got := w.writes("/210/config"); len(got) != 1 {
			t.Errorf("got %d config calls, want the one that stored the change", len(got))
		}
		if !slices.Contains(results, journal.Done) || slices.Contains(results, journal.NotRun) || slices.Contains(results, journal.Failed) {
			t.Errorf("got results %v, want the step done", results)
		}
		l.approve(l.waitForHeldGuard(210, "lifecycle.destroy: approve -> allow"))
		eventually(l, "the permission to destroy", func() bool { return l.journal.State().Guarded[210].Destroy == "allow" })
		delete(l.files, "dns.yaml")
		l.push("remove dns", alice)
		l.converge()
		if got := l.sim.Effects(210, pvesim.Destroyed); got != 1 {
			t.Errorf("got %d destroys, want one without an approval", got)
		}
	})
}

// TestIncidentApprovalIsUsedTwice approves a change of a running container. The config call stores the change and answers 500, and somebody
// undoes the change: the approval is used up, and the next write waits for another one. A call that Proxmox refused without a write uses nothing.
func TestIncidentApprovalIsUsedTwice(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault pvesim.Fault
		want  journal.OrderState
		calls int // config calls until the order ends
	}{
		"stored":                     {pvesim.Fault{AfterActing: true}, journal.OrderRun, 1},
		"not_stored":                 {pvesim.Fault{Times: 2}, journal.OrderRun, 3},
		"not_stored_and_then_edited": {pvesim.Fault{}, journal.OrderUnknown, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				dns := func(bridge string, more ...string) string {
					return dnsYAML(append(more, "state: running", "networks: {net0: {name: eth0, bridge: "+bridge+"}, net1: {name: eth1, bridge: "+bridge+"}}")...)
				}
				var edits atomic.Bool
				l.opts.Cluster = afterCall{l.opts.Cluster, func(call cluster.Call) {
					if call.Op == cluster.OpConfig && edits.Swap(false) {
						l.ok(l.sim.Edit(210, "nameserver", "192.0.2.1"))
					}
				}}
				l.files["dns.yaml"] = dns("vmbr0")
				l.push("a container", alice)
				defer l.start()()
				l.converge()
				before := l.sim.Value(210, "net0")
				l.files["dns.yaml"] = dns("vmbr1")
				l.push("another bridge", alice)
				digest := l.digestOfHold(210)
				test.fault.Kind, test.fault.Text = pvesim.ErrorText, "Device /dev/null does not exist"
				test.fault.Method, test.fault.Path, test.fault.VMID = "PUT", "/config$", 210
				l.ok(l.sim.Inject(test.fault))
				edits.Store(name == "not_stored_and_then_edited")
				w.reset()
				l.approve(digest)
				order := func() journal.OrderState {
					for _, o := range l.journal.State().Orders {
						if strings.Contains(o.Order, digest) {
							return o.State
						}
					}
					return ""
				}
				eventually(l, "the end of the order", func() bool { return order() != "" && order() != journal.OrderSeen })
				if got := order(); got != test.want {
					t.Errorf("got order %s, want %s", got, test.want)
				}
				if got := len(w.writes("/210/config")); got != test.calls {
					t.Errorf("got %d config calls, want %d: a repetition only of those that wrote nothing", got, test.calls)
				}
				l.ok(l.sim.Edit(210, "net0", before))
				time.Sleep(5 * time.Minute)
				g := l.guest(l.engine.Report(), 210)
				if !strings.Contains(l.sim.Value(210, "net0"), "vmbr0") || len(g.Held) == 0 || g.Held[0].Reason != reason.Approval || g.Held[0].Class != guest.Disruptive {
					t.Errorf("got net0 %q and %+v, want another approval awaited", l.sim.Value(210, "net0"), g.Held)
				}
			})
		})
	}
}
