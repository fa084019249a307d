package plan

import (
	"fmt"
	"syscall"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/ownership"
)

// fleetInSync returns n guests in sync, as the class of a homelab would describe them: a dozen managed keys each, and as many unmanaged keys.
func fleetInSync(n int) (Desired, cluster.Snapshot) {
	want := Desired{Cluster: "home", Revision: "main@sha1:0", Owned: make(map[int]journal.Owned, n)}
	got := cluster.Snapshot{Guests: make(map[int]guest.Observed, n)}
	for i := range n {
		vmid := 1000 + i
		owned := fixture.Owned201()
		owned.VMID, owned.Tag = vmid, ownership.Marker("home", vmid, owned.Identity)
		want.Owned[vmid] = owned
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprintf("vm-%d", i), VMID: vmid}
		want.Guests = append(want.Guests, guest.Desired{Ref: ref, Node: "pve1", State: guest.Running, Intents: []guest.Intent{
			{Key: "agent", Verb: guest.Want, Sub: map[string]string{"enabled": "1"}},
			{Key: "ciuser", Verb: guest.Want, Text: "ops"},
			{Key: "cores", Verb: guest.Want, Text: "2"},
			{Key: "cpu", Verb: guest.Want, Sub: map[string]string{"cputype": "host"}},
			{Key: "description", Verb: guest.Want, Text: "serves the web"},
			{Key: "ipconfig0", Verb: guest.Want, Sub: map[string]string{"ip": "10.0.20.11/24", "gw": "10.0.20.1"}},
			{Key: "memory", Verb: guest.Want, Text: "2048"},
			{Key: "name", Verb: guest.Want, Text: ref.Name},
			{Key: "net0", Verb: guest.Want, Sub: map[string]string{"model": "virtio", "bridge": "vmbr0", "tag": "20"}},
			{Key: "onboot", Verb: guest.Want, Text: "1"},
			{Key: "scsi0", Verb: guest.Want, Sub: map[string]string{"storage": "local-lvm", "size": "32G", "discard": "on"}},
			{Key: "tags", Verb: guest.Want, Text: "prod;web"},
		}})
		keys := map[string]string{
			"agent": "1", "boot": "order=scsi0;net0", "ciuser": "ops", "cores": "2", "cpu": "host", "description": "serves the web\n",
			"ipconfig0": "gw=10.0.20.1,ip=10.0.20.11/24", "memory": "2048", "meta": "creation-qemu=10.0.2,ctime=1750000000", "name": ref.Name,
			"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20", "numa": "0", "onboot": "1", "ostype": "l26", "scsihw": "virtio-scsi-single",
			"scsi0": "local-lvm:vm-1-disk-0,discard=on,size=32G", "smbios1": "uuid=" + fixture.TestUUID, "sockets": "1", "tags": owned.Tag + ";prod;web",
			"vmgenid": "b613b625-a256-471a-bdee-9befcd06181f",
		}
		live := guest.Observed{Ref: ref, Node: "pve1", Status: guest.StatusRunning, Digest: "d", Keys: make(map[string]guest.Value, len(keys))}
		for key, text := range keys {
			live.Keys[key] = guest.Value{Text: text, Set: true}
		}
		got.Guests[vmid] = live
	}
	return want, got
}

func TestFleetIsInSync(t *testing.T) {
	want, got := fleetInSync(3)
	if plan := New(want, got); !plan.Empty() {
		t.Errorf("got %+v for the benchmark's fleet, want an empty plan", outlineOf(plan))
	}
}

// BenchmarkNewPlan plans a converged fleet. The target is 100 ms for 10,000 guests, and linear time.
func BenchmarkNewPlan(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("guests=%d", n), func(b *testing.B) {
			want, got := fleetInSync(n)
			b.ReportAllocs()
			var before, after syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if plan := New(want, got); len(plan.Guests) != n {
					b.Fatalf("got %d guests, want %d", len(plan.Guests), n)
				}
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
				b.Fatal(err)
			}
			used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(used)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}

// BenchmarkNewOrdering orders the steps of 1,000 guests beside objects of other kinds. Each cycle does this, so the time has to grow with the number of both, not
// with their product.
func BenchmarkNewOrdering(b *testing.B) {
	for _, n := range []int{0, 1000, 2000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			want, got := fleetInSync(1000)
			planned, opts := New(want, got), OrderingOptions{}
			for i := range n {
				d := kind.Desired{Kind: "BackupJob", Name: fmt.Sprintf("object-%d", i), ID: fmt.Sprintf("object-%d", i)}
				planned.Guests = append(planned.Guests, Guest{Ref: d.Ref(), Managed: true, Present: true})
				opts.Objects = append(opts.Objects, d)
			}
			for b.Loop() {
				NewOrdering(planned, want.Guests, opts)
			}
		})
	}
}

// BenchmarkNewOrderingOfDependencies orders the steps of guests that depend on two others each. Each cycle builds this graph.
func BenchmarkNewOrderingOfDependencies(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("guests=%d", n), func(b *testing.B) {
			want, got := fleetInSync(n)
			for i := 2; i < n; i++ {
				want.Guests[i].DependsOn = []string{want.Guests[(i-1)/10].Label(), want.Guests[(i-2)/10].Label()}
			}
			planned := New(want, got)
			b.ReportAllocs()
			for b.Loop() {
				NewOrdering(planned, want.Guests, OrderingOptions{})
			}
		})
	}
}
