package guest

import "testing"

const (
	liveDisk = "local-lvm:vm-201-disk-0,discard=on,size=32G"
	liveISO  = "local:iso/tiny.iso,media=cdrom,size=17M"
	liveInit = "local-lvm:vm-201-cloudinit,media=cdrom,size=4M"
)

func TestDiffDisk(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"holds":           {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "storage=local-lvm", "size=32G", "discard=on", "backup=1", "cache=none")}, nil},
		"order_and_words": {live(keys{"scsi0": "discard=on,file=local-lvm:vm-201-disk-0,iothread=yes"}), []Intent{subs("scsi0", "storage=local-lvm", "iothread=1")}, nil},
		"option": {
			live(keys{"scsi0": liveDisk}),
			[]Intent{subs("scsi0", "storage=local-lvm", "ssd=1")},
			[]string{"scsi0 set local-lvm:vm-201-disk-0,discard=on,size=32G,ssd=1 [live]"},
		},
		"linked_clone": {live(keys{"scsi0": "local:130/base-130-disk-1.qcow2/134/vm-134-disk-0.qcow2,size=5120001K"}), []Intent{subs("scsi0", "storage=local", "size=5120001K")}, nil},
		"new":          {live(nil), []Intent{subs("scsi1", "storage=local-lvm", "size=100G", "discard=on", "ssd=0")}, []string{"scsi1 set local-lvm:100,discard=on [live]"}},
		"new_half_gibibyte": {
			live(nil), []Intent{subs("scsi1", "storage=local", "size=512M", "format=qcow2")}, []string{"scsi1 set local:0.5,format=qcow2 [live]"},
		},
		"new_without_storage": {
			live(nil),
			[]Intent{subs("scsi1", "size=1G")},
			[]string{"scsi1 none [impossible] the slot is empty: set storage to create a volume"},
		},
		"new_without_size": {
			live(nil),
			[]Intent{subs("scsi1", "storage=local")},
			[]string{"scsi1 none [impossible] the slot is empty: set size to create a volume"},
		},
		"new_of_nothing": {live(nil), []Intent{subs("scsi1", "storage=local", "size=0"), subs("scsi2", "storage=local", "size=lots")}, []string{
			"scsi1 none [impossible] the size cannot be read, or is 0",
			"scsi2 none [impossible] the size cannot be read, or is 0",
		}},
		"attach":                           {live(keys{"unused0": "ceph:vm-201-disk-7"}), []Intent{subs("scsi2", "volume=ceph:vm-201-disk-7", "ssd=1")}, []string{"scsi2 set ceph:vm-201-disk-7,ssd=1 [live]"}},
		"attached":                         {live(keys{"scsi2": "ceph:vm-201-disk-7,size=1G"}), []Intent{subs("scsi2", "volume=ceph:vm-201-disk-7")}, nil},
		"replace":                          {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "volume=ceph:vm-201-disk-7")}, []string{"scsi0 set ceph:vm-201-disk-7,discard=on [disruptive] " + detachedNote}},
		"other_storage":                    {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "storage=ceph")}, []string{"scsi0 move ceph [live] copies 32G to ceph; the old volume stays as unused"}},
		"other_storage_running":            {running(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "storage=ceph")}, []string{"scsi0 move ceph [disruptive] copies 32G to ceph; the old volume stays as unused"}},
		"other_storage_protected":          {live(keys{"scsi0": liveDisk, "protection": "1"}), []Intent{subs("scsi0", "storage=ceph")}, []string{"scsi0 move ceph [live] copies 32G to ceph; the old volume stays as unused"}},
		"other_storage_of_a_pinned_volume": {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "volume=local-lvm:vm-201-disk-0", "storage=ceph")}, nil},
		"other_storage_while_another_volume_waits": {
			running(keys{"sata0": "local:201/vm-201-disk-0.raw,size=1G ? local:201/vm-201-disk-1.raw,size=2G"}),
			[]Intent{subs("sata0", "storage=ceph")},
			[]string{"sata0 none [restart] waits restart needed", "sata0 none [impossible] a change of this disk waits for the next start: it moves after that"},
		},
		"other_storage_while_an_option_waits": {
			running(keys{"scsi0": "local:201/vm-201-disk-0.raw,size=1G ? local:201/vm-201-disk-0.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi0", "storage=ceph", "discard=on", "size=2G")},
			[]string{"scsi0 none [restart] waits restart needed", "scsi0 none [impossible] a change of this disk waits for the next start: it moves after that", "scsi0 resize 2G [live] grows, which cannot be undone"},
		},
		"moved_while_an_option_waits": {
			running(keys{"scsi0": "ceph:vm-201-disk-1,size=2G ? local:201/vm-201-disk-0.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi0", "storage=ceph", "size=2G")},
			[]string{"scsi0 set ceph:vm-201-disk-1,size=2G [live] reverts a waiting change"},
		},
		"moved_while_a_wanted_option_waits": {
			running(keys{"scsi0": "ceph:vm-201-disk-1,size=2G ? local:201/vm-201-disk-0.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi0", "storage=ceph", "discard=on")},
			[]string{"scsi0 set ceph:vm-201-disk-1,size=2G,discard=on [restart] restart needed"},
		},
		"tray_becomes_a_disk_elsewhere": {
			running(keys{"scsi1": "none,media=cdrom ? local:201/vm-201-disk-0.raw,size=1G"}),
			[]Intent{subs("scsi1", "storage=ceph", "size=1G")},
			[]string{"scsi1 none [restart] waits restart needed", "scsi1 none [impossible] a change of this disk waits for the next start: it moves after that"},
		},
		"not_grown_before_it_is_there": {
			running(keys{"scsi1": "? local:201/vm-201-disk-1.raw,size=1G"}), []Intent{subs("scsi1", "storage=local", "size=2G")}, []string{"scsi1 none [restart] waits restart needed"},
		},
		"tpm_moves_stopped":           {live(keys{"tpmstate0": "local:110/vm-110-disk-2.raw,size=4M,version=v2.0"}), []Intent{subs("tpmstate0", "storage=ceph")}, []string{"tpmstate0 move ceph [live] copies 4M to ceph; the old volume stays as unused"}},
		"tpm_does_not_move_running":   {running(keys{"tpmstate0": "local:110/vm-110-disk-2.raw,size=4M,version=v2.0"}), []Intent{subs("tpmstate0", "storage=ceph")}, []string{"tpmstate0 none [impossible] the TPM state moves only while the guest is stopped"}},
		"rootfs_moves_stopped":        {container(live(keys{"rootfs": "local:400/vm-400-disk-0.raw,size=1G"})), []Intent{subs("rootfs", "storage=ceph")}, []string{"rootfs move ceph [live] copies 1G to ceph; the old volume stays as unused"}},
		"mount_does_not_move_running": {container(running(keys{"mp0": "local:401/vm-401-disk-1.raw,mp=/data"})), []Intent{subs("mp0", "storage=ceph")}, []string{"mp0 none [impossible] a container's volume moves only while the container is stopped"}},
		"host_path_does_not_move":     {container(live(keys{"mp0": "/srv,mp=/data"})), []Intent{subs("mp0", "storage=ceph")}, []string{"mp0 none [impossible] the slot holds another volume: remove it first"}},
		"other_storage_and_option": {
			live(keys{"scsi0": liveDisk}),
			[]Intent{subs("scsi0", "storage=ceph", "discard=ignore", "size=64G")},
			[]string{
				"scsi0 set local-lvm:vm-201-disk-0,discard=ignore,size=32G [live]",
				"scsi0 move ceph [live] copies 32G to ceph; the old volume stays as unused",
				"scsi0 resize 64G [live] grows, which cannot be undone",
			},
		},
		"text_pins":         {live(keys{"scsi0": liveDisk}), []Intent{text("scsi0", "local-lvm:vm-201-disk-0,discard=on")}, nil},
		"text_pins_options": {live(keys{"scsi0": liveDisk}), []Intent{text("scsi0", "local-lvm:vm-201-disk-0")}, []string{"scsi0 set local-lvm:vm-201-disk-0,size=32G [live]"}},
		"text_never_allocates": {
			live(keys{"scsi0": liveDisk}),
			[]Intent{text("scsi0", "local-lvm:32"), text("scsi1", "8")},
			[]string{"scsi0 none [impossible] set storage and size to create a volume", "scsi1 none [impossible] set storage and size to create a volume"},
		},
		"host_path":        {live(nil), []Intent{subs("scsi1", "volume=/dev/sdb")}, []string{"scsi1 none [impossible] Proxmox lets only root@pam change it, and no API token"}},
		"detach":           {live(keys{"scsi0": liveDisk}), []Intent{absent("scsi0")}, []string{"scsi0 delete [disruptive] " + detachedNote}},
		"detach_protected": {live(keys{"scsi0": liveDisk, "protection": "1"}), []Intent{absent("scsi0")}, []string{"scsi0 delete [disruptive] " + detachedNote}},
		"detach_waits": {
			running(keys{"sata0": "local:201/vm-201-disk-3.raw,size=1G !"}), []Intent{absent("sata0")}, []string{"sata0 none [restart] waits restart needed"},
		},
		"detach_of_another_hand_is_taken_back": {
			running(keys{"sata0": "local:201/vm-201-disk-3.raw,size=1G !"}),
			[]Intent{subs("sata0", "storage=local")},
			[]string{"sata0 set local:201/vm-201-disk-3.raw,size=1G [live] reverts a waiting change"},
		},
		"unused_is_destructive": {live(keys{"unused0": "local:201/vm-201-disk-3.raw"}), []Intent{absent("unused0")}, []string{"unused0 delete [destructive] data lost: the volume is deleted"}},
		"unused_is_protected":   {live(keys{"unused0": "local:201/vm-201-disk-3.raw", "protection": "1"}), []Intent{absent("unused0")}, []string{"unused0 delete [destructive] " + dataLostNote}},
		"unused_is_not_written": {live(nil), []Intent{text("unused0", "local:201/vm-201-disk-3.raw")}, []string{"unused0 none [impossible] only Proxmox writes it"}},
		"byte_rate":             {live(keys{"scsi0": "local:201/vm-201-disk-0.raw,mbps=10.500,size=1G"}), []Intent{text("scsi0", "local:201/vm-201-disk-0.raw,bps=11010048")}, nil},
	})
}

