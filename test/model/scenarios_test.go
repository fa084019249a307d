package model_test

import (
	"fmt"
	"strings"
	"testing"

	"gitops-agent/reconcile/manifest"
)

const clusterManifest = "apiVersion: proxmox.gitops/v1alpha1\nkind: Cluster\nmetadata: {name: home}\nspec:\n  vmids: {from: 200, to: 299}\n"

// vm is the manifest of a virtual machine.
func vm(name string, vmid int, lines ...string) string {
	return fmt.Sprintf("---\napiVersion: proxmox.gitops/v1alpha1\nkind: VirtualMachine\nmetadata: {name: %s}\nspec:\n  vmid: %d\n  node: pve1\n  source: {blank: {}}\n", name, vmid) +
		"  " + strings.Join(lines, "\n  ") + "\n"
}

// newRevision parses manifests. What it may destroy is set by the scenario.
func newRevision(t *testing.T, number int, manifests string, mayDestroy ...int) *revision {
	t.Helper()
	r := &revision{number: number, commit: fmt.Sprintf("%040x", number), mayDestroy: map[int]bool{}, mayCreateAgain: map[int]bool{}}
	var err error
	if r.set, err = manifest.Parse([]manifest.File{{Path: "all.yaml", Data: []byte(manifests)}}); err != nil {
		t.Fatal(err)
	}
	if r.guests, err = r.set.Lower(nil); err != nil {
		t.Fatal(err)
	}
	for _, vmid := range mayDestroy {
		r.mayDestroy[vmid] = true
	}
	return r
}

// replaced is a person who destroys a guest and makes another one with its vmid.
func replaced(vmid int) event {
	return event{
		name:     fmt.Sprintf("a person replaces guest %d by another one", vmid),
		possible: func(r *run) bool { return r.world.guests[vmid] == nil || !r.world.guests[vmid].foreign },
		happen: func(r *run) {
			if g := r.world.guests[vmid]; g != nil {
				for _, text := range mapOfSlots(g.keys) {
					delete(r.world.volumes, volumeOf(text))
				}
			}
			r.world.guests[vmid] = &machine{
				vmid: vmid, foreign: true, running: true, pending: map[string]string{},
				keys: map[string]string{"name": "stranger", "memory": "512", "smbios1": "uuid=11111111-2222-3333-4444-555555555555"},
			}
		},
	}
}

// attached is a person who attaches the disk of a guest to another guest of theirs.
func attached(vmid int, slot string) event {
	return event{
		name:     fmt.Sprintf("a person attaches %s of %d to another guest", slot, vmid),
		possible: func(r *run) bool { g := r.world.guests[vmid]; return g != nil && g.keys[slot] != "" },
		happen: func(r *run) {
			r.world.guests[900] = &machine{
				vmid: 900, foreign: true, pending: map[string]string{}, keys: map[string]string{"name": "borrower", "scsi5": r.world.guests[vmid].keys[slot]},
			}
		},
	}
}

// detached is a person who detaches a disk. It stays as an unused volume of the guest.
func detached(vmid int, slot string) event {
	return event{
		name:     fmt.Sprintf("a person detaches %s of %d", slot, vmid),
		possible: func(r *run) bool { g := r.world.guests[vmid]; return g != nil && g.keys[slot] != "" },
		happen: func(r *run) {
			g := r.world.guests[vmid]
			g.keys["unused0"] = volumeOf(g.keys[slot])
			delete(g.keys, slot)
		},
	}
}

// destroyed is a person who destroys a guest.
func destroyed(vmid int) event {
	return event{
		name:     fmt.Sprintf("a person destroys guest %d", vmid),
		possible: func(r *run) bool { return r.world.guests[vmid] != nil },
		happen: func(r *run) {
			for _, text := range mapOfSlots(r.world.guests[vmid].keys) {
				delete(r.world.volumes, volumeOf(text))
			}
			delete(r.world.guests, vmid)
			r.gone[vmid] = true
		},
	}
}

// approving returns a revision that also approves what is held for a guest.
func (r *revision) approving(vmid int) *revision {
	r.approves = vmid
	return r
}

// ordering returns a revision that also orders a one-shot operation.
func (r *revision) ordering(text string) *revision {
	r.orders = text
	return r
}

// pool is the manifest of the pool web.
func pool(comment string) string {
	return fmt.Sprintf("---\napiVersion: proxmox.gitops/v1alpha1\nkind: Pool\nmetadata: {name: web}\nspec: {comment: %s, lifecycle: {destroy: allow}}\n", comment)
}

// copies is the manifest of a job of replication of the guest 900, which is not the agent's.
func copies(schedule string) string {
	return fmt.Sprintf("---\napiVersion: proxmox.gitops/v1alpha1\nkind: Replication\nmetadata: {name: 900-0}\nspec: {target: pve2, schedule: %s, lifecycle: {destroy: allow}}\n", schedule)
}

// removing returns a revision that may remove objects that are no guests.
func (r *revision) removing() *revision {
	r.mayRemove = true
	return r
}

const mayGo = "lifecycle: {destroy: allow}"

