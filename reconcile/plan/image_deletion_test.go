package plan

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
)

// TestFileWithAnOpenDeletionIsNotThere has a file that is listed and recorded, and a deletion that has not ended. On a storage that may be shared, a deletion on any
// node counts. Nothing is created from the file, and it is not downloaded again either.
func TestFileWithAnOpenDeletionIsNotThere(t *testing.T) {
	d := image.Desired{Name: "debian-13", Storage: "local", Content: image.ISO, Checksum: strings.Repeat("9f", 32), Nodes: []string{"pve1"}}
	deletion := func(node, volume string) journal.OpenStep {
		return journal.OpenStep{Begun: journal.Begun{Op: string(cluster.OpDeleteFile), Node: node, Detail: map[string]string{DetailVolume: volume}}}
	}
	download := deletion("pve1", d.Volume())
	download.Op = string(cluster.OpDownload)
	own := []cluster.StorageCapacity{{Node: "pve1", Storage: "local"}}
	for name, test := range map[string]struct {
		open     []journal.OpenStep
		storages []cluster.StorageCapacity
		unlisted bool
		lacks    bool
	}{
		"none":                     {nil, own, false, false},
		"here":                     {[]journal.OpenStep{deletion("pve1", d.Volume())}, own, false, true},
		"here_and_gone":            {[]journal.OpenStep{deletion("pve1", d.Volume())}, own, true, true},
		"another_node":             {[]journal.OpenStep{deletion("pve2", d.Volume())}, own, false, false},
		"another_node_may_share":   {[]journal.OpenStep{deletion("pve2", d.Volume())}, nil, false, true},
		"another_node_that_shares": {[]journal.OpenStep{deletion("pve2", d.Volume())}, []cluster.StorageCapacity{{Node: "pve1", Storage: "local", Shared: true}}, false, true},
		"another_file":             {[]journal.OpenStep{deletion("pve1", "local:iso/other.iso")}, own, false, false},
		"download":                 {[]journal.OpenStep{download}, own, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := cluster.Files{ReadAt: time.Unix(1, 0), Sizes: map[string]int64{d.Volume(): 5}}
			if test.unlisted {
				files.Sizes = nil
			}
			images := Images{Wanted: []image.Desired{d}, Open: test.open, Allowed: func(string) bool { return true }, Downloaded: map[journal.FileOn]journal.File{
				{Node: "pve1", Volume: d.Volume()}: {Downloaded: journal.Downloaded{Name: d.Name, Node: "pve1", Volume: d.Volume(), Size: 5}},
			}}
			p := planImage(images, d, cluster.Snapshot{
				Inventory: cluster.Inventory{Capacity: cluster.Capacity{Storages: test.storages}},
				Files:     map[cluster.FilePlace]cluster.Files{placeOf(d, "pve1"): files},
			})
			if got := p.Lacking["pve1"]; (got != "") != test.lacks || test.lacks && !strings.Contains(got, "has not ended") {
				t.Errorf("got the file lacking: %q, want lacking %t", got, test.lacks)
			}
			if len(p.Steps) != 0 {
				t.Errorf("got steps %v, want none", p.Steps)
			}
		})
	}
}
