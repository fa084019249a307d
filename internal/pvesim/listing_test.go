package pvesim

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named returns one field of every entry of a list, sorted.
func (a answer) named(t *testing.T, field string) []string {
	t.Helper()
	var rows []map[string]any
	if err := json.Unmarshal(a.data(t), &rows); err != nil {
		t.Fatalf("decode %d %s %q: %v", a.status, a.reason, a.body, err)
	}
	names := []string{}
	for _, row := range rows {
		name, _ := row[field].(string)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Callers see the bridges that they may audit or use, and the bridges of VLANs that they may use. Every caller sees the node's cards.
func TestBridgesVisibleByPrivilege(t *testing.T) {
	at := func(path, privilege string) []ACL { return []ACL{{Path: path, Privileges: []string{privilege}}} }
	tests := map[string]struct {
		acl  []ACL
		kind string
		want []string
	}{
		"all":          {at("/", "SDN.Use"), "", []string{"eth0", "vmbr0", "vmbr1"}},
		"bridges":      {at("/", "SDN.Use"), "type=any_bridge", []string{"vmbr0", "vmbr1"}},
		"cards":        {at("/", "SDN.Use"), "type=eth", []string{"eth0"}},
		"zones":        {at("/", "SDN.Use"), "type=vnet", []string{}},
		"audit":        {at("/sdn", "SDN.Audit"), "type=bridge", []string{"vmbr0", "vmbr1"}},
		"one":          {at("/sdn/zones/localnetwork/vmbr1", "SDN.Use"), "type=any_bridge", []string{"vmbr1"}},
		"one_vlan":     {at("/sdn/zones/localnetwork/vmbr1/20", "SDN.Use"), "type=any_bridge", []string{"vmbr1"}},
		"another_zone": {at("/sdn/zones/blue", "SDN.Use"), "type=any_bridge", []string{}},
		"nothing":      {at("/", "Sys.Audit"), "", []string{"eth0"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s", ACL: tt.acl})}
			bubble(t, opts, func(t *testing.T, c *client) {
				var params []string
				if tt.kind != "" {
					params = append(params, tt.kind)
				}
				got := c.as("u@pve!x").ok("GET", "/nodes/pve1/network", params...).named(t, "iface")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("interfaces (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The node that receives the call lists the CPU models, so the node in the path may be down.
func TestCPUModelsNeedNoPrivilege(t *testing.T) {
	opts := Options{Nodes: []string{"pve1", "pve2"}, Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s"})}
	bubble(t, opts, func(t *testing.T, c *client) {
		c.sim.StopNode("pve2")
		u := c.as("u@pve!x")
		models := u.ok("GET", "/nodes/pve2/capabilities/qemu/cpu").named(t, "name")
		for _, want := range []string{"host", "kvm64", "x86-64-v2-AES", "EPYC-Milan"} {
			if !slices.Contains(models, want) {
				t.Errorf("models: got %v, want %s among them", models, want)
			}
		}
		for _, model := range models {
			if err := checkCPU(model); err != nil {
				t.Errorf("cpu=%s: got %v, want every listed model accepted", model, err)
			}
		}
		if arm := u.ok("GET", "/nodes/pve1/capabilities/qemu/cpu", "arch=aarch64").named(t, "name"); slices.Contains(arm, "host") || !slices.Contains(arm, "cortex-a76") {
			t.Errorf("models of aarch64: got %v, want its own", arm)
		}
	})
}

// Callers with a privilege on the storage see images and templates. A disk or a backup also requires a privilege on its guest.
func TestVolumesVisibleByPrivilege(t *testing.T) {
	const iso, disk, backup = "local:iso/debian.iso", "local:100/vm-100-disk-0.raw", "local:backup/vzdump-qemu-100-2026_11_20-22_17_39.vma.zst"
	tests := map[string]struct {
		acl  []ACL
		want []string
	}{
		"administrator": {[]ACL{{Path: "/storage/local", Privileges: []string{"Datastore.Allocate", "Datastore.Audit"}}}, []string{disk, backup, iso}},
		"audit":         {[]ACL{{Path: "/", Privileges: []string{"Datastore.Audit"}}}, []string{iso}},
		"allocate":      {[]ACL{{Path: "/", Privileges: []string{"Datastore.AllocateSpace"}}}, []string{iso}},
		"disks":         {[]ACL{{Path: "/", Privileges: []string{"Datastore.Audit", "VM.Config.Disk"}}}, []string{disk, iso}},
		"backups":       {[]ACL{{Path: "/", Privileges: []string{"Datastore.AllocateSpace", "VM.Backup"}}}, []string{backup, iso}},
		"another_guest": {[]ACL{{Path: "/storage", Privileges: []string{"Datastore.AllocateSpace"}}, {Path: "/vms/101", Privileges: []string{"VM.Backup"}}}, []string{iso}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s", ACL: tt.acl})}
			bubble(t, opts, func(t *testing.T, c *client) {
				addVM(t, c.sim, 100, "")
				for _, id := range []string{iso, disk, backup} {
					if err := c.sim.AddVolume(id, 1<<20); err != nil {
						t.Fatal(err)
					}
				}
				got := c.as("u@pve!x").ok("GET", "/nodes/pve1/storage/local/content").named(t, "volid")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("volumes (-want +got):\n%s", diff)
				}
			})
		})
	}
	bubble(t, Options{}, func(t *testing.T, c *client) {
		checkReply(t, "unknown content", c.call("GET", "/nodes/pve1/storage/local/content", "content=isos"), 400, "Parameter verification failed.")
	})
}

func TestStoragesVisibleByPrivilege(t *testing.T) {
	opts := Options{Tokens: append(DefaultTokens(), Token{ID: "u@pve!x", Secret: "s", ACL: []ACL{{Path: "/storage/local2", Privileges: []string{"Datastore.AllocateSpace"}}}})}
	bubble(t, opts, func(t *testing.T, c *client) {
		if diff := cmp.Diff([]string{"local2"}, c.as("u@pve!x").ok("GET", "/storage").named(t, "storage")); diff != "" {
			t.Errorf("storages (-want +got):\n%s", diff)
		}
	})
}
