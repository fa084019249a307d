package preflight

import (
	"strings"
	"testing"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// What the cluster makes impossible for a new guest or an object is found with its place and the live value, and what was not read makes nothing impossible.
func TestUnresolvedOnClusterFindsWhatIsTooSmall(t *testing.T) {
	t.Parallel()
	const g = int64(1) << 30
	at := func(line int) guest.Origin { return guest.Origin{File: "web.yaml", Line: line, Column: 3} }
	vm := func(memory string, disks ...string) guest.Desired {
		d := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Node: "pve1", Source: guest.Source{Blank: true}, Origin: at(1)}
		d.Intents = []guest.Intent{{Key: "memory", Verb: guest.Want, Text: memory, Origin: at(7)}}
		for i, size := range disks {
			d.Intents = append(d.Intents, guest.Intent{Key: "scsi" + string(rune('0'+i)), Verb: guest.Want, Sub: map[string]string{"storage": "local-lvm", "size": size}, Origin: at(9 + i)})
		}
		return d
	}
	job := func(kindName guest.Kind, id, key, text string) kind.Desired {
		return kind.Desired{Kind: kindName, Name: "o", ID: id, Origin: at(1), Keys: []kind.Intent{{Key: key, Text: text, Origin: at(4)}}}
	}
	tests := map[string]struct {
		guest   func() guest.Desired
		object  kind.Desired
		change  func(*ClusterContext)
		want    string // "" for nothing
		warning bool
	}{
		"fits":           {guest: func() guest.Desired { return vm("8192", "10G") }},
		"memory":         {guest: func() guest.Desired { return vm("65536") }, want: "pve1: has 16.0 GiB of memory, and the guest gets 64.0 GiB; VirtualMachine/web-1 memory web.yaml:7:3"},
		"memory_equal":   {guest: func() guest.Desired { return vm("16384") }},
		"memory_unread":  {guest: func() guest.Desired { return vm("65536") }, change: func(c *ClusterContext) { c.Inventory.Capacity = cluster.Capacity{} }},
		"memory_offline": {guest: func() guest.Desired { return vm("65536") }, change: func(c *ClusterContext) { c.Inventory.Capacity.Nodes[0].MaxMem = 0 }},
		"memory_of_a_container": {guest: func() guest.Desired {
			d := vm("65536")
			d.Kind = guest.Container
			return d
		}},
		"memory_one_of_two_nodes": {guest: func() guest.Desired {
			d := vm("65536")
			d.Node, d.Nodes = "pve1", []string{"pve1", "pve2"}
			return d
		}},
		"memory_of_the_template": {guest: func() guest.Desired {
			d := vm("65536")
			d.Intents, d.Source = nil, guest.Source{Clone: &guest.Clone{VMID: 900}}
			return d
		}, change: func(c *ClusterContext) {
			c.Inventory.Rows = []cluster.Row{{Kind: guest.VirtualMachine, VMID: 900, Node: "pve1", Template: true, MaxMem: 32 * g}}
		}, want: "and the guest gets 32.0 GiB"},
		"processors": {guest: func() guest.Desired {
			d := vm("2048")
			d.Intents = append(d.Intents, guest.Intent{Key: "cores", Verb: guest.Want, Text: "5", Origin: at(8)}, guest.Intent{Key: "sockets", Verb: guest.Want, Text: "2", Origin: at(8)})
			return d
		}, want: "pve1: has 8 processors, and the guest gets 10; VirtualMachine/web-1 cores web.yaml:8:3"},
		"processors_of_a_container": {guest: func() guest.Desired {
			d := vm("2048")
			d.Kind = guest.Container
			d.Intents = append(d.Intents, guest.Intent{Key: "cores", Verb: guest.Want, Text: "10", Origin: at(8)})
			return d
		}},
		"space":            {guest: func() guest.Desired { return vm("2048", "60G", "60G") }, want: "local-lvm: has 100.0 GiB free on pve1, and the new and grown disks take 120.0 GiB; VirtualMachine/web-1 scsi0 web.yaml:9:3", warning: true},
		"space_not_usable": {guest: func() guest.Desired { return vm("2048", "200G") }, change: func(c *ClusterContext) { c.Inventory.Capacity.Storages[0].Available = false }},
		"space_of_present": {guest: func() guest.Desired { return vm("2048", "200G") }, change: func(c *ClusterContext) {
			c.Inventory.Rows = []cluster.Row{{Kind: guest.VirtualMachine, VMID: 201, Node: "pve1", MaxMem: g}}
		}},
		"job_storage":         {object: job("BackupJob", "nightly", "storage", "backpu"), want: "storage backpu: is not on the cluster, or the token may not see it; BackupJob/o storage web.yaml:4:3"},
		"job_storage_good":    {object: job("BackupJob", "nightly", "storage", "local-lvm")},
		"job_storage_unread":  {object: job("BackupJob", "nightly", "storage", "backpu"), change: func(c *ClusterContext) { c.Storages = nil }},
		"job_storage_default": {object: job("BackupJob", "nightly", "schedule", "02:00")},
		"job_pool":            {object: job("BackupJob", "nightly", "pool", "prod"), want: "pool prod: does not exist"},
		"job_pool_made": {object: job("BackupJob", "nightly", "pool", "prod"), change: func(c *ClusterContext) {
			c.Objects = []kind.Desired{{Kind: "Pool", ID: "prod"}}
		}},
		"replication_target": {object: job("Replication", "201-0", "target", "pve9"), want: "node pve9: is not a member of the cluster; "},
		"rule_nodes":         {object: job("AffinityRule", "web", "nodes", "pve1:2,pve9"), want: "node pve9: is not a member of the cluster; AffinityRule/o nodes web.yaml:4:3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			around := ClusterContext{
				Nodes: []string{"pve1", "pve2"}, Pools: []string{}, Storages: []cluster.Storage{{ID: "local-lvm"}},
				Inventory: cluster.Inventory{Capacity: cluster.Capacity{
					Nodes:    []cluster.NodeCapacity{{Node: "pve1", MaxMem: 16 * g, CPUs: 8}, {Node: "pve2", MaxMem: 128 * g, CPUs: 64}},
					Storages: []cluster.StorageCapacity{{Node: "pve1", Storage: "local-lvm", Size: 500 * g, Used: 400 * g, Available: true}},
				}},
			}
			if test.change != nil {
				test.change(&around)
			}
			var guests []guest.Desired
			if test.guest != nil {
				guests = append(guests, test.guest())
			} else {
				around.Changing = []kind.Desired{test.object}
			}
			var got []string
			for _, u := range UnresolvedOnCluster(guests, around) {
				got = append(got, u.What+" "+u.Name+": "+u.Problem+"; "+u.For[0].String())
				if u.Warning != test.warning || u.Unchecked {
					t.Errorf("got %+v, want a warning %t", u, test.warning)
				}
			}
			if len(got) != min(1, len(test.want)) || !strings.Contains(strings.Join(got, "\n"), test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
