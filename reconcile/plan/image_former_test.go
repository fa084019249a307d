package plan

import (
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
