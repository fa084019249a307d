package preflight

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/kind"
)

func TestGrantedAllows(t *testing.T) {
	below, here := true, false
	tests := map[string]struct {
		granted   Granted
		object    string
		privilege string
		want      bool
	}{
		"inherited":                {Granted{"/": {"VM.Audit": below}, "/vms": {"VM.Audit": below}}, "/vms/100", "VM.Audit", true},
		"not_inherited":            {Granted{"/": {"VM.Audit": here}}, "/storage/local", "VM.Audit", false},
		"on_the_object":            {Granted{"/vms/100": {"VM.Audit": here}}, "/vms/100", "VM.Audit", true},
		"another_object":           {Granted{"/vms/100": {"VM.Audit": below}}, "/vms/101", "VM.Audit", false},
		"replaced":                 {Granted{"/": {"VM.Audit": below}, "/vms": {"VM.Clone": below}}, "/vms/100", "VM.Audit", false},
		"replaced_here_alone":      {Granted{"/": {"VM.Audit": below}, "/vms": {"VM.Clone": here}}, "/vms/100", "VM.Audit", true},
		"barred":                   {Granted{"/": {"VM.Audit": below}}, "/vms/100", "VM.Audit", false},
		"not_always_listed":        {Granted{"/": {"Mapping.Use": below}}, "/mapping/pci/gpu", "Mapping.Use", true},
		"root":                     {Granted{"/": {"Sys.Audit": here}}, "/", "Sys.Audit", true},
		"nothing":                  {Granted{}, "/", "Sys.Audit", false},
		"any_guest":                {Granted{"/vms": {"VM.Audit": below}}, "/vms", "VM.Audit", true},
		"any_guest_not_inherited":  {Granted{"/vms": {"VM.Audit": here}}, "/vms", "VM.Audit", false},
		"unclean":                  {Granted{"/vms/100": {"VM.Audit": here}}, "/vms/100/", "VM.Audit", true},
		"deeper_than_what_is_said": {Granted{"/sdn": {"SDN.Use": below}}, "/sdn/zones/localnetwork/vmbr0/20", "SDN.Use", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.granted.Allows(test.object, test.privilege); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// all is a token that may do everything that a container without specialities needs.
func all() map[string]bool {
	privileges := map[string]bool{}
	for _, p := range []string{
		"Sys.Audit", "Pool.Allocate", "Pool.Audit", "VM.Audit", "VM.Allocate", "VM.Config.Options", "VM.Config.Memory", "VM.Config.Network",
		"VM.Config.Disk", "VM.PowerMgmt", "Datastore.AllocateSpace", "Datastore.Audit",
	} {
		privileges[p] = true
	}
	return privileges
}

func container() guest.Desired {
	at := func(line int) guest.Origin { return guest.Origin{File: "dns.yaml", Line: line, Column: 3} }
	return guest.Desired{
		Ref: guest.Ref{Kind: guest.Container, Name: "dns-1", VMID: 210}, Origin: at(1), Pool: "lab",
		Source: guest.Source{Template: &guest.Template{Volume: "local:vztmpl/debian.tar.zst"}},
		Intents: []guest.Intent{
			{Key: "lock", Verb: guest.Want, Text: "backup", Origin: at(5)},
			{Key: "memory", Verb: guest.Want, Text: "512", Origin: at(6)},
			{Key: "rootfs", Verb: guest.Want, Sub: map[string]string{"storage": "ceph", "size": "4G"}, Origin: at(7)},
		},
	}
}

func everywhere(privileges map[string]bool) Granted {
	granted := Granted{}
	for _, at := range alwaysListed {
		granted[at] = privileges
	}
	return granted
}

func TestMissingPrivileges(t *testing.T) {
	hookscript := container()
	hookscript.Intents = append([]guest.Intent{{Key: "hookscript", Verb: guest.Want, Text: "local:snippets/x.sh", Origin: guest.Origin{File: "dns.yaml", Line: 9, Column: 3}}}, hookscript.Intents...)
	without := func(privilege string) Granted {
		left := all()
		delete(left, privilege)
		return everywhere(left)
	}
	pool := without("VM.Config.Memory")
	pool["/pool/lab"] = all()
	dns := container().Ref
	tests := map[string]struct {
		want    guest.Desired
		granted Granted
		missing []MissingPrivilege
	}{
		"none": {container(), everywhere(all()), []MissingPrivilege{}},
		"a_key": {container(), without("VM.Config.Memory"), []MissingPrivilege{{
			Path: "/vms/210", Privilege: "VM.Config.Memory", OrPath: "/pool/lab", Entry: "/vms",
			For: []Cause{{dns, "memory", guest.Origin{File: "dns.yaml", Line: 6, Column: 3}}},
		}}},
		"granted_by_the_pool": {container(), pool, []MissingPrivilege{}},
		"the_agents_own":      {container(), without("Sys.Audit"), []MissingPrivilege{{Path: "/", Privilege: "Sys.Audit", Entry: "/", For: []Cause{{}}}}},
		"one_of_two_will_do":  {container(), without("Datastore.Audit"), []MissingPrivilege{}},
		"roots_own": {hookscript, everywhere(all()), []MissingPrivilege{{
			Path: "/", Privilege: guest.RootPAM, For: []Cause{{dns, "hookscript", guest.Origin{File: "dns.yaml", Line: 9, Column: 3}}},
		}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := MissingPrivileges([]guest.Desired{test.want}, nil, nil, nil, test.granted)
			if diff := cmp.Diff(test.missing, got); diff != "" {
				t.Errorf("MissingPrivileges (-want +got):\n%s", diff)
			}
		})
	}
}

// An Image needs what its storage and its nodes ask for, and no other Image names it as missing.
func TestMissingPrivilegesOfImages(t *testing.T) {
	origin := guest.Origin{File: "images.yaml", Line: 1, Column: 1}
	debian := image.Desired{Name: "debian-13", Storage: "local", Nodes: []string{"pve1", "pve2"}, Content: image.Import, Origin: origin}
	granted := everywhere(all())
	granted["/nodes/pve1"] = map[string]bool{"Sys.AccessNetwork": true}
	cause := []Cause{{debian.Ref(), "url", origin}}
	want := []MissingPrivilege{
		{Path: "/nodes/pve2", Privilege: "Sys.AccessNetwork", Entry: "/nodes/pve2", For: cause},
		{Path: "/storage/local", Privilege: "Datastore.AllocateTemplate", Entry: "/storage/local", For: cause},
	}
	if diff := cmp.Diff(want, MissingPrivileges(nil, []image.Desired{debian}, nil, nil, granted)); diff != "" {
		t.Errorf("MissingPrivileges (-want +got):\n%s", diff)
	}
	shared := debian
	shared.Nodes = nil
	debian.Prune = true
	former := []image.Former{{Name: "old", Storage: "iso"}}
	got := MissingPrivileges(nil, []image.Desired{debian}, former, nil, granted)
	allocates := func(path string) bool {
		return slices.ContainsFunc(got, func(m MissingPrivilege) bool { return m.Path == path && m.Privilege == "Datastore.Allocate" })
	}
	if len(got) != len(want)+2 || !allocates("/storage/local") || !allocates("/storage/iso") {
		t.Errorf("got %+v, want Datastore.Allocate where files are deleted", got)
	}
	if got := MissingPrivileges(nil, []image.Desired{shared}, nil, nil, granted); len(got) != 2 || got[0].Path != "/nodes" {
		t.Errorf("got %v for a shared storage, want the privilege on all nodes", got)
	}
	delete(granted, "/vms")
	seesAll := func(m MissingPrivilege) bool { return m.Path == "/vms" && m.Privilege == "VM.Audit" }
	got = MissingPrivileges(nil, []image.Desired{debian}, former, nil, granted)
	i := slices.IndexFunc(got, seesAll)
	if i < 0 || !slices.Contains(got[i].For, Cause{debian.Ref(), "prune", origin}) || !slices.Contains(got[i].For, Cause{former[0].Ref(), "prune", guest.Origin{}}) {
		t.Errorf("got %+v, want VM.Audit on /vms for both Images", got)
	}
}

// What is granted takes nothing away: the token then missing nothing, and has on every path what it had.
func TestGrantsAddMissingPrivilegesAndKeepOthers(t *testing.T) {
	guests := []guest.Desired{container(), {Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "new"}, Source: guest.Source{Clone: &guest.Clone{Name: "tmpl"}}, Intents: []guest.Intent{
		{Key: "net0", Verb: guest.Want, Sub: map[string]string{"bridge": "vmbr0", "tag": "20"}},
	}}}
	images := []image.Desired{
		{Name: "debian-13", Storage: "local", Nodes: []string{"pve1", "pve2"}, Content: image.Import, Origin: guest.Origin{File: "images.yaml", Line: 1, Column: 1}},
		{Name: "debian-13-shared", Storage: "ceph", Content: image.ISO, Origin: guest.Origin{File: "images.yaml", Line: 9, Column: 1}},
	}
	tests := map[string]Granted{
		"nothing":      {},
		"at_the_top":   everywhere(map[string]bool{"VM.Audit": true, "VM.Monitor": true, "SDN.Audit": true}),
		"here_alone":   {"/": {"Sys.Audit": false}, "/vms": {"VM.Audit": false}},
		"on_one_guest": {"/vms": {"VM.Audit": true}, "/vms/210": {"VM.Console": true}, "/storage": {"Datastore.Audit": true}},
	}
	for name, granted := range tests {
		t.Run(name, func(t *testing.T) {
			missing := MissingPrivileges(guests, images, nil, nil, granted)
			if len(missing) == 0 {
				t.Fatal("got no missing, want some to grant")
			}
			after := applied(granted, Grants(missing, granted))
			if left := MissingPrivileges(guests, images, nil, nil, after); len(left) != 0 {
				t.Errorf("got %v, want nothing lacking any more", left)
			}
			for _, object := range []string{"/", "/vms", "/vms/100", "/vms/210", "/storage/local", "/sdn/zones/localnetwork/vmbr0/20", "/pool/lab"} {
				for _, privilege := range []string{"VM.Audit", "VM.Monitor", "VM.Console", "Datastore.Audit", "Sys.Audit", "SDN.Audit"} {
					if isChecked(object, privilege) && granted.Allows(object, privilege) && !after.Allows(object, privilege) {
						t.Errorf("got %s on %s no more, want it kept", privilege, object)
					}
				}
			}
		})
	}
}

// applied returns the permissions after Proxmox added the entries: each entry replaces what its path inherits, and adds to entries of its path.
func applied(granted Granted, grants []Grant) Granted {
	after := Granted{}
	for at, privileges := range granted {
		after[at] = maps.Clone(privileges)
	}
	for _, g := range grants {
		if after[g.Path] == nil {
			after[g.Path] = map[string]bool{}
		}
		for _, p := range g.Privileges {
			after[g.Path][p] = after[g.Path][p] || g.Propagate
		}
	}
	return after
}

func TestUnresolvedOnCluster(t *testing.T) {
	d := container()
	d.Node = "pve7"
	clone := guest.Desired{Ref: guest.Ref{Kind: guest.VirtualMachine, Name: "web-1", VMID: 201}, Pool: "prod", Source: guest.Source{Clone: &guest.Clone{Name: "tmpl", Storage: "fast"}}}
	words := func(unresolved []Unresolved) []string {
		list := []string{}
		for _, s := range unresolved {
			list = append(list, s.What+" "+s.Name)
		}
		return list
	}
	there := cluster.Inventory{Rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 201}, {Kind: guest.Container, VMID: 210}}}
	tests := map[string]struct {
		around ClusterContext
		want   []string
	}{
		"all_missing":        {ClusterContext{Nodes: []string{"pve1"}, Storages: storages("other"), Pools: []string{}}, []string{"node pve7", "pool lab", "pool prod", "storage ceph", "storage fast", "storage local", "template tmpl"}},
		"there":              {ClusterContext{Nodes: []string{"pve7"}, Storages: storages("ceph", "fast", "local"), Pools: []string{"lab", "prod"}, Inventory: cluster.Inventory{Rows: []cluster.Row{{Kind: guest.VirtualMachine, VMID: 9000, Name: "tmpl", Template: true}}}}, []string{}},
		"pools_in_manifests": {ClusterContext{Pools: []string{}, Objects: []kind.Desired{{Kind: "Pool", ID: "lab"}, {Kind: "Pool", ID: "prod", Observe: true}, {Kind: "Alias", ID: "prod"}}, Inventory: there}, []string{"pool prod"}},
		"made_already":       {ClusterContext{Nodes: []string{"pve7"}, Storages: storages("ceph"), Inventory: there}, []string{}},
		"not_readable":       {ClusterContext{Inventory: there}, []string{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, words(UnresolvedOnCluster([]guest.Desired{d, clone}, test.around))); diff != "" {
				t.Errorf("UnresolvedOnCluster (-want +got):\n%s", diff)
			}
		})
	}
}

