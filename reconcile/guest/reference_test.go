package guest

import (
	"slices"
	"testing"
)

func TestReferences(t *testing.T) {
	pending := "ceph:vm-300-disk-0,size=1G"
	o := Observed{Ref: Ref{Kind: VirtualMachine, VMID: 201}, Keys: map[string]Value{
		"scsi0":       {Text: "local:9000/base-9000-disk-0.qcow2/201/vm-201-disk-0.qcow2,size=4G", Set: true},
		"scsi1":       {Text: "ceph:vm-201-disk-1", Set: true, Pending: &pending},
		"scsi2":       {Text: "/dev/mapper/pve-vm--777--disk--0-part1", Set: true},
		"ide2":        {Text: "local:iso/vm-5-disk.iso,media=cdrom", Set: true},
		"ide0":        {Text: "none,media=cdrom", Set: true},
		"unused0":     {Text: "local-lvm:vm-201-disk-9", Set: true},
		"args":        {Text: "-drive file=/dev/pve/vm-778-disk-1,if=virtio", Set: true},
		"description": {Text: "was vm-779-disk-0", Set: true},
		"hookscript":  {Text: "x:snippets/a-b", Set: true},
		"sata0":       {Text: "/var/lib/vz/template/iso/debian--13-0123456789ab.iso,media=cdrom", Set: true},
		"vmstate":     {Text: "local-lvm:vm-201-state-x", Set: true},
	}}
	var got []string
	for _, r := range References(o) {
		got = append(got, r.String()+" "+r.Volume)
	}
	slices.Sort(got)
	want := []string{
		"a path in args vm-778-disk-1", "a path in sata0 debian--13-0123456789ab.iso", "a path in scsi2 vm-777-disk-0", "ide2 local:iso/vm-5-disk.iso", "scsi0 local:9000/base-9000-disk-0.qcow2/201/vm-201-disk-0.qcow2",
		"scsi1 (pending) ceph:vm-300-disk-0", "scsi1 ceph:vm-201-disk-1", "the base of a linked clone in scsi0 local:9000/base-9000-disk-0.qcow2",
		"unused0 local-lvm:vm-201-disk-9", "vmstate local-lvm:vm-201-state-x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	snapshot := SnapshotReferences(Container, "s1", map[string]string{"mp0": "zfs:subvol-7-disk-0,mp=/x", "hostname": "vm-1-disk-0"})
	if len(snapshot) != 1 || snapshot[0].String() != "mp0 of snapshot s1" || snapshot[0].Volume != "zfs:subvol-7-disk-0" {
		t.Errorf("got %+v, want one reference of the snapshot", snapshot)
	}
}

// TestNamesFile finds what names a file of an Image, and nothing that names another one.
func TestNamesFile(t *testing.T) {
	const file = "local:iso/debian-13-0123456789ab.iso"
	drive := func(key, text string) Desired {
		return Desired{Ref: Ref{Kind: VirtualMachine}, Intents: []Intent{{Key: key, Verb: Want, Text: text}}}
	}
	tests := map[string]struct {
		d    Desired
		want string
	}{
		"none":           {Desired{}, ""},
		"image":          {Desired{Source: Source{Image: &Image{Volume: file}}}, "source.image"},
		"iso":            {Desired{Source: Source{ISO: &ISO{Volume: file}}}, "source.iso"},
		"template":       {Desired{Source: Source{Template: &Template{Volume: file}}}, "source.template"},
		"drive":          {drive("ide2", file+",media=cdrom"), "ide2"},
		"volume":         {Desired{Ref: Ref{Kind: VirtualMachine}, Intents: []Intent{{Key: "ide2", Verb: Want, Sub: map[string]string{"volume": file}}}}, "ide2"},
		"path":           {drive("args", "-cdrom /var/lib/vz/template/iso/debian-13-0123456789ab.iso"), "args"},
		"other_storage":  {drive("ide2", "nfs:iso/debian-13-0123456789ab.iso,media=cdrom"), ""},
		"other_checksum": {drive("ide2", "local:iso/debian-13-ffffffffffff.iso,media=cdrom"), ""},
		"description":    {drive("description", "made of debian-13-0123456789ab.iso"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.d.NamesFile(file); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestVolumeIDs(t *testing.T) {
	tests := map[string]struct {
		key    string
		owner  int
		base   string
		isBase bool
	}{
		"local-lvm:vm-100-disk-0":                                 {"local-lvm:vm-100-disk-0", 100, "", false},
		"zfs:base-9000-disk-0/subvol-100-disk-0":                  {"zfs:subvol-100-disk-0", 100, "zfs:base-9000-disk-0", false},
		"zfs:basevol-9000-disk-0":                                 {"zfs:basevol-9000-disk-0", 9000, "", true},
		"local:100/vm-200-disk-0.raw":                             {"local:100/vm-200-disk-0.raw", 100, "", false},
		"local:100/data.qcow2":                                    {"local:100/data.qcow2", 100, "", false},
		"local:9000/base-9000-disk-0.raw/100/vm-100-disk-0.qcow2": {"local:100/vm-100-disk-0.qcow2", 100, "local:9000/base-9000-disk-0.raw", false},
		"local:9000/base-9000-disk-0.raw":                         {"local:9000/base-9000-disk-0.raw", 9000, "", true},
		"local:import/debian.qcow2":                               {"local:import/debian.qcow2", 0, "", false},
		"pbs:backup/vm/201/2026-01-01T00:00:00Z":                  {"pbs:backup/vm/201/2026-01-01T00:00:00Z", 0, "", false},
	}
	for volume, want := range tests {
		owner, _ := VolumeOwner(volume)
		base, hasBase := BaseVolume(volume)
		if !hasBase {
			base = ""
		}
		if got := VolumeKey(volume); got != want.key || owner != want.owner || base != want.base || IsBaseVolume(volume) != want.isBase {
			t.Errorf("%s: got key %s, owner %d, base %q, is base %t, want %+v", volume, got, owner, base, IsBaseVolume(volume), want)
		}
	}
}
