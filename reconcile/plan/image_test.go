package plan

import (
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
)

// TestImagePlacesOfASharedStorage: the first node with guests shows a storage that all nodes share; without guests, the first one that can use it.
func TestImagePlacesOfASharedStorage(t *testing.T) {
	t.Parallel()
	capacity := cluster.Capacity{Storages: []cluster.StorageCapacity{
		{Node: "pve1", Storage: "nfs"}, {Node: "pve2", Storage: "nfs", Available: true}, {Node: "pve3", Storage: "nfs", Available: true}, {Node: "pve0", Storage: "local", Available: true},
	}}
	rows := []cluster.Row{{Kind: guest.VirtualMachine, VMID: 301, Node: "pve3"}}
	tests := map[string]struct {
		inventory cluster.Inventory
		want      string
	}{
		"guests":         {cluster.Inventory{Rows: rows, Capacity: capacity}, "pve3"},
		"no_guests":      {cluster.Inventory{Capacity: capacity}, "pve2"},
		"offline":        {cluster.Inventory{Capacity: capacity, Offline: []string{"pve2"}}, "pve3"},
		"in_maintenance": {cluster.Inventory{Capacity: capacity, Maintenance: []string{"pve2", "pve3"}}, ""},
		"not_known":      {cluster.Inventory{}, ""},
	}
	for name, test := range tests {
		got := ""
		for _, place := range ImagePlaces([]image.Desired{{Name: "debian", Storage: "nfs"}}, test.inventory) {
			got += place.Node
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