// scenarios returns the small worlds.
func scenarios(t *testing.T) []*scenario {
	web, db, keep := vm("web-1", 201, mayGo), vm("db-1", 202, mayGo), vm("keep-1", 209)
	disk := "disks: {scsi1: {storage: local, size: 4Gi}}"
	return []*scenario{
		{
			name: "destroy", vmids: []int{201}, before: clusterManifest + web + keep, crash: true, lost: true, events: []event{replaced(201)},
			first: newRevision(t, 2, clusterManifest+keep, 201), second: newRevision(t, 3, clusterManifest+web+keep),
		},
		{
			name: "create", vmids: []int{201}, crash: true, lost: true, events: []event{replaced(201)},
			first: newRevision(t, 2, clusterManifest+web+keep), second: newRevision(t, 3, clusterManifest+keep, 201),
		},
		{
			name: "limit", unpruned: 1238, vmids: []int{201, 202}, held: true, before: clusterManifest + "  guards: {maxDestroysPerDay: 1}\n" + web + db + keep, crash: true, lost: true,
			first: newRevision(t, 2, clusterManifest+"  guards: {maxDestroysPerDay: 1}\n"+keep, 201, 202),
		},
		{
			name: "restart", unpruned: 253, vmids: []int{201}, crash: true, lost: true,
			before: clusterManifest + vm("web-1", 201, "state: running", "memory: {size: 1Gi}", "lifecycle: {rebootPolicy: auto}"),
			first:  newRevision(t, 2, clusterManifest+vm("web-1", 201, "state: running", "memory: {size: 2Gi}", "lifecycle: {rebootPolicy: auto}")),
		},
		{
			name: "order", vmids: []int{201}, crash: true, lost: true, events: []event{replaced(201)},
			before: clusterManifest + vm("web-1", 201, "state: running"), first: newRevision(t, 2, clusterManifest+vm("web-1", 201, "state: running")).ordering("reboot VirtualMachine/web-1"),
			second: newRevision(t, 3, clusterManifest+vm("web-1", 201, "state: running", "description: third")),
		},
		{
			name: "disk", unpruned: 60, vmids: []int{201}, before: clusterManifest + vm("web-1", 201, disk), crash: true, events: []event{detached(201, "scsi1")},
			first: newRevision(t, 2, clusterManifest+vm("web-1", 201, disk, "description: second")),
		},
		{
			name: "volume", unpruned: 57, vmids: []int{201}, before: clusterManifest + vm("web-1", 201, disk, mayGo) + keep, crash: true, events: []event{attached(201, "scsi1")},
			first: newRevision(t, 2, clusterManifest+keep, 201),
		},
		{
			name: "approval", unpruned: 833, vmids: []int{201}, before: clusterManifest + vm("web-1", 201) + keep, crash: true, lost: true, held: true, events: []event{replaced(201)},
			first: newRevision(t, 2, clusterManifest+keep), second: newRevision(t, 3, clusterManifest+keep, 201).approving(201),
		},
		{
			name: "gone", unpruned: 45, vmids: []int{201}, before: clusterManifest + vm("web-1", 201, disk), crash: true, events: []event{destroyed(201)},
			first: newRevision(t, 2, clusterManifest+vm("web-1", 201, disk, "description: second")),
		},
		{
			name: "pool", pools: []string{"web"}, before: clusterManifest + keep, crash: true, lost: true, events: []event{poolReplaced("web"), poolRemoved("web")},
			first: newRevision(t, 2, clusterManifest+keep+pool("first")), second: newRevision(t, 3, clusterManifest+keep+pool("second")),
		},
		{
			name: "pool-edit", unpruned: 85, pools: []string{"web"}, before: clusterManifest + keep + pool("first"), crash: true, lost: true,
			first: newRevision(t, 2, clusterManifest+keep+pool("second")),
		},
		{
			name: "pool-removal", pools: []string{"web"}, before: clusterManifest + keep + pool("first"), crash: true, lost: true, events: []event{poolReplaced("web")},
			first: newRevision(t, 2, clusterManifest+keep).removing(), second: newRevision(t, 3, clusterManifest+keep+pool("third")),
		},
		{
			name: "replication", jobs: []string{"900-0"}, before: clusterManifest + keep, crash: true, lost: true, events: []event{jobReplaced("900-0")},
			first: newRevision(t, 2, clusterManifest+keep+copies("hourly")), second: newRevision(t, 3, clusterManifest+keep).removing(),
		},
		{
			name: "replication-removal", jobs: []string{"900-0"}, before: clusterManifest + keep + copies("hourly"), crash: true, lost: true, events: []event{jobReplaced("900-0")},
			first: newRevision(t, 2, clusterManifest+keep).removing(), second: newRevision(t, 3, clusterManifest+keep+copies("daily")),
		},
		{
			name: "two", vmids: []int{201, 202}, large: true, before: clusterManifest + web + keep, crash: true, events: []event{replaced(202)},
			first: newRevision(t, 2, clusterManifest+keep+db, 201), second: newRevision(t, 3, clusterManifest+keep+web+db),
		},
	}
}
