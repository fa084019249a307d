package preflight

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

func at(line int) guest.Origin { return guest.Origin{File: "web.yaml", Line: line, Column: 3} }

// machine is a virtual machine that names something of every kind of list, on two nodes.
func machine() guest.Desired {
	return guest.Desired{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Origin: at(1), Node: "pve1", Nodes: []string{"pve1", "pve2"},
		Source: guest.Source{Image: &guest.Image{Volume: "local:import/debian-13.qcow2", Slot: "scsi0"}},
		Intents: []guest.Intent{
			{Key: "cpu", Verb: guest.Want, Sub: map[string]string{"cputype": "x86-64-v3"}, Origin: at(4)},
			{Key: "ide2", Verb: guest.Want, Sub: map[string]string{"volume": "local:iso/debian.iso", "media": "cdrom"}, Origin: at(5)},
			{Key: "nameserver", Verb: guest.Want, Text: "192.0.2.1", Origin: at(6)},
			{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr0"}, Origin: at(7)},
			{Key: "net1", Verb: guest.Absent, Origin: at(8)},
			{Key: "net2", Verb: guest.Want, Text: "virtio,bridge=vmbr9", Origin: at(9)},
			{Key: "scsi0", Verb: guest.Want, Sub: map[string]string{"storage": "local", "size": "4G"}, Origin: at(10)},
		},
	}
}

func around(rows ...cluster.Row) ClusterContext {
	all := map[string]bool{"Datastore.Allocate": true, "Datastore.Audit": true, "Datastore.AllocateSpace": true, "SDN.Use": true, "Sys.Audit": true, "VM.Config.Disk": true, "VM.Backup": true}
	return ClusterContext{
		Nodes: []string{"pve1", "pve2", "pve3"}, Storages: storages("local"), Inventory: cluster.Inventory{Rows: rows}, Granted: everywhere(all),
	}
}

// storages have every type of content on every node.
func storages(names ...string) []cluster.Storage {
	list := []cluster.Storage{}
	for _, name := range names {
		list = append(list, cluster.Storage{ID: name})
	}
	return list
}

// sample is what two nodes have: the second one missing a bridge.
func sample() map[List]Answer {
	answers := map[List]Answer{}
	for _, node := range []string{"pve1", "pve2"} {
		answers[List{Kind: CPU, Node: node}] = Answer{Names: []string{"host", "x86-64-v3", "custom-lab"}}
		answers[List{Kind: Volume, Node: node, Storage: "local", Content: "iso"}] = Answer{Names: []string{"local:iso/debian.iso"}}
	}
	answers[List{Kind: Bridge, Node: "pve1"}] = Answer{Names: []string{"vmbr0", "vmbr9"}}
	answers[List{Kind: Bridge, Node: "pve2"}] = Answer{Names: []string{"vmbr0"}}
	answers[List{Kind: Volume, Node: "pve1", Storage: "local", Content: "import"}] = Answer{Names: []string{"local:import/debian-13.qcow2"}}
	return answers
}

// Guests share questions: each node is asked once for all of them.
func TestListsAsksOnce(t *testing.T) {
	second := machine()
	second.Ref = guest.Ref{Kind: guest.VirtualMachine, Name: "web-2", VMID: 202}
	template := guest.Desired{
		Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-3"}, Source: guest.Source{Clone: &guest.Clone{VMID: 9000}},
		Intents: []guest.Intent{{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr0"}}},
	}
	volumes := func(node, content string) List {
		return List{Kind: Volume, Node: node, Storage: "local", Content: content}
	}
	bridges := func(node string) List { return List{Kind: Bridge, Node: node} }
	models := func(node string) List { return List{Kind: CPU, Node: node} }
	stays, moves, elsewhere := machine(), machine(), machine()
	moves.Migrate = guest.MigrateOffline
	elsewhere.Node, elsewhere.Nodes = "pve7", []string{"pve7"}
	there := cluster.Row{Kind: guest.VirtualMachine, VMID: 201, Node: "pve3"}
	imported, installed := machine(), machine()
	imported.Source.Image = &guest.Image{Volume: "local:import/debian-13.qcow2", Object: "debian-13", Slot: "scsi0"}
	installed.Source = guest.Source{ISO: &guest.ISO{Volume: "local:iso/debian.iso", Object: "debian-iso", Slot: "ide2"}}
	unseen := around()
	unseen.Storages = nil
	tests := map[string]struct {
		guests []guest.Desired
		around ClusterContext
		want   []List
	}{
		"new": {[]guest.Desired{machine(), second}, around(), []List{
			bridges("pve1"), bridges("pve2"), models("pve1"), models("pve2"), volumes("pve1", "import"), volumes("pve1", "iso"), volumes("pve2", "iso"),
		}},
		"there":        {[]guest.Desired{stays}, around(there), []List{bridges("pve3"), models("pve3"), volumes("pve3", "iso")}},
		"there_moves":  {[]guest.Desired{moves}, around(there), []List{bridges("pve1"), bridges("pve2"), bridges("pve3"), models("pve1"), models("pve2"), models("pve3"), volumes("pve1", "iso"), volumes("pve2", "iso"), volumes("pve3", "iso")}},
		"clone":        {[]guest.Desired{template}, around(cluster.Row{Kind: guest.VirtualMachine, VMID: 9000, Node: "pve2", Template: true}), []List{bridges("pve2")}},
		"unknown_node": {[]guest.Desired{elsewhere}, around(), nil},
		"of_an_image":  {[]guest.Desired{imported}, around(), []List{bridges("pve1"), bridges("pve2"), models("pve1"), models("pve2"), volumes("pve1", "iso"), volumes("pve2", "iso")}},
		"iso_image":    {[]guest.Desired{installed}, around(), []List{bridges("pve1"), bridges("pve2"), models("pve1"), models("pve2")}},
		"no_storages":  {[]guest.Desired{machine()}, unseen, []List{bridges("pve1"), bridges("pve2"), models("pve1"), models("pve2")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Lists(test.guests, test.around)); diff != "" {
				t.Errorf("Lists (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnresolvedOnNodes(t *testing.T) {
	with := func(change func(d *guest.Desired)) guest.Desired {
		d := machine()
		change(&d)
		return d
	}
	tests := map[string]struct {
		want       guest.Desired
		answers    func(map[List]Answer)
		unresolved []Unresolved
	}{
		"a_bridge_on_one_node": {machine(), nil, []Unresolved{{
			What: "bridge", Name: "vmbr9", Problem: "is not among the bridges and virtual networks of pve2", Hint: "did you mean vmbr0?",
			For: []Cause{{machine().Ref, "net2", at(9)}},
		}}},
		"a_model_on_both": {with(func(d *guest.Desired) {
			d.Intents = []guest.Intent{{Key: "cpu", Verb: guest.Want, Text: "lab,flags=+aes", Origin: at(4)}}
		}), nil, []Unresolved{{
			What: "cpu", Name: "lab", Problem: "is not a CPU model of pve1, pve2", Hint: "did you mean custom-lab?", For: []Cause{{machine().Ref, "cpu", at(4)}},
		}}},
		"another_architecture": {with(func(d *guest.Desired) {
			d.Intents = []guest.Intent{{Key: "arch", Verb: guest.Want, Text: "aarch64"}, {Key: "cpu", Verb: guest.Want, Text: "cortex-a76"}}
		}), nil, []Unresolved{}},
		"a_source": {with(func(d *guest.Desired) {
			d.Intents, d.Source = nil, guest.Source{Image: &guest.Image{Volume: "local:import/debian-31.qcow2"}}
		}), nil, []Unresolved{{
			What: "volume", Name: "local:import/debian-31.qcow2", Problem: "is not on pve1", Hint: "did you mean debian-13.qcow2?",
			For: []Cause{{machine().Ref, "source", at(1)}},
		}}},
		"a_disk_in_an_appliance": {with(func(d *guest.Desired) {
			d.Intents, d.Source = nil, guest.Source{Image: &guest.Image{Volume: "local:import/lab.ova/disk1.vmdk"}}
		}), func(answers map[List]Answer) {
			answers[List{Kind: Volume, Node: "pve1", Storage: "local", Content: "import"}] = Answer{Names: []string{"local:import/lab.ova"}}
		}, []Unresolved{}},
		"a_snippet": {with(func(d *guest.Desired) {
			d.Intents = []guest.Intent{
				{Key: "cicustom", Verb: guest.Want, Sub: map[string]string{"user": "local:snippets/web.yaml", "vendor": "local:snippets/k3s.yaml"}, Origin: at(4)},
			}
		}), func(answers map[List]Answer) {
			answers[List{Kind: Volume, Node: "pve1", Storage: "local", Content: "snippets"}] = Answer{Names: []string{"local:snippets/web.yaml", "local:snippets/k3s.yaml"}}
			answers[List{Kind: Volume, Node: "pve2", Storage: "local", Content: "snippets"}] = Answer{Names: []string{"local:snippets/web.yml", "local:snippets/k3s.yaml"}}
		}, []Unresolved{{
			What: "volume", Name: "local:snippets/web.yaml", Problem: "is not on pve2", Hint: "did you mean web.yml?", For: []Cause{{machine().Ref, "cicustom", at(4)}},
		}}},
		"not_read": {with(func(d *guest.Desired) { d.Intents = d.Intents[:1] }), func(answers map[List]Answer) {
			answers[List{Kind: CPU, Node: "pve2"}] = Answer{Err: errors.New("no reply")}
		}, []Unresolved{{
			What: "cpu", Name: "x86-64-v3", Problem: "not checked on pve2: no reply", Unchecked: true, For: []Cause{{machine().Ref, "cpu", at(4)}},
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answers := sample()
			if test.answers != nil {
				test.answers(answers)
			}
			if diff := cmp.Diff(test.unresolved, UnresolvedOnNodes([]guest.Desired{test.want}, around(), answers)); diff != "" {
				t.Errorf("Missing (-want +got):\n%s", diff)
			}
		})
	}
}

// What the token would not be shown is never called missing: without one privilege each, the same empty lists say nothing.
func TestInvisibleNamesAreUnchecked(t *testing.T) {
	of := func(content string) List { return List{Kind: Volume, Node: "pve1", Storage: "local", Content: content} }
	grants := func(object string, privileges ...string) Granted {
		g := Granted{object: {}}
		for _, p := range privileges {
			g[object][p] = true
		}
		return g
	}
	top := func(privileges ...string) Granted { return everywhere(grants("/", privileges...)["/"]) }
	both := func(a, b Granted) Granted {
		maps.Copy(a, b)
		return a
	}
	bridge, model := List{Kind: Bridge, Node: "pve1"}, List{Kind: CPU, Node: "pve1"}
	tests := map[string]struct {
		list    List
		name    string
		granted Granted
		want    string
	}{
		"bridge":                  {bridge, "vmbr0", grants("/sdn", "SDN.Use"), ""},
		"bridge_audited":          {bridge, "vmbr0", top("SDN.Audit"), ""},
		"no_bridge":               {bridge, "vmbr0", Granted{}, "SDN.Use on /sdn/zones/localnetwork/vmbr0"},
		"bridge_of_the_host":      {bridge, "vmbr0", grants("/sdn/zones/localnetwork", "SDN.Use"), "SDN.Audit on /sdn/zones"},
		"network_of_another_zone": {bridge, "vnet0", both(grants("/sdn", "SDN.Use"), grants("/sdn/zones/blue", "SDN.Allocate")), "SDN.Audit on /sdn/zones"},
		"image":                   {of("iso"), "local:iso/x.iso", grants("/storage", "Datastore.AllocateSpace"), ""},
		"no_image":                {of("iso"), "local:iso/x.iso", grants("/storage/local2", "Datastore.Audit"), "Datastore.Audit on /storage/local"},
		"disk":                    {of("images"), "local:100/vm-100-disk-0.raw", both(grants("/storage", "Datastore.Audit"), grants("/vms/100", "VM.Config.Disk")), ""},
		"no_disk":                 {of("images"), "local:100/base-100-disk-0.raw/101/vm-101-disk-0.raw", grants("/storage", "Datastore.Audit"), "VM.Config.Disk on /vms/101"},
		"nobodys_disk":            {of("images"), "local:x.raw", top("Datastore.Audit", "VM.Config.Disk"), "Datastore.Allocate on /storage/local"},
		"backup":                  {of("backup"), "local:backup/vzdump-lxc-100-2026_11_20-22_17_39.tar.zst", top("Datastore.AllocateSpace", "VM.Backup"), ""},
		"no_backup":               {of("backup"), "local:backup/ct/100/2026-01-01T00:00:00Z", top("Datastore.Audit"), "Datastore.AllocateSpace on /storage/local and VM.Backup on /vms/100"},
		"administrator":           {of("backup"), "local:backup/ct/100/2026-01-01T00:00:00Z", top("Datastore.Audit", "Datastore.Allocate"), ""},
		"model":                   {model, "host", Granted{}, ""},
		"own_model":               {model, "custom-lab", grants("/nodes", "Sys.Audit"), ""},
		"no_own_model":            {model, "custom-lab", Granted{}, "Sys.Audit on /nodes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := neededToSee(test.list, test.name, test.granted); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A name that the token cannot see is Unchecked, also if its list was not read.
func TestUncheckedNamesTheNeededPrivilege(t *testing.T) {
	narrow := around()
	narrow.Storages, narrow.Granted = nil, Granted{"/vms": {"VM.Audit": true}}
	unresolved := UnresolvedOnNodes([]guest.Desired{machine()}, narrow, map[List]Answer{
		{Kind: Bridge, Node: "pve1"}: {Names: []string{}}, {Kind: Bridge, Node: "pve2"}: {Names: []string{}},
		{Kind: CPU, Node: "pve1"}: {Names: []string{"x86-64-v3"}}, {Kind: CPU, Node: "pve2"}: {Names: []string{"x86-64-v3"}},
	})
	var got []string
	for _, s := range unresolved {
		if !s.Unchecked {
			t.Errorf("got %s %s missing, want it unchecked", s.What, s.Name)
		}
		got = append(got, s.Name+" "+s.Problem)
	}
	want := []string{
		"vmbr0 not checked on pve1, pve2: SDN.Use on /sdn/zones/localnetwork/vmbr0 would allow it",
		"vmbr9 not checked on pve1, pve2: SDN.Use on /sdn/zones/localnetwork/vmbr9 would allow it",
		"local:import/debian-13.qcow2 not checked on pve1: Datastore.Audit on /storage/local would allow it",
		"local:iso/debian.iso not checked on pve1, pve2: Datastore.Audit on /storage/local would allow it",
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// A storage that the cluster shows may still be the wrong one: each reason is reported once, with its remedy, and the node is not asked for its volumes.
func TestUnsuitableStorage(t *testing.T) {
	d := machine() // a disk image for pve1, an ISO and a disk on pve1 and pve2
	d.Intents = append(d.Intents, guest.Intent{Key: "cicustom", Verb: guest.Want, Text: "user=local:snippets/web.yaml"})
	for name, test := range map[string]struct {
		storage cluster.Storage
		want    []string
		lists   int // of volumes
	}{
		"no_snippets": {cluster.Storage{ID: "local", Content: []string{"images", "import", "iso"}}, []string{"does not allow the content type snippets, only images, import, iso: choose another storage, or run pvesm set local --content images,import,iso,snippets"}, 3},
		"suitable":    {cluster.Storage{ID: "local", Content: []string{"images", "import", "iso", "snippets"}, Nodes: []string{"pve1", "pve2"}}, []string{}, 5},
		"no_images":   {cluster.Storage{ID: "local", Content: []string{"import", "iso", "snippets"}}, []string{"does not allow the content type images, only import, iso, snippets: choose another storage, or run pvesm set local --content import,iso,snippets,images"}, 5},
		"no_import":   {cluster.Storage{ID: "local", Content: []string{"images", "iso", "snippets"}}, []string{"does not allow the content type import, only images, iso, snippets: choose another storage, or run pvesm set local --content images,iso,snippets,import"}, 4},
		"other_node":  {cluster.Storage{ID: "local", Nodes: []string{"pve1"}}, []string{"is not on pve2, only on pve1: choose another storage or node, or run pvesm set local --nodes pve1,pve2"}, 3},
		"disabled":    {cluster.Storage{ID: "local", Disabled: true}, []string{"is disabled: pvesm set local --disable 0 enables it"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			around := around()
			around.Storages = []cluster.Storage{test.storage}
			got := []string{}
			for _, u := range UnresolvedOnCluster([]guest.Desired{d}, around) {
				got = append(got, u.Problem+": "+u.Hint)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("UnresolvedOnCluster (-want +got):\n%s", diff)
			}
			lists := 0
			for _, l := range Lists([]guest.Desired{d}, around) {
				if l.Kind == Volume {
					lists++
				}
			}
			if lists != test.lists {
				t.Errorf("got %d lists of volumes, want %d", lists, test.lists)
			}
		})
	}
}
