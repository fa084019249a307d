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
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/ownership"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
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

// policyFleet returns the manifests of n machines, in files of their own or in sets of 1,000, what the cluster shows of them, and the journal. Every guest that
// changes gets other memory.
func policyFleet(tb testing.TB, n int, inSets bool, changes func(i int) bool) (files []manifest.File, seen cluster.Snapshot, state journal.State) {
	tb.Helper()
	files = []manifest.File{{Path: "cluster.yaml", Data: []byte("apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\n")}}
	seen = cluster.Snapshot{Guests: make(map[int]guest.Observed, n)}
	state = journal.State{Owned: make(map[int]journal.Owned, n)}
	const spec = `node: pve1
    cpu: {cores: 2, type: host}
    memory: {size: 2Gi}
    agent: {enabled: true}
    description: serves the web
    tags: [prod, team-web]
    disks: {scsi0: {storage: local-lvm, size: 32Gi, discard: true}}
    networks: {net0: {bridge: vmbr0, vlan: 20}, net1: {bridge: vmbr2}}
`
	for from := 1000; inSets && from < 1000+n; from += 1000 {
		files = append(files, manifest.File{Path: fmt.Sprintf("set-%d.yaml", from), Data: fmt.Appendf(nil, `apiVersion: proxmox.gitops/v1alpha1
kind: GuestSet
metadata: {name: web-%d, labels: {stage: prod, team: web}}
spec:
  range: {from: %d, to: %d}
  each: {name: "web-${n}", vmid: "${n}"}
  virtualMachine:
    `+spec, from, from, from+999)})
	}
	for i := range n {
		vmid, name := 1000+i, fmt.Sprintf("web-%d", 1000+i)
		ref := guest.Ref{Kind: guest.VirtualMachine, Name: name, VMID: vmid}
		if !inSets {
			files = append(files, manifest.File{Path: name + ".yaml", Data: fmt.Appendf(nil, `apiVersion: proxmox.gitops/v1alpha1
kind: VirtualMachine
metadata: {name: %s, labels: {stage: prod, team: web}}
spec:
    vmid: %d
    `+spec, name, vmid)})
		}
		owned := ownership.NewRecord("home", ref, journal.Created, "")
		state.Owned[vmid] = owned
		memory := "2048"
		if changes(i) {
			memory = "1024"
		}
		live := guest.Observed{Ref: ref, Node: "pve1", Status: guest.StatusStopped, Digest: fmt.Sprint(vmid), ReadAt: time.Now(), Keys: map[string]guest.Value{}}
		for key, text := range map[string]string{
			"agent": "1", "boot": "order=scsi0;net0", "cores": "2", "cpu": "host", "description": "serves the web\n", "memory": memory, "meta": "creation-qemu=10.0.2,ctime=1750000000",
			"name": name, "net0": fmt.Sprintf("virtio=BC:24:11:00:%02X:%02X,bridge=vmbr0,tag=20", i/256, i%256), "net1": fmt.Sprintf("virtio=BC:24:12:00:%02X:%02X,bridge=vmbr2", i/256, i%256), "numa": "0", "ostype": "l26", "scsihw": "virtio-scsi-single",
			"scsi0": fmt.Sprintf("local-lvm:vm-%d-disk-0,discard=on,size=32G", vmid), "sockets": "1", "tags": owned.Tag + ";prod;team-web", "vmgenid": "b613b625-a256-471a-bdee-9befcd06181f",
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
// does; without, as the first cycle of the agent after a change does; and again with what the cycle before found. The goal is 1.3 times the time without
// policies.
func BenchmarkPlanWithPolicies(b *testing.B) {
	set := exampleRules(b)
	for _, from := range []struct {
		name   string
		inSets bool
	}{{"files", false}, {"sets", true}} {
		for name, changes := range map[string]func(int) bool{"all_change": func(int) bool { return true }, "one_of_100_changes": func(i int) bool { return i%100 == 0 }} {
			for with, rules := range map[string]*policy.Set{"without": nil, "ten_policies": set} {
				b.Run(from.name+"/"+name+"/"+with, func(b *testing.B) { benchmarkPlan(b, from.inSets, changes, rules) })
			}
		}
	}
}

func benchmarkPlan(b *testing.B, inSets bool, changes func(int) bool, rules *policy.Set) {
	b.Helper()
	files, seen, state := policyFleet(b, 10000, inSets, changes)
	read := reconcile.PreviewReader{Guests: func(context.Context, []int, []int, map[int]bool) (cluster.Snapshot, error) { return seen, nil }}
	parsed, err := manifest.Parse(files)
	if err != nil {
		b.Fatal(err)
	}
	judge := func(b *testing.B, p reconcile.Preview) {
		b.Helper()
		for _, step := range p.Plan.Steps() {
			if v := p.Gate.Judge(step); v.Held && v.Reason == reason.Policy {
				b.Fatalf("got %s held: %s", step.Guest, v.Message)
			}
		}
	}
	preview := func(b *testing.B, m manifest.Set) reconcile.Preview {
		b.Helper()
		p, err := reconcile.NewPreview(b.Context(), read, m, "main", state, guard.Minimum{}, reconcile.PreviewPolicy{Rules: rules})
		if err != nil {
			b.Fatal(err)
		}
		judge(b, p)
		return p
	}
	b.Run("parse_and_plan", func(b *testing.B) {
		defer reportProcessorTime(b)()
		for b.Loop() {
			again, err := manifest.Parse(files)
			if err != nil {
				b.Fatal(err)
			}
			preview(b, again)
		}
	})
	b.Run("plan", func(b *testing.B) {
		defer reportProcessorTime(b)()
		for b.Loop() {
			preview(b, parsed)
		}
	})
	before := preview(b, parsed)
	b.Run("judge_again", func(b *testing.B) {
		defer reportProcessorTime(b)()
		for b.Loop() {
			judge(b, before)
		}
	})
}
