package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind Kind
		key  string
		text string
		want []Mention
	}{
		"volume":          {VirtualMachine, "scsi1", "local-lvm:vm-1000-disk-0,cache=none", []Mention{{"scsi1", "local-lvm:vm-1000-disk-0", Attach}}},
		"named_volume":    {VirtualMachine, "scsi1", "cache=none,file=local-lvm:vm-1000-disk-0", []Mention{{"scsi1", "local-lvm:vm-1000-disk-0", Attach}}},
		"allocation":      {VirtualMachine, "scsi1", "local-lvm:32", nil},
		"cloud_init":      {VirtualMachine, "ide2", "local-lvm:cloudinit,media=cdrom", nil},
		"empty_drive":     {VirtualMachine, "ide2", "none,media=cdrom", nil},
		"image":           {VirtualMachine, "ide2", "local:iso/debian.iso,media=cdrom", []Mention{{"ide2", "local:iso/debian.iso", Copy}}},
		"import":          {VirtualMachine, "scsi0", "local-lvm:0,import-from=local-lvm:vm-1000-disk-0", []Mention{{"scsi0", "local-lvm:vm-1000-disk-0", Import}}},
		"import_of_path":  {VirtualMachine, "scsi0", "local-lvm:0,import-from=/dev/sdb", []Mention{{"scsi0", "/dev/sdb", HostDir}}},
		"disk_of_host":    {VirtualMachine, "scsi0", "/dev/disk/by-id/x", []Mention{{"scsi0", "/dev/disk/by-id/x", HostDir}}},
		"bind_mount":      {Container, "mp0", "/srv/share,mp=/data", []Mention{{"mp0", "/srv/share", HostDir}}},
		"mount_point":     {Container, "mp0", "mp=/data,volume=local:1000/vm-1000-disk-1.raw", []Mention{{"mp0", "local:1000/vm-1000-disk-1.raw", Attach}}},
		"backup":          {VirtualMachine, "archive", "pbs:backup/vm/1000/2026-01-01T00:00:00Z", []Mention{{"archive", "pbs:backup/vm/1000/2026-01-01T00:00:00Z", Copy}}},
		"template":        {Container, "ostemplate", "local:vztmpl/debian.tar.zst", []Mention{{"ostemplate", "local:vztmpl/debian.tar.zst", Copy}}},
		"snippets":        {VirtualMachine, "cicustom", "user=local:snippets/u.yaml,meta=local:snippets/m.yaml", []Mention{{"cicustom", "local:snippets/u.yaml", Read}, {"cicustom", "local:snippets/m.yaml", Read}}},
		"hook":            {VirtualMachine, "hookscript", "local:snippets/hook.pl", []Mention{{"hookscript", "local:snippets/hook.pl", RunHost}}},
		"arguments":       {VirtualMachine, "args", "-drive file=/dev/sdb", []Mention{{"args", "-drive file=/dev/sdb", RunHost}}},
		"unused":          {VirtualMachine, "unused0", "local-lvm:vm-1000-disk-0", []Mention{{"unused0", "local-lvm:vm-1000-disk-0", Attach}}},
		"unknown_key":     {VirtualMachine, "scsi77", "local-lvm:vm-1000-disk-0", []Mention{{"scsi77", "local-lvm:vm-1000-disk-0", Attach}}},
		"unknown_text":    {VirtualMachine, "colour", "a:b", nil},
		"network":         {VirtualMachine, "net0", "virtio=AA:BB:CC:DD:EE:FF,bridge=vmbr0", nil},
		"not_a_reference": {VirtualMachine, "description", "local-lvm:vm-1000-disk-0", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Mentions(test.kind, map[string]string{test.key: test.text})); diff != "" {
				t.Errorf("mentions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVolumeOwners(t *testing.T) {
	t.Parallel()
	for volume, want := range map[string][]int{
		"local-lvm:vm-1000-disk-0":                                  {1000},
		"local-lvm:base-9000-disk-0":                                {9000},
		"local-zfs:subvol-1000-disk-0":                              {1000},
		"local:1000/vm-1000-disk-0.qcow2":                           {1000},
		"local:1000/vm-205-disk-0.qcow2":                            {205, 1000}, // Proxmox takes the folder
		"local:1000/data.qcow2":                                     {1000},
		"rbd:base-9000-disk-0/vm-205-disk":                          {205},
		"local:9000/base-9000-disk-0.qcow2/205/vm-205-disk-0.qcow2": {205},
		"local:backup/vzdump-qemu-1000-2026_01_01-00_00_00.vma.zst": {1000},
		"local:backup/vzdump-lxc-1000-2026_01_01-00_00_00.tar.zst":  {1000},
		"pbs:backup/ct/1000/2026-01-01T00:00:00Z":                   {1000},
		"local:iso/vm-1000-disk-0.iso":                              nil,
		"local:import/vm-1000-disk-0.qcow2":                         nil,
		"local-lvm:data":                                            nil,
		"/srv/1000/share":                                           nil,
	} {
		if diff := cmp.Diff(want, VolumeOwners(volume)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", volume, diff)
		}
	}
}
