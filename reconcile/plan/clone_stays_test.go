package plan

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// TestCloneStays wants a clone on another node than its template.
func TestCloneStays(t *testing.T) {
	t.Parallel()
	storages := []cluster.StorageCapacity{
		{Node: "pve1", Storage: "local"},
		{Node: "pve2", Storage: "local"},
		{Node: "pve1", Storage: "fast"},
		{Node: "pve1", Storage: "ceph", Shared: true},
		{Node: "pve2", Storage: "ceph", Shared: true},
	}
	for name, test := range map[string]struct {
		clone guest.Clone
		disk  string
		drive string
		want  string // part of the reason; "" for none
	}{
		"linked_local":            {guest.Clone{}, "local:9000/base-9000-disk-0.qcow2", "", "cannot leave that node, since its disk is on the local storage local"},
		"linked_shared":           {guest.Clone{}, "ceph:base-9000-disk-0", "", ""},
		"linked_with_local_drive": {guest.Clone{}, "ceph:base-9000-disk-0", "local:9000/vm-9000-cloudinit.qcow2", ""},
		"full_on_both":            {guest.Clone{Full: true}, "local:9000/base-9000-disk-0.qcow2", "", ""},
		"full_on_one":             {guest.Clone{Full: true}, "fast:base-9000-disk-0", "", "on the storage fast, which pve2 does not have"},
		"full_to_another":         {guest.Clone{Full: true, Storage: "local"}, "fast:base-9000-disk-0", "", ""},
		"full_to_one":             {guest.Clone{Full: true, Storage: "fast"}, "ceph:base-9000-disk-0", "", "on the storage fast, which pve2 does not have"},
		"disc_on_both":            {guest.Clone{Full: true}, "ceph:base-9000-disk-0", "local:iso/debian.iso", "while it has the disc local:iso/debian.iso (ide2) of a local storage"},
		"shared_disc":             {guest.Clone{Full: true, Storage: "local"}, "ceph:base-9000-disk-0", "ceph:iso/debian.iso", ""},
		"unknown":                 {guest.Clone{}, "hidden:base-9000-disk-0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.clone.VMID = 9000
			template := guest.Observed{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 9000}, Node: "pve1", Template: true, Keys: map[string]guest.Value{"scsi0": {Text: test.disk}}}
			if test.drive != "" {
				template.Keys["ide2"] = guest.Value{Text: test.drive + ",media=cdrom"}
			}
			d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, VMID: 201}, Node: "pve2", Source: guest.Source{Clone: &test.clone}}
			got := cluster.Snapshot{
				Guests:    map[int]guest.Observed{9000: template},
				Inventory: cluster.Inventory{Rows: []cluster.Row{{VMID: 9000, Kind: guest.VirtualMachine, Node: "pve1", Template: true}}, Capacity: cluster.Capacity{Storages: storages}},
			}
			if why := CloneMisses(&d, got); (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
				t.Errorf("got %q, want %q", why, test.want)
			}
		})
	}
}
