package reconcile_test

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/report"
)

// BenchmarkIdleTick measures a tick of a converged cluster of 1,000 guests without changes: the inventory, a quarter of the guests read in full, a
// plan and a report. The processor time includes the simulator, which is in the same process. The target is 60 ms without the simulator. An
// operation lasts as long as the time between two ticks.
func BenchmarkIdleTick(b *testing.B) { benchmarkTick(b, 0, "", nil) }

// BenchmarkIdleTickWithOrders measures the same with 1,000 executed orders in the journal, which keeps them for 180 days.
func BenchmarkIdleTickWithOrders(b *testing.B) { benchmarkTick(b, 1000, "", nil) }

// BenchmarkIdleTickWithFirewalls measures the same with a firewall of five rules on every guest: one of ten readings of a guest also reads its firewall.
func BenchmarkIdleTickWithFirewalls(b *testing.B) {
	var rules []string
	for i := range 5 {
		rules = append(rules, fmt.Sprintf(`{type: in, action: ACCEPT, protocol: tcp, port: "%d"}`, 8000+i))
	}
	benchmarkTick(b, 0, "  firewall: {enable: true, policyIn: DROP, rules: ["+strings.Join(rules, ", ")+"]}\n", nil)
}

// BenchmarkIdleTickWithBackups measures the same with backups that every guest requires, and with twenty jobs that each select 50 of the guests by a label.
func BenchmarkIdleTickWithBackups(b *testing.B) {
	jobs := make(map[string]string)
	for i := range groupsOfGuests {
		jobs[fmt.Sprintf("job-%d.yaml", i)] = fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: job-%d}\n"+
			"spec: {schedule: \"02:%02d\", storage: local, guests: {labels: {group: \"%d\"}}, retention: {keepLast: 3}}\n", i, i, i)
	}
	benchmarkTick(b, 0, "  backup: required\n", jobs)
}

// groupsOfGuests is how many groups the label group divides the guests into.
const groupsOfGuests = 20

// benchmarkTick measures a tick with a number of executed orders, with a line in the spec of every guest, and with other files.
func benchmarkTick(b *testing.B, orders int, line string, others map[string]string) {
	const guests = 1000
	sim := pvesim.New(pvesim.Options{Guests: guests, Seed: 7, TaskTime: time.Millisecond})
	b.Cleanup(sim.Close)
	ticks := make(chan struct{}, 1)
	l := newLab(b, sim, func(o *reconcile.Options) {
		o.Tick, o.Resync, o.Poll, o.Parallel = time.Second, 4*time.Second, time.Hour, 32
		o.Hooks.OnReport = func(report.Report) {
			select {
			case ticks <- struct{}{}:
			default:
			}
		}
	})
	l.files["cluster.yaml"] = strings.Replace(clusterYAML, "from: 200, to: 299", "from: 1000, to: 2999", 1)
	l.files["fleet.yaml"] = adopted(sim, line)
	l.grant("Sys.Modify", "Datastore.Allocate")
	maps.Copy(l.files, others)
	l.push("adopt the fleet", alice)
	if r := l.once(); !r.Converged || len(r.Guests) != guests+len(others) {
		b.Fatalf("got %d guests and objects, converged %t, want a converged fleet", len(r.Guests), r.Converged)
	}
	l.open()
	for i := range orders {
		key := fmt.Sprint("order-", i)
		o := journal.Ordered{
			Key: key, Commit: strings.Repeat("c", 40), Subject: "otto@lab.test", Signer: "otto", ProvenTime: time.Now().UTC(), VMID: 1000 + i%guests, Entry: key,
			Order: fmt.Sprintf("Gitops-Run: reboot VirtualMachine/guest-%d", 1000+i%guests),
		}
		for _, state := range []journal.OrderState{journal.OrderSeen, journal.OrderReleased, journal.OrderRun} {
			o.State = state
			l.ok(l.journal.Append(b.Context(), o))
		}
	}
	l.close()
	defer l.start()()
	for !l.engine.Report().Converged {
		<-ticks
	}
	time.Sleep(4 * time.Second) // the first ticks read every guest
	<-ticks
	sim.ResetCounters()
	before := processorTime(b)
	for b.Loop() {
		<-ticks
	}
	used, counted := processorTime(b)-before, sim.Counters()
	if counted.Writes != 0 {
		b.Errorf("got %d writes to a converged cluster, want none", counted.Writes)
	}
	b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(counted.Reads)/float64(b.N), "calls/op")
}

// adopted returns manifests that adopt every guest, with a line in their spec.
func adopted(sim *pvesim.Sim, line string) string {
	var documents []string
	for _, g := range sim.Guests() {
		kind := "VirtualMachine"
		if g.Kind == pvesim.LXC {
			kind = "Container"
		}
		documents = append(documents, fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: %s\nmetadata: {name: guest-%d, labels: {group: \"%d\"}}\nspec:\n  vmid: %d\n"+
			"  adopt: ifUnmanaged\n  memory: {size: %sMi}\n%s", kind, g.VMID, g.VMID%groupsOfGuests, g.VMID, sim.Value(g.VMID, "memory"), line))
	}
	return strings.Join(documents, "---\n")
}

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
