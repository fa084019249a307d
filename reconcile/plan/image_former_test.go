package plan

import (
	"slices"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

// TestIsGone has a file that the agent downloaded, and readings of its node from before and after the record about it.
func TestIsGone(t *testing.T) {
	recorded := time.Unix(1000, 0)
	record := journal.File{Downloaded: journal.Downloaded{Name: "debian-13", Node: "pve1", Volume: "local:iso/debian-13.iso", Size: 5}, Time: recorded}
	listed := map[string]int64{record.Volume: 5}
	for name, test := range map[string]struct {
		files cluster.Files
		nodes []cluster.NodeCapacity
		gone  bool
	}{
		"never_read":         {},
		"listed":             {files: cluster.Files{ReadAt: recorded.Add(time.Second), Sizes: listed}},
		"not_listed":         {files: cluster.Files{ReadAt: recorded.Add(time.Second)}, gone: true},
		"not_listed_before":  {files: cluster.Files{ReadAt: recorded.Add(-time.Second)}},
		"not_listed_at_once": {files: cluster.Files{ReadAt: recorded}},
		"failed_since":       {files: cluster.Files{ReadAt: recorded.Add(time.Second), Err: "timeout"}},
		"node_left":          {nodes: []cluster.NodeCapacity{{Node: "pve2"}}, gone: true},
		"node_is_there":      {nodes: []cluster.NodeCapacity{{Node: "pve1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := cluster.Snapshot{
				Inventory: cluster.Inventory{Capacity: cluster.Capacity{Nodes: test.nodes}},
				Files:     map[cluster.FilePlace]cluster.Files{cluster.FilePlaceOf(record.Node, record.Volume): test.files},
			}
			if IsGone(record, got) != test.gone {
				t.Errorf("got gone %t, want %t", !test.gone, test.gone)
			}
		})
	}
}

// TestSharedFileIsDeletedOnce has records of two nodes about a former file. If they share the storage, it is one file, which the newer record describes.
func TestSharedFileIsDeletedOnce(t *testing.T) {
	const volume = "nas:iso/debian-13.iso"
	record := func(node string, size, at int64) journal.File {
		return journal.File{Downloaded: journal.Downloaded{Name: "debian-13", Node: node, Volume: volume, Size: size, Prune: true}, Time: time.Unix(at, 0)}
	}
	older, newer := record("pve2", 4, 1000), record("pve1", 5, 2000)
	for name, test := range map[string]struct {
		shared bool
		sizes  map[string]int64 // that the nodes list
		want   []string         // the nodes that delete a file
	}{
		"shared":     {true, map[string]int64{"pve1": 5, "pve2": 5}, []string{"pve1"}},
		"not_shared": {false, map[string]int64{"pve1": 5, "pve2": 4}, []string{"pve1", "pve2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := cluster.Snapshot{Files: map[cluster.FilePlace]cluster.Files{}}
			for node, size := range test.sizes {
				got.Inventory.Capacity.Storages = append(got.Inventory.Capacity.Storages, cluster.StorageCapacity{Node: node, Storage: "nas", Shared: test.shared, Available: true})
				got.Files[cluster.FilePlaceOf(node, volume)] = cluster.Files{ReadAt: time.Unix(3000, 0), Sizes: map[string]int64{volume: size}}
			}
			images := Images{Downloaded: map[journal.FileOn]journal.File{older.On(): older, newer.On(): newer}}
			planned := planFormers(Desired{Images: images}, nil, got)
			if len(planned) != 1 || len(planned[0].Conditions) != 0 {
				t.Fatalf("got %+v, want one plan without conditions", planned)
			}
			var nodes []string
			for _, step := range planned[0].Steps {
				nodes = append(nodes, step.Calls[0].Node)
			}
			if !slices.Equal(nodes, test.want) {
				t.Errorf("got deletions on %v, want %v", nodes, test.want)
			}
		})
	}
}