// A storage on which the token has no privileges is not listed. It is Unchecked then.
func TestInvisibleStorageIsUnchecked(t *testing.T) {
	d := container()
	d.Pool = ""
	granted := everywhere(map[string]bool{"VM.Audit": true})
	granted["/storage/ceph"] = map[string]bool{"Datastore.AllocateSpace": true}
	got := UnresolvedOnCluster([]guest.Desired{d}, ClusterContext{Storages: storages(), Granted: granted})
	want := []Unresolved{
		{What: "storage", Name: "ceph", Problem: "is not on the cluster, or the token may not see it", Absent: true, For: []Cause{{d.Ref, "rootfs", guest.Origin{File: "dns.yaml", Line: 7, Column: 3}}}},
		{What: "storage", Name: "local", Problem: "not checked: Datastore.Audit on /storage/local would allow it", Unchecked: true, For: []Cause{{d.Ref, "source", guest.Origin{File: "dns.yaml", Line: 1, Column: 3}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("UnresolvedOnCluster (-want +got):\n%s", diff)
	}
}

// TestWiderPrivilegeOfTheGuestAgent gives the token what the guest agent also accepts: the wider privilege, and that of Proxmox VE 8.
func TestWiderPrivilegeOfTheGuestAgent(t *testing.T) {
	t.Parallel()
	for privilege, want := range map[string]bool{
		"VM.GuestAgent.Audit": true, "VM.GuestAgent.Unrestricted": true, "VM.Monitor": true, "VM.GuestAgent.FileRead": false,
	} {
		need := guest.Need{Path: "/vms/201", Privilege: "VM.GuestAgent.Audit", Or: "VM.Monitor"}
		if got := isMet(need, Granted{"/vms": {privilege: true}}); got != want {
			t.Errorf("%s: got met %t, want %t", privilege, got, want)
		}
	}
}
