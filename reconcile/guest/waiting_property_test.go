package guest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/boot"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
)

// TestPlanAndReportAgreeOnRestarts writes a value of every key to a running guest. If the plan said that the value needs a restart, the report says so until the guest was
// stopped and started, and if it did not, the guest is in sync at once.
func TestPlanAndReportAgreeOnRestarts(t *testing.T) {
	t.Parallel()
	for _, drive := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "with a cloud-init drive"}[drive], func(t *testing.T) {
			var samples []guest.WrittenSample
			all := guest.WrittenSamples()
			for i, sample := range all {
				isLast := i+1 == len(all) || all[i+1].Intent.Key != sample.Intent.Key // it has every sub-key
				if drive && sample.Kind == guest.Container || !isLast && i > 0 && all[i-1].Intent.Key == sample.Intent.Key {
					continue
				}
				samples = append(samples, sample)
			}
			restarts := 0
			for some := range slices.Chunk(samples, 20) { // a cluster lists the tasks of all its samples at each reading of a boot
				simulate(t, func(l lab) {
					l.status, l.drive = guest.StatusRunning, drive
					for _, sample := range some {
						if l.restartsAsPlanned(sample) {
							restarts++
						}
					}
				})
			}
			t.Logf("simulator: %d values wait for a restart", restarts)
		})
	}
}

// restartsAsPlanned writes a sample and restarts the guest. It reports whether the sample waited for that.
func (l lab) restartsAsPlanned(sample guest.WrittenSample) bool {
	l.Helper()
	vmid := l.renew(sample.Kind)
	d := guest.Desired{Ref: guest.Ref{Kind: sample.Kind, VMID: vmid}, Intents: []guest.Intent{sample.Intent}, Marker: "gitops-12345678"}
	owned := journal.Owned{VMID: vmid, Kind: string(sample.Kind), Identity: "i", Tag: "gitops-12345678", Origin: journal.Adopted}
	l.must(l.sim.Edit(vmid, "tags", owned.Tag))
	live := l.read(sample.Kind, vmid)
	if sample.Kind == guest.VirtualMachine {
		owned.UUID = guest.SMBIOSUUID(live)
	}
	record := boot.Baseline(journal.Applied{}, owned, live)
	planned := func() plan.Guest {
		live := l.read(sample.Kind, vmid)
		got := cluster.Snapshot{Guests: map[int]guest.Observed{vmid: live}}
		return plan.New(plan.Desired{
			Guests: []guest.Desired{d}, Owned: map[int]journal.Owned{vmid: owned}, Applied: map[int]journal.Applied{vmid: record},
			Attached: map[int]journal.Attached{vmid: {VMID: vmid, Identity: "i"}},
		}, got).Guests[0]
	}
	before := planned()
	if slices.ContainsFunc(before.Changes, func(c guest.Change) bool { return c.Class == guest.Impossible }) {
		return false
	}
	var promised []string
	for _, c := range before.Changes {
		if refusal := l.carryOut(sample, vmid, c); refusal != "" {
			l.Errorf("write %s %s=%q: %s", sample.Kind, c.Key, c.Value, refusal)
			return false
		}
		if c.Class == guest.Restart {
			promised = append(promised, c.Key)
		}
	}
	record, _, _ = observe.FollowBoot(l.Context(), l.client, cluster.Inventory{}, record, owned, l.read(sample.Kind, vmid))
	after := planned()
	for _, key := range promised {
		if !l.waits(after, key) {
			l.Errorf("%s %s=%q: got no pending restart, and the plan said that one is needed", sample.Kind, key, sample.Text)
		}
	}
	if len(promised) == 0 && !after.Converged() {
		l.Errorf("%s %s=%q: got %+v %+v, want it in sync, as the plan said", sample.Kind, sample.Intent.Key, sample.Text, after.Changes, after.Conditions)
	}
	if len(promised) == 0 || strings.HasPrefix(sample.Intent.Key, "hookscript") {
		return false
	}
	time.Sleep(time.Minute)
	for _, op := range []cluster.Op{cluster.OpStop, cluster.OpStart} {
		if refusal := l.do(cluster.Call{Op: op, Kind: sample.Kind, Node: "pve1", VMID: vmid}); refusal != "" {
			return true // the simulated host cannot start a guest with this value
		}
	}
	record, _, _ = observe.FollowBoot(l.Context(), l.client, cluster.Inventory{}, record, owned, l.read(sample.Kind, vmid))
	if last := planned(); !last.Converged() {
		l.Errorf("%s %s=%q after its restart: got %+v %+v, want it in sync", sample.Kind, sample.Intent.Key, sample.Text, last.Changes, last.Conditions)
	}
	return true
}

func (l lab) waits(p plan.Guest, key string) bool {
	return slices.ContainsFunc(p.Conditions, func(c plan.Condition) bool { return c.Type == plan.PendingRestart && strings.Contains(c.Message, key) }) &&
		slices.ContainsFunc(p.Changes, func(c guest.Change) bool { return c.Key == key && c.Waits && !c.Unsure })
}

// read reads a guest with its run state and its process.
func (l lab) read(kind guest.Kind, vmid int) guest.Observed {
	l.Helper()
	o, err := observe.ReadGuest(l.Context(), l.client, cluster.Row{Kind: kind, VMID: vmid, Node: "pve1", Status: guest.StatusUnknown}, guest.Version{})
	l.must(err)
	return o
}

func (l lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}
