package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile"
)

// manyKinds are kinds of which people have one object for each guest: the spec of an object for the i-th guest, and a line for the spec of every guest.
var manyKinds = map[string]struct {
	line string
	spec func(i int, g pvesim.GuestInfo) string
}{
	"Pool": {"", func(int, pvesim.GuestInfo) string { return "comment: of one guest" }},
	"Replication": {"", func(_ int, g pvesim.GuestInfo) string {
		target := map[string]string{"pve1": "pve2", "pve2": "pve1"}[g.Node]
		return fmt.Sprintf("id: %d-0, target: %s", g.VMID, target)
	}},
	"AffinityRule": {"  ha: {state: started}\n", func(i int, g pvesim.GuestInfo) string {
		return fmt.Sprintf("type: node, guests: [%s:%d], nodes: [pve%d]", map[bool]string{true: "ct", false: "vm"}[g.Kind == pvesim.LXC], g.VMID, i%2+1)
	}},
	"BackupJob": {"", func(i int, g pvesim.GuestInfo) string {
		return fmt.Sprintf("schedule: \"02:%02d\", storage: local, guests: {vmids: [%d]}, retention: {keepLast: 3}", i%60, g.VMID)
	}},
}

// newManyObjects returns a lab with a converged fleet, and with the manifests of one object for each guest that are not accepted yet.
func newManyObjects(t testing.TB, kind string, guests int) *lab {
	sim := pvesim.New(pvesim.Options{Nodes: []string{"pve1", "pve2"}, Guests: guests, Seed: 7, TaskTime: time.Millisecond})
	t.Cleanup(sim.Close)
	l := newLab(t, sim, func(o *reconcile.Options) { o.Poll, o.Parallel = time.Hour, 32 })
	l.grant("Sys.Modify", "Sys.Console", "Pool.Allocate", "VM.Replicate", "Datastore.Allocate")
	l.files["cluster.yaml"] = strings.Replace(clusterYAML, "from: 200, to: 299", "from: 1000, to: 2999", 1)
	l.files["fleet.yaml"] = adopted(sim, manyKinds[kind].line)
	l.push("adopt the fleet", alice)
	if r := l.once(); !r.Converged {
		t.Fatalf("got %+v, want a converged fleet", r)
	}
	for i, g := range sim.Guests() {
		name := fmt.Sprintf("object-%d", g.VMID)
		l.files[name+".yaml"] = fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n", kind, name, manyKinds[kind].spec(i, g))
	}
	l.push("an object for each guest", alice)
	sim.ResetCounters()
	return l
}

// TestManyObjectsAreMade makes one object for each guest. What an object costs does not depend on how many others are to be made.
func TestManyObjectsAreMade(t *testing.T) {
	t.Parallel()
	const guests = 60
	for kind := range manyKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newManyObjects(t, kind, guests)
				if r := l.once(); !r.Converged {
					t.Errorf("got %+v, want it converged", r)
				}
				c := l.sim.Counters()
				if c.Writes < guests || c.Writes > guests+5 || c.Reads > 15*guests {
					t.Errorf("got %d writes and %d reads for %d objects, want one write and at most 15 reads for each: %v", c.Writes, c.Reads, guests, c.Routes)
				}
			})
		})
	}
}

// BenchmarkManyObjects measures the same with 200 guests. The processor time includes the simulator, which is in the same process.
func BenchmarkManyObjects(b *testing.B) {
	for kind := range manyKinds {
		b.Run(kind, func(b *testing.B) {
			reads, writes, used := 0, 0, time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				l := newManyObjects(b, kind, 200)
				b.StartTimer()
				before := processorTime(b)
				if r := l.once(); !r.Converged {
					b.Fatalf("got %+v, want it converged", r)
				}
				c := l.sim.Counters()
				reads, writes, used = reads+c.Reads, writes+c.Writes, used+processorTime(b)-before
			}
			b.ReportMetric(float64(used.Microseconds())/1000/float64(writes), "cpu-ms/write")
			b.ReportMetric(float64(reads)/float64(writes), "reads/write")
		})
	}
}

// TestGuardOfOtherObjectsCostsNoReads makes many sets beside a guest that guards its firewall. Its rules name none of them.
func TestGuardOfOtherObjectsCostsNoReads(t *testing.T) {
	const sets, entries = 30, 3
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify")
		l.files["web.yaml"] = vmYAML("web-1", 201, "firewall:", "  guarded: true", "  enable: true", "  rules: [{type: in, action: ACCEPT, macro: SSH}]")
		l.push("a guarded guest", alice)
		l.once()
		for i := range sets {
			l.files[fmt.Sprintf("set-%d.yaml", i)] = fmt.Sprintf("apiVersion: proxmox.gitops/v1alpha1\nkind: IPSet\nmetadata: {name: set-%d}\nspec: {entries: [{cidr: 10.1.%d.0/24}, {cidr: 10.2.%d.0/24}, {cidr: 10.3.%d.0/24}]}\n", i, i, i, i)
		}
		l.push("sets that it does not name", alice)
		l.sim.ResetCounters()
		if r := l.once(); !r.Converged {
			t.Errorf("got %+v, want it converged", r)
		}
		c := l.sim.Counters()
		if c.Writes < sets*(1+entries) || c.Reads > 8*c.Writes {
			t.Errorf("got %d writes and %d reads, want at most 8 reads for each write: %v", c.Writes, c.Reads, c.Routes)
		}
	})
}