func TestDiffSize(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"same_in_other_units":           {live(keys{"scsi0": "local:201/vm-201-disk-0.raw,size=4608M"}), []Intent{subs("scsi0", "size=4.5G")}, nil},
		"grows":                         {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "size=40G")}, []string{"scsi0 resize 40G [live] grows, which cannot be undone"}},
		"grows_running":                 {running(keys{"sata0": liveDisk}), []Intent{subs("sata0", "size=32769M")}, []string{"sata0 resize 32769M [live] grows, which cannot be undone"}},
		"rounded_by_storage":            {live(keys{"scsi0": "local-lvm:vm-201-disk-0,size=20M"}), []Intent{subs("scsi0", "size=17M")}, nil},
		"of_a_pinned_text_is_not_asked": {live(keys{"scsi0": liveDisk}), []Intent{text("scsi0", "local-lvm:vm-201-disk-0,discard=on,size=64G")}, nil},
		"one_extent_more":               {live(keys{"scsi0": "local-lvm:vm-201-disk-0,size=20M"}), []Intent{subs("scsi0", "size=16M")}, nil},
		"shrinks":                       {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "size=20G")}, nil},
		"unknown_live_size":             {container(live(keys{"rootfs": "local:201/vm-201-disk-0.raw,mountoptions=noatime"})), []Intent{subs("rootfs", "size=8G")}, nil},
		"resized_while_options_wait": {
			running(keys{"scsi1": "local:201/vm-201-disk-1.raw,size=2G ? local:201/vm-201-disk-1.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi1", "size=2G")},
			[]string{"scsi1 set local:201/vm-201-disk-1.raw,discard=on,size=2G [live] corrects the size in the pending change"},
		},
		"resized_while_a_wanted_option_waits": {
			running(keys{"scsi1": "local:201/vm-201-disk-1.raw,size=2G ? local:201/vm-201-disk-1.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi1", "discard=on", "size=2G")},
			[]string{"scsi1 none [restart] waits restart needed", "scsi1 set local:201/vm-201-disk-1.raw,discard=on,size=2G [live] corrects the size in the pending change"},
		},
		"resized_of_which_nothing_is_wanted": {
			running(keys{"scsi1": "local:201/vm-201-disk-1.raw,size=2G ? local:201/vm-201-disk-1.raw,discard=on,size=1G"}),
			[]Intent{subs("scsi1", "storage=local")},
			nil,
		},
		"what_waits_knows_a_larger_volume": {
			running(keys{"scsi1": "local:201/vm-201-disk-1.raw,size=1G ? local:201/vm-201-disk-1.raw,size=2G"}), []Intent{subs("scsi1", "size=2G")}, nil,
		},
		"root_volume_resized_while_options_wait": {
			container(running(keys{"rootfs": "local:400/vm-400-disk-0.raw,size=2G ? local:400/vm-400-disk-0.raw,mountoptions=noatime,size=1G"})),
			[]Intent{subs("rootfs", "mountoptions=noatime", "size=2G")},
			[]string{
				"rootfs none [restart] waits restart needed",
				"rootfs set local:400/vm-400-disk-0.raw,mountoptions=noatime,size=2G [live] corrects the size in the pending change",
			},
		},
		"firmware_is_left_alone": {live(keys{"efidisk0": "local:201/vm-201-disk-1.raw,efitype=4m,size=528K"}), []Intent{subs("efidisk0", "storage=local", "efitype=4m", "size=4M")}, nil},
		"unreadable":             {live(keys{"scsi0": liveDisk}), []Intent{subs("scsi0", "size=lots")}, []string{"scsi0 none [impossible] the size cannot be read"}},
	})
}

