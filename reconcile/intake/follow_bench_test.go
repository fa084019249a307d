package intake

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/verify"
)

// BenchmarkFollow compares the trees of 20 commits by signers who take turns, each of which changes one guest of 100, or of 1000. It reports the time for each commit.
func BenchmarkFollow(b *testing.B) {
	for _, guests := range []int{100, 1000} {
		b.Run(fmt.Sprint(guests), func(b *testing.B) {
			const commits = 20
			o := newSignedRepo(b)
			o.repo.Files["cluster.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec: {}\n"
			o.repo.Files["class.yaml"] = "apiVersion: proxmox.gitops/v1alpha1\nkind: GuestClass\nmetadata: {name: web}\nspec: {virtualMachine: {node: pve1, cpu: {cores: 2}, backup: required}}\n"
			for i := range guests {
				o.repo.Files[fmt.Sprintf("web/web-%d.yaml", i)] = vmText(i, 1)
			}
			o.commit("alice", "guests")
			base := o.repo.Tip
			for i := range commits {
				o.repo.Files[fmt.Sprintf("web/web-%d.yaml", i)] = vmText(i, 2)
				o.commit([]string{"otto", "alice"}[i%2], "a change")
			}
			rev, repo := o.checkWith(base, func(opts *verify.Options) { opts.Signers[2].May = []verify.Role{verify.RoleChange} })
			before := processorTime(b)
			for b.Loop() {
				tr := tracer{repo: repo, scope: Scope{Cluster: "home"}, passes: true, known: map[gitsource.ID]manifest.Set{}}
				list, err := tr.follow(b.Context(), rev)
				if err != nil || len(list) != commits || len(list[7].fields) != 1 {
					b.Fatal(list, err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N*commits), "cpu-ns/commit")
		})
	}
}

// vmText is the manifest of a guest with a firewall, two disks and a network card.
func vmText(i, memory int) string {
	return strings.Join([]string{
		"apiVersion: proxmox.gitops/v1alpha1", "kind: VirtualMachine", fmt.Sprintf("metadata: {name: web-%d, labels: {tier: web}}", i), "spec:", "  class: [web]",
		fmt.Sprintf("  vmid: %d", 1000+i), fmt.Sprintf("  memory: {size: %dGi}", memory), "  disks: {scsi0: {storage: local-lvm, size: 8Gi}, scsi1: {storage: local-lvm, size: 8Gi}}",
		"  networks: {net0: {bridge: vmbr0, firewall: true}}", "  firewall: {enable: true, rules: [{type: in, action: ACCEPT, protocol: tcp, port: 80}]}", "",
	}, "\n")
}
