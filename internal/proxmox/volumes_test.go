package proxmox

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

func TestMissingAudit(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"all":              {`{"/vms":{"VM.Audit":1},"/":{"VM.Audit":1}}`, ""},
		"none":             {`{}`, "/vms"},
		"one_guest":        {`{"/vms/100":{"VM.Audit":1}}`, "/vms"},
		"not_propagated":   {`{"/vms":{"VM.Audit":0}}`, "/vms"},
		"barred":           {`{"/":{"VM.Audit":1}}`, "/vms"},
		"from_the_top":     {`{"/":{"VM.Audit":1},"/vms":{"VM.Clone":0}}`, ""},
		"replaced":         {`{"/":{"VM.Audit":1},"/vms":{"VM.Clone":1}}`, "/vms"},
		"less_on_a_guest":  {`{"/vms":{"VM.Audit":1},"/vms/105":{"VM.Clone":1},"/vms/104":{"VM.Audit":0}}`, "/vms/105"},
		"string_as_number": {`{"/vms":{"VM.Audit":"1"}}`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := inProcess(t, always(200, "OK", `{"data":`+test.body+`}`)).MissingAudit(t.Context())
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestStorageConfigs(t *testing.T) {
	got, err := inProcess(t, always(200, "OK", `{"data":[
		{"storage":"local","type":"dir","path":"/var/lib/vz/","nodes":"pve1, pve2","content":"iso,images","disable":1},
		{"storage":"ceph","type":"rbd","shared":1,"pool":"vms","monhost":"a"},
		{"storage":"a-lvm","type":"lvmthin","vgname":"pve","thinpool":"data","shared":"0"},
		{"storage":"drbd","type":"drbd","shared":1}]}`)).StorageConfigs(t.Context())
	want := []cluster.Storage{
		{ID: "a-lvm", Backings: []string{"vg pve"}},
		{ID: "ceph", Shared: true, Backings: []string{"rbd a vms "}},
		{ID: "drbd", Shared: true},
		{ID: "local", Nodes: []string{"pve1", "pve2"}, Content: []string{"images", "iso"}, Disabled: true, Backings: []string{"path /var/lib/vz"}},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("storages (-want +got)\n%s", diff)
	}
}

func TestSnapshots(t *testing.T) { simulate(t, readsSnapshots) }

func readsSnapshots(t *testing.T, sim *pvesim.Sim, client *Client) {
	if _, err := sim.AddVM(pvesim.Guest{VMID: 100, Config: "name: web\nscsi0: local-lvm:vm-100-disk-0,size=1G\n"}); err != nil {
		t.Fatal(err)
	}
	row := cluster.Row{Kind: guest.VirtualMachine, VMID: 100, Node: "pve1"}
	before, err := client.Snapshots(t.Context(), row)
	if err != nil || len(before.Sections) != 0 || before.Digest != sim.Digest(100) {
		t.Fatalf("got %+v, %v, want no section and the digest %s", before, err, sim.Digest(100))
	}
	if err := sim.EditFile(100, func(text string) string {
		return text + "\n[one]\nscsi7: local-lvm:vm-300-disk-0,size=1G\ncores: 2\nsnaptime: 1700000000\n"
	}); err != nil {
		t.Fatal(err)
	}
	after, err := client.Snapshots(t.Context(), row)
	want := guest.Snapshots{Digest: sim.Digest(100), Sections: []guest.SnapshotSection{{
		Name: "one", Keys: map[string]string{"scsi7": "local-lvm:vm-300-disk-0,size=1G", "cores": "2", "snaptime": "1700000000"},
	}}}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("snapshots (-want +got)\n%s", diff)
	}
	if _, err := client.Snapshots(t.Context(), cluster.Row{Kind: guest.VirtualMachine, VMID: 999, Node: "pve1"}); !errors.Is(err, cluster.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}

func TestReplicationsAndStoredVolumes(t *testing.T) { simulate(t, readsJobsAndVolumes) }

func readsJobsAndVolumes(t *testing.T, sim *pvesim.Sim, client *Client) {
	if _, err := sim.AddVM(pvesim.Guest{VMID: 100, Config: "name: web\nscsi0: local-lvm:vm-100-disk-0,size=1G\n"}); err != nil {
		t.Fatal(err)
	}
	sim.AddReplication(100, "pve2")
	jobs, err := client.Replications(t.Context())
	if diff := cmp.Diff([]cluster.Replication{{VMID: 100, Target: "pve2"}}, jobs); diff != "" || err != nil {
		t.Errorf("%v, jobs (-want +got)\n%s", err, diff)
	}
	if err := sim.AddVolume("local-lvm:vm-333-disk-0", 1<<30); err != nil {
		t.Fatal(err)
	}
	volumes, err := client.StoredVolumes(t.Context(), "pve1", "local-lvm", 333)
	if diff := cmp.Diff([]cluster.StoredVolume{{ID: "local-lvm:vm-333-disk-0", Owner: 333}}, volumes); diff != "" || err != nil {
		t.Errorf("%v, volumes (-want +got)\n%s", err, diff)
	}
	all, err := client.StoredVolumes(t.Context(), "pve1", "local-lvm", 0)
	if err != nil || len(all) <= len(volumes) {
		t.Errorf("got %v, %v, want the volumes of all guests", all, err)
	}
}