func TestDiffCDROMDrives(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"iso_holds":    {live(keys{"ide2": liveISO}), []Intent{subs("ide2", "volume=local:iso/tiny.iso", "media=cdrom")}, nil},
		"iso_inserted": {running(keys{"ide2": "none,media=cdrom"}), []Intent{subs("ide2", "volume=local:iso/tiny.iso", "media=cdrom")}, []string{"ide2 set local:iso/tiny.iso,media=cdrom [live] medium changed"}},
		"iso_ejected":  {running(keys{"ide2": liveISO}), []Intent{subs("ide2", "volume=none", "media=cdrom")}, []string{"ide2 set none,media=cdrom [live] medium changed"}},
		"tray_new":     {running(nil), []Intent{subs("ide2", "volume=none")}, []string{"ide2 set none,media=cdrom [restart] restart needed"}},
		"tray_removed": {live(keys{"ide2": liveISO}), []Intent{absent("ide2")}, []string{"ide2 delete [live]"}},
		"protection_lets_a_tray_go": {
			live(keys{"ide2": liveISO, "protection": "1"}), []Intent{absent("ide2")}, []string{"ide2 delete [live]"},
		},
		"tray_never_allocates": {
			live(nil),
			[]Intent{subs("ide2", "storage=local", "size=1G", "media=cdrom")},
			[]string{"ide2 none [impossible] a CD-ROM drive needs an existing volume, none or cloudinit"},
		},
		"cloud_init_holds":       {live(keys{"ide2": liveInit}), []Intent{subs("ide2", "storage=local-lvm", "volume=cloudinit")}, nil},
		"cloud_init_in_a_folder": {live(keys{"ide2": "local:201/vm-201-cloudinit.qcow2,media=cdrom"}), []Intent{subs("ide2", "storage=local", "volume=cloudinit", "media=cdrom")}, nil},
		"cloud_init_new":         {live(nil), []Intent{subs("ide2", "storage=local-lvm", "volume=cloudinit", "media=cdrom")}, []string{"ide2 set local-lvm:cloudinit [live]"}},
		"cloud_init_over_a_tray": {live(keys{"ide2": "none,media=cdrom"}), []Intent{subs("ide2", "storage=local", "volume=cloudinit")}, []string{"ide2 set local:cloudinit [live]"}},
		"cloud_init_over_a_disk": {live(keys{"ide2": liveDisk}), []Intent{subs("ide2", "storage=local", "volume=cloudinit")}, []string{"ide2 none [impossible] the slot holds another volume: remove it first"}},
		"cloud_init_elsewhere":   {live(keys{"ide2": liveInit}), []Intent{subs("ide2", "storage=ceph", "volume=cloudinit")}, []string{"ide2 none [impossible] move disk: remove the cloud-init drive to create it on another storage"}},
		"cloud_init_removed":     {live(keys{"ide2": liveInit}), []Intent{absent("ide2")}, []string{"ide2 delete [live] the cloud-init volume is created again when it is needed"}},
		"cloud_init_replaced":    {live(keys{"ide2": liveInit}), []Intent{subs("ide2", "volume=none")}, []string{"ide2 set none,media=cdrom [live] the cloud-init volume is created again when it is needed"}},
		"cloud_init_in_another_slot": {
			live(keys{"ide0": liveInit}),
			[]Intent{subs("ide2", "storage=local-lvm", "volume=cloudinit")},
			[]string{"ide2 none [impossible] the cloud-init drive is on ide0: set cloudInit.slot: ide0"},
		},
		"cloud_init_waits_in_another_slot": {
			running(keys{"ide0": "? " + liveInit}),
			[]Intent{subs("ide2", "storage=local-lvm", "volume=cloudinit")},
			[]string{"ide2 none [impossible] the cloud-init drive is on ide0: set cloudInit.slot: ide0"},
		},
		"cloud_init_moves_in_two_plans": {
			live(keys{"ide0": liveInit}),
			[]Intent{absent("ide0"), subs("ide2", "storage=local-lvm", "volume=cloudinit")},
			[]string{"ide0 delete [live] the cloud-init volume is created again when it is needed"},
		},
		"cloud_init_gives_way_to_a_tray": {
			live(keys{"ide0": liveInit}),
			[]Intent{subs("ide0", "volume=none", "media=cdrom"), subs("ide2", "storage=local-lvm", "volume=cloudinit")},
			[]string{"ide0 set none,media=cdrom [live] the cloud-init volume is created again when it is needed"},
		},
		"cloud_init_goes_with_the_next_start": {
			running(keys{"ide0": liveInit + " !"}),
			[]Intent{absent("ide0"), subs("ide2", "storage=local-lvm", "volume=cloudinit")},
			[]string{"ide0 none [restart] waits restart needed"},
		},
		"disk_over_a_tray": {live(keys{"scsi1": "none,media=cdrom"}), []Intent{subs("scsi1", "storage=local", "size=1G")}, []string{"scsi1 set local:1 [live]"}},
		"disk_over_a_tray_running": {
			running(keys{"scsi1": "none,media=cdrom"}),
			[]Intent{subs("scsi1", "storage=local", "size=1G")},
			[]string{"scsi1 none [impossible] a drive cannot change between disk and CD-ROM while the guest runs"},
		},
		"disk_over_cloud_init": {live(keys{"scsi1": liveInit}), []Intent{subs("scsi1", "storage=local-lvm", "size=1G")}, []string{"scsi1 none [impossible] the slot holds another volume: remove it first"}},
		"tray_over_a_disk": {
			running(keys{"ide2": liveDisk}),
			[]Intent{subs("ide2", "volume=none", "media=cdrom")},
			[]string{"ide2 none [impossible] a drive cannot change between disk and CD-ROM while the guest runs"},
		},
		"tray_over_a_disk_stopped": {live(keys{"ide2": liveDisk}), []Intent{subs("ide2", "volume=none", "media=cdrom")}, []string{"ide2 set none,media=cdrom [disruptive] " + detachedNote}},
	})
}

