package guest

import "fmt"

// compareStorage adds the move of a volume that is on another storage than wanted. The text now is that of the slot as it runs.
func (s *slot) compareStorage(have properties, now string) {
	if !s.elsewhere(have) {
		return
	}
	change := Change{
		Key: s.in.Key, From: "storage=" + storageOf(have.text("volume")), To: "storage=" + s.place.storage,
		Write: WriteMove, Value: s.place.storage, Origin: s.in.Origin,
	}
	change.Class, change.Note = s.moveCost(have, now)
	s.add(change)
}

// elsewhere reports whether a volume is on another storage than wanted, where any volume will do.
func (s *slot) elsewhere(have properties) bool {
	storage := storageOf(have.text("volume"))
	return s.place.volume == "" && s.place.storage != "" && storage != "" && storage != s.place.storage && isDisk(have)
}

// moveCost is the rule of move_disk in qemu-server's API2/Qemu.pm and of move_volume in pve-container's API2/LXC.pm. What is copied
// loads both storages, and the disk of a running guest is slow meanwhile.
func (s *slot) moveCost(have properties, now string) (Class, string) {
	size := have.text("size")
	if size == "" {
		size = "the volume"
	}
	note := fmt.Sprintf("copies %s to %s; the old volume stays as unused", size, s.place.storage)
	switch {
	case volumeOf(now) != have.text("volume"):
		return Impossible, "another volume waits for the slot: it can be moved after the next start"
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
