package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/kind/affinity"
	"gitops-agent/reconcile/placement"
)

const gib = int64(1) << 30

// wanted returns a new guest with memory in MiB, whose node is to be chosen.
func wanted(vmid int, memory int, change ...func(d *guest.Desired)) guest.Desired {
	d := guest.Desired{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: fmt.Sprintf("web-%d", vmid), VMID: vmid}, State: guest.Running,
		Placement: &guest.Placement{Prefer: guest.LeastMemory}, Source: guest.Source{Blank: true},
		Intents: []guest.Intent{{Key: "memory", Verb: guest.Want, Text: fmt.Sprint(memory)}},
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

func prefer(p guest.Preference) func(d *guest.Desired) {
	return func(d *guest.Desired) { d.Placement.Prefer = p }
}

func onNode(node string) func(d *guest.Desired) { return func(d *guest.Desired) { d.Node = node } }

// apartFrom gives a guest a role, and keeps guests of a role apart.
func apartFrom(role string) func(d *guest.Desired) {
	return func(d *guest.Desired) {
		d.Labels, d.Placement.AntiAffinity = map[string]string{"role": role}, []string{"role"}
	}
}

func withDisk(storage, size string) func(d *guest.Desired) {
	return func(d *guest.Desired) {
		d.Intents = append(d.Intents, guest.Intent{Key: "scsi0", Verb: guest.Want, Sub: map[string]string{"storage": storage, "size": size}})
	}
}

// running returns a guest of the cluster that runs, with memory in GiB.
func running(vmid int, node string, memory int64) cluster.Row {
	return cluster.Row{Kind: guest.VirtualMachine, VMID: vmid, Node: node, Status: guest.StatusRunning, MaxMem: memory * gib, MaxCPU: 2}
}

// threeNodes returns a cluster of three nodes with 64 GiB and 16 processors each, local storages and a shared one.
func threeNodes(rows ...cluster.Row) placement.Input {
	in := placement.Input{New: func(*guest.Desired) bool { return true }}
	for _, node := range []string{"pve1", "pve2", "pve3"} {
		in.Inventory.Capacity.Nodes = append(in.Inventory.Capacity.Nodes, cluster.NodeCapacity{Node: node, MaxMem: 64 * gib, Mem: 2 * gib, CPUs: 16})
		in.Inventory.Capacity.Storages = append(in.Inventory.Capacity.Storages,
			cluster.StorageCapacity{Node: node, Storage: "local-lvm", Size: 100 * gib, Used: 20 * gib, Available: true},
			cluster.StorageCapacity{Node: node, Storage: "shared", Size: 100 * gib, Used: 20 * gib, Shared: true, Available: true})
	}
	slices.SortFunc(rows, func(a, b cluster.Row) int { return a.VMID - b.VMID })
	in.Inventory.Rows = rows
	return in
}

// TestChoose chooses nodes for guests, in the order of their labels.
func TestChoose(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in      placement.Input
		change  func(in *placement.Input)
		guests  []guest.Desired
		nodes   string // chosen, "-" for a guest that waits
		explain string // in the last reason
	}{
		"tie":          {threeNodes(), nil, []guest.Desired{wanted(201, 2048)}, "pve1", "least memory of 3 that fit: 2.0 GiB of 64.0 GiB are taken"},
		"least_memory": {threeNodes(running(101, "pve1", 8), running(102, "pve2", 4), running(103, "pve3", 6)), nil, []guest.Desired{wanted(201, 2048)}, "pve2", ""},
		"in_one_cycle": {threeNodes(), nil, []guest.Desired{wanted(201, 8192), wanted(202, 8192), wanted(203, 8192), wanted(204, 8192)}, "pve1 pve2 pve3 pve1", ""},
		"live_use":     {threeNodes(), func(in *placement.Input) { in.Inventory.Capacity.Nodes[0].Mem = 30 * gib }, []guest.Desired{wanted(201, 2048)}, "pve2", ""},
		"in_flight":    {threeNodes(), nil, []guest.Desired{wanted(201, 32768, onNode("pve1")), wanted(202, 2048)}, "pve2", ""},
		"fresh_clone":  {threeNodes(cluster.Row{Kind: guest.VirtualMachine, VMID: 201, Node: "pve1", Status: guest.StatusStopped, MaxMem: gib}), nil, []guest.Desired{wanted(201, 32768, onNode("pve2")), wanted(202, 2048, func(d *guest.Desired) { d.Placement.Nodes = []string{"pve2", "pve3"} })}, "pve3", ""},
		"least_cpu":    {threeNodes(running(101, "pve1", 1), running(102, "pve1", 1), running(103, "pve3", 60)), nil, []guest.Desired{wanted(201, 512, prefer(guest.LeastCPU))}, "pve2", "least processors of 3 that fit: 0 of 16 are taken"},
		"spread":       {threeNodes(running(101, "pve1", 1), running(102, "pve2", 1), running(103, "pve2", 1)), nil, []guest.Desired{wanted(201, 512, prefer(guest.Spread)), wanted(202, 512, prefer(guest.Spread))}, "pve3 pve1", "fewest guests of 3 that fit: 1"},
		"nodes":        {threeNodes(), nil, []guest.Desired{wanted(201, 512, func(d *guest.Desired) { d.Placement.Nodes = []string{"pve3", "pve2"} })}, "pve2", "of 2 that fit"},
		"unknown_node": {threeNodes(), nil, []guest.Desired{wanted(201, 512, func(d *guest.Desired) { d.Placement.Nodes = []string{"pve9"} })}, "-", "it fits on no node: pve9 is not a node of the cluster"},
		"offline": {threeNodes(), func(in *placement.Input) {
			in.Inventory.Offline, in.Inventory.Maintenance = []string{"pve1"}, []string{"pve2"}
		}, []guest.Desired{wanted(201, 512)}, "pve3", "of 1 that fit"},
		"apart":          {threeNodes(running(101, "pve2", 1)), nil, []guest.Desired{wanted(101, 1024, apartFrom("web"), onNode("pve2")), wanted(201, 512, apartFrom("web")), wanted(202, 512, apartFrom("web")), wanted(203, 512, apartFrom("web"))}, "pve1 pve3 pve2", "; guests there with the same role: 1"},
		"apart_of_other": {threeNodes(running(101, "pve1", 1)), nil, []guest.Desired{wanted(101, 1024, apartFrom("db"), onNode("pve1")), wanted(201, 512, apartFrom("web"))}, "pve1", ""},
		"processors": {threeNodes(), nil, []guest.Desired{
			wanted(201, 512, func(d *guest.Desired) {
				d.Intents = append(d.Intents, guest.Intent{Key: "cores", Verb: guest.Want, Text: "17"})
			}),
		}, "-", "it fits on no node: pve1 has 16 processors, and 17 are needed"},
		"full":           {threeNodes(running(101, "pve1", 63), running(102, "pve2", 64), running(103, "pve3", 62)), nil, []guest.Desired{wanted(201, 2048), wanted(202, 2048)}, "pve3 -", "it fits on no node: pve1 has 1.0 GiB of memory left, and 2.0 GiB are needed; pve2 has 0.0 GiB of memory left, and 2.0 GiB are needed; pve3 has 0.0 GiB of memory left, and 2.0 GiB are needed"},
		"local_storage":  {threeNodes(), nil, []guest.Desired{wanted(201, 512, withDisk("local-lvm", "60G")), wanted(202, 512, withDisk("local-lvm", "60G")), wanted(203, 512, withDisk("local-lvm", "20G"))}, "pve1 pve2 pve3", ""},
		"shared_storage": {threeNodes(), nil, []guest.Desired{wanted(201, 512, withDisk("shared", "60G")), wanted(202, 512, withDisk("shared", "60G"))}, "pve1 -", "pve1 has 20.0 GiB left in shared, and 60.0 GiB are needed"},
		"no_storage":     {threeNodes(), nil, []guest.Desired{wanted(201, 512, withDisk("fast", "1G"))}, "-", "pve3 does not have the storage fast, or the token may not see it"},
		"storage_down":   {threeNodes(), func(in *placement.Input) { in.Inventory.Capacity.Storages[0].Available = false }, []guest.Desired{wanted(201, 512, withDisk("local-lvm", "1G"))}, "pve2", ""},
		"image": {threeNodes(), func(in *placement.Input) { in.Images = []image.Desired{{Name: "debian", Nodes: []string{"pve3"}}} }, []guest.Desired{wanted(201, 512, func(d *guest.Desired) {
			d.Source = guest.Source{Image: &guest.Image{Object: "debian", Slot: "scsi0"}}
		})}, "pve3", "of 1 that fit"},
		"linked_clone": {threeNodes(cluster.Row{Kind: guest.VirtualMachine, VMID: 900, Name: "tmpl", Template: true, Node: "pve2", MaxMem: 40 * gib}), nil, []guest.Desired{wanted(201, 512, func(d *guest.Desired) {
			d.Source = guest.Source{Clone: &guest.Clone{Name: "tmpl"}}
		})}, "pve2", "of 1 that fit"},
		"memory_of_the_template": {threeNodes(cluster.Row{Kind: guest.VirtualMachine, VMID: 900, Name: "tmpl", Template: true, Node: "pve2", MaxMem: 65 * gib}), nil, []guest.Desired{wanted(201, 512, func(d *guest.Desired) {
			d.Source, d.Intents = guest.Source{Clone: &guest.Clone{Name: "tmpl", Full: true}}, nil
		})}, "-", "and 65.0 GiB are needed"},
		"no_capacity":  {placement.Input{New: func(*guest.Desired) bool { return true }}, nil, []guest.Desired{wanted(201, 512)}, "-", "the capacity of the nodes is not known yet"},
		"no_privilege": {threeNodes(), func(in *placement.Input) { in.Inventory.Capacity.Nodes = []cluster.NodeCapacity{{Node: "pve1"}} }, []guest.Desired{wanted(201, 512)}, "-", "pve1 does not show its capacity: the token needs Sys.Audit on /nodes/pve1"},
		"waves":        {threeNodes(running(101, "pve1", 62), running(102, "pve2", 62), running(103, "pve3", 60)), nil, []guest.Desired{wanted(201, 3072, func(d *guest.Desired) { d.Wave = 1 }), wanted(202, 3072)}, "- pve3", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.in.Guests = test.guests
			if test.change != nil {
				test.change(&test.in)
			}
			nodes, last := chosen(test.in)
			if nodes != test.nodes || !strings.Contains(last, test.explain) {
				t.Errorf("got nodes %q and the reason %q, want %q and %q in it", nodes, last, test.nodes, test.explain)
			}
			slices.Reverse(test.in.Guests)
			slices.Reverse(test.in.Inventory.Capacity.Nodes)
			slices.Reverse(test.in.Inventory.Capacity.Storages)
			if again, _ := chosen(test.in); again != test.nodes {
				t.Errorf("got nodes %q with the input in another order, want %q", again, test.nodes)
			}
		})
	}
}