func TestDiffFirmware(t *testing.T) {
	runDiff(t, map[string]diffTest{
		"efi_new":       {live(nil), []Intent{subs("efidisk0", "storage=local", "efitype=4m", "pre-enrolled-keys=1")}, []string{"efidisk0 set local:1,efitype=4m,pre-enrolled-keys=1 [live]"}},
		"efi_holds":     {live(keys{"efidisk0": "local:510/vm-510-disk-0.raw,efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=528K"}), []Intent{subs("efidisk0", "storage=local", "efitype=4m", "pre-enrolled-keys=1")}, nil},
		"efi_is_fixed":  {live(keys{"efidisk0": "local:510/vm-510-disk-0.raw,size=128K"}), []Intent{subs("efidisk0", "storage=local", "efitype=4m")}, []string{"efidisk0 none [impossible] can only be set when the device is created"}},
		"tpm_holds":     {live(keys{"tpmstate0": "local:110/vm-110-disk-2.raw,size=4M,version=v2.0"}), []Intent{subs("tpmstate0", "storage=local", "version=v2.0")}, nil},
		"tpm_is_fixed":  {live(keys{"tpmstate0": "local:110/vm-110-disk-2.raw,size=4M"}), []Intent{subs("tpmstate0", "storage=local", "version=v2.0")}, []string{"tpmstate0 none [impossible] can only be set when the device is created"}},
		"mount_new":     {container(running(nil)), []Intent{subs("mp0", "storage=local-lvm", "size=4G", "mp=/data", "backup=1")}, []string{"mp0 set local-lvm:4,backup=1,mp=/data [live]"}},
		"mount_holds":   {container(live(keys{"mp0": "local:401/vm-401-disk-1.raw,mp=/data,size=1G"})), []Intent{subs("mp0", "storage=local", "size=1G", "mp=/data", "backup=0")}, nil},
		"mount_option":  {container(running(keys{"mp0": "local:401/vm-401-disk-1.raw,mp=/data,size=1G"})), []Intent{subs("mp0", "ro=1")}, []string{"mp0 set local:401/vm-401-disk-1.raw,mp=/data,size=1G,ro=1 [restart] restart needed"}},
		"mount_absent":  {container(running(keys{"mp0": "local:401/vm-401-disk-1.raw,mp=/data,size=1G"})), []Intent{absent("mp0")}, []string{"mp0 delete [disruptive] " + detachedNote}},
		"mount_of_host": {container(live(nil)), []Intent{subs("mp3", "volume=/srv", "mp=/srv")}, []string{"mp3 none [impossible] Proxmox lets only root@pam change it, and no API token"}},
		"rootfs_option": {container(running(keys{"rootfs": "local:400/vm-400-disk-0.raw,size=1G"})), []Intent{subs("rootfs", "storage=local", "size=1G", "mountoptions=noatime")}, []string{"rootfs set local:400/vm-400-disk-0.raw,size=1G,mountoptions=noatime [restart] restart needed"}},
		"rootfs_stays":  {container(live(keys{"rootfs": "local:400/vm-400-disk-0.raw,size=1G"})), []Intent{absent("rootfs")}, []string{"rootfs none [impossible] the root volume of a container cannot be removed"}},
		"rootfs_is_not_replaced": {
			container(live(keys{"rootfs": "local:400/vm-400-disk-0.raw,size=1G"})),
			[]Intent{subs("rootfs", "volume=local:400/vm-400-disk-9.raw")},
			[]string{"rootfs none [impossible] the root volume of a container cannot be removed"},
		},
		"protected_mount": {container(live(keys{"mp0": "local:401/vm-401-disk-1.raw,mp=/data,size=1G", "protection": "1"})), []Intent{subs("mp0", "ro=1")}, []string{"mp0 set local:401/vm-401-disk-1.raw,mp=/data,size=1G,ro=1 [live]"}},
	})
}

// TestDiffIgnoresTheInstallationImage: what was put into a drive to install from is not compared, so that the installed guest may
// eject it.
func TestDiffIgnoresTheInstallationImage(t *testing.T) {
	for _, text := range []string{"none,media=cdrom", "local:iso/debian-12.iso,media=cdrom,size=600M", ""} {
		o := live(keys{"ide2": text})
		d := want(o)
		d.Source = Source{ISO: &ISO{Volume: "local:iso/debian-12.iso", Slot: "ide2"}}
		if got := Diff(d, o); len(got) != 0 {
			t.Errorf("ide2 %q: got %v, want no change", text, briefs(got))
		}
	}
}
