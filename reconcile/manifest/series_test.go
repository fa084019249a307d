package manifest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestSeriesParsesEachTreeAsAlone parses random trees one after the other, and each alone. The results are the same: guests by file, by row of a set and by number, with classes, defaults,
// rollouts and Images that change or are refused, files that move or are imported, and documents that change places.
func TestSeriesParsesEachTreeAsAlone(t *testing.T) {
	t.Parallel()
	doc := func(kind, name, spec string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
	}
	labelled := func(name, spec string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: " + name + ", labels: {tier: web}}\nspec: {" + spec + "}\n"
	}
	web, db := doc("VirtualMachine", "web", "class: [kept], vmid: 201, disks: {scsi0: {storage: local-lvm, size: 8Gi}}"), doc("Container", "db", "vmid: 202, dependsOn: [VirtualMachine/web]")
	files := map[string][]string{ // versions of each file; "" is none
		"cluster.yaml": {
			doc("Cluster", "home", "vmids: {from: 200, to: 299}"), doc("Cluster", "home", "vmids: {from: 200, to: 299}, defaults: {virtualMachine: {cpu: {cores: 3}}}"),
			doc("Cluster", "home", "vmids: {from: 200, to: 299}, imports: [common]"), doc("Cluster", "home", "vmids: {from: 200, to: 299}, rollouts: {slow: {select: {classes: [kept]}, canary: 2}}"), doc("Cluster", "home", "vmids: {from: 200, to: 204}"), "",
		},
		"kept.yaml":        {doc("GuestClass", "kept", "virtualMachine: {node: pve1, backup: required}"), doc("GuestClass", "kept", "virtualMachine: {node: pve2}, container: {node: pve1}"), doc("GuestClass", "kept", "virtualMachine: {node: 7 8}"), ""},
		"selects.yaml":     {doc("GuestClass", "selects", "select: {labels: {tier: web}}, virtualMachine: {memory: {size: 2Gi}}"), doc("GuestClass", "selects", "select: {labels: {tier: web}, order: 2}, virtualMachine: {memory: {size: 3Gi}}"), ""},
		"image.yaml":       {doc("Image", "debian", `storage: local, content: import, nodes: [pve1], url: "https://images.test/debian.qcow2", checksum: "sha256:1111111111111111111111111111111111111111111111111111111111111111"`), doc("Image", "debian", `storage: local, content: import, nodes: [pve1], url: "https://images.test/other.qcow2", checksum: "sha256:2222222222222222222222222222222222222222222222222222222222222222"`), ""},
		"web.yaml":         {web, web + "---\n" + db, db + "---\n" + web, labelled("web", "node: pve1, vmid: 201"), labelled("web", "node: pve1, vmid: 201, memory: {size: 2 potatoes}"), "not: [closed", ""},
		"moved/db.yaml":    {db, doc("Container", "db", "node: pve1, vmid: 203"), "", ""},
		"set.yaml":         {doc("GuestSet", "webs", "virtualMachine: {class: kept, node: pve1}, members: [{name: one, vmid: 211}, {name: two, vmid: 212}]"), doc("GuestSet", "others", "virtualMachine: {node: pve1}, members: [{name: two, vmid: 212}, {name: one, vmid: 211}]"), doc("GuestSet", "webs", `virtualMachine: {node: pve1}, range: {from: 1, to: 3}, each: {name: "n-${n}"}`), ""},
		"policy.yaml":      {doc("Policy", "memory", `match: "has(new.memory)", message: no`), ""},
		"job.yaml":         {doc("BackupJob", "nightly", `schedule: "02:00", storage: local, guests: {vmids: [201]}, retention: {keepLast: 3}`), doc("BackupJob", "nightly", `schedule: "02:00", storage: local, guests: {all: true}, retention: {keepLast: 3}`), ""},
		"common/more.yaml": {doc("GuestClass", "more", "virtualMachine: {node: pve3}"), doc("GuestClass", "more", "virtualMachine: {node: pve4}"), ""},
	}
	rng := rand.New(rand.NewPCG(1, 46))
	now, refused, accepted := map[string]string{}, 0, 0
	var series Series
	for range 600 {
		for _, path := range slices.Sorted(maps.Keys(files)) {
			versions := files[path]
			if len(now) == 0 || rng.IntN(6) == 0 {
				now[path] = versions[min(rng.IntN(len(versions)), rng.IntN(len(versions)))] // the first ones parse
			}
			if _, is := now[path]; !is {
				now[path] = versions[0]
			}
		}
		var tree []File
		for path, text := range now {
			if text != "" {
				tree = append(tree, File{Path: path, Data: []byte(text), Imported: path == "common/more.yaml" && rng.IntN(2) == 0})
			}
		}
		got, err := series.ParseEarlier(tree)
		want, wantErr := ParseEarlier(tree)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v %v, want %+v %v, of %v", got, err, want, wantErr, now)
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 50 || refused < 50 {
		t.Errorf("got %d accepted and %d refused trees, want many of both", accepted, refused)
	}
}
