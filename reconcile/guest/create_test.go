package guest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCreateParams(t *testing.T) {
	vm := Desired{Ref: Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}}
	ct := Desired{Ref: Ref{Kind: Container, Name: "dns-1", VMID: 310}}
	with := func(d Desired, source Source, intents ...Intent) Desired {
		d.Source = source
		d.Intents = want(Observed{Ref: d.Ref}, intents...).Intents
		return d
	}
	tests := map[string]struct {
		desired Desired
		want    map[string]string
	}{
		"blank": {with(vm, Source{Blank: true}), keys{"vmid": "201", "name": "web-1"}},
		"name_from_intent": {
			with(vm, Source{Blank: true}, text("name", "web.example.com")), keys{"vmid": "201", "name": "web.example.com"},
		},
		"image": {
			with(vm, Source{Image: &Image{Volume: "local:import/debian-12.qcow2", Slot: "scsi0"}},
				subs("scsi0", "storage=ceph", "size=40G", "iothread=1", "discard=on"), subs("scsi1", "storage=ceph", "size=500G"),
				subs("ide2", "storage=ceph", "volume=cloudinit", "media=cdrom"), subs("net0", "bridge=vmbr0", "model=virtio", "tag=20"),
				text("memory", "512"), text("onboot", "0"), text("cores", "2"), subs("agent", "enabled=1"), subs("boot", "order=scsi0")),
			keys{
				"vmid": "201", "name": "web-1", "scsi0": "ceph:0,import-from=local:import/debian-12.qcow2,discard=on,iothread=1", "scsi1": "ceph:500",
				"ide2": "ceph:cloudinit", "net0": "virtio,bridge=vmbr0,tag=20", "memory": "512", "onboot": "0", "cores": "2", "agent": "1", "boot": "order=scsi0",
			},
		},
		"firmware": {
			with(vm, Source{Blank: true}, subs("efidisk0", "storage=ceph", "efitype=4m"), subs("tpmstate0", "storage=ceph", "version=v2.0"), text("bios", "ovmf"), subs("ide0", "volume=local:iso/x.iso", "media=cdrom")),
			keys{"vmid": "201", "name": "web-1", "efidisk0": "ceph:1,efitype=4m", "tpmstate0": "ceph:1,version=v2.0", "bios": "ovmf", "ide0": "local:iso/x.iso,media=cdrom"},
		},
		"container": {
			with(ct, Source{Template: &Template{Volume: "local:vztmpl/debian-12.tar.zst"}},
				subs("rootfs", "storage=local-lvm", "size=8G"), subs("mp0", "storage=local-lvm", "size=4G", "mp=/data", "backup=1"), text("memory", "512"), text("swap", "0"),
				subs("features", "nesting=1"), text("unprivileged", "1"), subs("net0", "bridge=vmbr0", "ip=dhcp"), text("hostname", "dns-1"), text("ssh-public-keys", "ssh-ed25519 AAAA a\nssh-ed25519 BBBB b")),
			keys{
				"vmid": "310", "hostname": "dns-1", "ostemplate": "local:vztmpl/debian-12.tar.zst", "rootfs": "local-lvm:8", "mp0": "local-lvm:4,backup=1,mp=/data",
				"memory": "512", "swap": "0", "features": "nesting=1", "unprivileged": "1", "net0": "name=eth0,bridge=vmbr0,ip=dhcp", "ssh-public-keys": "ssh-ed25519 AAAA a\nssh-ed25519 BBBB b",
			},
		},
		"flags_of_the_default_processor": {with(vm, Source{Blank: true}, subs("cpu", "flags=+aes")), keys{"vmid": "201", "name": "web-1", "cpu": "kvm64,flags=+aes"}},
		"iso": {
			with(vm, Source{ISO: &ISO{Volume: "local:iso/debian-12.iso", Slot: "ide2"}}, subs("scsi0", "storage=ceph", "size=32G")),
			keys{"vmid": "201", "name": "web-1", "scsi0": "ceph:32", "ide2": "local:iso/debian-12.iso,media=cdrom"},
		},
		"iso_of_the_manifest": {
			with(vm, Source{ISO: &ISO{Volume: "local:iso/debian-12.iso", Slot: "ide2"}}, subs("ide2", "volume=local:iso/debian-12.iso", "media=cdrom")),
			keys{"vmid": "201", "name": "web-1", "ide2": "local:iso/debian-12.iso,media=cdrom"},
		},
		"backup": {
			with(vm, Source{Backup: &Backup{Volume: "pbs:backup/vm/201/2026-01-01T00:00:00Z", Storage: "ceph", Unique: true}},
				text("memory", "2048"), subs("scsi0", "storage=ceph", "size=40G"), text("tags", "web")),
			keys{"vmid": "201", "name": "web-1", "archive": "pbs:backup/vm/201/2026-01-01T00:00:00Z", "storage": "ceph", "unique": "1", "tags": "web"},
		},
		"backup_as_it_was": {
			with(vm, Source{Backup: &Backup{Volume: "local:backup/vzdump-qemu-100.vma.zst"}}, text("args", "-foo")),
			keys{"vmid": "201", "name": "web-1", "archive": "local:backup/vzdump-qemu-100.vma.zst"},
		},
		"backup_of_container": {
			with(ct, Source{Backup: &Backup{Volume: "local:backup/vzdump-lxc-100.tar.zst"}}, subs("rootfs", "storage=ceph", "size=8G"), text("unprivileged", "1"), text("ssh-public-keys", "ssh-ed25519 AAAA a")),
			keys{"vmid": "310", "hostname": "dns-1", "ostemplate": "local:backup/vzdump-lxc-100.tar.zst", "restore": "1", "storage": "ceph", "unprivileged": "1"},
		},
		"defaults_come_to_nothing": {
			with(ct, Source{Template: &Template{Volume: "local:vztmpl/x.tar.zst"}}, subs("features", "nesting=0"), subs("startup", "up=")),
			keys{"vmid": "310", "hostname": "dns-1", "ostemplate": "local:vztmpl/x.tar.zst"},
		},
		"absent_is_left_out": {with(vm, Source{Blank: true}, absent("net0"), absent("tags")), keys{"vmid": "201", "name": "web-1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := CreateParams(test.desired)
			if err != nil {
				t.Fatalf("create: got %v, want parameters", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateParamsOfOwnedGuest(t *testing.T) {
	d := Desired{Ref: Ref{Kind: VirtualMachine, Name: "web-1"}, Source: Source{Blank: true}, Pool: "prod", Marker: "gitops-0123abcd", Ignore: []string{"net0", "cores"}}
	d.Intents = []Intent{{Key: "cores", Verb: Want, Text: "2"}, {Key: "tags", Verb: Want, Text: "web"}}
	got, err := CreateParams(d)
	if err != nil {
		t.Fatalf("create: got %v, want parameters", err)
	}
	// What is ignored later is still used to create.
	if diff := cmp.Diff(keys{"name": "web-1", "pool": "prod", "tags": "gitops-0123abcd;web", "cores": "2"}, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

// TestCreateParamsMarkARestoredGuest: the backup of an owned guest carries that guest's marker, and the new one must not.
func TestCreateParamsMarkARestoredGuest(t *testing.T) {
	d := Desired{Ref: Ref{Kind: VirtualMachine, Name: "web-2"}, Source: Source{Backup: &Backup{Volume: "local:backup/x.vma"}}, Marker: "gitops-0123abcd"}
	got, err := CreateParams(d)
	if err != nil || got["tags"] != "gitops-0123abcd" {
		t.Errorf("create: got %v, %v, want the marker as the only tag", got, err)
	}
}

func TestCreateParamsRefuses(t *testing.T) {
	vm, ct := Ref{Kind: VirtualMachine, Name: "web-1"}, Ref{Kind: Container, Name: "dns-1"}
	tests := map[string]struct {
		ref     Ref
		source  Source
		intents []Intent
		want    string
	}{
		"no_source":        {vm, Source{}, nil, "no source"},
		"clone":            {vm, Source{Clone: &Clone{VMID: 9000}}, nil, "cloning its template"},
		"blank_container":  {ct, Source{Blank: true}, nil, "container template"},
		"wrong_template":   {vm, Source{Template: &Template{}}, nil, "disk image"},
		"wrong_image":      {ct, Source{Image: &Image{}}, nil, "container template"},
		"no_slot":          {vm, Source{Image: &Image{Volume: "local:import/x.qcow2", Slot: "scsi0"}}, nil, "got no storage for slot scsi0"},
		"iso_container":    {ct, Source{ISO: &ISO{}}, nil, "container template"},
		"iso_over_another": {vm, Source{ISO: &ISO{Volume: "local:iso/a.iso", Slot: "ide2"}}, []Intent{subs("ide2", "volume=none", "media=cdrom")}, "the manifest puts none into slot ide2"},
		"backup_nowhere":   {ct, Source{Backup: &Backup{Volume: "local:backup/x.tar.zst"}}, nil, "got no storage for the container's volumes"},
		"secret_in_clear":  {ct, Source{Template: &Template{Volume: "local:vztmpl/x.tar.zst"}}, []Intent{text("password", "s3cret")}, "set password: a secret must be in a file"},
		"no_storage":       {vm, Source{Blank: true}, []Intent{subs("scsi0", "size=1G")}, "set scsi0: the slot is empty: set storage to create a volume"},
		"every_problem":    {vm, Source{Blank: true}, []Intent{subs("scsi0", "size=1G"), subs("scsi1", "size=1G")}, "set scsi1: the slot is empty: set storage to create a volume"},
		"root_of_the_host": {ct, Source{Template: &Template{Volume: "local:vztmpl/x.tar.zst"}}, []Intent{subs("rootfs", "volume=/srv/root")}, "set rootfs: Proxmox lets only root@pam"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := want(Observed{Ref: test.ref}, test.intents...)
			d.Source = test.source
			if got, err := CreateParams(d); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("create: got %v, %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func TestCloneParams(t *testing.T) {
	vm := Ref{Kind: VirtualMachine, Name: "web-1", VMID: 201}
	tests := map[string]struct {
		desired Desired
		want    map[string]string
	}{
		"full":         {Desired{Ref: vm, Pool: "prod", Source: Source{Clone: &Clone{VMID: 9000, Full: true, Storage: "ceph"}}}, keys{"newid": "201", "name": "web-1", "pool": "prod", "full": "1", "storage": "ceph"}},
		"linked":       {Desired{Ref: vm, Source: Source{Clone: &Clone{VMID: 9000, Storage: "ceph"}}}, keys{"newid": "201", "name": "web-1", "full": "0"}},
		"name_differs": {Desired{Ref: vm, Source: Source{Clone: &Clone{Full: true}}, Intents: []Intent{{Key: "name", Verb: Want, Text: "web.lan"}}}, keys{"newid": "201", "name": "web.lan", "full": "1"}},
		"snapshot":     {Desired{Ref: vm, Source: Source{Clone: &Clone{VMID: 9000, Full: true, Snap: "clean", Format: "qcow2"}}}, keys{"newid": "201", "name": "web-1", "full": "1", "snapname": "clean", "format": "qcow2"}},
		"linked_as_is": {Desired{Ref: vm, Source: Source{Clone: &Clone{VMID: 9000, Snap: "clean", Format: "qcow2"}}}, keys{"newid": "201", "name": "web-1", "full": "0", "snapname": "clean"}},
		"ct_no_format": {Desired{Ref: Ref{Kind: Container, Name: "dns-1"}, Source: Source{Clone: &Clone{Full: true, Format: "raw"}}}, keys{"hostname": "dns-1", "full": "1"}},
		"container":    {Desired{Ref: Ref{Kind: Container, Name: "dns-1"}, Source: Source{Clone: &Clone{Full: true}}}, keys{"hostname": "dns-1", "full": "1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, CloneParams(test.desired)); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}
