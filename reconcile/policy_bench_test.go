package reconcile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gitops-agent/reconcile"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/policy"
)

// exampleRules are the ten policies of examples/policies.
func exampleRules(tb testing.TB) *policy.Set {
	tb.Helper()
	names, err := filepath.Glob("../examples/policies/*.yaml")
	if err != nil || len(names) != 10 {
		tb.Fatalf("got %d files with policies (%v), want 10", len(names), err)
	}
	var files []manifest.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		files = append(files, manifest.File{Path: name, Data: data})
	}
	rules, err := manifest.ParsePolicies(files)
	if err != nil {
		tb.Fatal(err)
	}
	set, _ := policy.Compile(rules)
	return set
}

// policyFleet returns the manifests of n machines, what the cluster shows of them, and the journal. Every guest that changes gets other memory.
func policyFleet(tb testing.TB, n int, changes func(i int) bool) (files []manifest.File, seen cluster.Snapshot, state journal.State) {
	tb.Helper()
	files = []manifest.File{{Path: "cluster.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n")}}
	seen = cluster.Snapshot{Guests: make(map[int]guest.Observed, n)}
	state = journal.State{Owned: make(map[int]journal.Owned, n)}
	for i := range n {
		vmid, name := 1000+i, fmt.Sprintf("web-%d", i)
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: name, VMID: vmid}
		files = append(files, manifest.File{Path: name + ".yaml", Data: fmt.Appendf(nil, `apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: %s, labels: {stage: prod, team: web}}
spec:
  vmid: %d
  node: pve1
  cpu: {cores: 2, type: host}
  memory: {size: 2Gi}
  agent: {enabled: true}
  description: serves the web
  tags: [prod, team-web]
  disks: {scsi0: {storage: local-lvm, size: 32Gi, discard: true}}
  networks: {net0: {bridge: vmbr0, vlan: 20}, net1: {bridge: vmbr2}}
`, name, vmid)})
		owned := ownership.NewRecord("home", ref, journal.Created, "")
		state.Owned[vmid] = owned
		memory := "2048"
		if changes(i) {
			memory = "1024"
		}
		live := guest.Observed{Ref: ref, Node: "pve1", Status: guest.StatusStopped, Digest: fmt.Sprint(vmid), ReadAt: time.Now(), Keys: map[string]guest.Value{}}
		for key, text := range map[string]string{
			"agent": "1", "boot": "order=scsi0;net0", "cores": "2", "cpu": "host", "description": "serves the web\n", "memory": memory, "meta": "creation-qemu=10.0.2,ctime=1750000000",
			"name": name, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr2", "numa": "0", "ostype": "l26", "scsihw": "virtio-scsi-single",
			"scsi0": "local-lvm:vm-1-disk-0,discard=on,size=32G", "sockets": "1", "tags": owned.Tag + ";prod;team-web", "vmgenid": "b613b625-a256-471a-bdee-9befcd06181f",
		} {
			live.Keys[key] = guest.Value{Text: text, Set: true}
		}
		seen.Guests[vmid] = live
		seen.Inventory.Rows = append(seen.Inventory.Rows, cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Name: name, Node: "pve1", Status: guest.StatusStopped})
	}
	return files, seen, state
}

// reportProcessorTime reports the processor time of the process between the call and the call of its result.
func reportProcessorTime(b *testing.B) func() {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Milliseconds())/float64(b.N), "cpu-ms/op") }
}

// BenchmarkPlanWithPolicies plans and judges 10,000 guests with and without the ten policies of examples/policies: with the manifests, as the command plan
// does, and without, as a cycle of the agent does. The goal is 1.3 times the time without policies.
func BenchmarkPlanWithPolicies(b *testing.B) {
	const n = 10000
	set := exampleRules(b)
	for name, changes := range map[string]func(int) bool{"all_change": func(int) bool { return true }, "one_of_100_changes": func(i int) bool { return i%100 == 0 }} {
		files, seen, state := policyFleet(b, n, changes)
		read := reconcile.PreviewReader{Guests: func(context.Context, []int, []int, map[int]bool) (cluster.Snapshot, error) { return seen, nil }}
		parsed, err := manifest.Parse(files)
		if err != nil {
			b.Fatal(err)
		}
		for with, rules := range map[string]*policy.Set{"without": nil, "ten_policies": set} {
			judge := func(b *testing.B, m manifest.Set) {
				b.Helper()
				preview, err := reconcile.NewPreview(b.Context(), read, m, "main", state, guard.Minimum{}, reconcile.PreviewPolicy{Rules: rules})
				if err != nil {
					b.Fatal(err)
				}
				held := 0
				for _, step := range preview.Plan.Steps() {
					if v := preview.Gate.Judge(step); v.Held && v.Reason == gate.HoldPolicy {
						held++
					}
				}
				if held > 0 {
					b.Fatalf("got %d steps held", held)
				}
			}
			b.Run(name+"/plan/"+with, func(b *testing.B) {
				defer reportProcessorTime(b)()
				for b.Loop() {
					judge(b, parsed)
				}
			})
			b.Run(name+"/parse_and_plan/"+with, func(b *testing.B) {
				defer reportProcessorTime(b)()
				for b.Loop() {
					again, err := manifest.Parse(files)
					if err != nil {
						b.Fatal(err)
					}
					judge(b, again)
				}
			})
		}
	}
}