// chosen returns the nodes of the guests whose node is to be chosen, by label, and the reason of the last one.
func chosen(in placement.Input) (nodes, last string) {
	choices, waiting := placement.Choose(in)
	got := map[string]string{}
	reasons := map[string]string{}
	for _, c := range choices {
		got[c.Guest.Label()], reasons[c.Guest.Label()] = c.Node, c.Reason
	}
	for label, why := range waiting {
		got[label], reasons[label] = "-", why
	}
	var out []string
	for vmid := 201; vmid <= 204; vmid++ {
		label := fmt.Sprintf("VirtualMachine/web-%d", vmid)
		if node, asked := got[label]; asked {
			out, last = append(out, node), reasons[label]
		}
	}
	return strings.Join(out, " "), last
}

// rule returns a rule of affinity of a manifest.
func rule(name string, guests []string, keys map[string]string) kind.Desired {
	d := kind.Desired{Kind: affinity.Name, Name: name, ID: name}
	for _, label := range guests {
		if _, vmid, isVMID := strings.Cut(label, ":"); isVMID {
			keys["resources"] = "vm:" + vmid
			continue
		}
		d.Guests = append(d.Guests, kind.GuestLabel{Label: label, Key: "resources"})
	}
	for key, text := range keys {
		d.Put(kind.Intent{Key: key, Text: text})
	}
	return d
}

