package guest

import (
	"maps"
	"slices"

	"gitops-agent/reconcile/guest/form"
)

// NotInBackup is a volume of a guest that no backup of the guest contains. In a container it may also be a folder or a device of the host.
type NotInBackup struct {
	Key    string // of the slot, "mp0"
	Volume string // "local-lvm:vm-210-disk-1", or "/srv/media" for a folder of the host
	Later  bool   // backups contain it until the next start of the guest
}

// String returns "mp0 (local-lvm:vm-210-disk-1)".
func (n NotInBackup) String() string {
	text := n.Key + " (" + n.Volume + ")"
	if n.Later {
		text += ", from the next start on"
	}
	return text
}

const (
	biosKey   = "bios"
	efiKey    = "efidisk0"
	backupSub = "backup"
)

// content is what is in the slot of a drive.
type content struct {
	volume string
	isData bool // of the guest: a CD-ROM drive and a cloud-init drive hold none
	saved  bool // backups contain it
}

// contentOf reads the native text of a drive that is not empty.
//
// Source: get_backup_volumes of PVE::QemuConfig and PVE::LXC::Config.
func contentOf(r *row, kind Kind, text, bios string) content {
	have := r.syntax.parse(nil, text)
	c := content{volume: have.text("volume"), isData: true}
	switch {
	case c.volume == "", kind == VirtualMachine && (!isDisk(have) || isTray(c.volume) || isCloudInit(c.volume)):
		c.isData = false
	case r.required: // the root volume of a container
		c.saved = true
	case r.key == efiKey:
		c.saved = bios == "ovmf"
	case kind == Container && c.volume[0] == '/': // a folder or a device of the host
	default:
		c.saved = r.syntax.meaning(have, backupSub) != "0" // the TPM state has no such sub-key
	}
	return c
}

// drives are the native texts of the drives of a guest, and of its key bios, on which it depends whether backups contain the EFI disk.
type drives map[string]string

// driveTexts returns the drives of a guest, as they are now and after the next start.
func driveTexts(o Observed) (now, next drives) {
	now, next = drives{}, drives{}
	for key, value := range o.Keys {
		if r, known := find(o.Kind, key); known && (r.drive || key == biosKey) {
			now[key], next[key] = nowAndNext(value)
		}
	}
	return now, next
}

// presentDrives returns the drives of a guest with what waits for its next start, as far as they are then still there: a comparison begins with these texts.
func presentDrives(o Observed) drives {
	now, next := driveTexts(o)
	for key, text := range next {
		if text == "" && key != biosKey {
			next[key] = now[key]
		}
	}
	return next
}

// contents returns what is in the slots of drives.
func (d drives) contents(kind Kind) map[string]content {
	contents := make(map[string]content, len(d))
	for key, text := range d {
		if r, known := find(kind, key); known && r.drive && text != "" {
			contents[key] = contentOf(r, kind, text, d[biosKey])
		}
	}
	return contents
}

// NotInBackups returns what no backup of a guest contains although its manifest does not say so with backup: false, sorted by slot. It is what Proxmox leaves out of the
// backups of the guest, whether a job covers the guest or not.
func NotInBackups(d *Desired, o Observed) []NotInBackup {
	now, next := driveTexts(o)
	present, later := now.contents(o.Kind), next.contents(o.Kind)
	var list []NotInBackup
	for _, key := range slices.Sorted(maps.Keys(present)) {
		c := present[key]
		next, stays := later[key]
		if c.isData && !d.leavesOut(key) && (!c.saved || stays && !next.saved) {
			list = append(list, NotInBackup{key, c.volume, c.saved})
		}
	}
	return list
}

// leavesOut reports whether the manifest says that backups shall not contain the volume in a slot.
func (d *Desired) leavesOut(key string) bool {
	for i := range d.Intents {
		in := &d.Intents[i]
		if in.Key != key || in.Verb == Absent {
			continue
		}
		r, known := find(d.Kind, key)
		if in.Sub == nil {
			return known && r.drive && form.Truth(r.syntax.parse(nil, in.Text).text(backupSub)) == "0"
		}
		return form.Truth(in.Sub[backupSub]) == "0"
	}
	return false
}

// LeavesBackups returns the volumes that stay in slots of a guest, and that a change takes out of its backups, sorted by slot. A volume that the change detaches is none of
// them, nor a volume that it adds.
func LeavesBackups(o Observed, c Change) []NotInBackup {
	if r, known := find(o.Kind, c.Key); !known || !r.drive && c.Key != biosKey || c.Write != WriteSet && c.Write != WriteDelete {
		return nil
	}
	before := presentDrives(o)
	after := maps.Clone(before)
	delete(after, c.Key)
	if c.Write == WriteSet {
		after[c.Key] = c.Value
	}
	return leaving(o.Kind, before, after)
}

// RollbackLeavesBackups returns the volumes that stay in slots of a guest, and that a rollback to a snapshot takes out of its backups, sorted by slot.
func RollbackLeavesBackups(o Observed, s SnapshotSection) []NotInBackup {
	return leaving(o.Kind, presentDrives(o), s.Keys)
}

// leaving returns the volumes that backups contain before a change, and that are in slots without backups after it.
func leaving(kind Kind, before, after drives) []NotInBackup {
	staysSaved := map[string]bool{} // by volume that stays in a slot
	for _, c := range after.contents(kind) {
		volume := VolumeKey(c.volume)
		staysSaved[volume] = staysSaved[volume] || c.saved
	}
	present := before.contents(kind)
	var list []NotInBackup
	for _, key := range slices.Sorted(maps.Keys(present)) {
		c := present[key]
		if saved, stays := staysSaved[VolumeKey(c.volume)]; c.saved && stays && !saved {
			list = append(list, NotInBackup{Key: key, Volume: c.volume})
		}
	}
	return list
}
