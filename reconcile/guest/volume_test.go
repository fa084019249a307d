package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestVolumes(t *testing.T) {
	tests := map[string]struct {
		live Observed
		want []string
	}{
		"virtual_machine": {
			live(keys{
				"scsi0": "local-lvm:vm-201-disk-0,size=32G", "virtio1": "file=ceph:vm-201-disk-1,size=1G", "efidisk0": "local:201/vm-201-disk-2.raw,size=528K",
				"tpmstate0": "local:201/vm-201-disk-3.raw,size=4M", "ide2": "local:iso/tiny.iso,media=cdrom", "ide3": "none,media=cdrom", "sata0": "cdrom,media=cdrom",
				"ide1": "local:201/vm-201-cloudinit.qcow2,media=cdrom", "unused0": "local:201/vm-201-disk-9.raw", "vmstate": "local:201/vm-201-state-suspend.raw",
				"net0": liveCard, "scsi9": "/dev/sdb", "description": "local:vm-201-disk-77",
			}),
			[]string{
				"ceph:vm-201-disk-1", "local-lvm:vm-201-disk-0", "local:201/vm-201-cloudinit.qcow2", "local:201/vm-201-disk-2.raw",
				"local:201/vm-201-disk-3.raw", "local:201/vm-201-disk-9.raw", "local:201/vm-201-state-suspend.raw",
			},
		},
		"container": {
			container(live(keys{
				"rootfs": "zfs:subvol-201-disk-0,size=8G", "mp0": "local:201/vm-201-disk-1.raw,mp=/data", "mp1": "/srv,mp=/srv", "mp255": "volume=local:vm-201-disk-3,mp=/x",
				"unused1": "local:201/vm-201-disk-2.raw", "dev0": "/dev/null", "scsi0": "local:201/vm-201-disk-8.raw",
			})),
			[]string{"local:201/vm-201-disk-1.raw", "local:201/vm-201-disk-2.raw", "local:vm-201-disk-3", "zfs:subvol-201-disk-0"},
		},
		"pending_counts_too": {
			running(keys{"sata0": "? local:201/vm-201-disk-3.raw,size=1G", "scsi0": "local:201/vm-201-disk-0.raw !", "scsi1": "local:201/vm-201-disk-1.raw ? local:201/vm-201-disk-4.raw"}),
			[]string{"local:201/vm-201-disk-0.raw", "local:201/vm-201-disk-1.raw", "local:201/vm-201-disk-3.raw", "local:201/vm-201-disk-4.raw"},
		},
		"linked_clone":   {live(keys{"scsi0": "local:130/base-130-disk-1.qcow2/201/vm-201-disk-0.qcow2"}), []string{"local:130/base-130-disk-1.qcow2/201/vm-201-disk-0.qcow2"}},
		"another_guests": {live(keys{"scsi1": "local:300/vm-300-disk-0.raw", "scsi2": "san:shared-data"}), []string{"san:shared-data"}},
		"twice":          {live(keys{"scsi1": "local:201/vm-201-disk-0.raw", "unused0": "local:201/vm-201-disk-0.raw"}), []string{"local:201/vm-201-disk-0.raw"}},
		"none":           {live(nil), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Volumes(test.live), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSMBIOSUUID(t *testing.T) {
	tests := map[string]struct {
		live Observed
		want string
	}{
		"alone":      {live(keys{"smbios1": "uuid=DE0A1108-0b75-45b8-8c5c-031b061ab62c"}), "de0a1108-0b75-45b8-8c5c-031b061ab62c"},
		"among":      {live(keys{"smbios1": "manufacturer=Rm9v,base64=1,uuid=11111111-2222-3333-4444-555555555555"}), "11111111-2222-3333-4444-555555555555"},
		"unset":      {live(keys{"smbios1": "manufacturer=Foo"}), ""},
		"missing":    {live(nil), ""},
		"as_it_runs": {running(keys{"smbios1": "uuid=11111111-2222-3333-4444-555555555555 ? uuid=99999999-2222-3333-4444-555555555555"}), "11111111-2222-3333-4444-555555555555"},
		"container":  {container(live(keys{"smbios1": "uuid=11111111-2222-3333-4444-555555555555"})), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := SMBIOSUUID(test.live); got != test.want {
				t.Errorf("uuid: got %q, want %q", got, test.want)
			}
		})
	}
}

func TestIsCloudInit(t *testing.T) {
	tests := map[string]bool{
		"local-lvm:vm-100-cloudinit": true, "local:100/vm-100-cloudinit.qcow2": true, "local:cloudinit": true,
		"local:vm-100-disk-0": false, "local:iso/cloudinit-tools.iso": false, "local:100/vm-x-cloudinit.raw": false, "none": false, "": false,
	}
	for volume, want := range tests {
		if got := isCloudInit(volume); got != want {
			t.Errorf("isCloudInit(%q): got %t, want %t", volume, got, want)
		}
	}
}
