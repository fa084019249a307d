package guest

import "testing"

// TestGuardedChanges: the protection stands against what takes a volume out of its slot, and against what Proxmox refuses on a protected guest. The flag is the
// same without the protection, so that a step has the same changes when a person takes the protection away.
func TestGuardedChanges(t *testing.T) {
	t.Parallel()
	mount, rootfs := "local:401/vm-401-disk-1.raw,mp=/data,size=1G", "local:401/vm-401-disk-0.raw,size=1G"
	tests := map[string]struct {
		live   Observed
		intent Intent
		want   bool
	}{
		"detach":                {live(keys{"scsi0": liveDisk}), absent("scsi0"), true},
		"replace":               {live(keys{"scsi0": liveDisk}), subs("scsi0", "volume=ceph:vm-201-disk-7"), true},
		"remove_unused":         {live(keys{"unused0": "local-lvm:vm-201-disk-1"}), absent("unused0"), true},
		"remove_cd_drive":       {live(keys{"ide2": liveISO}), absent("ide2"), true},
		"remove_empty_drive":    {live(keys{"ide2": "none,media=cdrom"}), absent("ide2"), true},
		"remove_cloud_init":     {live(keys{"ide2": liveInit}), absent("ide2"), true},
		"empty_cd_drive":        {live(keys{"ide2": liveISO}), subs("ide2", "volume=none", "media=cdrom"), false},
		"empty_cloud_init":      {live(keys{"ide2": liveInit}), subs("ide2", "volume=none", "media=cdrom"), false},
		"new_disk":              {live(nil), subs("scsi1", "storage=local-lvm", "size=4G"), false},
		"option_of_a_disk":      {live(keys{"scsi0": liveDisk}), subs("scsi0", "ssd=1"), false},
		"larger_disk":           {live(keys{"scsi0": liveDisk}), subs("scsi0", "size=64G"), false},
		"memory":                {live(keys{"memory": "1024"}), text("memory", "2048"), false},
		"new_mount":             {container(live(keys{"rootfs": rootfs})), subs("mp0", "storage=local-lvm", "size=4G", "mp=/data"), true},
		"option_of_a_mount":     {container(live(keys{"mp0": mount})), subs("mp0", "ro=1"), true},
		"option_of_the_root":    {container(live(keys{"rootfs": rootfs})), subs("rootfs", "acl=1"), true},
		"remove_mount":          {container(live(keys{"mp0": mount})), absent("mp0"), true},
		"larger_mount":          {container(live(keys{"mp0": mount})), subs("mp0", "size=4G"), false},
		"mount_of_another_host": {container(live(keys{"rootfs": rootfs})), subs("mp3", "volume=/srv", "mp=/srv"), false},
	}
	for name, test := range tests {
		for _, protected := range []bool{false, true} {
			o := test.live
			o.Keys["protection"] = Value{}
			if protected {
				o.Keys["protection"] = Value{Text: "1", Set: true}
			}
			changes := Diff(want(o, test.intent), o)
			if len(changes) != 1 || changes[0].Guarded != test.want {
				t.Errorf("%s, protected %v: got %+v, want one change with Guarded %v", name, protected, changes, test.want)
			}
			if len(changes) == 1 && test.want && (changes[0].Class == Impossible || changes[0].Write == WriteNone) {
				t.Errorf("%s, protected %v: got %s, want a change that can be written", name, protected, brief(changes[0]))
			}
		}
	}
}