// live returns a rule that Proxmox has.
func live(id string, keys map[string]string) cluster.Objects {
	return cluster.Objects{ByID: map[string]cluster.Object{id: {ID: id, Keys: keys}}}
}

// TestChooseFollowsRules chooses nodes for web-201 and web-202 with rules of affinity; web-101 and the guest 102, which no manifest names, run on pve1 and pve2.
func TestChooseFollowsRules(t *testing.T) {
	t.Parallel()
	const web1, web201, web202 = "VirtualMachine/web-101", "VirtualMachine/web-201", "VirtualMachine/web-202"
	onNodes := func(nodes string, more ...string) map[string]string {
		keys := map[string]string{"type": "node-affinity", "nodes": nodes}
		for _, key := range more {
			keys[key] = "1"
		}
		return keys
	}
	together := func() map[string]string {
		return map[string]string{"type": "resource-affinity", "affinity": "positive"}
	}
	apart := func() map[string]string {
		return map[string]string{"type": "resource-affinity", "affinity": "negative"}
	}
	tests := map[string]struct {
		rules   []kind.Desired
		nodes   string // of web-201 and web-202
		explain string // in the reason of web-202
		live    cluster.Objects
	}{
		"none":           {nil, "pve3 pve3", "least memory of 3 that fit: 3.0 GiB of 64.0 GiB are taken", cluster.Objects{}},
		"strict":         {[]kind.Desired{rule("fast", []string{web201, web202}, onNodes("pve1,pve2", "strict"))}, "pve2 pve2", "of 2 that fit", cluster.Objects{}},
		"preferred":      {[]kind.Desired{rule("fast", []string{web202}, onNodes("pve1"))}, "pve3 pve1", "; with AffinityRule/fast", cluster.Objects{}},
		"priority":       {[]kind.Desired{rule("fast", []string{web202}, onNodes("pve1:2,pve2:5,pve3"))}, "pve3 pve2", "", cluster.Objects{}},
		"disabled":       {[]kind.Desired{rule("fast", []string{web202}, onNodes("pve1", "strict", "disable"))}, "pve3 pve3", "", cluster.Objects{}},
		"apart":          {[]kind.Desired{rule("apart", []string{web201, web202}, apart())}, "pve3 pve2", "", cluster.Objects{}},
		"apart_of_three": {[]kind.Desired{rule("apart", []string{web1, web201, web202}, apart())}, "pve3 pve2", "", cluster.Objects{}},
		"apart_of_vmid":  {[]kind.Desired{rule("apart", []string{"vm:102", web201, web202}, apart())}, "pve3 pve1", "", cluster.Objects{}},
		"too_many": {
			[]kind.Desired{rule("apart", []string{web1, web202}, apart()), rule("fast", []string{web202}, onNodes("pve1", "strict"))},
			"pve3 -",
			"pve1 has VirtualMachine/web-101, from which AffinityRule/apart keeps it apart; pve2 is no node of AffinityRule/fast",
			cluster.Objects{},
		},
		"together":        {[]kind.Desired{rule("pair", []string{web201, web202}, together())}, "pve3 pve3", "", cluster.Objects{}},
		"together_of_one": {[]kind.Desired{rule("pair", []string{web1, web202}, together())}, "pve3 pve1", "of 1 that fit", cluster.Objects{}},
		"together_unfit": {
			[]kind.Desired{rule("pair", []string{web1, web202}, together()), rule("fast", []string{web202}, onNodes("pve3", "strict"))},
			"pve3 -",
			"pve3 does not have VirtualMachine/web-101, with which AffinityRule/pair keeps it together",
			cluster.Objects{},
		},
		"of_proxmox": {nil, "pve3 pve2", "; with the rule apart", live("apart", map[string]string{"type": "resource-affinity", "affinity": "negative", "resources": "vm:201,vm:202"})},
		"of_proxmox_disabled": {
			nil, "pve3 pve3", "", live("apart", map[string]string{"type": "resource-affinity", "affinity": "negative", "resources": "vm:201,vm:202", "disable": "1"}),
		},
		"of_both": {
			[]kind.Desired{rule("fast", []string{web202}, onNodes("pve1", "strict"))},
			"pve3 pve1", "; with AffinityRule/fast",
			live("fast", map[string]string{"type": "node-affinity", "nodes": "pve2", "strict": "1", "resources": "vm:202"}),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := threeNodes(running(101, "pve1", 16), running(102, "pve2", 8))
			in.Guests = []guest.Desired{wanted(101, 1024, onNode("pve1")), wanted(201, 1024), wanted(202, 1024)}
			in.Rules = test.live
			in.Objects = append([]kind.Desired{{Kind: "Pool", Name: "web"}}, test.rules...)
			nodes, last := chosen(in)
			if nodes != test.nodes || !strings.Contains(last, test.explain) {
				t.Errorf("got nodes %q and the reason %q, want %q and %q in it", nodes, last, test.nodes, test.explain)
			}
		})
	}
}

