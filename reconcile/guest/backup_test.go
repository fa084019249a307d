package guest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	firmware  = "local-lvm:vm-201-disk-8,efitype=4m,size=4M"
	tpmState  = "local-lvm:vm-201-disk-9,size=4M,version=v2.0"
	dataDisk  = "local-lvm:vm-201-disk-1,size=8G"
	dataMount = "local-lvm:vm-201-disk-1,mp=/data,size=8G"
)

func volumeNames(list []NotInBackup) []string {
	names := []string{}
	for _, n := range list {
		names = append(names, n.String())
	}
	return names
}

// TestLeavesBackups takes volumes of each kind out of backups in each way in which a manifest can, and changes that take none out.
func TestLeavesBackups(t *testing.T) {
	t.Parallel()
	const disk, mount = "(local-lvm:vm-201-disk-1)", "mp0 (local-lvm:vm-201-disk-1)"
	tests := map[string]struct {
		live    Observed
		intents []Intent
		want    []string
	}{
		"scsi":            {running(keys{"scsi1": dataDisk}), []Intent{subs("scsi1", "backup=0")}, []string{"scsi1 " + disk}},
		"virtio":          {running(keys{"virtio1": dataDisk}), []Intent{subs("virtio1", "backup=0")}, []string{"virtio1 " + disk}},
		"sata":            {live(keys{"sata1": dataDisk}), []Intent{subs("sata1", "backup=0")}, []string{"sata1 " + disk}},
		"ide":             {live(keys{"ide1": dataDisk + ",backup=1"}), []Intent{subs("ide1", "backup=no")}, []string{"ide1 " + disk}},
		"whole_text":      {live(keys{"scsi1": dataDisk}), []Intent{text("scsi1", "local-lvm:vm-201-disk-1,backup=0")}, []string{"scsi1 " + disk}},
		"with_another":    {live(keys{"scsi1": dataDisk}), []Intent{subs("scsi1", "backup=0", "ssd=1")}, []string{"scsi1 " + disk}},
		"device_of_host":  {live(keys{"scsi1": "/dev/disk/by-id/x,size=8G"}), []Intent{subs("scsi1", "backup=0")}, nil}, // only root@pam may write it
		"as_a_cdrom":      {live(keys{"scsi1": dataDisk}), []Intent{text("scsi1", "local-lvm:vm-201-disk-1,media=cdrom")}, []string{"scsi1 " + disk}},
		"waits_to_be_in":  {live(keys{"scsi1": dataDisk + ",backup=0 ? " + dataDisk}), []Intent{subs("scsi1", "backup=0")}, []string{"scsi1 " + disk}},
		"waits_to_be_out": {running(keys{"scsi1": dataDisk + " ? " + dataDisk + ",backup=0"}), []Intent{subs("scsi1", "iops=100")}, nil},
		"waits_to_detach": {running(keys{"scsi1": dataDisk + " !"}), []Intent{subs("scsi1", "backup=0")}, []string{"scsi1 " + disk}},
		"other_option":    {live(keys{"scsi1": dataDisk}), []Intent{subs("scsi1", "ssd=1")}, nil},
		"already_out":     {live(keys{"scsi1": dataDisk + ",backup=0"}), []Intent{subs("scsi1", "ssd=1")}, nil},
		"back_in":         {live(keys{"scsi1": dataDisk + ",backup=0"}), []Intent{subs("scsi1", "backup=1")}, nil},
		"new_disk":        {live(nil), []Intent{subs("scsi1", "storage=local-lvm", "size=8G", "backup=0")}, nil},
		"detached":        {live(keys{"scsi1": dataDisk}), []Intent{absent("scsi1")}, nil},
		"cdrom":           {live(keys{"ide2": "local:iso/x.iso,media=cdrom"}), []Intent{subs("ide2", "backup=0")}, nil},
		"cloud_init":      {live(keys{"ide2": liveInit}), []Intent{subs("ide2", "backup=0")}, nil},
		"attached_twice":  {live(keys{"scsi1": dataDisk, "scsi2": dataDisk + ",backup=0"}), []Intent{absent("scsi1")}, []string{"scsi1 " + disk}},
		"stays_elsewhere": {live(keys{"scsi1": dataDisk, "scsi2": dataDisk}), []Intent{subs("scsi2", "backup=0")}, nil},

		"firmware":          {live(keys{"bios": "ovmf", "efidisk0": firmware}), []Intent{text("bios", "seabios")}, []string{"efidisk0 (local-lvm:vm-201-disk-8)"}},
		"firmware_unset":    {running(keys{"bios": "ovmf", "efidisk0": firmware}), []Intent{absent("bios")}, []string{"efidisk0 (local-lvm:vm-201-disk-8)"}},
		"firmware_back":     {live(keys{"bios": "seabios", "efidisk0": firmware}), []Intent{text("bios", "ovmf")}, nil},
		"firmware_without":  {live(keys{"bios": "ovmf"}), []Intent{text("bios", "seabios")}, nil},
		"firmware_with_tpm": {live(keys{"bios": "ovmf", "tpmstate0": tpmState}), []Intent{text("bios", "seabios")}, nil},

		"mount":             {container(running(keys{"mp0": dataMount + ",backup=1"})), []Intent{subs("mp0", "backup=0")}, []string{mount}},
		"mount_empty":       {container(live(keys{"mp0": dataMount + ",backup=1"})), []Intent{subs("mp0", "backup=")}, []string{mount}},
		"mount_whole_text":  {container(live(keys{"mp0": dataMount + ",backup=1"})), []Intent{text("mp0", "local-lvm:vm-201-disk-1,mp=/data")}, []string{mount}},
		"mount_not_named":   {container(live(keys{"mp0": dataMount + ",backup=1"})), []Intent{subs("mp0", "ro=1")}, nil},
		"mount_already_out": {container(live(keys{"mp0": dataMount})), []Intent{subs("mp0", "backup=0", "ro=1")}, nil},
		"mount_detached":    {container(live(keys{"mp0": dataMount + ",backup=1"})), []Intent{absent("mp0")}, nil},
		"mount_new":         {container(live(nil)), []Intent{subs("mp0", "storage=local-lvm", "size=8G", "mp=/data")}, nil},
		"mount_folder":      {container(live(keys{"mp0": "/srv/media,mp=/media,backup=1"})), []Intent{subs("mp0", "backup=0")}, nil},
		"root_volume":       {container(live(keys{"rootfs": "local-lvm:vm-201-disk-0,size=4G"})), []Intent{subs("rootfs", "quota=1")}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := []string{}
			for _, c := range Diff(want(tt.live, tt.intents...), tt.live) {
				got = append(got, volumeNames(LeavesBackups(tt.live, c))...)
			}
			if tt.want == nil {
				tt.want = []string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}

// A snapshot may hold a volume that backups contained later.
func TestRollbackLeavesBackups(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		live Observed
		then map[string]string
		want []string
	}{
		"disk":            {live(keys{"scsi1": dataDisk}), map[string]string{"scsi1": dataDisk + ",backup=0"}, []string{"scsi1 (local-lvm:vm-201-disk-1)"}},
		"in_another_slot": {live(keys{"scsi1": dataDisk}), map[string]string{"scsi3": dataDisk + ",backup=0"}, []string{"scsi1 (local-lvm:vm-201-disk-1)"}},
		"firmware":        {live(keys{"bios": "ovmf", "efidisk0": firmware}), map[string]string{"efidisk0": firmware}, []string{"efidisk0 (local-lvm:vm-201-disk-8)"}},
		"mount":           {container(live(keys{"mp0": dataMount + ",backup=1"})), map[string]string{"mp0": dataMount}, []string{"mp0 (local-lvm:vm-201-disk-1)"}},
		"same":            {live(keys{"scsi1": dataDisk}), map[string]string{"scsi1": dataDisk, "cores": "2"}, []string{}},
		"before_the_disk": {live(keys{"scsi1": dataDisk}), map[string]string{}, []string{}},
		"was_out_already": {live(keys{"scsi1": dataDisk + ",backup=0"}), map[string]string{"scsi1": dataDisk + ",backup=0"}, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, volumeNames(RollbackLeavesBackups(tt.live, SnapshotSection{Name: "s1", Keys: tt.then}))); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNotInBackups(t *testing.T) {
	t.Parallel()
	machine := live(keys{
		"scsi0": "local-lvm:vm-201-disk-0,size=32G", "scsi1": dataDisk + ",backup=0", "virtio1": "ceph:vm-201-disk-2,backup=1,size=8G", "sata1": "ceph:vm-201-disk-3,size=8G,backup=off",
		"ide0": "none,media=cdrom", "ide2": liveInit, "ide3": "local:iso/x.iso,media=cdrom,backup=0", "efidisk0": firmware, "tpmstate0": tpmState, "unused0": "local-lvm:vm-201-disk-5",
		"vmstate": "local-lvm:vm-201-state-a",
	})
	box := container(live(keys{
		"rootfs": "local-lvm:vm-201-disk-0,size=4G", "mp0": dataMount, "mp1": "local:201/vm-201-disk-2.raw,mp=/a,backup=1,size=1G", "mp2": "local:201/vm-201-disk-3.raw,mp=/b,backup=0,size=1G",
		"mp3": "/srv/media,mp=/media,backup=1", "mp4": "/dev/sdb1,mp=/dev4",
	}))
	const disks, efi = "scsi1 (local-lvm:vm-201-disk-1)", "efidisk0 (local-lvm:vm-201-disk-8)"
	mounts := []string{"mp0 (local-lvm:vm-201-disk-1)", "mp2 (local:201/vm-201-disk-3.raw)", "mp3 (/srv/media)", "mp4 (/dev/sdb1)"}
	tests := map[string]struct {
		live    Observed
		intents []Intent
		want    []string
	}{
		"machine":           {machine, nil, []string{efi, "sata1 (ceph:vm-201-disk-3)", disks}},
		"machine_says_so":   {machine, []Intent{subs("scsi1", "backup=0"), text("sata1", "ceph:vm-201-disk-3,backup=no")}, []string{efi}},
		"machine_wants_it":  {machine, []Intent{subs("scsi1", "backup=1"), subs("sata1", "backup=")}, []string{efi, "sata1 (ceph:vm-201-disk-3)", disks}},
		"machine_other_key": {machine, []Intent{subs("scsi1", "ssd=1"), absent("sata1")}, []string{efi, "sata1 (ceph:vm-201-disk-3)", disks}},
		"firmware":          {live(keys{"bios": "ovmf", "efidisk0": firmware}), nil, []string{}},
		"container":         {box, nil, mounts},
		"container_says_so": {box, []Intent{subs("mp0", "backup=0"), subs("mp2", "backup=off"), subs("mp3", "backup=0"), text("mp4", "/dev/sdb1,mp=/dev4,backup=0")}, []string{}},
		"container_raw":     {box, []Intent{text("mp0", "local-lvm:vm-201-disk-1,mp=/data"), subs("mp2", "backup="), subs("mp3", "ro=1"), subs("mp4", "backup=0")}, mounts[:3]},
		"waits_to_be_out":   {running(keys{"scsi1": dataDisk + " ? " + dataDisk + ",backup=0"}), nil, []string{disks + ", from the next start on"}},
		"waits_to_be_in":    {container(running(keys{"mp0": dataMount + " ? " + dataMount + ",backup=1"})), nil, []string{"mp0 (local-lvm:vm-201-disk-1)"}},
		"waits_to_detach":   {running(keys{"scsi1": dataDisk + " !"}), nil, []string{}},
		"waits_to_exist":    {container(running(keys{"mp0": "? " + dataMount})), nil, []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := want(tt.live, tt.intents...)
			if diff := cmp.Diff(tt.want, volumeNames(NotInBackups(&d, tt.live))); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}

// A manifest of a virtual machine may name a key that only containers have, and its vmid may belong to a container.
func TestNotInBackupsOfAnotherKind(t *testing.T) {
	t.Parallel()
	d := want(live(nil), text("mp0", "local-lvm:vm-201-disk-1,mp=/data,backup=0"))
	if got := volumeNames(NotInBackups(&d, container(live(keys{"mp0": dataMount})))); len(got) != 1 {
		t.Errorf("got %q, want the mount point", got)
	}
}

// TestEverySlotLeavesBackups takes the volume in each slot with the option out of backups. The other slots with drives have no option, and their volumes stay.
func TestEverySlotLeavesBackups(t *testing.T) {
	t.Parallel()
	var without []string
	for kind, rows := range map[Kind]map[string]*row{VirtualMachine: virtualMachineTable, Container: containerTable} {
		for key, r := range rows {
			if !r.drive {
				continue
			}
			if r.syntax.sub("backup") == &anySub {
				without = append(without, key)
				continue
			}
			o := live(keys{key: "local-lvm:vm-201-disk-1,mp=/data,backup=1,size=8G"})
			o.Kind = kind
			changes := Diff(want(o, subs(key, "backup=0")), o)
			if len(changes) != 1 || len(LeavesBackups(o, changes[0])) != 1 {
				t.Errorf("%s: got changes %q, want one that takes the volume out of backups", key, briefs(changes))
			}
		}
	}
	slices.Sort(without)
	if want := []string{"efidisk0", "rootfs", "tpmstate0"}; !slices.Equal(without, want) {
		t.Errorf("slots without the option: got %q, want %q", without, want)
	}
}
