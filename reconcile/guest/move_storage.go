package guest

import "fmt"

// compareStorage adds the move of a volume that is not on the wanted storage.
func (s *slot) compareStorage(have properties, now, next string) {
	if !s.onOtherStorage(have) {
		return
	}
	change := Change{
		Key: s.in.Key, From: "storage=" + storageOf(have.text("volume")), To: "storage=" + s.target.storage,
		Write: WriteMove, Value: s.target.storage, Origin: s.in.Origin,
	}
	change.Class, change.Note = s.moveCost(have, now, next)
	s.add(change)
}

// moveCost follows move_disk in qemu-server's API2/Qemu.pm and move_volume in pve-container's API2/LXC.pm. The copy loads both storages, and
// the disk of a running guest is slow meanwhile. A pending change of the slot names the old volume, and the move does not correct it: the
// guest would then start with the volume as it was before the move.
func (s *slot) moveCost(have properties, now, next string) (Class, string) {
	size := have.text("size")
	if size == "" {
		size = "the volume"
	}
	note := fmt.Sprintf("copies %s to %s; the old volume stays as unused", size, s.target.storage)
	switch {
	case now != next:
		return Impossible, "a change of this disk waits for the next start: it moves after that"
	case s.running() && s.live.Kind == Container:
		return Impossible, "a container's volume moves only while the container is stopped"
	case s.running() && s.row.syntax == tpmSyntax:
		return Impossible, "the TPM state moves only while the guest is stopped"
	case s.running():
		return Disruptive, note
	default:
		return Live, note
	}
}