// TestChooseLeavesOthersAlone chooses no node for guests that exist or may exist, that have a node, or whose manifest names one.
func TestChooseLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	in := threeNodes()
	in.Guests = []guest.Desired{
		wanted(201, 512), wanted(202, 512, onNode("pve2")), wanted(203, 512, func(d *guest.Desired) { d.Placement = nil }), wanted(0, 512),
		wanted(204, 512, func(d *guest.Desired) { d.Invalid = &guest.Invalid{} }),
	}
	in.New = func(d *guest.Desired) bool { return d.VMID != 201 && d.VMID != 0 }
	choices, waiting := placement.Choose(in)
	if diff := cmp.Diff([]placement.Choice(nil), choices); diff != "" || len(waiting) > 0 {
		t.Errorf("got choices and %v waiting, want none:\n%s", waiting, diff)
	}
}

// TestChooseFillsNodes places more guests than fit: no node gets more than it has, and what does not fit waits.
func TestChooseFillsNodes(t *testing.T) {
	t.Parallel()
	in := threeNodes()
	for i := range 30 {
		in.Guests = append(in.Guests, wanted(301+i, 8192))
	}
	choices, waiting := placement.Choose(in)
	taken := map[string]int{}
	for _, c := range choices {
		taken[c.Node]++
	}
	if diff := cmp.Diff(map[string]int{"pve1": 7, "pve2": 7, "pve3": 7}, taken); diff != "" || len(waiting) != 9 {
		t.Errorf("got %d waiting, want 9, and other nodes (-want +got):\n%s", len(waiting), diff)
	}
}
